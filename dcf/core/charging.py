"""Charges a run with the usage that a holder reports with a write, and blocks it once its budget is used up. Pure.

The charge is part of the write: refused or repeated, nothing is charged. The budget is compared with sums that are
watched, so that the very write that reaches it blocks the run, and leases nothing any more.
"""

from typing import Final

from dcf.core.blockers import Blocker
from dcf.core.blocking import block, has_room
from dcf.core.decision import Changes, More, Snapshot
from dcf.core.usage import Charge, Usage, plus
from dcf.values.instants import to_text
from dcf.values.records import record, replace

_DAY: Final = 10
"""Characters of the day in the text of an instant."""

BUDGET_ISSUE: Final = "budget"
"""How the id of the issue begins that a used up budget is blocked by."""


@record(frozen=True, slots=True, kw_only=True)
class Charged:
    """The snapshot on which the write is decided, and what is written with it."""

    snapshot: Snapshot
    charges: list[Charge]
    changes: Changes


def charge(snapshot: Snapshot, state: str, usage: Usage) -> Charged | More:
    """Return what a report changes: the sums, and where the budget is used up by it, that the run is blocked."""
    meta, holder = snapshot.meta, snapshot.states[state].lease.owner_agent_id
    assert meta is not None, "the control plane checks that the run exists before it decides"
    report = Charge(state=state, agent=holder or "unknown", day=to_text(snapshot.now)[:_DAY], usage=usage)
    changes = Changes()
    if meta.budget is None:
        return Charged(snapshot=snapshot, charges=[report], changes=changes)
    if snapshot.usage is None:
        return More(usage=True)
    sums = plus(snapshot.usage, usage)
    reached = meta.budget.reached(sums)
    if reached is not None and not any(one.issue.startswith(BUDGET_ISSUE) for one in meta.blocked_by):
        text = f"The budget of the run is used up: {reached}. Raise it with set_budget, or cancel the run."
        issue = Blocker(issue=f"{BUDGET_ISSUE}-{snapshot.now}", text=text, since=snapshot.now)
        meta = block(changes, meta, issue, state=state, budget=meta.budget.as_json()) if has_room(meta) else meta
    return Charged(snapshot=replace(snapshot, meta=meta, usage=sums), charges=[report], changes=changes)


def with_charge(changes: Changes, charged: Charged) -> Changes:
    """Return the changes of a write with those of its charge. A run that is over with it is not blocked any more."""
    if "status" in changes.meta:
        return replace(changes, usage=charged.charges)
    return replace(
        changes,
        usage=charged.charges,
        meta={**changes.meta, **charged.changes.meta},
        events=[*changes.events, *charged.changes.events],
    )
