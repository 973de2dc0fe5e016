"""A state machine as a typed, compiled tree: a record for each type of state, and queries on its graph.

Every claim of a task asks for the neighbours of a state, so the answers are worked out once and kept. Nothing here
reads data: that is `engine`'s. A machine is immutable.
"""

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import field
from types import MappingProxyType
from typing import ClassVar

from dcf.asl.briefs import TaskBrief
from dcf.asl.expressions.templates import Template
from dcf.asl.flow import Flow
from dcf.asl.resources import Resource, read_resource
from dcf.asl.state_paths import ancestors, inside, join, open_scope
from dcf.asl.states import Batcher, Branch, Catcher, ItemReader, Retrier, Writer
from dcf.errors import Problem
from dcf.values.json_text import Json
from dcf.values.records import record


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
        """True if a chain of states stops at this state: the run waits for a worker, or for a time."""
        return self.stays and not self.machines

    @property
    def machines(self) -> "tuple[Machine, ...]":
        """The machines inside: the branches of a Parallel, or the machine that a Map runs for each item."""
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
        """The meaning of its Resource: who ends the Task, and whether it gets a task token."""
        return read_resource(self.resource)


@record(frozen=True, slots=True, kw_only=True)
class Parallel(Workable):
    """Machines that run at the same time, each on the same input."""

    branches: "tuple[Machine, ...]"

    @property
    def machines(self) -> "tuple[Machine, ...]":
        """The machines of the branches."""
        return self.branches


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


@record(frozen=True, slots=True, kw_only=True, eq=False)
class Machine:
    """The states by name, in document order, and the edges between them.

    `timeout_s` limits a whole run. Queries for an unknown state name raise KeyError. `places` are those that
    `places.resolve` found.
    """

    start_at: str
    states: Mapping[str, State]
    timeout_s: int | None = None
    warnings: tuple[Problem, ...] = ()
    terminal_states: tuple[str, ...] = field(init=False, repr=False)
    places: "dict[str, Place]" = field(init=False, repr=False)
    _downstream: Mapping[str, tuple[str, ...]] = field(init=False, repr=False)
    _upstream: Mapping[str, tuple[str, ...]] = field(init=False, repr=False)
    _successors: dict[str | None, tuple[str, ...]] = field(init=False, repr=False)
    _next_open: dict[str, tuple[tuple[str, ...], bool]] = field(init=False, repr=False)
    _tasks_after: dict[str | None, tuple[str, ...]] = field(init=False, repr=False)
    _revisitable: list[frozenset[str]] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        downstream = {name: state.targets for name, state in self.states.items()}
        upstream: dict[str, list[str]] = {name: [] for name in self.states}
        for name, targets in downstream.items():
            for target in targets:
                upstream[target].append(name)
        derived = {
            "states": MappingProxyType(dict(self.states)),
            "terminal_states": tuple(sorted(name for name, state in self.states.items() if state.may_end)),
            "places": {},
            "_downstream": downstream,
            "_upstream": {name: tuple(sources) for name, sources in upstream.items()},
            "_successors": {},
            "_next_open": {},
            "_tasks_after": {},
            "_revisitable": [],
        }
        for attribute, value in derived.items():
            object.__setattr__(self, attribute, value)

    @property
    def starts(self) -> tuple[str, ...]:
        """The states in which control may begin: of a workflow one."""
        return (self.start_at,)

    def upstream(self, name: str) -> tuple[str, ...]:
        """List the states that lead directly to this one."""
        return self._upstream[name]

    def downstream(self, name: str) -> tuple[str, ...]:
        """List the states that may directly follow this one, including targets of Catch."""
        return self._downstream[name]

    def task_successors(self, name: str | None) -> tuple[str, ...]:
        """List the paths of the Tasks that may come next, with only silent states between; None: the first ones.

        For a Parallel these are the first Tasks of its branches. A Map has none until its items are known.
        """
        known = self._successors.get(name)
        if known is None:
            # Two threads may both compute it; the results are equal, so no lock is needed.
            known = self._successors[name] = tuple(self._nearest_tasks(name))
        return known

    def next_open(self, name: str) -> tuple[tuple[str, ...], bool]:
        """List the states that may wait next, with silent states between, and whether the end may come first.

        The list includes the state itself where a loop of silent states leads back to it.
        """
        known = self._next_open.get(name)
        if known is None:
            known = self._next_open[name] = self._find_next_open(name)
        return known

    def tasks_after(self, name: str | None) -> tuple[str, ...]:
        """List the Tasks that may be entered next, by name, also in scopes opened on the way; None: at the start."""
        known = self._tasks_after.get(name)
        if known is None:
            known = self._tasks_after[name] = tuple(dict.fromkeys(self._find_tasks_after(name)))
        return known

    @property
    def revisitable(self) -> frozenset[str]:
        """States that may be entered more than once: those left when states without predecessors are removed."""
        if not self._revisitable:
            self._revisitable.append(self._find_revisitable())
        return self._revisitable[0]

    def needs_input(self, name: str) -> bool:
        """Return True if completing this Task needs its raw input: its output is not simply its result."""
        state = self.states[name]
        if not state.is_leased:
            return False
        path = state.flow.result_path
        replaced = path is not None and path.is_root and state.flow.output is None
        return not replaced or bool(state.catchers or state.retriers) or state.flow.assign is not None

    def _find_next_open(self, name: str) -> tuple[tuple[str, ...], bool]:
        pending, targets, ends = deque([name]), [], False
        seen: set[str] = set()
        while pending:
            current = pending.popleft()
            ends = ends or self.states[current].may_end
            for target in self._downstream[current]:
                if target in seen:
                    continue
                seen.add(target)
                if self.states[target].stays:
                    targets.append(target)
                else:
                    pending.append(target)
        return tuple(targets), ends

    def _find_tasks_after(self, name: str | None) -> Iterator[str]:
        waits = name is None and self.states[self.start_at].stays
        entered = (self.start_at,) if waits else self.next_open(self.start_at if name is None else name)[0]
        for following in entered:
            state = self.states[following]
            if state.is_leased:
                yield following
            for nested in state.machines:
                yield from nested.tasks_after(None)

    def _find_revisitable(self) -> frozenset[str]:
        waiting = {name: len(sources) for name, sources in self._upstream.items()}
        peeled = [name for name, count in waiting.items() if count == 0]
        for name in peeled:
            for follower in self._downstream[name]:
                waiting[follower] -= 1
                if waiting[follower] == 0:
                    peeled.append(follower)
        return frozenset(self.states) - frozenset(peeled)

    def _nearest_tasks(self, name: str | None) -> Iterator[str]:
        first = (self.start_at,) if name is None else self._downstream[name]
        pending, seen = deque(first), set(first)
        while pending:
            current = pending.popleft()
            state = self.states[current]
            if state.is_leased:
                yield join("", current)
            elif isinstance(state, Parallel):
                yield from _first_inside(join("", current), state)
            elif not isinstance(state, Map):
                fresh = [target for target in self._downstream[current] if target not in seen]
                seen.update(fresh)
                pending.extend(fresh)


@record(frozen=True, slots=True, kw_only=True)
class Place:
    """A state of a machine, in the scope where it runs."""

    machine: Machine
    state: State
    name: str
    path: str
    scope: str

    @property
    def parents(self) -> tuple[str, ...]:
        """The paths of the Parallel and Map states around it, outermost first."""
        return ancestors(self.path)


def every_state(machine: Machine) -> Iterator[tuple[str, State]]:
    """List the states of a machine and of all machines inside it, by name; names are unique across them."""
    for name, state in machine.states.items():
        yield name, state
        for nested in state.machines:
            yield from every_state(nested)


def warnings_of(machine: Machine) -> tuple[Problem, ...]:
    """List the warnings about a machine; a machine with warnings can still run."""
    return machine.warnings


def _first_inside(path: str, state: Parallel) -> Iterator[str]:
    """List the first Tasks of the branches."""
    for index, branch in enumerate(state.branches):
        for inner in branch.task_successors(None):
            yield inside(open_scope(path, index), inner)
