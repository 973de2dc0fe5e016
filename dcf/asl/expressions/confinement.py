"""Has child processes evaluate what may need much: risky expressions, and paths that select several values.

The operating system limits what a child may need, and `Spending` what all evaluations of one step may need together.
No other module of the language calls child processes.
"""

from collections.abc import Mapping
from typing import Final

from dcf.asl.surroundings import Spending
from dcf.confined.calls import BOUNDS_MEMORY, CHILDREN, IS_POSSIBLE, MEMORY, BeyondLimit, ConfinedCalls, Excess

UNCONFINED_S: Final = None if BOUNDS_MEMORY else 0.25
"""The limit of time that the library of expressions keeps, where the system limits no memory: less time allocates
less."""

IS_CONFINED: Final = IS_POSSIBLE
"""False where no child can be limited, so that this process evaluates everything."""

EXPRESSION: Final = b"e"
SEARCH: Final = b"s"
"""First bytes of a request: what the rest asks for (`confined_answers`)."""

_REASONS: Final[Mapping[Excess, str]] = {
    "memory": "needs more memory than an evaluation may use.",
    "time": "took too long: the risky evaluations of a step have half a second of processor time together.",
    "ended": "did not end: its process was ended from outside.",
}
_calls: Final = ConfinedCalls("dcf.asl.expressions.confined_answers:answer", memory=MEMORY, children=CHILDREN)


class Exceeded(Exception):
    """An evaluation was ended, or not begun, because of a limit; its text follows the name of what was evaluated."""


def limit_children(*, children: int, memory: int) -> None:
    """Set how many children this process starts, and the address space of each in bytes."""
    _calls.limit(children=children, memory=memory)


def confined(kind: bytes, request: bytes, spending: Spending) -> bytes:
    """Return the answer of a child, and charge its time; raise Exceeded for an evaluation that needs too much."""
    if spending.cpu_s <= 0 or spending.wall_s <= 0:
        raise Exceeded(_REASONS["time"])
    reply = _calls(kind + request, spending.cpu_s, spending.wall_s)
    if isinstance(reply, BeyondLimit):
        spending.cpu_s = 0.0
        raise Exceeded(_REASONS[reply.excess])
    spending.cpu_s -= reply.cpu_s
    spending.wall_s -= reply.wall_s
    return reply.data
