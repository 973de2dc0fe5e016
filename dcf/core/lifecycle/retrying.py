"""Lets a run that did not succeed continue where it stopped (`retry_run`).

States that succeeded are kept. The others are entered again with their recorded input, a new epoch, and all their
attempts and retries. Pure; `reopening` finds the parts that continue.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from dcf.asl import engine
from dcf.core.completing.advancing import take
from dcf.core.completing.transition import Transition, clock_of
from dcf.core.definitions.model import Definition
from dcf.core.definitions.scopes import opened_scope
from dcf.core.documents import receipts, refusals
from dcf.core.documents.decision import Decision, Event, More, Snapshot, Tally
from dcf.core.documents.model import Lease, RunStatus, StateDoc, StateInput, Status
from dcf.core.documents.notices import stop_children
from dcf.core.documents.operations import RunAnswer, RunDecision, RunRequest, once
from dcf.core.leasing.attention import JOIN_DELAY
from dcf.core.lifecycle.growing_timeouts import NOT_PAUSED
from dcf.core.lifecycle.kickoff import deadline
from dcf.core.lifecycle.reopening import Plan
from dcf.values.instants import to_text
from dcf.values.json_text import Json
from dcf.values.records import record, replace
from dcf.values.refusal import Refusal

RETRIED: Final = "retried"
"""Reason of the notices about states that are entered again."""

_MOST_NAMED: Final = 100
_NEXT: Final = "dcf notifies the agents; `read_workflow_control_plane` shows the progress."


@record(frozen=True, slots=True, kw_only=True)
class Halt:
    """How a run ended, as it was when the plan was made: another end needs another plan."""

    plan: Plan
    epoch: int
    finished_at: Json
    forgotten: tuple[str, ...] = ()


def unless_retryable(document: Mapping[str, Json], status: RunStatus) -> Refusal | None:
    """Return why a run with this meta document and status cannot be retried; None if it can."""
    if document.get("grown") is True:
        return refusals.WAS_OPEN_RUN.refuse()
    if status is RunStatus.RUNNING:
        return refusals.STILL_RUNNING.refuse()
    if status is RunStatus.SUCCEEDED:
        return refusals.HAS_SUCCEEDED.refuse()
    if document.get("finalized_at") is not None:
        return refusals.WAS_FINALIZED.refuse()
    return None


def unless_lost(plan: Plan, definition: Definition) -> Refusal | None:
    """Return a refusal if a state of the workflow itself cannot be entered again, or control stopped in no state."""
    if plan.is_empty:
        return refusals.NOWHERE_TO_CONTINUE.refuse()
    if not plan.lost:
        return None
    state = definition.machine.states.get(plan.lost[0])
    why = "it is a Fail state" if state is not None and state.kind() == "Fail" else "its input was not recorded"
    return refusals.WOULD_FAIL_AGAIN.refuse(state=plan.lost[0], why=why)


def retry(
    snapshot: Snapshot, halt: Halt, request: RunRequest, definition: Definition, context: Mapping[str, Json]
) -> RunDecision:
    """Reopen what the plan names, and set the run running."""
    return once(snapshot, request, lambda: _retry(snapshot, halt, request, definition, context))


def is_outdated(snapshot: Snapshot, halt: Halt, request: RunRequest) -> bool:
    """Return True if the run can be retried, but was retried or ended again since the plan was made."""
    document, meta = snapshot.meta_document or {}, snapshot.existing_meta
    if snapshot.run_receipts.get(request.key) is not None or unless_retryable(document, meta.status) is not None:
        return False
    return bool(document.get("finished_at") != halt.finished_at)


def _retry(
    snapshot: Snapshot, halt: Halt, request: RunRequest, definition: Definition, context: Mapping[str, Json]
) -> RunDecision:
    document, plan = snapshot.meta_document or {}, halt.plan
    refusal = unless_retryable(document, snapshot.existing_meta.status) or unless_lost(plan, definition)
    if refusal is not None:
        return Decision(answer=refusal)
    now, epoch = snapshot.now, max(snapshot.now, halt.epoch + 1)
    reopened = {path: _reopened(snapshot.states[path], epoch, done) for path, done in plan.scopes.items()}
    seen = replace(snapshot, states={**snapshot.states, **reopened}, tallies={}, void={})
    step = Transition(
        now=now,
        epoch=epoch,
        meta=replace(snapshot.existing_meta, status=RunStatus.RUNNING, is_started=True),
        stateful=definition.stateful,
        revisits=True,
        visited_before=_before(snapshot, halt),
        signals=snapshot.signals,
    )
    _open_scopes(step, seen, plan, reopened)
    _wait_again(step, snapshot.states, epoch)
    _forget(step, snapshot, halt)
    more = _enter_again(step, seen, plan, definition, context)
    if more is not None:
        return Decision(answer=more)
    docs = {**snapshot.states, **snapshot.void}
    left = {path: docs[path] for path in (*plan.states, *halt.forgotten) if path in docs}
    step.writes.notices.extend(stop_children(left))  # of states that were not closed when the run ended
    return _decided(step, snapshot, plan, request, definition)


def _before(snapshot: Snapshot, halt: Halt) -> dict[str, StateDoc]:
    """Return of each state that is entered again what stays of its earlier visit."""
    stored = {**snapshot.states, **snapshot.void}
    return {
        path: StateDoc(lease=Lease(epoch=doc.lease.epoch), receipt=doc.receipt, claim=doc.claim, extra=doc.extra)
        for path, doc in stored.items()
        if path in halt.plan.states
    }


def _enter_again(
    step: Transition, seen: Snapshot, plan: Plan, definition: Definition, context: Mapping[str, Json]
) -> More | None:
    """Enter the states, and start fresh branches from their beginning. Return More if an item was not read."""
    visits = {path: opened_scope(seen, path) for path in plan.scopes}
    again = {path: replace(entry, retries=(), silent=0) for path, entry in plan.states.items()}
    fresh = [(branch.owner, branch.index) for branch in plan.fresh]
    advance = engine.reopen(
        definition.machine, again, fresh, {**visits, **again}, context, clock_of(step.now, step.epoch, step.signals)
    )
    return take(step, seen, "", advance, definition, context)


def _open_scopes(step: Transition, seen: Snapshot, plan: Plan, reopened: Mapping[str, StateDoc]) -> None:
    """Reopen Parallel and Map, whose counts begin with what is done; those around are open before those inside."""
    for path, doc in reopened.items():
        step.writes.states[path] = doc
        step.writes.timers[path] = step.now + JOIN_DELAY
        step.writes.events.append(Event(type="StateReopened", state=path, data={"epoch": step.epoch}))
        scope = seen.scopes[path]
        if scope.entry.retries:
            entry = replace(scope.entry, retries=())
            state_input = StateInput(entry=entry, effective=scope.effective, stateful=step.stateful, revisits=True)
            step.writes.inputs[path] = state_input
        if plan.scopes[path]:
            step.writes.ended[path] = Tally(done=len(plan.scopes[path]))
            step.remaining.counting[path] = doc


def _reopened(doc: StateDoc, epoch: int, done: frozenset[int]) -> StateDoc:
    """Return the document of a Parallel or Map that continues."""
    assert doc.scope is not None, "only a scope that was opened is reopened"
    return replace(
        doc,
        status=Status.RUNNING,
        lease=Lease(epoch=epoch),
        finished_at=None,
        last_error=None,
        retries=0,
        tries_from=doc.attempts,
        scope_epoch=None if doc.scope_epoch is None else epoch,
        scope=replace(doc.scope, done=_ranges(done)),
    )


def _wait_again(step: Transition, states: Mapping[str, StateDoc], epoch: int) -> None:
    """Let the states that control never reached wait for those before them again."""
    for path, doc in states.items():
        if doc.status is Status.SKIPPED and not doc.is_ready:
            step.writes.states[path] = replace(doc, status=Status.PENDING, finished_at=None, lease=Lease(epoch=epoch))


def _forget(step: Transition, snapshot: Snapshot, halt: Halt) -> None:
    """Keep only the receipts of branches that start from their beginning, and no token of a lost lease."""
    stored = {**snapshot.states, **snapshot.void}
    for path in (*halt.plan.states, *halt.forgotten):
        if path in stored:
            step.writes.receipts.update(receipts.lost(path, stored[path], step.now))
    for path in halt.forgotten:
        doc = stored.get(path)
        if doc is None:
            continue
        step.writes.forgotten.append(path)
        step.writes.timers[path] = None
        step.writes.claims.update({} if doc.claim is None else {doc.claim: None})
        if doc.receipt is not None:
            step.writes.receipts[path, doc.receipt.request] = doc.receipt


def _decided(
    step: Transition, snapshot: Snapshot, plan: Plan, request: RunRequest, definition: Definition
) -> RunDecision:
    """Add what concerns the run as a whole, and answer."""
    document, writes = snapshot.meta_document or {}, step.writes
    retried = int(document.get("retried") or 0) + 1
    names = [*plan.states, *(branch.scope for branch in plan.fresh)]
    for path in plan.states:
        if path in writes.states:  # who waits for whom stays as it was
            writes.states[path] = replace(writes.states[path], waits_for=snapshot.states[path].waits_for)
    data = request.told(retried=retried, states=names[:_MOST_NAMED], epoch=step.epoch)
    writes.events.insert(0, Event(type="RunRetried", data=data))
    writes.notices[:] = [
        replace(notice, reason=RETRIED) if notice.state in step.entered else notice for notice in writes.notices
    ]
    writes.opened.extend(path for path in plan.scopes if writes.states[path].is_open_scope)
    begun = {} if document.get("started_at") else {"started_at": to_text(step.now)}
    cleared = {name: None for name in ("error", "cause", "output", *NOT_PAUSED) if document.get(name) is not None}
    patch = {"status": RunStatus.RUNNING.value, "finished_at": None, "retried": retried, **cleared, **begun}
    meta = patch | deadline(step.now, definition.machine.timeout_s) | writes.meta
    answer = RunAnswer(
        answer={"run_status": step.run_status.value, "retried": retried, "states": names[:_MOST_NAMED], "hint": _NEXT},
        at=step.now,
    )
    return replace(step.decision(answer), changes=replace(writes, meta=meta, listed=True))


def _ranges(numbers: Iterable[int]) -> tuple[tuple[int, int], ...]:
    """Return numbers as ranges, first and last."""
    ranges: list[tuple[int, int]] = []
    for number in sorted(numbers):
        if ranges and ranges[-1][1] == number - 1:
            ranges[-1] = (ranges[-1][0], number)
        else:
            ranges.append((number, number))
    return tuple(ranges)
