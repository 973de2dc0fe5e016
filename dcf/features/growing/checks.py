"""Checks units before they are added: names, groups, parents, dependencies, circles, limits. Pure.

All faults are found in one pass and named with their place in the request, so that a caller corrects it once.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from dcf.core.documents.model import StateDoc
from dcf.errors import Problem
from dcf.features.growing import refusals
from dcf.features.growing.counts import Growth
from dcf.features.growing.model import (
    MOST_BYTES,
    MOST_FOLLOWERS,
    MOST_GROUPS,
    MOST_UNITS,
    NewUnit,
    Unit,
    Units,
    write_unit,
)
from dcf.features.growing.progress import WELL
from dcf.values.json_text import byte_length
from dcf.values.text_pieces import clip

_MOST_NAMED: Final = 5
"""Most units of a circle that a message names."""


def first_wrong(
    new_units: Sequence[NewUnit], units: Units, growth: Growth, docs: Mapping[str, StateDoc]
) -> list[Problem]:
    """Return what is wrong with these units; those that are there already with the same content are fine."""
    here = {unit.unit.name: unit.unit for unit in new_units}
    known = {**units.by_name, **here}
    problems = [*_of_names(new_units, units)]
    fresh = [(f"/units/{at}", unit.unit) for at, unit in enumerate(new_units) if unit.unit.name not in units.by_name]
    for path, unit in fresh:
        problems += _of_one(path, unit, known, growth, docs)
    return problems or [*_of_limits([unit for _, unit in fresh], units, growth)] or [*_of_circles(fresh, units)]


def in_order(new: Sequence[NewUnit], units: Units) -> list[NewUnit]:
    """Return the new units, groups before what is in them; what is in a circle of groups is left out."""
    left, known, ordered = list(new), set(units.by_name), list[NewUnit]()
    while left:
        later: list[NewUnit] = []
        for document in left:
            if document.unit.group is None or document.unit.group in known:
                ordered.append(document)
                known.add(document.unit.name)
            else:
                later.append(document)
        if len(later) == len(left):
            break
        left = later
    return ordered


def _of_names(new_units: Sequence[NewUnit], units: Units) -> Iterator[Problem]:
    seen: dict[str, str] = {name: unit.content for name, unit in units.by_name.items()}
    for at, new_unit in enumerate(new_units):
        if seen.setdefault(new_unit.unit.name, new_unit.unit.content) != new_unit.unit.content:
            yield refusals.DIFFERS.refuse(path=f"/units/{at}/name", name=new_unit.unit.name)


def _of_one(
    path: str, unit: Unit, known: Mapping[str, Unit], growth: Growth, docs: Mapping[str, StateDoc]
) -> Iterator[Problem]:
    for at, name in enumerate(unit.depends_on):
        if name not in known:
            yield refusals.UNKNOWN.refuse(
                path=f"{path}/depends_on/{at}", unit=unit.name, name=name, noun="the dependency"
            )
    if unit.group is not None and unit.group not in known:
        yield refusals.UNKNOWN.refuse(path=f"{path}/group", unit=unit.name, name=unit.group, noun="the group")
    elif unit.group is not None and not known[unit.group].is_group:
        yield refusals.NOT_OF_KIND.refuse(path=f"{path}/group", unit=unit.name, name=unit.group, kind="group")
    if growth.is_sealed(unit.group):
        where = "The run" if growth.run.sealed or unit.group is None else f"The group '{clip(unit.group)}'"
        yield refusals.SEALED_ALREADY.refuse(path=f"{path}/group", where=where, unit=unit.name)
    if unit.parent is not None:
        yield from _of_parent(path, unit, unit.parent, known, docs)


def _of_parent(
    path: str, unit: Unit, parent: str, known: Mapping[str, Unit], docs: Mapping[str, StateDoc]
) -> Iterator[Problem]:
    doc = docs.get(parent)
    if parent not in known:
        yield refusals.UNKNOWN.refuse(path=f"{path}/parent", unit=unit.name, name=parent, noun="the parent")
    elif known[parent].is_group:
        yield refusals.NOT_OF_KIND.refuse(path=f"{path}/parent", unit=unit.name, name=parent, kind="unit")
    elif doc is not None and doc.status in WELL:
        yield refusals.PARENT_ENDED.refuse(
            path=f"{path}/parent", unit=unit.name, parent=parent, status=doc.status.value
        )


def _of_limits(new: Sequence[Unit], units: Units, growth: Growth) -> Iterator[Problem]:
    if growth.units + len(new) > MOST_UNITS:
        yield refusals.TOO_MANY.refuse(path="/units", noun="units in the run", most=MOST_UNITS)
    if len(growth.groups) + sum(item.is_group for item in new) > MOST_GROUPS:
        yield refusals.TOO_MANY.refuse(path="/units", noun="groups in the run", most=MOST_GROUPS)
    if growth.bytes + sum(byte_length(write_unit(item)) for item in new) > MOST_BYTES:
        yield refusals.TOO_MANY.refuse(path="/units", noun="bytes in what the units of the run say", most=MOST_BYTES)
    waiting: dict[str, int] = {}
    for world in new:
        for name in world.depends_on:
            waiting[name] = waiting.get(name, len(units.followers_of(name))) + 1
    for name, count in waiting.items():
        if count > MOST_FOLLOWERS:
            yield refusals.TOO_MANY.refuse(
                path="/units", noun=f"units that wait for '{clip(name)}'", most=MOST_FOLLOWERS
            )


def _of_circles(fresh: Sequence[tuple[str, Unit]], units: Units) -> Iterator[Problem]:
    """Yield the first circle of units that would wait for each other, if there is one: it has a new unit in it."""
    new = [NewUnit(unit=unit) for _, unit in fresh]
    ordered = in_order(new, units)
    placed = {new_unit.unit.name for new_unit in ordered}
    for path, unit in fresh:
        if unit.name not in placed:
            yield _refused_circle(f"{path}/group", [unit.name, unit.group or ""])
            return
    after = units.plus(new_unit.unit for new_unit in ordered)
    done: set[str] = set()
    for path, unit in fresh:
        circle = _circle(unit.name, after, done)
        if circle:
            yield _refused_circle(f"{path}/depends_on", circle)
            return


def _refused_circle(path: str, names: Sequence[str]) -> Problem:
    chain = " -> ".join(f"'{clip(name)}'" for name in names[:_MOST_NAMED])
    return refusals.CIRCLE.refuse(path=path, chain=chain)


def _circle(start: str, units: Units, done: set[str]) -> list[str]:
    """Return the names along a circle that is reached from here; empty if there is none. `done` were looked at."""
    if start in done:
        return []
    trail, pending = [start], [iter(_ends_after(start, units))]
    on_trail = {start}
    while pending:
        name = next(pending[-1], None)
        if name is None:
            pending.pop()
            done.add(left := trail.pop())
            on_trail.discard(left)
        elif name in on_trail:
            return [*trail[trail.index(name) :], name]
        elif name not in done:
            trail.append(name)
            on_trail.add(name)
            pending.append(iter(_ends_after(name, units)))
    return []


def _ends_after(name: str, units: Units) -> tuple[str, ...]:
    """Return what must have ended before this unit can end."""
    return (*units.waits[name], *units.members.get(name, ()), *units.children.get(name, ()))
