"""Cancels, pauses and resumes a run. Pure.

Cancelling changes the run's status only, as every other end of a run does: the status fences all writers at once, and
the documents of open states are closed by the follow-up work (`finalization.skip_unreached`), or by the clock.

While a run is paused no lease is granted. Holders renew, finish and release, the states that follow are entered, and
timeouts, retry times and Waits continue (docs/decisions/execution/operating.md).
"""

from collections.abc import Mapping

from dcf.core.documents.decision import Decision, Event, Notice, Remaining, Snapshot, WriteSet
from dcf.core.documents.model import RunStatus
from dcf.core.documents.notices import NoticeKind, tell_parent
from dcf.core.documents.operations import RunAnswer, RunDecision, RunRequest, decided_once
from dcf.core.documents.refusals import RUN_OVER
from dcf.core.leasing.halting import announce_ready
from dcf.core.lifecycle.growing_timeouts import NOT_PAUSED, paused, resumed
from dcf.values.instants import to_text
from dcf.values.json_text import Json
from dcf.values.records import replace

RESUMED = "resumed"
"""Reason of the notices that a resumed run sends."""


@decided_once
def cancel(snapshot: Snapshot, request: RunRequest) -> RunDecision:
    """End the run now. Cancelling a cancelled run has no effect; a run that ended otherwise is not cancelled."""
    meta, now = snapshot.existing_meta, snapshot.now
    if meta.status is RunStatus.CANCELLED:
        return _answer(now, {"run_status": meta.status.value, "hint": _CANCELLED})
    if meta.status is not RunStatus.RUNNING:
        return Decision(answer=RUN_OVER.refuse(status=meta.status))
    status = RunStatus.CANCELLED.value
    patch: dict[str, Json] = {"status": status, "finished_at": to_text(now)}
    patch |= {} if request.reason is None else {"cause": request.reason}
    patch |= NOT_PAUSED if meta.is_paused else {}
    notice = Notice(type=NoticeKind.FINISHED.value, state=None, epoch=now, reason=status)
    return Decision(
        answer=RunAnswer(answer={"run_status": status, "hint": _CANCELLED}, at=now),
        changes=WriteSet(
            meta=patch,
            events=[Event(type="RunCancelled", data=request.told())],
            notices=[notice, *tell_parent(meta, now)],
        ),
        remaining=Remaining(run_over=True),
    )


@decided_once
def pause(snapshot: Snapshot, request: RunRequest) -> RunDecision:
    """Grant no lease until the run is resumed. A paused run stays as it is."""
    meta, now = snapshot.existing_meta, snapshot.now
    if meta.status is not RunStatus.RUNNING:
        return Decision(answer=RUN_OVER.refuse(status=meta.status))
    since = (snapshot.meta_document or {}).get("paused_at") if meta.is_paused else to_text(now)
    answer = {"run_status": meta.status.value, "paused_at": since, "hint": _PAUSED}
    if meta.is_paused:
        return _answer(now, answer)
    return Decision(
        answer=RunAnswer(answer=answer, at=now),
        changes=WriteSet(
            meta=paused(snapshot, since, request.reason), events=[Event(type="RunPaused", data=request.told())]
        ),
    )


@decided_once
def resume(snapshot: Snapshot, request: RunRequest) -> RunDecision:
    """Let a paused run continue, and announce what can be taken. A run that is not paused stays as it is."""
    meta, now = snapshot.existing_meta, snapshot.now
    if meta.status is not RunStatus.RUNNING:
        return Decision(answer=RUN_OVER.refuse(status=meta.status))
    if not meta.is_paused:
        return _answer(now, {"run_status": meta.status.value, "paused_at": None, "announced": 0, "hint": _RESUMED})
    running = replace(meta, is_paused=False)
    writes = WriteSet(meta=resumed(snapshot), events=[Event(type="RunResumed", data=request.told())])
    announced = 0 if running.is_halted else announce_ready(writes, snapshot, running, RESUMED)
    hint = _STILL_BLOCKED if running.is_halted else _RESUMED
    answer = {"run_status": meta.status.value, "paused_at": None, "announced": announced, "hint": hint}
    return Decision(answer=RunAnswer(answer=answer, at=now), changes=writes)


def _answer(now: int, answer: Mapping[str, Json]) -> RunDecision:
    """Return an answer without changes."""
    return Decision(answer=RunAnswer(answer=answer, at=now))


_CANCELLED = (
    "Holders are told to stop and their writes are refused; `finalize_workflow` writes the audit record and deletes "
    "the agents made for the run."
)
_PAUSED = "Holders may finish; no lease is granted until `resume_run`. Timeouts, retry times and Waits continue."
_STILL_BLOCKED = (
    "An issue still blocks the run: no lease is granted until `resolve_issue`; `read_journal(open=true)` shows which."
)
_RESUMED = "The agents of ready states are notified; `read_workflow_control_plane` shows who holds which state."
