"""A state machine as a typed, compiled tree, and the questions about its graph.

Whatever can be worked out once is worked out here, because every claim of a task asks for its neighbours.
Nothing here looks at data; `engine` does. A machine is never changed after it was made.

What others must know of a state's type, its record tells: a new type is a record here, a row in `state_syntax` and,
where nobody works on it, a case in `silent`.
"""

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import ClassVar

from dcf.asl.flow import Flow
from dcf.asl.state_parts import Batcher, Branch, Catcher, ItemReader, Retrier, Writer
from dcf.asl.state_paths import inside, join, open_scope
from dcf.asl.templates import Template
from dcf.errors import Problem
from dcf.values.json_text import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """What states of all types tell of themselves; one that tells no more is executed silently and ends its machine.

    `rests`: control stays in it until a worker or the clock goes on, so no chain of silent states leads through it.
    """

    flow: Flow

    rests: ClassVar[bool] = False

    @property
    def kind(self) -> str:
        """Its Type, as written."""
        return type(self).__name__

    @property
    def targets(self) -> tuple[str, ...]:
        """The states that may follow."""
        return ()

    @property
    def machines(self) -> "tuple[Machine, ...]":
        """The machines inside it: the branches of a Parallel, what a Map does with each item."""
        return ()

    @property
    def is_end(self) -> bool:
        """Whether the machine may end with it."""
        return not self.targets

    @property
    def waits(self) -> bool:
        """Whether it may be open between two transactions by its nature, for itself or for what is inside it."""
        return self.rests or bool(self.machines)


@dataclass(frozen=True, slots=True, kw_only=True)
class Onward(State):
    """What all states share that lead to one other, or end their machine: `next` None is End."""

    next: str | None

    @property
    def targets(self) -> tuple[str, ...]:
        """The states that may follow."""
        return () if self.next is None else (self.next,)

    @property
    def is_end(self) -> bool:
        """Whether the machine may end with it."""
        return self.next is None


@dataclass(frozen=True, slots=True, kw_only=True)
class Workable(Onward):
    """What Task, Parallel and Map share: work that may fail, be tried again or be caught."""

    retriers: tuple[Retrier, ...]
    catchers: tuple[Catcher, ...]

    @property
    def targets(self) -> tuple[str, ...]:
        """The states that may follow, those of Catch included."""
        caught = [catcher.next for catcher in self.catchers]
        return tuple(dict.fromkeys(caught if self.next is None else [self.next, *caught]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Task(Workable):
    """Work for an agent. Timeouts are in seconds, literal or read when the state is entered."""

    resource: str | None
    agent_binding: Mapping[str, Json] | None
    credentials: Template | None
    timeout: Template | None
    heartbeat: Template | None

    rests: ClassVar[bool] = True

    @property
    def gets_token(self) -> bool:
        """Whether the context object has a token to answer with: not for services that answer by themselves."""
        return self.resource is None or self.resource.endswith(".waitForTaskToken")


@dataclass(frozen=True, slots=True, kw_only=True)
class Parallel(Workable):
    """Machines that run side by side on the same input."""

    branches: "tuple[Machine, ...]"

    @property
    def machines(self) -> "tuple[Machine, ...]":
        """One for each branch."""
        return self.branches


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

    @property
    def machines(self) -> "tuple[Machine, ...]":
        """The one for every item."""
        return (self.processor,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pass(Onward):
    """Reshapes data. `has_result` tells a literal null Result from none at all."""

    result: Json
    has_result: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait(Onward):
    """Lets time pass: `seconds` from its entry, or until `timestamp`. Exactly one of the two is there."""

    seconds: Template | None
    timestamp: Template | None
    field: str

    rests: ClassVar[bool] = True


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Succeed(State):
    """Ends the run, branch or iteration well."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fail(State):
    """Ends the run, branch or iteration badly; the words are literal or worked out."""

    error: Template | None
    cause: Template | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Machine:
    """The states by name, in document order, and the edges between them.

    `timeout_s` limits a whole run; `warnings` say what is doubtful in a machine that may run all the same. Questions
    about a name that is no state raise KeyError.
    """

    start_at: str
    states: Mapping[str, State]
    timeout_s: int | None = None
    warnings: tuple[Problem, ...] = ()
    terminal_states: tuple[str, ...] = field(init=False, repr=False)
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
            "terminal_states": tuple(sorted(name for name, state in self.states.items() if state.is_end)),
            "_downstream": downstream,
            "_upstream": {name: tuple(sources) for name, sources in upstream.items()},
            "_successors": {},
            "_next_open": {},
            "_tasks_after": {},
            "_revisitable": [],
        }
        for attribute, value in derived.items():
            object.__setattr__(self, attribute, value)

    def upstream(self, name: str) -> tuple[str, ...]:
        """List the states that lead directly to this one."""
        return self._upstream[name]

    def downstream(self, name: str) -> tuple[str, ...]:
        """List the states that may directly follow this one, those of Catch included."""
        return self._downstream[name]

    def task_successors(self, name: str | None) -> tuple[str, ...]:
        """List the Tasks that may come next, by path, only silent states between; None asks for the first ones.

        Of a Parallel these are the first Tasks of its branches; a Map has none until its items are known.
        """
        known = self._successors.get(name)
        if known is None:
            # Two threads may both work it out; they find the same, so no lock is needed.
            known = self._successors[name] = tuple(self._nearest_tasks(name))
        return known

    def next_open(self, name: str) -> tuple[tuple[str, ...], bool]:
        """List the states that may wait for something next, silent ones between, and whether the end may come first."""
        known = self._next_open.get(name)
        if known is None:
            known = self._next_open[name] = self._find_next_open(name)
        return known

    def tasks_after(self, name: str | None) -> tuple[str, ...]:
        """List the names of the Tasks that may be entered next, in scopes that are opened too; None: first of all."""
        known = self._tasks_after.get(name)
        if known is None:
            known = self._tasks_after[name] = tuple(dict.fromkeys(self._find_tasks_after(name)))
        return known

    @property
    def revisitable(self) -> frozenset[str]:
        """States that control may reach more than once: those left when states without a predecessor are peeled off."""
        if not self._revisitable:
            self._revisitable.append(self._find_revisitable())
        return self._revisitable[0]

    def needs_input(self, name: str) -> bool:
        """Tell whether completing this Task needs its raw input: its result does not simply replace it."""
        state = self.states[name]
        if not isinstance(state, Task):
            return False
        path = state.flow.result_path
        replaced = path is not None and path.is_root and state.flow.output is None
        return not replaced or bool(state.catchers or state.retriers) or state.flow.assign is not None

    def _find_next_open(self, name: str) -> tuple[tuple[str, ...], bool]:
        pending, found, ends = deque([name]), [], False
        seen = {name}
        while pending:
            current = pending.popleft()
            ends = ends or self.states[current].is_end
            for target in self._downstream[current]:
                if target in seen:
                    continue
                seen.add(target)
                if self.states[target].waits:
                    found.append(target)
                else:
                    pending.append(target)
        return tuple(found), ends

    def _find_tasks_after(self, name: str | None) -> Iterator[str]:
        waits = name is None and self.states[self.start_at].waits
        entered = (self.start_at,) if waits else self.next_open(self.start_at if name is None else name)[0]
        for following in entered:
            state = self.states[following]
            if isinstance(state, Task):
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
        pending = deque((self.start_at,) if name is None else self._downstream[name])
        seen = set(pending)
        while pending:
            current = pending.popleft()
            state = self.states[current]
            if isinstance(state, Task):
                yield join("", current)
            elif isinstance(state, Parallel):
                for index, branch in enumerate(state.branches):
                    scope = open_scope(join("", current), index)
                    yield from (inside(scope, path) for path in branch.task_successors(None))
            elif not isinstance(state, Map):
                fresh = [target for target in self._downstream[current] if target not in seen]
                seen.update(fresh)
                pending.extend(fresh)


def every_state(machine: Machine) -> Iterator[tuple[str, State]]:
    """List the states of a machine and of all machines in it, by name, which no two of them share."""
    for name, state in machine.states.items():
        yield name, state
        for nested in state.machines:
            yield from every_state(nested)
