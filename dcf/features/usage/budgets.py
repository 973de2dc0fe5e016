"""Sets the budget of a run. If a budget, also of a project, is no longer used up, its runs continue. Pure."""

from collections.abc import Collection, Mapping
from typing import Final

from dcf.core.documents.decision import Decision, Event, Snapshot, WriteSet
from dcf.core.documents.model import Meta, RunStatus
from dcf.core.documents.operations import RunAnswer, RunDecision, RunRequest, decided_once
from dcf.core.documents.refusals import RUN_OVER
from dcf.core.documents.usage import changed_budget
from dcf.core.lifecycle import blocking
from dcf.core.lifecycle.blocking import Unblocked
from dcf.features.journal.model import ENTRIES, UNSEEN, Resolution
from dcf.values.json_text import Json
from dcf.values.records import replace

_HOW: Final = "Another budget was set."
"""How the issue of a budget was resolved, where no reason is given."""


@decided_once
def set_budget(snapshot: Snapshot, request: RunRequest, change: Mapping[str, Json], by: str) -> RunDecision:
    """Change the run's budget (`usage.changed_budget`).

    The sums must have been read, the open states, the whole meta document, and the issue of the run's budget.
    """
    meta, now = snapshot.meta, snapshot.now
    assert meta is not None, "the control plane checks that the run exists before it decides"
    if meta.status is not RunStatus.RUNNING:
        return Decision(answer=RUN_OVER.refuse(status=meta.status))
    budget = changed_budget(meta.budget, change)
    written = None if budget is None else budget.as_json()
    reached = None if budget is None else budget.reached(snapshot.usage or {})
    issue = None if meta.budget is None else meta.budget.issue
    writes = WriteSet(meta={"budget": written}, events=[Event(type="BudgetSet", data=request.told(budget=written))])
    after = Unblocked()
    if issue is not None and reached is None:
        after = _let_go(writes, snapshot, meta, issue, Resolution(how=request.reason or _HOW, by=by, at=now))
    elif issue is not None and written is not None:
        writes.meta["budget"] = {**written, "issue": issue}
    return Decision(
        answer=RunAnswer(answer=_answer_fields(written, reached, after), at=now),
        changes=writes,
        remaining=after.remaining,
    )


def unblock(snapshot: Snapshot, issues: Collection[str], how: str | None, by: str) -> Decision[None]:
    """Resolve those of these issues of a shared budget that block the run.

    The issues must have been read, the open states and the whole meta document.
    """
    meta, writes, after = snapshot.meta, WriteSet(), Unblocked()
    assert meta is not None, "the control plane checks that the run exists before it decides"
    resolved = [blocker.issue for blocker in meta.blocked_by if blocker.issue in issues]
    for issue in resolved:
        after = _let_go(writes, snapshot, meta, issue, Resolution(how=how or _HOW, by=by, at=snapshot.now))
        meta = replace(meta, blocked_by=tuple(blocker for blocker in meta.blocked_by if blocker.issue != issue))
    return Decision(answer=None, changes=writes if resolved else None, remaining=after.remaining)


def _let_go(writes: WriteSet, snapshot: Snapshot, meta: Meta, issue: str, done: Resolution) -> Unblocked:
    """Resolve the issue of a budget, and end that it blocks the run."""
    entry = (snapshot.part(ENTRIES) or UNSEEN).entries.get(issue)
    if entry is not None and entry.is_open:
        writes.put(ENTRIES, (replace(entry, resolution=done),))
    return blocking.unblock(writes, snapshot, meta, issue)


def _answer_fields(budget: Json, reached: str | None, after: Unblocked) -> Mapping[str, Json]:
    hint = (
        "The agents of ready states are notified; `read_usage` shows what is used up."
        if reached is None
        else f"The budget is used up: {reached}. It takes effect with the next completion that reports usage."
    )
    fields: dict[str, Json] = {"run_status": after.run_status.value, "announced": after.announced}
    return {**fields, "budget": budget, "used_up": reached, "hint": hint}
