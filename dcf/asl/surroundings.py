"""The data that a state may read besides its input: the context object, the variables, the time and random numbers.

Nothing here reads a clock or a source of randomness: deciding the same step twice must give the same result.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from typing import Final

from dcf.asl.limits import MAX_BUILT, MAX_READ, too_large
from dcf.errors import StateError
from dcf.values.json_text import Json, byte_length
from dcf.values.records import record
from dcf.values.task_tokens import task_token

SECOND: Final = 1_000_000
"""Microseconds per second."""

CPU_S: Final = 0.5
"""Limit on the processor time of all confined evaluations of one step of a run."""

WALL_S: Final = 10.0
"""The last resort where children get no processor: what these evaluations may last in all. Less than the time after
which a process that evaluates is taken for dead (`core/completing/evaluation_marks.py`)."""

FEW: Final = 8
"""So many plain expressions of a step are evaluated in the process, whatever they read."""

MAX_HERE: Final = 1024 * 1024
"""The bytes that further plain expressions of a step may read in the process; a child evaluates the rest."""


@record(frozen=True, slots=True, kw_only=True)
class KeptSignal:
    """A signal that came before a state waited for it. Signals of a run are numbered as they come; `at` is when."""

    number: int
    name: str
    payload: Json
    at: int


@record(frozen=True, slots=True, kw_only=True)
class Clock:
    """The time of one step, the seed of its random numbers and what has come by then; the caller fixes all of it.

    `now` is ISO 8601 text in UTC, `micros` the same instant since the epoch. `signals` are those kept, by name and in
    the order in which they came.
    """

    now: str
    micros: int
    seed: str
    signals: Mapping[str, tuple[KeptSignal, ...]] = field(default_factory=dict)


class Chance:
    """Pseudo-random numbers that depend only on the seed and the order of the draws."""

    __slots__ = ("_drawn", "_seed")

    def __init__(self, seed: str, drawn: int = 0) -> None:
        self._seed = seed
        self._drawn = drawn

    @property
    def place(self) -> tuple[str, int]:
        """The seed and how many numbers were drawn: `Chance(*place)` draws the same numbers from here."""
        return self._seed, self._drawn

    def skip_to(self, drawn: int) -> None:
        """Continue as if that many numbers had been drawn."""
        self._drawn = drawn

    def bits(self, count: int) -> int:
        """Draw a number of `count` bits, at most 256."""
        self._drawn += 1
        digest = hashlib.sha256(f"{self._seed}\n{self._drawn}".encode("utf-8", "replace")).digest()
        return int.from_bytes(digest, "big") >> (256 - count)

    def fraction(self) -> float:
        """Draw from 0 (inclusive) to 1 (exclusive)."""
        return self.bits(53) / 2**53

    def uuid(self) -> str:
        """Draw a UUID of version 4."""
        drawn = self.bits(128) & ~(0xF << 76) & ~(0x3 << 62) | (0x4 << 76) | (0x2 << 62)
        text = f"{drawn:032x}"
        return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


class Spending:
    """The costs of one step of a run: the time left for confined evaluations, the data read, the size of values made.

    A step is what one call of the engine decides, or all such calls for one write of a run.
    """

    __slots__ = ("_evaluated", "_passed", "_read", "cpu_s", "size", "wall_s")

    def __init__(self) -> None:
        self.cpu_s = CPU_S
        self.wall_s = WALL_S
        self.size = 0
        self._evaluated = self._passed = self._read = 0

    @property
    def is_much(self) -> bool:
        """True once another state should have a step of its own: much of a limit is used up."""
        return (
            self.cpu_s < CPU_S / 2
            or self.wall_s < WALL_S / 2
            or self._passed > MAX_HERE // 2
            or self._read > MAX_READ // 2
        )

    def affords(self, bindings: Json) -> bool:
        """Count a plain expression that reads these values; return False when a child must evaluate it."""
        self._evaluated += 1
        if self._evaluated <= FEW:
            return True
        try:
            self._passed += byte_length(bindings)
        except TypeError:
            return False
        return self._passed <= MAX_HERE

    def read(self, value: Json) -> None:
        """Count what an intrinsic function reads; raise StateError States.DataLimitExceeded for too much."""
        self._read += byte_length(value)
        if self._read > MAX_READ:
            cause = f"The intrinsic functions of a step read more than {MAX_READ} bytes together."
            raise StateError("States.DataLimitExceeded", cause)

    def build(self, size: int) -> None:
        """Count a value of this size that a template made; raise StateError States.DataLimitExceeded for too many."""
        self.size += size
        if self.size > MAX_BUILT:
            raise too_large()


class RunContext(dict[str, Json]):
    """The part of a context object that is the same in every state of a run, and what its task tokens are made with.

    The secret is no member, so no expression reads it. `may_risk`: there is a mark, or none is needed
    (`asl/expressions/risks.py`). `spending` is that of the step which reads this context, so each step has one of its
    own (`risking`).
    """

    __slots__ = ("may_risk", "secret", "spending", "workflow_id")

    def __init__(self, members: Mapping[str, Json], *, workflow_id: str, secret: str, may_risk: bool = True) -> None:
        super().__init__(members)
        self.workflow_id = workflow_id
        self.secret = secret
        self.may_risk = may_risk
        self.spending = Spending()

    def risking(self, *, may_risk: bool) -> "RunContext":
        """Return the same context for another step, with or without leave for risky evaluations."""
        return RunContext(self, workflow_id=self.workflow_id, secret=self.secret, may_risk=may_risk)

    def task_token(self, path: str, visit: str) -> str | None:
        """Return the token of a visit of a state; None for a run that has no secret."""
        return task_token(self.secret, self.workflow_id, path, visit) if self.secret else None


class Context(Mapping[str, Json]):
    """A context object that is built on first read: every state has one, and few read it."""

    __slots__ = ("_made", "_make")

    def __init__(self, make: Callable[[], Mapping[str, Json]]) -> None:
        self._make = make
        self._made: Mapping[str, Json] | None = None

    def __getitem__(self, name: str) -> Json:
        return self._whole()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._whole())

    def __len__(self) -> int:
        return len(self._whole())

    def _whole(self) -> Mapping[str, Json]:
        if self._made is None:
            self._made = self._make()
        return self._made


@record(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """The data that an expression may read besides the document. `millis` is the time since the epoch.

    Without `may_risk` a risky evaluation raises `risks.Unmarked`.
    """

    context: Mapping[str, Json] = field(default_factory=dict)
    variables: Mapping[str, Json] = field(default_factory=dict)
    chance: Chance = field(default_factory=lambda: Chance(""))
    millis: int = 0
    spending: Spending = field(default_factory=Spending)
    may_risk: bool = True


NOWHERE: Final = Surroundings()
"""No context and no variables, for what evaluates no expression: everybody shares its `spending`."""
