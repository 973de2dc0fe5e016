"""The units and groups of a run that grows, as they were added: facts that never change, and what follows from them.

A run's units are appended to a list of their own (`units`), so that adding one costs the same however many there are.
Where a unit stands (status, lease, what it waits for) is in its state document, as for every state. Data only;
`growing` decides what may be added.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from operator import add
from typing import Final, Literal, TypeAlias

from dcf.core.documents.parts import Part, every_name
from dcf.values.digest import content_fingerprint
from dcf.values.json_text import Json
from dcf.values.record_json.codec import RecordCodec
from dcf.values.records import record, replace

UnitKind: TypeAlias = Literal["unit", "group"]

MOST_UNITS: Final = 10_000
"""Most units and groups of a run."""

MOST_GROUPS: Final = 500
MOST_AT_ONCE: Final = 200
"""Most units of one call."""

MOST_DEPENDENCIES: Final = 100
MOST_FOLLOWERS: Final = 1_000
"""Most units that may wait for one unit or group: the transaction that completes it notifies all of them."""

MOST_BYTES: Final = 16 * 1024 * 1024
"""Most bytes of the units of a run, without their inputs."""

BRIEF_FIELDS: Final = {
    "instructions": "Instructions",
    "output_schema": "OutputSchema",
    "errors": "Errors",
    "skills": "Skills",
    "gates": "Gates",
}
"""Fields of a unit that are those of a Task, with the Task's names."""


@record(frozen=True, slots=True, kw_only=True)
class Unit:
    """A unit of work, or a group of them, as it was added.

    It waits for those in `depends_on`, and for what its group waits for. `parent` is the unit that cannot be completed
    while this one is open. `told` has the Task fields for its worker, by their names in a Task, and `content` is the
    fingerprint of all of what was given: the same name again must be the same content.
    """

    name: str
    kind: UnitKind = "unit"
    group: str | None = None
    parent: str | None = None
    depends_on: tuple[str, ...] = ()
    title: str | None = None
    areas: tuple[str, ...] = ()
    told: Mapping[str, Json] = field(default_factory=dict)
    content: str = ""

    @property
    def is_group(self) -> bool:
        """True for a group."""
        return self.kind == "group"


def found_by(unit: Unit) -> dict[str, Json]:
    """Return the fields of a unit in its state document by which work is found."""
    facets: dict[str, Json] = {
        "title": unit.title,
        "skills": unit.told.get(BRIEF_FIELDS["skills"]),
        "areas": list(unit.areas),
    }
    return {name: value for name, value in facets.items() if value}


@record(frozen=True, slots=True, kw_only=True)
class NewUnit:
    """A unit to be added: what stays (`unit`), its input, who may take it, and whether the caller takes it at once.

    The agents of a group take nothing: their keys may add units to the run, as those of agents that have one. A group
    that is there gets those that it lacks.
    """

    unit: Unit
    given: Json = None
    agents: tuple[str, ...] = ()
    claim: bool = False

    def identified(self) -> "NewUnit":
        """Return it with the fingerprint of its content."""
        agents = () if self.unit.is_group else self.agents
        written = {**write_unit(self.unit), "input": self.given, "agents": list(agents)}
        written.pop("content", None)
        return replace(self, unit=replace(self.unit, content=content_fingerprint(written)))


@record(frozen=True, slots=True, kw_only=True)
class Units:
    """All units of a run, by name in the order in which they were added, and who waits for whom.

    `waits` are the dependencies of each, those of its groups included; `followers` the other way round. `members` are
    those directly in a group, `children` those of a parent. Immutable: `plus` returns another one.
    """

    by_name: Mapping[str, Unit] = field(default_factory=dict)
    waits: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    followers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    members: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    children: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def plus(self, more: Iterable[Unit]) -> "Units":
        """Return the units with these added; a group comes before its members."""
        by_name, waits = dict(self.by_name), dict(self.waits)
        followers, members, children = dict(self.followers), dict(self.members), dict(self.children)
        for unit in more:
            if unit.name in by_name:
                continue
            by_name[unit.name] = unit
            inherited = () if unit.group is None else waits.get(unit.group, ())
            waits[unit.name] = tuple(dict.fromkeys((*unit.depends_on, *inherited)))
            for name in waits[unit.name]:
                followers[name] = (*followers.get(name, ()), unit.name)
            if unit.group is not None:
                members[unit.group] = (*members.get(unit.group, ()), unit.name)
            if unit.parent is not None:
                children[unit.parent] = (*children.get(unit.parent, ()), unit.name)
        return Units(by_name=by_name, waits=waits, followers=followers, members=members, children=children)

    def followers_of(self, name: str) -> tuple[str, ...]:
        """Return those that wait for this one."""
        return self.followers.get(name, ())

    def around(self, name: str) -> Iterator[str]:
        """Yield the groups around a unit, the nearest first."""
        unit = self.by_name.get(name)
        while unit is not None and unit.group is not None:
            yield unit.group
            unit = self.by_name.get(unit.group)

    def inside(self, group: str) -> Iterator[str]:
        """Yield everything in a group, members of groups in it included."""
        for name in self.members.get(group, ()):
            yield name
            yield from self.inside(name)


NO_UNITS: Final = Units()


_UNIT: Final = RecordCodec(Unit, left_out="defaults")

write_unit: Final = _UNIT.write
"""Write a unit for the store; what it does not have is left out."""

read_unit: Final = _UNIT.read
"""Read what `write_unit` wrote."""


def shown_unit(unit: Unit, *, whole: bool = False) -> dict[str, Json]:
    """Return a unit for views, without its state; `whole`: also the assignment of its worker."""
    written = write_unit(unit)
    shown: dict[str, Json] = {
        name: written[name] for name in ("kind", "title", "group", "parent", "depends_on", "areas") if name in written
    }
    brief = {name: unit.told[field] for name, field in BRIEF_FIELDS.items() if field in unit.told}
    return {**shown, **brief} if whole else shown


UNITS: Final = Part[tuple[str, ...], tuple[Unit, ...], tuple[Unit, ...]](
    name="units", both=every_name, after=add, together=add
)
"""Units that are added to a run. Its definition has those that were added before (`unit_cache`)."""
