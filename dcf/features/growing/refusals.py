"""The kinds of refusals about units of open runs: of adding, sealing, taking back and closing.

A problem is a refusal of one of several units in a request; `refused_units` makes a refusal of the first.
"""

from collections.abc import Sequence
from functools import partial
from typing import Final

from dcf.errors import Problem
from dcf.features.growing.model import Unit
from dcf.values.refusal import Refusal, RefusalKind

_problem: Final = partial(RefusalKind, Problem)

UNKNOWN: Final = _problem(
    "unknown_unit",
    "'{unit:clipped}' names {noun} '{name:clipped}', which is not in the run.",
    "Add it in the same call or before, or correct the name.",
)
DIFFERS: Final = _problem(
    "conflict",
    "There is another unit '{name:clipped}' in the run.",
    "Unit names are unique in a run. Use another name, or repeat the original request.",
)
NOT_OF_KIND: Final = _problem(
    "unknown_unit",
    "'{unit:clipped}' names '{name:clipped}', which is no {kind}.",
    "Name a {kind} of the run.",
)
CIRCLE: Final = _problem(
    "dependency_cycle",
    "Units would wait for each other: {chain}.",
    "A group ends after its members, and a parent after what is below it. Take one of the dependencies out.",
)
SEALED_ALREADY: Final = _problem(
    "sealed",
    "{where} is sealed; '{unit:clipped}' cannot be added.",
    "Add it to a group that is open, or open another run.",
)
PARENT_ENDED: Final = _problem(
    "parent_ended",
    "'{unit:clipped}' would be below '{parent:clipped}', which is {status}.",
    "Add it without a parent, or reopen the parent first (`rewind_unit`).",
)
TOO_MANY: Final = _problem(
    "too_many_units",
    "There would be more than {most} {noun}.",
    "Open another run for the rest (`open_run(parent_run=RUN)`), or put what belongs together into one unit.",
)
NOT_GROWING: Final = Refusal.kind(
    "not_growing",
    "The run was started with a workflow; nothing is added to it.",
    "Open a run that grows with `open_run`.",
)
GROWS: Final = Refusal.kind("grows", "{verb} is not for a run that grows.", "{advice}")
UNKNOWN_UNIT: Final = Refusal.kind(
    "unknown_unit",
    "'{name:clipped}' {role} in this run.",
    "`read_workflow_control_plane` lists the units and groups of the run.",
)
CHILDREN_OPEN: Final = Refusal.kind(
    "children_open",
    "{left} of the units below '{name:clipped}' have not ended well.",
    "Complete them first (`retry_unit`), or skip what is not needed (`resolve_state(skip=true)`).",
)
UNITS_OPEN: Final = Refusal.kind(
    "units_open",
    "{total} of its units have not ended well: {names:named}.",
    "Let them end, try failed ones again (`retry_unit`), or skip some (`resolve_state(skip=true)`).",
)
STILL_OPEN: Final = Refusal.kind(
    "units_open",
    "A run does not succeed while units or groups of it are open: {names:named}.",
    "Let units end or skip them (`resolve_state(skip=true)`), and seal groups (`seal_group`).",
)
CANNOT: Final = Refusal.kind(
    "invalid_transition", "'{name:clipped}' is {doc.status.value}; it cannot be {status}.", "{advice}"
)


def refused_units(problems: Sequence[Problem]) -> Refusal:
    """Refuse a request because of what is wrong with its units; the first says what kind of refusal it is."""
    first = problems[0]
    more = f" ({len(problems) - 1} more)" if len(problems) > 1 else ""
    listed = tuple(
        {"path": problem.path, "code": problem.code, "message": problem.message, "hint": problem.hint}
        for problem in problems
    )
    return Refusal(code=first.code, message=f"{first.message}{more}", hint=first.hint, problems=listed)


def unknown_unit(name: str, unit: Unit | None) -> Refusal:
    """Refuse because there is no such unit or group."""
    role = "is a group" if unit is not None and unit.is_group else "is no group" if unit is not None else "is not there"
    return UNKNOWN_UNIT.refuse(name=name, role=role)
