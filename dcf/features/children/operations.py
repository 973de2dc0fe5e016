"""Child runs: starts them, reports them to the parent, and stops them if their parent no longer waits.

The duties are entries in the outbox of parent or child, written by the commit that causes them. The deliveries pass
them to this module. So each is done at least once, by any process; every step may be repeated
(`features/children/model.py`). A child is started in the name of the creator of its parent, whichever agent completed
the state before.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from typing import TypeAlias

from dcf.asl.machine import Task
from dcf.asl.resources import FOR_CALLBACK
from dcf.asl.state_paths import name_of
from dcf.core.access.model import LOCAL
from dcf.core.access.quotas import Account
from dcf.core.completing.conclusion import Conclusion, why_not
from dcf.core.completing.waiting_refusals import RUN_MOVED
from dcf.core.definitions.scopes import fenced, with_scopes
from dcf.core.documents.decision import More, ReadSet, Snapshot
from dcf.core.documents.model import RunStatus
from dcf.core.documents.notices import NoticeKind
from dcf.core.documents.operations import RunAnswer, RunDecision, RunRequest
from dcf.core.documents.parents import Parent, read_parent
from dcf.core.documents.premises import Premise, resting_on, with_premise
from dcf.core.lifecycle.starting import Start
from dcf.errors import InvalidArgument, InvalidDefinition, NotFound, StateError, UnknownDefinition, UnknownState
from dcf.features.children import model as children
from dcf.features.children.request import read_child_input
from dcf.runs.concluding import Outside
from dcf.runs.control_plane import ControlPlane
from dcf.runs.lifecycle import Lifecycle
from dcf.runs.starting import Starting
from dcf.store.access.authors import authored_by
from dcf.store.events.outbox import NOTHING_TOLD, Outbox, OutboxEntry
from dcf.values.json_text import Json
from dcf.values.refusal import Refusal

AccountOf: TypeAlias = Callable[[str], Account | Refusal | None]
"""Returns the account of who created a run; a refusal if that key may start no runs, None where there are no quotas."""


def without_quotas(_: str) -> None:
    """Return the account of anybody where no API keys are: none."""


class Children:
    """Meets what runs owe their children, and children their parents."""

    def __init__(
        self, plane: ControlPlane, starting: Starting, outbox: Outbox, account_of: AccountOf = without_quotas
    ) -> None:
        self._plane = plane
        self._store = plane.transactions.store
        self._starting = starting
        self._outbox = outbox
        self._account_of = account_of
        self._lifecycle = Lifecycle(plane)
        self._outside = Outside(plane)

    def handle(self, workflow_id: str, entry: OutboxEntry) -> None:
        """Do what an entry of this run's outbox says, and remove it.

        The timer loop repairs a lost effect, but it does not notice a child that continues although no state waits for
        it. So an entry that stopped a child is removed only where the child is seen to have stopped.
        """
        stopped: Premise | None = None
        match entry.type:
            case NoticeKind.CHILD_START:
                self._begin(workflow_id, entry.state or "", entry.epoch)
            case NoticeKind.CHILD_STOP:
                stopped = self._stop(workflow_id, entry.state or "", entry.epoch)
            case NoticeKind.CHILD_STARTED:
                stopped = self._tell_started(workflow_id)
            case NoticeKind.CHILD_OVER:
                self._tell_over(workflow_id)
        if stopped is None:
            self._outbox.settle(workflow_id, [(entry, NOTHING_TOLD)])
        else:
            self._outbox.settle_if(workflow_id, entry, stopped)

    def _begin(self, workflow_id: str, path: str, epoch: int) -> None:
        """Start the child of a state that waits for one; check a child that was started before."""
        child = children.child_id(workflow_id, path, epoch)
        request = _noted(child)
        reads = ReadSet(states=with_scopes([path]), inputs=(path,), whole_meta=True, run_receipts=(request.key,))
        snapshot = fenced(self._store.read(workflow_id, reads))
        if snapshot.meta is None or path not in snapshot.states:
            return
        document, task = snapshot.meta_document or {}, self._plane.place(workflow_id, path).state
        assert isinstance(task, Task), "only a Task waits for a child run"
        link = children.link_of(document, workflow_id, path, epoch, task.served_by.suffix)
        waits, meta = why_not(snapshot, path, epoch) is None, self._meta(child)
        if meta is not None:
            self._begin_again(link, child, meta, waits=waits)
        elif waits and snapshot.run_receipts.get(request.key) is not None:
            lost = children.failed(link, children.LOST, f"The child run '{child}' is gone.")
            self._conclude(link, document, lost, premise=children.is_gone(child, request))
        elif waits:
            self._start(document, snapshot.inputs.get(path), link)

    def _begin_again(self, link: Parent, child: str, document: Mapping[str, Json], *, waits: bool) -> None:
        """Check a child that exists: another process started it, or the timer loop asks for its status.

        The write that ended the waiting state has an outbox entry to stop the child, if it is to be stopped.
        """
        if read_parent(document.get("parent")) != link:
            if waits:
                taken = f"A run with the id of the child, '{child}', exists."
                self._conclude(link, document, children.failed(link, children.REFUSED, taken))
        elif waits and link.awaits_end:
            self._tell_over(child)
        elif waits:
            self._tell_started(child)

    def _start(self, document: Mapping[str, Json], child_input: Json, link: Parent) -> None:
        creator = _creator(document)
        account = None if creator == LOCAL else self._account_of(creator)
        answer: object = account
        try:
            if not isinstance(account, Refusal):
                child = read_child_input(child_input)
                entry = self._starting.resolve(child.reference, document.get("project"))
                wish = children.wish_for(document, child, entry.definition, link)
                with authored_by(creator, account):
                    answer = self._starting.start(Start(wish=wish), children.is_awaited(link), to_keep=entry)
        except StateError as error:
            self._conclude(link, document, children.failed(link, error.error, error.cause))
        except (UnknownDefinition, InvalidDefinition) as error:
            cause = f"{child.reference}: {error.message}"
            self._conclude(link, document, children.failed(link, children.NOT_THERE, cause))
        except InvalidArgument as error:
            self._conclude(link, document, children.failed(link, children.REFUSED, f"{error.message} {error.hint}"))
        if isinstance(answer, Refusal) and answer != RUN_MOVED.refuse(run=link.run):  # in that case it no longer waits
            self._conclude(link, document, children.failed(link, children.REFUSED, f"{answer.code}: {answer.message}"))

    def _stop(self, workflow_id: str, path: str, epoch: int) -> Premise | None:
        """Cancel a child whose parent no longer waits for it. A child that no state waited for continues.

        Return the premise that it has stopped, if it must stop.
        """
        child = children.child_id(workflow_id, path, epoch)
        child_meta, link = self._linked(child)
        if child_meta is None:
            return children.was_stopped(child, workflow_id)
        if link is None or not link.awaits_end or link.run != workflow_id:
            return None
        return self._cancel(child, child_meta, link)

    def _cancel(self, child: str, document: Mapping[str, Json], link: Parent) -> Premise:
        if document.get("status") == RunStatus.RUNNING:
            why = f"State '{name_of(link.state)}' of run '{link.run}', which started it, waits for it no longer."
            premise, known_by = children.is_forsaken(link), children.request_to_stop(link.run)
            with authored_by(_creator(document)), suppress(NotFound):
                self._lifecycle.cancel(child, reason=why, request_id=known_by, premise=premise)
        return children.was_stopped(child, link.run)

    def _tell_started(self, child: str) -> Premise | None:
        """Notify the parent that its child was started. If the parent no longer waits, the child is cancelled.

        Return the premise that it has then stopped.
        """
        child_meta, link = self._linked(child)
        if child_meta is None or link is None:
            return None
        try:
            answer = self._note_started(child, child_meta, link)
        except NotFound:  # the parent was deleted
            if not link.awaits_end:
                return None  # it may have been notified before, and the child is to outlive it
            answer = None
        if isinstance(answer, RunAnswer) or link.how == FOR_CALLBACK:
            return None
        return self._cancel(child, child_meta, link)

    def _note_started(self, child: str, document: Mapping[str, Json], link: Parent) -> RunAnswer | Refusal:
        premise = children.is_there(child, link)
        if not link.how:
            wish = children.started(link, child, document)
            return self._conclude(link, document, wish, f"{child} started", premise=premise)
        request = _noted(child)

        def decide(snapshot: Snapshot) -> RunDecision:
            if link.state not in snapshot.states:
                raise UnknownState(link.run, link.state)
            noted = partial(children.note_started, snapshot, request, link, child)
            return resting_on(premise, snapshot, noted)

        reads = ReadSet(states=with_scopes([link.state]), run_receipts=(request.key,))
        with self._as_creator(document):
            answer = self._plane.transactions.on_run(link.run, with_premise(reads, premise), decide).answer
        assert not isinstance(answer, More), "the decision knows what it reads"
        return answer

    def _tell_over(self, child: str) -> None:
        """End the state of the parent that waits for this child, if the child has ended."""
        child_meta, link = self._linked(child)
        if child_meta is None or link is None or child_meta.get("status") == RunStatus.RUNNING or not link.awaits_end:
            return
        wish, premise = children.over(link, child, child_meta), children.ended_so(child, child_meta)
        try:
            self._conclude(link, child_meta, wish, f"{child} over {child_meta.get('finished_at')}", premise=premise)
        except NotFound:
            return  # the parent was deleted

    def _conclude(
        self,
        link: Parent,
        document: Mapping[str, Json],
        wish: Conclusion,
        request_id: str | None = None,
        premise: Premise | None = None,
    ) -> RunAnswer | Refusal:
        """End the parent's state, in the name of who created parent and child alike."""
        with self._as_creator(document):
            return self._outside.conclude(link.run, wish, verb="child_run", request_id=request_id, premise=premise)

    def _linked(self, child: str) -> tuple[Mapping[str, Json] | None, Parent | None]:
        meta = self._meta(child)
        return meta, None if meta is None else read_parent(meta.get("parent"))

    def _meta(self, workflow_id: str) -> Mapping[str, Json] | None:
        return self._store.read_surely(workflow_id, ReadSet(whole_meta=True)).meta_document

    @contextmanager
    def _as_creator(self, document: Mapping[str, Json]) -> Iterator[None]:
        """Write in the name, and for the account, of who created the run."""
        creator = _creator(document)
        account = None if creator == LOCAL else self._account_of(creator)
        with authored_by(creator, None if isinstance(account, Refusal) else account):
            yield


def _noted(child: str) -> RunRequest:
    """Return the request by which a parent knows that this child was started."""
    return RunRequest(verb="child_started", request_id=f"{child} noted", arguments={"run": child})


def _creator(document: Mapping[str, Json]) -> str:
    name = document.get("created_by")
    return name if isinstance(name, str) else LOCAL
