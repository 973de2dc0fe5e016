"""The definition of an open run: a machine without a graph of its own, made of the units that the run has now.

Its document says only that the run is open. The units answer all questions of places, briefs, views and pictures, so
that every reader of a definition reads a grown one alike. The next step of control is decided in
`progress`. Pure.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar, Final

from dcf.asl.flow import Flow
from dcf.asl.machine import Machine, State, Task
from dcf.asl.resources import read_resource
from dcf.asl.syntax.briefs import read_brief
from dcf.asl.syntax.fields import DefinitionFields, Findings
from dcf.asl.tasks.extensions import LANGUAGE
from dcf.asl.tasks.gates import GATES, Gate
from dcf.core.definitions.model import Definition
from dcf.errors import Problem
from dcf.features.growing.model import NO_UNITS, Unit, Units
from dcf.values.digest import definition_sha256
from dcf.values.json_text import Json
from dcf.values.records import record

MARK: Final = "grown"
"""The field of a document that says that its run grows."""

SCHEMA_VERSION: Final = "grown-1"

_FLOW: Final = Flow()


class _Followed:
    """A part of a run that `followers` wait for."""

    __slots__ = ()
    followers: tuple[str, ...]

    @property
    def targets(self) -> tuple[str, ...]:
        """The units that wait for it."""
        return self.followers

    @property
    def may_end(self) -> bool:
        """True if nothing waits for it."""
        return not self.followers


@record(frozen=True, slots=True, kw_only=True)
class UnitTask(_Followed, Task):
    """A unit as a Task; `followers` wait for it."""

    followers: tuple[str, ...] = ()

    @classmethod
    def kind(cls) -> str:
        """Return what it is: a Task like any other."""
        return "Task"


@record(frozen=True, slots=True, kw_only=True)
class UnitGroup(_Followed, State):
    """A group of units: it ends when it is sealed and all of them are done."""

    followers: tuple[str, ...] = ()

    stays: ClassVar[bool] = True

    @classmethod
    def kind(cls) -> str:
        """Return what it is."""
        return "Group"


class UnitStates(Mapping[str, State]):
    """The units as states, each made when it is first asked for: a run may have thousands."""

    def __init__(self, units: Units) -> None:
        self._units = units
        self._made: dict[str, State] = {}

    def __getitem__(self, name: str) -> State:
        made = self._made.get(name)
        if made is None:
            made = self._made[name] = _state_of(self._units.by_name[name], self._units.followers_of(name))
        return made

    def __iter__(self) -> Iterator[str]:
        return iter(self._units.by_name)

    def __len__(self) -> int:
        return len(self._units.by_name)

    def __contains__(self, name: object) -> bool:
        return name in self._units.by_name


class GrownMachine(Machine):
    """A machine whose states are units. Nothing of it is worked out before it is asked for."""

    units: Units

    def __init__(self, units: Units) -> None:
        facts: dict[str, Any] = {
            "units": units,
            "start_at": "",
            "states": UnitStates(units),
            "timeout_s": None,
            "warnings": (),
            "places": {},
        }
        for attribute, value in facts.items():
            object.__setattr__(self, attribute, value)

    @property
    def starts(self) -> tuple[str, ...]:
        """The units that wait for nothing."""
        return tuple(name for name in self.units.by_name if not self.units.waits[name])

    @property
    def terminal_states(self) -> tuple[str, ...]:
        """The units that nothing waits for."""
        return tuple(sorted(name for name in self.units.by_name if not self.units.followers_of(name)))

    @property
    def revisitable(self) -> frozenset[str]:
        """None: a unit is entered again by hand only, with the input that it has."""
        return frozenset()

    def upstream(self, name: str) -> tuple[str, ...]:
        """List what a unit waits for."""
        return self.units.waits[name]

    def downstream(self, name: str) -> tuple[str, ...]:
        """List what waits for a unit."""
        return self.units.followers_of(name)

    def task_successors(self, name: str | None) -> tuple[str, ...]:
        """List the units that may come next; None: those that wait for nothing."""
        if name is None:
            return tuple(name for name in self.units.by_name if not self.units.waits[name] and self._is_task(name))
        return tuple(name for name in self.downstream(name) if self._is_task(name))

    def next_open(self, name: str) -> tuple[tuple[str, ...], bool]:
        """List what may wait next, and whether nothing does."""
        return self.downstream(name), not self.downstream(name)

    def tasks_after(self, name: str | None) -> tuple[str, ...]:
        """List the units that may be entered next."""
        return self.task_successors(name)

    def needs_input(self, name: str) -> bool:  # noqa: ARG002 - the signature is that of every machine
        """Return False: the output of a unit is its result."""
        return False

    def _is_task(self, name: str) -> bool:
        return not self.units.by_name[name].is_group


def grown_document(name: str) -> dict[str, Json]:
    """Return the document of a run that grows."""
    return {"workflow_name": name, "workflow_schema_version": SCHEMA_VERSION, MARK: True}


def is_grown(document: Json) -> bool:
    """Return True for the document of a run that grows."""
    return isinstance(document, dict) and document.get(MARK) is True


def grown_definition(name: str, units: Units = NO_UNITS) -> Definition:
    """Return the definition of a run that grows, with the units that it has."""
    document = grown_document(name)
    machine = GrownMachine(units)
    return Definition(
        document=document,
        sha256=definition_sha256(document),
        workflow_id=None,
        name=name,
        schema_version=SCHEMA_VERSION,
        version=None,
        machine=machine,
        skills={unit.name: _names(unit, "Skills") for unit in units.by_name.values() if not unit.is_group},
        stateful=False,
        revisits=False,
        output_schemas=dict(_schemas(units)),
        errors={unit.name: _names(unit, "Errors") for unit in units.by_name.values() if "Errors" in unit.told},
        gates=dict(_gates(units)),
        unread={} if LANGUAGE.gates_of_run is not None else {unit.name: (GATES,) for unit in _gated(units)},
        units=units,
    )


def units_of(definition: Definition) -> Units | None:
    """Return the units of a run that grows; None for the definition of a workflow."""
    units = definition.units
    assert units is None or isinstance(units, Units)
    return units


def problems_of(brief: Mapping[str, Json], pointer: str, owner: str) -> list[Problem]:
    """Return what is wrong with what a unit tells its worker; `pointer` is where it stands."""
    findings = Findings()
    read_brief(_fields(brief, pointer, owner, findings), read_resource(None))
    return findings.problems


def following_sha256(sha256: str, units: Iterable[Unit]) -> str:
    """Return the hash of a definition to which these units were added."""
    return definition_sha256([sha256, *([unit.name, unit.content] for unit in units)])


def _state_of(unit: Unit, followers: tuple[str, ...]) -> State:
    if unit.is_group:
        return UnitGroup(flow=_FLOW, followers=followers)
    return UnitTask(
        flow=_FLOW,
        resource=None,
        agent_binding=None,
        credentials=None,
        timeout=None,
        heartbeat=None,
        brief=read_brief(_fields(unit.told, "", unit.name, Findings()), read_resource(None)),
        followers=followers,
    )


def _fields(brief: Mapping[str, Json], pointer: str, owner: str, findings: Findings) -> DefinitionFields:
    return DefinitionFields(document=dict(brief), pointer=pointer, owner=owner, findings=findings)


def _schemas(units: Units) -> Iterator[tuple[str, Mapping[str, Json] | bool]]:
    for unit in units.by_name.values():
        schema = unit.told.get("OutputSchema")
        if isinstance(schema, dict | bool):
            yield unit.name, schema


def _gated(units: Units) -> list[Unit]:
    return [unit for unit in units.by_name.values() if GATES in unit.told]


def _gates(units: Units) -> Iterator[tuple[str, tuple[Gate, ...]]]:
    read = LANGUAGE.gates_of_run
    return iter(()) if read is None else ((unit.name, read(unit.told[GATES])) for unit in _gated(units))


def _names(unit: Unit, field: str) -> tuple[str, ...]:
    names = unit.told.get(field)
    return tuple(map(str, names)) if isinstance(names, list) else ()
