"""Decides how long an ended run is kept: when dcf finalizes it, when it may be deleted, and the legal hold. Pure.

A run that is on hold is neither deleted nor does it expire, until the hold is released. Deleting begins with a mark in
meta (`deleted_at`), decided like any change of the run. `features/retention/operations.py` then removes the keys. If
that process dies, the timer loop removes the rest.
"""

from collections.abc import Mapping
from typing import Final

from dcf.core.documents.decision import Decision, Event, Snapshot, WriteSet
from dcf.core.documents.model import RunStatus
from dcf.core.documents.operations import RunAnswer, RunDecision, RunRequest, once
from dcf.core.documents.refusals import RUN_BEING_DELETED, RUN_LIVE, RUN_ON_HOLD, RUN_REQUEST_ID_USED
from dcf.errors import UnknownRun
from dcf.values.instants import SECOND, to_text
from dcf.values.json_text import Json
from dcf.values.records import record
from dcf.values.refusal import Refusal

_HELD: Final = "Release it: `hold_run(hold=false)`."
_RELEASED: Final = "Once the run has ended, `delete_run` deletes it."

FINALIZED_BY_ITSELF: Final = "finalized automatically: no call had done so after the run had ended"


@record(frozen=True, slots=True, kw_only=True)
class RetentionPolicy:
    """How long ended runs are kept, in seconds; 0 means without a limit.

    `finalize_after_s`: time after its end at which dcf finalizes a run that is not finalized yet. `keep_s`: time for
    which the keys of a finalized run are kept, unless the run has a retention of its own (`retention_s`).
    """

    finalize_after_s: int = 0
    keep_s: int = 0

    def finalizes_at(self, finished_at: int | None) -> int | None:
        """Return when dcf finalizes a run that ended at this time; None if it does not."""
        if finished_at is None or not self.finalize_after_s:
            return None
        return finished_at + self.finalize_after_s * SECOND

    def keeps_s(self, own: int | None) -> int | None:
        """Return the retention of a run, in seconds; None if it is kept without a limit."""
        return own if own is not None else self.keep_s or None


KEEP_ALL: Final = RetentionPolicy()
"""Runs are finalized only by a call, and only runs with a retention of their own expire."""


@record(frozen=True, slots=True, kw_only=True)
class Deleted:
    """The run is being deleted, or is gone already (`existed` False). `meta` says what it was listed under."""

    workflow_id: str
    existed: bool
    meta: Mapping[str, Json] | None = None


def delete(snapshot: Snapshot, workflow_id: str, request: RunRequest) -> Decision[Deleted | Refusal]:
    """Mark a run as being deleted, before its keys are removed; refuse while it is live or on hold.

    Receipts go with the run: a repetition finds that there is none. Only the id of another request is refused.
    """
    meta, document = snapshot.meta, snapshot.meta_document
    if meta is None or document is None:
        return Decision(answer=Deleted(workflow_id=workflow_id, existed=False))
    deleted = Deleted(workflow_id=workflow_id, existed=True, meta=document)
    if is_being_deleted(document):
        return Decision(answer=deleted)
    if snapshot.run_receipts.get(request.key) is not None:
        return Decision(answer=RUN_REQUEST_ID_USED.refuse())
    if meta.status is RunStatus.RUNNING:
        return Decision(answer=RUN_LIVE.refuse(workflow_id=workflow_id))
    if document.get("hold") is True:
        return Decision(answer=RUN_ON_HOLD.refuse(workflow_id=workflow_id))
    event = Event(type="RunDeleted", data=request.told())
    now = to_text(snapshot.now)
    # A finalized run cannot be retried: no call brings it back while its keys are removed.
    mark: dict[str, Json] = {"deleted_at": now, "finalized_at": document.get("finalized_at") or now}
    return Decision(answer=deleted, changes=WriteSet(meta=mark, events=[event]))


def hold(snapshot: Snapshot, workflow_id: str, request: RunRequest, *, is_held: bool) -> RunDecision:
    """Set or release the legal hold of a run, live or ended."""
    return once(snapshot, request, lambda: _hold(snapshot, workflow_id, request, is_held=is_held))


def _hold(snapshot: Snapshot, workflow_id: str, request: RunRequest, *, is_held: bool) -> RunDecision:
    document = snapshot.meta_document
    if document is None:
        raise UnknownRun(workflow_id)
    if is_being_deleted(document):
        return Decision(answer=RUN_BEING_DELETED.refuse(workflow_id=workflow_id))
    was_changed = (document.get("hold") is True) != is_held
    details: dict[str, Json] = {"hold": is_held, "changed": was_changed, "hint": _HELD if is_held else _RELEASED}
    answer = RunAnswer(answer=details, at=snapshot.now)
    if not was_changed:
        return Decision(answer=answer)
    event = Event(type="RunHeld" if is_held else "RunReleased", data=request.told(hold=is_held))
    return Decision(answer=answer, changes=WriteSet(meta={"hold": is_held}, events=[event]))


def is_being_deleted(meta: Mapping[str, Json]) -> bool:
    """Return True for a run whose keys are being removed: nothing may bring it back."""
    return meta.get("deleted_at") is not None
