"""A state machine as a typed, compiled tree, and the questions about its graph.

Whatever can be worked out once is worked out here, because every claim of a task asks for its neighbours.
Nothing here looks at data; `engine` does. A machine is never changed after it was made.
"""

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TypeAlias

from dcf.asl.choice import Rule
from dcf.asl.paths import Path
from dcf.asl.templates import Template
from dcf.core.json_text import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """Work for an agent. A `None` path is the null of the definition; `next` None is End."""

    input_path: Path | None
    parameters: Template | None
    result_selector: Template | None
    result_path: Path | None
    output_path: Path | None
    next: str | None
    resource: str | None
    agent_binding: Mapping[str, Json] | None

    @property
    def targets(self) -> tuple[str, ...]:
        """The states that may follow."""
        return () if self.next is None else (self.next,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pass:
    """Reshapes data. `has_result` tells a literal null Result from none at all."""

    input_path: Path | None
    parameters: Template | None
    result: Json
    has_result: bool
    result_path: Path | None
    output_path: Path | None
    next: str | None

    @property
    def targets(self) -> tuple[str, ...]:
        """The states that may follow."""
        return () if self.next is None else (self.next,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    """A Choice rule and where it leads."""

    rule: Rule
    next: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Picks the way on: the first branch whose rule matches."""

    input_path: Path | None
    output_path: Path | None
    branches: tuple[Branch, ...]
    default: str | None

    @property
    def targets(self) -> tuple[str, ...]:
        """The states that may follow."""
        named = [branch.next for branch in self.branches]
        return tuple(dict.fromkeys(named if self.default is None else [*named, self.default]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Succeed:
    """Ends the run well."""

    input_path: Path | None
    output_path: Path | None

    targets = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Fail:
    """Ends the run badly; the words are literal or read from the input."""

    error: str | Path | None
    cause: str | Path | None

    targets = ()


State: TypeAlias = Task | Pass | Choice | Succeed | Fail


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Machine:
    """The states by name, in document order, and the edges between them.

    Questions about a name that is no state raise KeyError.
    """

    start_at: str
    states: Mapping[str, State]
    terminal_states: tuple[str, ...] = field(init=False, repr=False)
    _downstream: Mapping[str, tuple[str, ...]] = field(init=False, repr=False)
    _upstream: Mapping[str, tuple[str, ...]] = field(init=False, repr=False)
    _successors: dict[str | None, tuple[str, ...]] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        downstream = {name: state.targets for name, state in self.states.items()}
        upstream: dict[str, list[str]] = {name: [] for name in self.states}
        for name, targets in downstream.items():
            for target in targets:
                upstream[target].append(name)
        derived = {
            "states": MappingProxyType(dict(self.states)),
            "terminal_states": tuple(sorted(name for name, targets in downstream.items() if not targets)),
            "_downstream": downstream,
            "_upstream": {name: tuple(sources) for name, sources in upstream.items()},
            "_successors": {},
        }
        for attribute, value in derived.items():
            object.__setattr__(self, attribute, value)

    def upstream(self, name: str) -> tuple[str, ...]:
        """List the states that lead directly to this one."""
        return self._upstream[name]

    def downstream(self, name: str) -> tuple[str, ...]:
        """List the states that may directly follow this one."""
        return self._downstream[name]

    def task_successors(self, name: str | None) -> tuple[str, ...]:
        """List the Tasks that may come next, only silent states between; None asks for the first ones."""
        known = self._successors.get(name)
        if known is None:
            # Two threads may both work it out; they find the same, so no lock is needed.
            known = self._successors[name] = tuple(self._nearest_tasks(name))
        return known

    def needs_input(self, name: str) -> bool:
        """Tell whether completing this Task needs its raw input: its result does not simply replace it."""
        state = self.states[name]
        return isinstance(state, Task) and not (state.result_path is not None and state.result_path.is_root)

    def _nearest_tasks(self, name: str | None) -> Iterator[str]:
        first = (self.start_at,) if name is None else self._downstream[name]
        pending, seen = deque(first), set(first)
        while pending:
            current = pending.popleft()
            if isinstance(self.states[current], Task):
                yield current
                continue
            fresh = [target for target in self._downstream[current] if target not in seen]
            seen.update(fresh)
            pending.extend(fresh)
