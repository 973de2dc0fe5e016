"""Sets what a run may use up. A budget that is not used up any more lets the run go on. Pure."""

from collections.abc import Mapping

from dcf.core.blocking import unblock
from dcf.core.charging import BUDGET_ISSUE
from dcf.core.decision import Changes, Decision, Event, Snapshot
from dcf.core.model import RunStatus
from dcf.core.operations import RunAnswer, RunDecision, RunRequest, once
from dcf.core.refusals import run_over
from dcf.core.usage import Budget
from dcf.values.json_text import Json


def set_budget(snapshot: Snapshot, request: RunRequest, budget: Budget | None) -> RunDecision:
    """Give the run this budget, or none. The sums must have been read, and the open states."""
    return once(snapshot, request, lambda: _set(snapshot, request, budget))


def _set(snapshot: Snapshot, request: RunRequest, budget: Budget | None) -> RunDecision:
    meta, now = snapshot.meta, snapshot.now
    assert meta is not None, "the control plane checks that the run exists before it decides"
    if meta.status is not RunStatus.RUNNING:
        return Decision(answer=run_over(meta.status))
    written = None if budget is None else budget.as_json()
    reached = None if budget is None else budget.reached(snapshot.usage or {})
    writes = Changes(meta={"budget": written}, events=[Event(type="BudgetSet", data=request.told(budget=written))])
    announced = 0
    for one in meta.blocked_by if reached is None else ():
        if one.issue.startswith(BUDGET_ISSUE):
            announced = unblock(writes, snapshot, meta, one.issue, how="another budget was set")
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
