"""The kinds of states, compiled: one record for each, which says all that others ask about its kind.

Values only: what running a state does is the interpreter's matter, and where states lead `machine`'s.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

from dcf.asl.choice import Rule
from dcf.asl.flow import Flow
from dcf.asl.paths import Path
from dcf.asl.templates import Template
from dcf.values.json_text import Json

if TYPE_CHECKING:
    from dcf.asl.machine import Machine


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrier:
    """Which errors are tried again, how often and how soon. Without jitter the delay is exact."""

    errors: tuple[str, ...]
    interval: int
    max_attempts: int
    rate: float
    max_delay: int | None
    jitter: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Catcher:
    """Which errors lead to another state, and with what data; `result_path` None discards the Error Output."""

    errors: tuple[str, ...]
    next: str
    result_path: Path | None
    output: Template | None
    assign: Template | None


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """What every kind of state says of itself, so that nobody else needs a list of the kinds.

    `next` None is End, and so it is where a kind has no Next. `retriers` and `catchers` are empty where it has none.
    """

    flow: Flow
    next: str | None = None
    retriers: tuple[Retrier, ...] = ()
    catchers: tuple[Catcher, ...] = ()

    stays: ClassVar[bool] = False
    """Whether control stays with it for a while: somebody works, time passes, or machines run inside."""

    is_leased: ClassVar[bool] = False
    """Whether somebody works on it."""

    is_scope: ClassVar[bool] = False
    """Whether machines run inside it."""

    is_end: ClassVar[bool] = False
    """Whether its kind alone says that it ends the machine, without an End."""

    @classmethod
    def kind(cls) -> str:
        """Return its Type as written."""
        return cls.__name__

    @property
    def targets(self) -> tuple[str, ...]:
        """The states that may follow, those of Catch included."""
        caught = [catcher.next for catcher in self.catchers]
        return tuple(dict.fromkeys(caught if self.next is None else [self.next, *caught]))

    @property
    def may_end(self) -> bool:
        """Whether its machine may be over after it."""
        return self.next is None

    @property
    def machines(self) -> "tuple[Machine, ...]":
        """The machines inside: the branches of a Parallel, what a Map does with each item."""
        return ()

    def machine_at(self, index: int) -> "Machine | None":
        """Return what runs in a branch or iteration of this number; None where there is none."""
        return self.machines[index] if index < len(self.machines) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Workable(State):
    """What Task, Parallel and Map share: work that has a result, may fail, be tried again or be caught."""

    stays: ClassVar[bool] = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Task(Workable):
    """Work for an agent. Timeouts are in seconds, literal or read when the state is entered."""

    resource: str | None
    agent_binding: Mapping[str, Json] | None
    credentials: Template | None
    timeout: Template | None
    heartbeat: Template | None

    is_leased: ClassVar[bool] = True

    @property
    def gets_token(self) -> bool:
        """Whether the context object has a token to answer with: not for services that answer by themselves."""
        return self.resource is None or self.resource.endswith(".waitForTaskToken")


@dataclass(frozen=True, slots=True, kw_only=True)
class Parallel(Workable):
    """Machines that run side by side on the same input."""

    branches: "tuple[Machine, ...]"

    is_scope: ClassVar[bool] = True

    @property
    def machines(self) -> "tuple[Machine, ...]":
        """The branches."""
        return self.branches


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemReader:
    """Where a Map's items come from when not from its input."""

    resource: str
    arguments: Template | None
    config: Mapping[str, Json]
    max_items: Template | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Batcher:
    """How items are put together before they are worked on."""

    max_items: Template | None
    max_bytes: Template | None
    shared: Template | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Writer:
    """Where the results of a Map go when not into its output."""

    resource: str | None
    arguments: Template | None
    config: Template | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Map(Workable):
    """One machine that runs once for every item."""

    processor: "Machine"
    distributed: bool
    items: Template | None
    selector: Template | None
    concurrency: Template | None
    tolerated_count: Template | None
    tolerated_percentage: Template | None
    reader: ItemReader | None
    batcher: Batcher | None
    writer: Writer | None
    label: str | None

    is_scope: ClassVar[bool] = True

    @property
    def machines(self) -> "tuple[Machine, ...]":
        """The machine of every item."""
        return (self.processor,)

    def machine_at(self, _index: int) -> "Machine":
        """Return what runs in every iteration."""
        return self.processor


@dataclass(frozen=True, slots=True, kw_only=True)
class Pass(State):
    """Reshapes data. `has_result` tells a literal null Result from none at all."""

    result: Json
    has_result: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait(State):
    """Lets time pass: `seconds` from its entry, or until `timestamp`. Exactly one of the two is there."""

    seconds: Template | None
    timestamp: Template | None
    field: str

    stays: ClassVar[bool] = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    """A Choice rule, where it leads, and what it does with data when it is taken."""

    rule: Rule
    next: str
    output: Template | None
    assign: Template | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice(State):
    """Picks the way on: the first branch whose rule matches."""

    branches: tuple[Branch, ...]
    default: str | None

    @property
    def targets(self) -> tuple[str, ...]:
        """The states that may follow."""
        named = [branch.next for branch in self.branches]
        return tuple(dict.fromkeys(named if self.default is None else [*named, self.default]))

    @property
    def may_end(self) -> bool:
        """Never: it leads on, or fails."""
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Succeed(State):
    """Ends the run, branch or iteration well."""

    is_end: ClassVar[bool] = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Fail(State):
    """Ends the run, branch or iteration badly; the words are literal or worked out."""

    error: Template | None
    cause: Template | None

    is_end: ClassVar[bool] = True


KINDS: Final[Mapping[str, type[State]]] = {
    kind.kind(): kind for kind in (Task, Parallel, Map, Pass, Wait, Choice, Succeed, Fail)
}
"""All kinds of states by their Type: a new one is a row here, and one in the tables of `state_syntax`."""
