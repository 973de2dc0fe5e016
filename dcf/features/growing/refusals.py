"""Refusals about units of runs that grow: of adding, sealing, taking back and closing.

unknown_unit          a name that no unit or group of the run has
conflict              a name that another unit has
dependency_cycle      units that would wait for each other for ever
sealed                a group, or a run, to which nothing may be added any more
too_many_units        more than a run, a group or a dependency may have
parent_ended          a unit below one that has ended
units_open            not everything has ended well, or a run would succeed over what is open
not_growing           a run with a closed graph
grows                 what is not done with a run that grows
invalid_transition    what cannot be done to a unit that stands like this
"""

from collections.abc import Iterable, Sequence
from typing import Final

from dcf.core.documents.model import StateDoc
from dcf.errors import Problem
from dcf.features.growing.model import MOST_FOLLOWERS, MOST_GROUPS, MOST_UNITS, Unit
from dcf.values.refusal import Refusal
from dcf.values.text_pieces import clip

_NAMED: Final = 5


def refused_units(problems: Sequence[Problem]) -> Refusal:
    """Refuse a request because of what is wrong with its units; the first says what kind of refusal it is."""
    first = problems[0]
    more = f" ({len(problems) - 1} more)" if len(problems) > 1 else ""
    listed = tuple(
        {"path": problem.path, "code": problem.code, "message": problem.message, "hint": problem.hint}
        for problem in problems
    )
    return Refusal(code=first.code, message=f"{first.message}{more}", hint=first.hint, problems=listed)


def unknown(path: str, unit: str, name: str, noun: str) -> Problem:
    """Say that a unit names something that is not there."""
    return Problem(
        path=path,
        code="unknown_unit",
        message=f"'{clip(unit)}' names {noun} '{clip(name)}', which is not in the run.",
        hint="Add it in the same call or before, or correct the name.",
    )


def differs(path: str, name: str) -> Problem:
    """Say that another unit has this name."""
    return Problem(
        path=path,
        code="conflict",
        message=f"There is another unit '{clip(name)}' in the run.",
        hint="Unit names are unique in a run. Use another name, or repeat the original request.",
    )


def not_of_kind(path: str, unit: str, name: str, kind: str) -> Problem:
    """Say that a unit names a group where a unit is needed, or the other way round."""
    return Problem(
        path=path,
        code="unknown_unit",
        message=f"'{clip(unit)}' names '{clip(name)}', which is no {kind}.",
        hint=f"Name a {kind} of the run.",
    )


def circle(path: str, names: Iterable[str]) -> Problem:
    """Say that units would wait for each other."""
    chain = " -> ".join(f"'{clip(name)}'" for name in list(names)[:_NAMED])
    return Problem(
        path=path,
        code="dependency_cycle",
        message=f"Units would wait for each other: {chain}.",
        hint="A group ends after its members, and a parent after what is below it. Take one of the dependencies out.",
    )


def sealed_already(path: str, unit: str, group: str | None) -> Problem:
    """Say that nothing may be added there."""
    where = "The run" if group is None else f"The group '{clip(group)}'"
    return Problem(
        path=path,
        code="sealed",
        message=f"{where} is sealed; '{clip(unit)}' cannot be added.",
        hint="Add it to a group that is open, or open another run.",
    )


def parent_ended(path: str, unit: str, parent: str, status: str) -> Problem:
    """Say that nothing can be added below a unit that has ended."""
    return Problem(
        path=path,
        code="parent_ended",
        message=f"'{clip(unit)}' would be below '{clip(parent)}', which is {status}.",
        hint="Add it without a parent, or reopen the parent first (`rewind_unit`).",
    )


def too_many(path: str, noun: str, most: int) -> Problem:
    """Say that there would be more than may be."""
    return Problem(
        path=path,
        code="too_many_units",
        message=f"There would be more than {most} {noun}.",
        hint="Open another run for the rest (`open_run(parent_run=RUN)`), or put what belongs together into one unit.",
    )


def too_many_units(path: str) -> Problem:
    """Say that the run would have too many units."""
    return too_many(path, "units in the run", MOST_UNITS)


def too_many_groups(path: str) -> Problem:
    """Say that the run would have too many groups."""
    return too_many(path, "groups in the run", MOST_GROUPS)


def too_many_followers(path: str, name: str) -> Problem:
    """Say that too many units would wait for one."""
    return too_many(path, f"units that wait for '{clip(name)}'", MOST_FOLLOWERS)


def not_growing() -> Refusal:
    """Refuse to add to a run with a closed graph."""
    return Refusal(
        code="not_growing",
        message="The run was started with a workflow; nothing is added to it.",
        hint="Open a run that grows with `open_run`.",
    )


def grows(verb: str, hint: str) -> Refusal:
    """Refuse what is not done with a run that grows."""
    return Refusal(code="grows", message=f"{verb} is not for a run that grows.", hint=hint)


def unknown_unit(name: str, unit: Unit | None) -> Refusal:
    """Refuse because there is no such unit or group."""
    text = "is a group" if unit is not None and unit.is_group else "is no group" if unit is not None else "is not there"
    return Refusal(
        code="unknown_unit",
        message=f"'{clip(name)}' {text} in this run.",
        hint="`read_workflow_control_plane` lists the units and groups of the run.",
    )


def children_open(name: str, left: int) -> Refusal:
    """Refuse to complete a unit while units below it are open."""
    return Refusal(
        code="children_open",
        message=f"{left} of the units below '{clip(name)}' have not ended well.",
        hint="Complete them first (`retry_unit`), or skip what is not needed (`resolve_state(skip=true)`).",
    )


def units_open(names: Sequence[str], total: int) -> Refusal:
    """Refuse because not everything has ended well."""
    return Refusal(
        code="units_open",
        message=f"{total} of its units have not ended well: {_first(names, total)}.",
        hint="Let them end, try failed ones again (`retry_unit`), or skip some (`resolve_state(skip=true)`).",
    )


def still_open(names: Sequence[str], total: int) -> Refusal:
    """Refuse that a run succeeds over units that have not ended, or over groups that more may be added to."""
    return Refusal(
        code="units_open",
        message=f"A run does not succeed while units or groups of it are open: {_first(names, total)}.",
        hint="Let units end or skip them (`resolve_state(skip=true)`), and seal groups (`seal_group`).",
    )


def _first(names: Sequence[str], total: int) -> str:
    shown = ", ".join(f"'{clip(name)}'" for name in names[:_NAMED])
    return f"{shown}{', ...' if total > len(names[:_NAMED]) else ''}"


def cannot(name: str, doc: StateDoc, status: str, hint: str) -> Refusal:
    """Refuse because a unit does not stand so that this could be done."""
    return Refusal(
        code="invalid_transition", message=f"'{clip(name)}' is {doc.status.value}; it cannot be {status}.", hint=hint
    )
