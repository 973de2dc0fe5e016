"""Ends a run: skips states that were never reached, cancels open ones, and writes the audit record.

Pure. Finalizing also stops all workers: each of their writes watches meta and is refused unless the run is running.
"""

from collections import Counter
from collections.abc import Iterable, Mapping

from dcf.core.definitions.model import Definition
from dcf.core.documents import receipts
from dcf.core.documents.answers import Finalized
from dcf.core.documents.decision import Decision, Event, Notice, Packed, Snapshot, WriteSet
from dcf.core.documents.model import Lease, Receipt, RunStatus, StateDoc, Status
from dcf.core.documents.notices import stop_notices, tell_parent
from dcf.core.documents.usage_sums import run_sums_shown
from dcf.core.leasing.blockers import read_blockers
from dcf.core.leasing.halt_refusals import STATES_OPEN, issues_open
from dcf.core.leasing.lease import forgotten_claim
from dcf.core.lifecycle.dismissals import NONE_TO_DELETE, UNCOUNTED
from dcf.core.lifecycle.growing_timeouts import NOT_PAUSED
from dcf.values.instants import to_text
from dcf.values.json_text import Json
from dcf.values.records import record, replace
from dcf.values.refusal import Refusal

CLOSED_BY_FINALIZE = "finalized: state closed by finalize_workflow"


@record(frozen=True, slots=True, kw_only=True)
class Finalize:
    """Request to close a run. `status` overrides the status that follows from the states.

    `deletes_agents`: the agents that were made for the run are deleted and counted just after.
    """

    workflow_id: str
    close_open_states: bool = True
    status: RunStatus | None = None
    note: str | None = None
    deletes_agents: bool = False


def finalize(snapshot: Snapshot, request: Finalize) -> Decision[Finalized | Refusal]:
    """Close the run. A repeated call returns the audit record of the first one."""
    if snapshot.audit is not None:
        return Decision(answer=Finalized(audit=snapshot.audit, repeated=True))
    assert snapshot.meta is not None and snapshot.meta_document is not None  # noqa: PT018 - both come together
    refusal = _unless_done(snapshot, snapshot.meta_document) if request.status is RunStatus.SUCCEEDED else None
    if refusal is not None:
        return Decision(answer=refusal)
    was_running = snapshot.meta.status is RunStatus.RUNNING
    closed = _closing(snapshot, request.close_open_states, run_over=not was_running)
    final = request.status or _final_status(snapshot, closed, request)
    audit = _audit(snapshot, request, final, {**snapshot.states, **closed})
    patch: dict[str, Json] = {
        "status": final.value,
        "finalized_at": to_text(snapshot.now),
        "finalize_note": request.note,
    }
    if was_running:
        patch["finished_at"] = to_text(snapshot.now)
    if not request.close_open_states:
        patch["left_open"] = True
    if snapshot.meta.is_paused:
        patch |= NOT_PAUSED
    events = [*_closing_events(closed), _finalized_event(final, request)]
    return Decision(
        answer=Finalized(audit=audit),
        changes=WriteSet(
            meta=patch,
            states=closed,
            audit=audit,
            events=events,
            notices=_stopping(snapshot, closed) + (tell_parent(snapshot.meta, snapshot.now) if was_running else []),
            timers=dict.fromkeys(closed),
            claims=_forgotten(closed),
            listed=True,  # for the clock, which lets its keys expire
        ),
    )


def _unless_done(snapshot: Snapshot, document: Mapping[str, Json]) -> Refusal | None:
    """Refuse that a run counts as succeeded while an issue blocks it or a state is open."""
    blockers, is_over = read_blockers(document.get("blocked_by")), document.get("status") != RunStatus.RUNNING
    if blockers:
        return issues_open(blockers)
    grows = document.get("grown") is True
    left = [path for path, doc in snapshot.states.items() if not doc.status.is_terminal and (grows or doc.is_ready)]
    return STATES_OPEN.refuse(paths=left) if left and not is_over else None


def _finalized_event(status: RunStatus, request: Finalize) -> Event:
    reason = {} if request.note is None else {"reason": request.note}
    return Event(type="RunFinalized", data={"status": status.value} | reason)


def skip_unreached(snapshot: Snapshot) -> Decision[int]:
    """Mark the states that control never reached as skipped, after the end of a run. Return how many changed."""
    if snapshot.meta is None or snapshot.meta.status is RunStatus.RUNNING:
        return Decision(answer=0)
    skipped = _closing(snapshot, close_open=True, run_over=True)
    if not skipped:
        return Decision(answer=0)
    changes = WriteSet(
        states=skipped,
        events=_closing_events(skipped),
        notices=_stopping(snapshot, skipped),
        timers=dict.fromkeys(skipped),
        claims=_forgotten(skipped),
        receipts=lost_by(snapshot, skipped),
    )
    return Decision(answer=len(skipped), changes=changes)


def lost_by(snapshot: Snapshot, closed: Iterable[str]) -> dict[receipts.Place, Receipt]:
    """Return that the holders of closed states lost their leases: the run may be retried, and theirs is not the new."""
    lost: dict[receipts.Place, Receipt] = {}
    for path in closed:
        lost |= receipts.lost(path, snapshot.void.get(path, snapshot.states[path]), snapshot.now)
    return lost


def pack(snapshot: Snapshot, definition: Definition) -> Decision[bool]:
    """Store the workflow of an ended run as text, unless that is done. Return whether it is written now."""
    meta, deps = snapshot.meta, (snapshot.meta_document or {}).get("deps")
    if meta is None or meta.status is RunStatus.RUNNING or not isinstance(deps, dict):
        return Decision(answer=False)
    return Decision(answer=True, changes=WriteSet(packed=Packed(definition=definition.document, deps=deps)))


def _closing(snapshot: Snapshot, close_open: bool, *, run_over: bool) -> dict[str, StateDoc]:
    """Return the closed documents of open states: skipped if control had not reached them, otherwise cancelled."""
    closed: dict[str, StateDoc] = {}
    for name, doc in snapshot.states.items():
        if doc.status.is_terminal:
            if name in snapshot.void:
                closed[name] = doc
            continue
        if not doc.is_ready:
            closed[name] = replace(doc, status=Status.SKIPPED, finished_at=snapshot.now)
        elif close_open:
            closed[name] = _cancelled(doc, snapshot.now, run_over=run_over)
    return closed


def _stopping(snapshot: Snapshot, closed: Mapping[str, StateDoc]) -> list[Notice]:
    """Return the notices that tell the holders of closed states to stop."""
    return stop_notices({name: snapshot.void.get(name, snapshot.states[name]) for name in closed})


def _cancelled(doc: StateDoc, now: int, *, run_over: bool) -> StateDoc:
    return replace(
        doc,
        status=Status.CANCELLED,
        finished_at=now,
        last_error="the run ended" if run_over else CLOSED_BY_FINALIZE,
        lease=Lease(epoch=doc.lease.epoch),
    )


def _final_status(snapshot: Snapshot, closed: Mapping[str, StateDoc], request: Finalize) -> RunStatus:
    """Return the status the run ended with; for a run still open: failed, cancelled, or partial if states stay open."""
    if snapshot.existing_meta.status is not RunStatus.RUNNING:
        return snapshot.existing_meta.status
    final = _of_the_workflow({**snapshot.states, **closed}).values()
    if any(doc.status is Status.FAILED for doc in final):
        return RunStatus.FAILED
    return RunStatus.CANCELLED if request.close_open_states else RunStatus.PARTIAL


def _audit(snapshot: Snapshot, request: Finalize, final: RunStatus, states: Mapping[str, StateDoc]) -> dict[str, Json]:
    states = _of_the_workflow(states)
    result = Counter(doc.status for doc in states.values())
    counts = {status.value: result[status] for status in Status}
    document = snapshot.meta_document or {}
    return {
        "type": "finalize",
        "workflow_id": request.workflow_id,
        "ts": to_text(snapshot.now),
        "final_status": final.value,
        "definition_sha256": document.get("definition_sha256"),
        "counts": {"total": len(states), "done": result[Status.SUCCEEDED], **counts},
        "agents": dict(UNCOUNTED if request.deletes_agents else NONE_TO_DELETE),
        "output": document.get("output"),
        "error": document.get("error"),
        "cause": document.get("cause"),
        "note": request.note,
        "cost_summary": run_sums_shown(snapshot.usage) if snapshot.usage else None,
    }


def _of_the_workflow(states: Mapping[str, StateDoc]) -> dict[str, StateDoc]:
    """Leave out states inside a Parallel or Map; that state itself tells how they ended."""
    return {path: doc for path, doc in states.items() if "/" not in path}


def _forgotten(closed: Mapping[str, StateDoc]) -> dict[str, str | None]:
    return {mark: None for doc in closed.values() for mark in forgotten_claim(doc)}


def _closing_events(closed: Mapping[str, StateDoc]) -> list[Event]:
    skipped = [name for name, doc in closed.items() if doc.status is Status.SKIPPED]
    cancelled = [
        Event(type="StateCancelled", state=name, data={"epoch": doc.lease.epoch})
        for name, doc in closed.items()
        if doc.status is Status.CANCELLED
    ]
    return [*([Event(type="StatesSkipped", data={"states": skipped})] if skipped else []), *cancelled]
