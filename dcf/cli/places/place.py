"""The place that a command works on. A command calls a tool here, and does not know where it is carried out.

Imports that only one kind of place needs happen when it is opened: a command at a server loads no Redis client.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from dcf.cli.places.choice import place_in_use, program
from dcf.cli.places.context import Choice
from dcf.values.json_text import Json

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from dcf.client import Client
    from dcf.client.exchange import BlockingTransport

_DEADLINE_S: Final = 3.0
"""Seconds that a call to a server is repeated while its connection breaks: a server that restarts is back by then."""


class Place:
    """The control plane of this machine, or a server; `choice` says which, and why."""

    def __init__(self, choice: Choice, tools: "BlockingTransport") -> None:
        self.choice = choice
        self._tools = tools

    def call(self, tool: str, **arguments: Json) -> dict[str, Json]:
        """Return the answer of a tool; raise ToolCallFailed for a refusal, as for a call that was invalid."""
        answer = self._tools.call(tool, **arguments)
        if answer["code"] != "ok":
            from dcf.tools.calling.repeating import failure_of

            raise failure_of(answer)
        return answer


@contextmanager
def place(*, longest_s: float | None = None) -> Iterator[Place]:
    """Open the place in use. With `longest_s`, no answer of a server is waited for longer, and no call is repeated."""
    choice = place_in_use()
    with _tools_of(choice, longest_s) as tools:
        yield Place(choice, tools)


@contextmanager
def client() -> "Iterator[Client]":
    """Open the place in use for a command that takes several calls: a client with the method of each verb."""
    from dcf.client.clients import Client
    from dcf.client.serving import LentTools
    from dcf.verbs.wording.languages import Commands

    with _tools_of(place_in_use(), None) as tools:
        lent = LentTools(tools, _nothing_to_close)
        yield Client(tools, _nothing_to_close, lambda: lent, Commands(program()))


def _tools_of(choice: Choice, longest_s: float | None) -> "AbstractContextManager[BlockingTransport]":
    if choice.context.is_local:
        from dcf.cli.places.here import tools_here

        return tools_here()
    from dcf.cli.places.server import tools_at

    return tools_at(choice, _DEADLINE_S if longest_s is None else 0.0, longest_s)


def _nothing_to_close() -> None:
    """Close nothing: the `with` block closes the place."""
