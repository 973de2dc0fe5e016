"""Sets what a run may use up. A budget that is not used up any more lets the run go on. Pure."""

from collections.abc import Mapping

from dcf.core.blocking import unblock
from dcf.core.decision import Changes, Decision, Event, Snapshot
from dcf.core.journal import UNSEEN, Resolution
from dcf.core.model import RunStatus
from dcf.core.operations import RunAnswer, RunDecision, RunRequest, once
from dcf.core.refusals import run_over
from dcf.core.usage import Budget
from dcf.values.json_text import Json
from dcf.values.records import replace


def set_budget(snapshot: Snapshot, request: RunRequest, budget: Budget | None, by: str) -> RunDecision:
    """Give the run this budget, or none. The sums must have been read, the open states, and the issue of the last."""
    return once(snapshot, request, lambda: _set(snapshot, request, budget, by))


def _set(snapshot: Snapshot, request: RunRequest, budget: Budget | None, by: str) -> RunDecision:
    meta, now = snapshot.meta, snapshot.now
    assert meta is not None, "the control plane checks that the run exists before it decides"
    if meta.status is not RunStatus.RUNNING:
        return Decision(answer=run_over(meta.status))
    written = None if budget is None else budget.as_json()
    reached = None if budget is None else budget.reached(snapshot.usage or {})
    issue = None if meta.budget is None else meta.budget.issue
    writes = Changes(meta={"budget": written}, events=[Event(type="BudgetSet", data=request.told(budget=written))])
    announced = 0
    if issue is not None and reached is None:
        announced = unblock(writes, snapshot, meta, issue)
        entry = (snapshot.journal or UNSEEN).entries.get(issue)
        if entry is not None and entry.is_open:
            done = Resolution(how=request.reason or "Another budget was set.", by=by, at=now)
            writes.journal.append(replace(entry, resolution=done))
    elif issue is not None and written is not None:
        writes.meta["budget"] = {**written, "issue": issue}
    return Decision(
        answer=RunAnswer(answer=_told(written, reached, announced, meta.status), at=now),
        changes=writes,
    )


def _told(budget: Json, reached: str | None, announced: int, status: RunStatus) -> Mapping[str, Json]:
    hint = (
        "The agents of what can be taken are told; read_usage shows what is used up."
        if reached is None
        else f"The budget is used up: {reached}. It takes effect with the next completion that reports usage."
    )
    return {"run_status": status.value, "budget": budget, "used_up": reached, "announced": announced, "hint": hint}
