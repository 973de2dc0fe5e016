"""A parsed workflow document: its state machine, its name, and the static facts that a run's meta document shows.

Knows nothing of runs: one definition may be run many times.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import field, replace
from typing import Any, Final, Protocol, TypeGuard

from dcf.asl.briefs import TaskBrief
from dcf.asl.machine import Machine, Place, State, Task, Workable, every_state
from dcf.asl.places import resolve
from dcf.asl.state_paths import join, name_of
from dcf.asl.syntax.parsing import parse_machine
from dcf.asl.tasks.gates import Gate
from dcf.core.definitions.bindings import bound_agents
from dcf.core.definitions.forms import DEFAULT_NAME, as_workflow, asl_of, is_bare
from dcf.core.definitions.sources import SOURCE
from dcf.core.documents.decision import ReadSet
from dcf.errors import InvalidDefinition, Problem
from dcf.values.digest import definition_sha256
from dcf.values.json_text import Json
from dcf.values.names import escaped, hidden_in
from dcf.values.records import record

_STATEFUL = ("'Assign'", "$$", "{%")
"""Text that occurs in every document whose states read variables or the context object."""

_NAMES = ("workflow_name", "workflowName", "workflow_schema_version", "version")

_MOST_KEPT: Final = 2048

_NO_OBJECT: Final = Problem(
    path="",
    code="not_an_object",
    message="The workflow document is not a JSON object.",
    hint="Send an object; `describe_workflow_language` shows examples.",
)


class GrownUnit(Protocol):
    """A unit of an open run, as far as the engine knows it."""

    @property
    def group(self) -> str | None:
        """The group that it is in."""


class GrownUnits(Protocol):
    """The units of an open run, as far as the engine knows them."""

    @property
    def by_name(self) -> Mapping[str, GrownUnit]:
        """All of them, in the order in which they were added."""

    def followers_of(self, name: str) -> tuple[str, ...]:
        """Return the units that wait for this one."""


@record(frozen=True, slots=True, kw_only=True)
class Definition:
    """A workflow that can be run, as parsed from its document.

    `version` is that of its author, if any. `skills` maps each Task, nested ones included, to its skill ids. `stateful`
    is True if a state may read variables or the context object, `revisits` if a state may be entered twice.
    `takes_signals` and `starts_children` say whether a state does so. `sha256` leaves out the workflow id. `bound` has
    the agents that the workflow itself assigns. `output_schemas` and `errors` are by the names of their Tasks.
    `gates` are those of Tasks by name, `run_gates` those of every Task of a run that was started with some.
    `areas` are of the Tasks that name some: which files they are about. `unread` is what Tasks have, by their names,
    that no capability of this process reads (`core/definitions/unread.py`).
    `units` are those of a run that grows (`grown`); a workflow has none. `needed` is what `needs` worked out for writes
    to its states; it is thrown away with the definition, or when there is too much of it. `steps` are what
    completions go through (`core/extensions.py: steps_of`), `end_reads` what capabilities read before a state ends
    (`extensions.py: parts_to_end`); None until the first one. `is_gated`: a Task has a gate.
    """

    document: Mapping[str, Json]
    sha256: str
    workflow_id: str | None
    name: str
    schema_version: str
    version: str | None
    machine: Machine
    skills: Mapping[str, tuple[str, ...]]
    stateful: bool
    revisits: bool
    takes_signals: bool = False
    starts_children: bool = False
    bound: Mapping[str, str] = field(default_factory=dict)
    output_schemas: Mapping[str, Mapping[str, Json] | bool] = field(default_factory=dict)
    errors: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    gates: Mapping[str, tuple[Gate, ...]] = field(default_factory=dict)
    run_gates: tuple[Gate, ...] = ()
    areas: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    unread: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    units: GrownUnits | None = None
    needed: dict[tuple[str, bool, bool, int], ReadSet] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    steps: tuple[Callable[..., Any], ...] | None = field(default=None, init=False, repr=False, compare=False)
    end_reads: tuple[Callable[..., Any], ...] | None = field(default=None, init=False, repr=False, compare=False)
    is_gated: bool = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "is_gated", bool(self.gates or self.run_gates))

    @property
    def identity(self) -> dict[str, Json]:
        """The document without the id and the places in source code, which are of a run: the hash is taken over it."""
        return _identity(self.document)

    @property
    def paths(self) -> tuple[str, ...]:
        """Paths of the top-level states, without those inside a Parallel or Map."""
        return tuple(join("", name) for name in self.machine.states)

    @property
    def deps(self) -> dict[str, Json]:
        """Return for each state the states that lead to it and those that it leads to."""
        machine = self.machine
        return {
            name: {"upstream": list(machine.upstream(name)), "downstream": list(machine.downstream(name))}
            for name in machine.states
        }

    def gates_of(self, path: str) -> tuple[Gate, ...]:
        """Return the gates of a Task: its own, then those of the run that it has none of the same name for."""
        name = name_of(path)
        own = self.gates.get(name, ())
        if not self.run_gates or name not in self.skills:  # only Tasks, which have an entry in skills, deliver outputs
            return own
        return own + tuple(gate for gate in self.run_gates if gate.name not in {own_gate.name for own_gate in own})

    def needs_entry(self, here: Place) -> bool:
        """Return True if leaving this Task reads what was recorded when it was entered (its `Entry`)."""
        return self.stateful or here.machine.needs_input(here.name)

    def keep_needed(self, case: tuple[str, bool, bool, int], reads: ReadSet) -> ReadSet:
        """Keep what a kind of write to a state reads."""
        if len(self.needed) >= _MOST_KEPT:  # paths inside a Map are as many as its items
            self.needed.clear()
        self.needed[case] = reads
        return reads

    def may_be_entered_again(self, here: Place) -> bool:
        """Return True if a state, or a Parallel or Map around it, may be entered more than once in a run."""
        around = (resolve(self.machine, owner) for owner in here.parents)
        return any(
            place.name in place.machine.revisitable or (place is not here and _is_retried(place.state))
            for place in (here, *around)
        )


def read_definition(document: Json) -> Definition:
    """Parse a Letta-ASL (`asl`) or linear (`steps`) document; raise InvalidDefinition with every problem found."""
    if not isinstance(document, dict):
        raise InvalidDefinition([_NO_OBJECT])
    asl = asl_of(document)
    machine, problems = parse_machine(asl, "/asl")
    problems = (*problems, *check_names(document))
    if machine is None or problems:
        raise InvalidDefinition(problems)
    worked = {name: state for name, state in every_state(machine) if _is_worked(state)}
    briefs = list(_briefs(machine))
    return Definition(
        document=document,
        sha256=definition_sha256(_identity(document)),
        workflow_id=_text(document, "workflow_id"),
        name=_text(document, "workflow_name") or _text(document, "workflowName") or DEFAULT_NAME,
        schema_version=_text(document, "workflow_schema_version") or "unknown",
        version=_text(document, "version"),
        machine=machine,
        skills={name: _skills(state) for name, state in worked.items()},
        stateful=_is_stateful(asl, machine),
        revisits=_revisits(machine),
        takes_signals=_has(machine, "signal"),
        starts_children=_has(machine, "child"),
        bound=bound_agents(document, ((name, task.agent_binding or {}) for name, task in worked.items())),
        output_schemas={name: brief.schema for name, brief in briefs if brief.schema is not None},
        gates={name: brief.gates for name, brief in briefs if brief.gates},
        areas={name: brief.areas for name, brief in briefs if brief.areas},
        errors={name: brief.errors for name, brief in briefs if brief.errors is not None},
    )


def read_given(document: Json, name: str = DEFAULT_NAME) -> Definition:
    """Parse a workflow in any form that callers give it; problems of a bare machine have its own paths."""
    try:
        return read_definition(as_workflow(document, name))
    except InvalidDefinition as error:
        if not is_bare(document):
            raise
        own = [replace(problem, path=problem.path.removeprefix("/asl")) for problem in error.problems]
        raise InvalidDefinition(own) from None


def gives_tokens(definition: Definition) -> bool:
    """Return True if any Task has a task token."""
    states = every_state(definition.machine)
    return any(isinstance(state, Task) and state.served_by.gets_token for _, state in states)


def _is_worked(state: State) -> TypeGuard[Task]:
    """Return True for a Task that agents work on, and not only something outside."""
    return isinstance(state, Task) and state.served_by.is_worked


def _has(machine: Machine, kind: str) -> bool:
    """Return True if a Task of the machine, or inside it, is ended by this kind of thing."""
    return any(isinstance(state, Task) and state.served_by.kind == kind for _, state in every_state(machine))


def reference_of(definition: Definition) -> str:
    """Return a reference that always means this very document: name and version, or its hash."""
    if definition.version is None or "@" in definition.version:
        return definition.sha256
    return f"{definition.name}@{definition.version}"


def check_names(document: Mapping[str, Json]) -> tuple[Problem, ...]:
    """Return the problems of the names of a workflow itself; names of states are checked with the machine."""
    result = {name: hidden_in(_text(document, name) or "") for name in _NAMES}
    return tuple(
        Problem(
            path=f"/{name}",
            code="invalid_name",
            message=f"{name} '{escaped(document[name])}' has an invisible character ({hidden}).",
            hint="Rename the workflow.",
        )
        for name, hidden in result.items()
        if hidden is not None
    )


def _identity(document: Mapping[str, Json]) -> dict[str, Json]:
    """Leave out the workflow id, as many runs have the same definition, and where in a file the states were written."""
    return {name: value for name, value in document.items() if name not in {"workflow_id", SOURCE}}


def _is_retried(state: State) -> bool:
    return isinstance(state, Workable) and bool(state.retriers)


def _revisits(machine: Machine) -> bool:
    """Return True if a state may be entered more than once: in a loop, or in a scope that is retried."""
    if machine.revisitable:
        return True
    scopes = ((state, state.machines) for state in machine.states.values())
    return any(_is_retried(state) or any(map(_revisits, nested)) for state, nested in scopes if nested)


def _is_stateful(asl: Json, machine: Machine) -> bool:
    """Look for marks in the text of the machine; those in Instructions are read when they are shown, not by a run."""
    text, texts = str(asl), [repr(brief.instructions.text) for _, brief in _briefs(machine) if brief.instructions]
    return any(mark in text and text.count(mark) > sum(literal.count(mark) for literal in texts) for mark in _STATEFUL)


def _briefs(machine: Machine) -> Iterator[tuple[str, TaskBrief]]:
    """Yield what each Task that says something tells its worker."""
    for name, state in every_state(machine):
        if isinstance(state, Task) and state.brief is not None:
            yield name, state.brief


def _skills(task: Task) -> tuple[str, ...]:
    """Return the skills of a Task and of its binding, each once."""
    skills = (task.agent_binding or {}).get("skills")
    bound = [skill for skill in skills if isinstance(skill, str)] if isinstance(skills, list) else []
    return tuple(dict.fromkeys((*bound, *(() if task.brief is None else task.brief.skills))))


def _text(document: Mapping[str, Json], name: str) -> str | None:
    value = document.get(name)
    return value if isinstance(value, str) and value else None
