"""The compiled state types: one record for each, with the answers to every question about the type.

Values only: the interpreter runs states, and `machine` knows the graph. A new type is added here and in the tables of
`state_syntax`.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from dcf.asl.briefs import TaskBrief
from dcf.asl.expressions.choice import Rule
from dcf.asl.expressions.paths import Path
from dcf.asl.expressions.templates import Template
from dcf.asl.flow import Flow
from dcf.asl.resources import Resource, read_resource
from dcf.values.json_text import Json
from dcf.values.records import record

if TYPE_CHECKING:
    from dcf.asl.machine import Machine


@record(frozen=True, slots=True, kw_only=True)
class Retrier:
    """Which errors are retried, how often and after which backoff. Without jitter the delay is exact."""

    errors: tuple[str, ...]
    interval: int
    max_attempts: int
    rate: float
    max_delay: int | None
    jitter: bool


@record(frozen=True, slots=True, kw_only=True)
class Catcher:
    """Which errors lead to another state, and with what data; a `result_path` of None discards the Error Output."""

    errors: tuple[str, ...]
    next: str
    result_path: Path | None
    output: Template | None
    assign: Template | None


@record(frozen=True, slots=True, kw_only=True)
class State:
    """The attributes that every state type has, so that no other module needs a list of the types.

    `next` is None for End and for types without Next. `retriers` and `catchers` are empty for types without them.
    """

    flow: Flow
    next: str | None = None
    retriers: tuple[Retrier, ...] = ()
    catchers: tuple[Catcher, ...] = ()

    stays: ClassVar[bool] = False
    """True if a run waits in the state: for a worker, for a time, or for machines inside it."""

    is_leased: ClassVar[bool] = False
    """True if a worker takes a lease on the state."""

    is_end: ClassVar[bool] = False
    """True if its type ends the machine, without the field End."""

    @classmethod
    def kind(cls) -> str:
        """Return the state's Type as written."""
        return cls.__name__

    @property
    def targets(self) -> tuple[str, ...]:
        """The states that may follow, including targets of Catch."""
        caught = [catcher.next for catcher in self.catchers]
        return tuple(dict.fromkeys(caught if self.next is None else [self.next, *caught]))

    @property
    def may_end(self) -> bool:
        """True if the machine may end after this state."""
        return self.next is None

    @property
    def ends_chain(self) -> bool:
        """True if a chain of states stops here by itself: the run waits for a worker, or for a time."""
        return self.stays and not self.machines

    @property
    def machines(self) -> "tuple[Machine, ...]":
        """The machines inside: the branches of a Parallel, what a Map does with each item."""
        return ()

    def machine_at(self, index: int) -> "Machine | None":
        """Return the machine in the branch or iteration of this number; None where there is none."""
        return self.machines[index] if index < len(self.machines) else None


@record(frozen=True, slots=True, kw_only=True)
class Workable(State):
    """Base of Task, Parallel and Map: work with a result that may fail, be retried or be caught."""

    stays: ClassVar[bool] = True


@record(frozen=True, slots=True, kw_only=True)
class Task(Workable):
    """Work for an agent. Timeouts are in seconds: literals, or read when the state is entered.

    `brief` has the fields that are dcf's own; None for a Task without them.
    """

    resource: str | None
    agent_binding: Mapping[str, Json] | None
    credentials: Template | None
    timeout: Template | None
    heartbeat: Template | None
    brief: TaskBrief | None = None

    is_leased: ClassVar[bool] = True

    @property
    def reads_nothing(self) -> bool:
        """True if neither its input nor its timeouts are worked out from anything."""
        return self.flow.is_plain and self.timeout is None and self.heartbeat is None

    @property
    def served_by(self) -> Resource:
        """What its Resource says: who ends it, and whether it gets a task token."""
        return read_resource(self.resource)


@record(frozen=True, slots=True, kw_only=True)
class Parallel(Workable):
    """Machines that run side by side, each on the same input."""

    branches: "tuple[Machine, ...]"

    @property
    def machines(self) -> "tuple[Machine, ...]":
        """The machines of the branches."""
        return self.branches


@record(frozen=True, slots=True, kw_only=True)
class ItemReader:
    """Where a Map's items come from, when not from its input."""

    resource: str
    arguments: Template | None
    config: Mapping[str, Json]
    max_items: Template | None


@record(frozen=True, slots=True, kw_only=True)
class Batcher:
    """How a Map groups its items into batches."""

    max_items: Template | None
    max_bytes: Template | None
    shared: Template | None


@record(frozen=True, slots=True, kw_only=True)
class Writer:
    """Where the results of a Map go, when not into its output."""

    resource: str | None
    arguments: Template | None
    config: Template | None


@record(frozen=True, slots=True, kw_only=True)
class Map(Workable):
    """A machine that runs once for every item."""

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

    @property
    def machines(self) -> "tuple[Machine, ...]":
        """The machine of the iterations."""
        return (self.processor,)

    def machine_at(self, _index: int) -> "Machine":
        """Return the machine that every iteration runs."""
        return self.processor


@record(frozen=True, slots=True, kw_only=True)
class Pass(State):
    """Passes data on, reshaped. `has_result` distinguishes a literal null Result from no Result."""

    result: Json
    has_result: bool


@record(frozen=True, slots=True, kw_only=True)
class Wait(State):
    """Waits for `seconds` after entry, or until `timestamp`. Exactly one of the two is set."""

    seconds: Template | None
    timestamp: Template | None
    field: str

    stays: ClassVar[bool] = True


@record(frozen=True, slots=True, kw_only=True)
class Branch:
    """A Choice rule, the state that it leads to, and its data flow when it matches."""

    rule: Rule
    next: str
    output: Template | None
    assign: Template | None


@record(frozen=True, slots=True, kw_only=True)
class Choice(State):
    """Selects the next state: the first branch whose rule matches."""

    branches: tuple[Branch, ...]
    default: str | None

    @property
    def targets(self) -> tuple[str, ...]:
        """The states that may follow."""
        named = [branch.next for branch in self.branches]
        return tuple(dict.fromkeys(named if self.default is None else [*named, self.default]))

    @property
    def may_end(self) -> bool:
        """False: a Choice always leads to another state, or fails."""
        return False


@record(frozen=True, slots=True, kw_only=True)
class Succeed(State):
    """Ends the run, branch or iteration successfully."""

    is_end: ClassVar[bool] = True


@record(frozen=True, slots=True, kw_only=True)
class Fail(State):
    """Fails the run, branch or iteration; error and cause are literals or expressions."""

    error: Template | None
    cause: Template | None

    is_end: ClassVar[bool] = True
