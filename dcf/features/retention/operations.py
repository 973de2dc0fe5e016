"""Keeps and deletes ended runs: deletion, legal hold, automatic finalizing, expiry.

It carries out what `core/lifecycle/retention.py` decides. Deleting is a transaction that marks the run, then the
removal of its keys (`features/retention/storage.py`); both may be repeated by any process.
"""

from collections.abc import Callable, Mapping
from functools import partial

from dcf.core.documents.decision import More, ReadSet
from dcf.core.documents.operations import RunAnswer
from dcf.core.lifecycle import retention
from dcf.core.lifecycle.finalization import Finalize
from dcf.core.lifecycle.retention import KEEP_ALL, Deleted, RetentionPolicy
from dcf.errors import UnknownRun
from dcf.features.retention.storage import Deletion
from dcf.runs.control_plane import ControlPlane
from dcf.runs.requests import run_request
from dcf.store.connection.reserve import frees_memory
from dcf.store.events.outbox import Attention, Outbox
from dcf.store.transaction.runs import RunStore
from dcf.values.instants import SECOND
from dcf.values.json_text import Json
from dcf.values.refusal import Refusal


class Retention:
    """The operations on ended runs, and the policy by which the timer loop calls them."""

    def __init__(
        self,
        plane: ControlPlane,
        store: RunStore,
        outbox: Outbox,
        deletion: Deletion,
        policy: RetentionPolicy = KEEP_ALL,
    ) -> None:
        self._plane = plane
        self._store = store
        self._outbox = outbox
        self._deletion = deletion
        self._policy = policy
        self._meet_obligations: Callable[[str], object] | None = None
        self._forget: Callable[[str, Mapping[str, Json]], object] | None = None

    def before_deletion(self, meet_obligations: Callable[[str], object]) -> None:
        """From now on call this with the id of a run that is deleted: it does what it owes its children and parent."""
        self._meet_obligations = meet_obligations

    def after_deletion(self, forget: Callable[[str, Mapping[str, Json]], object]) -> None:
        """From now on call this with the id and the meta of a deleted run, to delete what is kept elsewhere."""
        self._forget = forget

    @frees_memory
    def delete(self, workflow_id: str, reason: str | None = None, request_id: str | None = None) -> Deleted | Refusal:
        """Delete an ended run: all its keys and its entries on all lists. Repeated, it finishes the deletion."""
        request = run_request("delete_run", reason, request_id)
        decide = partial(retention.delete, workflow_id=workflow_id, request=request)
        reads = ReadSet(whole_meta=True, run_receipts=(request.key,))
        answer = self._store.transact(workflow_id, reads, decide)
        if isinstance(answer, Refusal):
            return answer
        if not answer.existed or answer.meta is None:
            self._deletion.forget(workflow_id)
            return answer
        self._take_leave(workflow_id)
        self._deletion.remove(workflow_id, *self._paths(workflow_id), answer.meta)
        if self._forget is not None:
            self._forget(workflow_id, answer.meta)
        return answer

    def hold(
        self, workflow_id: str, reason: str | None = None, request_id: str | None = None, *, is_held: bool = True
    ) -> RunAnswer | Refusal:
        """Set or release the legal hold; a run on hold is not deleted and does not expire. Raise UnknownRun.

        A repetition of a request has no effect, even if another has released or set the hold since.
        """
        request = run_request("hold_run", reason, request_id, {"hold": is_held})
        decide = partial(retention.hold, workflow_id=workflow_id, request=request, is_held=is_held)
        reads = ReadSet(whole_meta=True, run_receipts=(request.key,))
        answer = self._store.transact(workflow_id, reads, decide)
        assert not isinstance(answer, More), "this decision knows what it reads"
        if isinstance(answer, RunAnswer) and is_held and not answer.repeated:
            self._outbox.keep(workflow_id, *self._paths(workflow_id))
        return answer

    @frees_memory
    def look(self, workflow_id: str, seen: Attention) -> bool:
        """Do what is due about an ended run: finish its deletion, or finalize it. Return True if it changed."""
        if seen.is_deleted:
            self.delete(workflow_id)
            return True
        due = seen.retention_due(self._policy)
        if due is None or due > seen.now:
            return False
        self._plane.finalize(workflow_id, Finalize(workflow_id=workflow_id, note=retention.FINALIZED_BY_ITSELF))
        return True

    @frees_memory
    def settle(self, workflow_id: str, seen: Attention) -> None:
        """Let the keys of a finalized run expire, or take their expiry off while it is on hold."""
        if seen.is_held:
            self._outbox.keep(workflow_id, *self._paths(workflow_id))
            return
        keep_s = self._policy.keeps_s(seen.retention_s)
        if seen.is_final and keep_s is not None:
            document = self._store.read(workflow_id, ReadSet(whole_meta=True)).meta_document
            if document is not None:
                self._deletion.expiring.note(workflow_id, document, seen.now + keep_s * SECOND)
            self._outbox.expire(workflow_id, *self._paths(workflow_id), keep_s)

    def _take_leave(self, workflow_id: str) -> None:
        """Let no child run continue alone, and no parent wait, because the run is deleted just after it ended."""
        try:
            run = self._plane.run(workflow_id)
        except UnknownRun:
            return
        meta = self._store.read(workflow_id, ReadSet()).meta
        is_child = meta is not None and meta.parent is not None
        if self._meet_obligations is not None and (is_child or run.definition.starts_children):
            self._plane.skip_unreached(workflow_id)
            self._meet_obligations(workflow_id)

    def _paths(self, workflow_id: str) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
        """Return the paths of all states, scopes and branches; none where an earlier deletion removed the workflow."""
        try:
            states, scopes, branches = self._plane.inside(workflow_id)
            paths = self._plane.run(workflow_id).definition.paths
        except UnknownRun:
            return (), (), ()
        return (*paths, *states), (*paths, *scopes), tuple(branches)
