"""Sets what a run may use up. A budget, also of a project, that is not used up any more lets runs go on. Pure."""

from collections.abc import Collection, Mapping
from typing import Final

from dcf.core.blocking import unblock
from dcf.core.decision import Changes, Decision, Event, Snapshot
from dcf.core.journal import UNSEEN, Resolution
from dcf.core.model import Meta, RunStatus
from dcf.core.operations import RunAnswer, RunDecision, RunRequest, once
from dcf.core.refusals import run_over
from dcf.core.usage import changed_budget
from dcf.values.json_text import Json
from dcf.values.records import replace

_HOW: Final = "Another budget was set."
"""How the issue of a budget was resolved, where no reason is given."""


def set_budget(snapshot: Snapshot, request: RunRequest, change: Mapping[str, Json], by: str) -> RunDecision:
    """Change the run's budget (`usage.changed_budget`).

    The sums must have been read, the open states, and the issue of the budget that the run has.
    """
    return once(snapshot, request, lambda: _set(snapshot, request, change, by))


def _set(snapshot: Snapshot, request: RunRequest, change: Mapping[str, Json], by: str) -> RunDecision:
    meta, now = snapshot.meta, snapshot.now
    assert meta is not None, "the control plane checks that the run exists before it decides"
    if meta.status is not RunStatus.RUNNING:
        return Decision(answer=run_over(meta.status))
    budget = changed_budget(meta.budget, change)
    written = None if budget is None else budget.as_json()
    reached = None if budget is None else budget.reached(snapshot.usage or {})
    issue = None if meta.budget is None else meta.budget.issue
    writes = Changes(meta={"budget": written}, events=[Event(type="BudgetSet", data=request.told(budget=written))])
    announced = 0
    if issue is not None and reached is None:
        announced = _let_go(writes, snapshot, meta, issue, Resolution(how=request.reason or _HOW, by=by, at=now))
    elif issue is not None and written is not None:
        writes.meta["budget"] = {**written, "issue": issue}
    return Decision(
        answer=RunAnswer(answer=_told(written, reached, announced, meta.status), at=now),
        changes=writes,
    )


def unblock_for_project(snapshot: Snapshot, issues: Collection[str], how: str | None, by: str) -> Changes | None:
    """Resolve those of these issues of its project that block the run; None if none does.

    The issues must have been read, and the open states.
    """
    meta, writes = snapshot.meta, Changes()
    assert meta is not None, "the control plane checks that the run exists before it decides"
    blocking = [one.issue for one in meta.blocked_by if one.issue in issues]
    for issue in blocking:
        _let_go(writes, snapshot, meta, issue, Resolution(how=how or _HOW, by=by, at=snapshot.now))
        meta = replace(meta, blocked_by=tuple(one for one in meta.blocked_by if one.issue != issue))
    return writes if blocking else None


def _let_go(writes: Changes, snapshot: Snapshot, meta: Meta, issue: str, done: Resolution) -> int:
    """Resolve the issue of a budget, and end that it blocks the run; return how many agents are told."""
    entry = (snapshot.journal or UNSEEN).entries.get(issue)
    if entry is not None and entry.is_open:
        writes.journal.append(replace(entry, resolution=done))
    return unblock(writes, snapshot, meta, issue)


def _told(budget: Json, reached: str | None, announced: int, status: RunStatus) -> Mapping[str, Json]:
    hint = (
        "The agents of what can be taken are told; read_usage shows what is used up."
        if reached is None
        else f"The budget is used up: {reached}. It takes effect with the next completion that reports usage."
    )
    return {"run_status": status.value, "budget": budget, "used_up": reached, "announced": announced, "hint": hint}
