"""A holder's writes, partial and final, and the ends of states without one: timeouts, Waits, exhausted attempts.

Pure: (snapshot, request, definition) to Decision. A holder's write is refused without the current lease token.
"""

from collections.abc import Mapping
from functools import partial

from dcf.asl import engine
from dcf.asl.steps import Advance
from dcf.asl.surroundings import Clock
from dcf.core.completing.advancing import epoch_of, open_transition, take, visits_to_leave
from dcf.core.completing.repetitions import repeat
from dcf.core.completing.transition import Claimant, Transition, clock_of
from dcf.core.completing.updates import Update
from dcf.core.completing.waiting import await_callback
from dcf.core.completing.write_answers import answer_to, error_text, receipt_of
from dcf.core.definitions.model import Definition
from dcf.core.definitions.outputs import TO_HOLDER, output_refusal
from dcf.core.documents import receipts, refusals
from dcf.core.documents.answers import Updated
from dcf.core.documents.decision import Decision, Event, More, Snapshot, WriteSet
from dcf.core.documents.model import Lease, Meta, Receipt, RunStatus, StateDoc, Status
from dcf.core.documents.notices import lost_notices, stop_children
from dcf.core.documents.parking import ACCOUNT_LIMIT, LONGEST_S
from dcf.core.extensions import EXTENSIONS, Settle, steps_of
from dcf.core.leasing.claim import claim_ready, look_for
from dcf.core.leasing.extensions import LEASING
from dcf.core.leasing.first_terms import signed
from dcf.core.leasing.lease import Release, cleared, forgotten_claim, release
from dcf.values.instants import SECOND, from_text
from dcf.values.json_text import Json
from dcf.values.records import replace
from dcf.values.refusal import Refusal

_SETTLING = (Status.SUCCEEDED, Status.FAILED)


def update(
    snapshot: Snapshot, request: Update, definition: Definition, context: Mapping[str, Json]
) -> Decision[Updated | Refusal | More]:
    """Apply a holder's write; return the stored answer if the same request was applied before.

    A request that looks stale may be such a repetition. So the stored results outside of the document are read before
    anything is refused, and before a partial write is applied.
    """
    stopped = _unless_new(snapshot, request)
    if stopped is not None:
        return stopped
    if request.usage is None:
        return _apply(snapshot, request, definition, context)
    return EXTENSIONS.charging(
        snapshot, request.state, request.usage, lambda seen: _apply(seen, request, definition, context)
    )


def _apply(  # noqa: PLR0911 - a line for each kind of write
    snapshot: Snapshot, request: Update, definition: Definition, context: Mapping[str, Json]
) -> Decision[Updated | Refusal | More]:
    doc = snapshot.states[request.state]
    if request.status in _SETTLING:
        is_free = definition.units is None and not definition.output_schemas
        refusal = None if is_free else _unfit(snapshot, request, definition)
        if refusal is not None:
            return Decision(answer=refusal)
        steps = definition.steps
        if steps is None:
            steps = steps_of(definition)
        if not steps or request.status is Status.FAILED:
            return _settle(snapshot, request, definition, context)
        settle: Settle = partial(_settle, snapshot, definition=definition, context=context)
        for through in steps:
            settle = partial(through, snapshot, definition, settle)
        return settle(request)
    for hold in LEASING.holds:
        refusal = hold(request.state, doc)
        if refusal is not None:
            return Decision(answer=refusal)
    if request.status is Status.PENDING:
        return _give_back(snapshot, request)
    if not request.is_partial:
        return Decision(
            answer=refusals.INVALID_TRANSITION.refuse(
                state=request.state, current=doc.status, wanted_status=request.status or doc.status
            )
        )
    return _write(doc, request, snapshot.now)


def exhaust(
    snapshot: Snapshot, state: str, definition: Definition, context: Mapping[str, Json]
) -> Decision[RunStatus | More | None]:
    """Fail a free state that was leased as often as the run allows. None: that is not, or no longer, the case."""
    doc, meta = _open_state(snapshot, state)
    if meta is None or not doc.is_claimable(snapshot.now) or doc.tries < meta.max_attempts:
        return Decision(answer=None)
    cause = f"State '{state}' was leased {doc.attempts} times and no holder finished it."
    return _end_by_itself(snapshot, state, definition, context, ("DCF.AttemptsExhausted", cause))


def outwait(
    snapshot: Snapshot, state: str, definition: Definition, context: Mapping[str, Json], *, until: int
) -> Decision[RunStatus | More | None]:
    """Fail a free state whose usage limit ends later than a visit may wait. None: it is not free, or may wait."""
    doc, meta = _open_state(snapshot, state)
    seconds = 0 if doc.parked is None else doc.parked.seconds
    if meta is None or not doc.is_claimable(snapshot.now) or seconds + (until - snapshot.now) / SECOND <= LONGEST_S:
        return Decision(answer=None)
    cause = f"Usage limits would have the state wait longer than {LONGEST_S // 86_400} days in all."
    return _end_by_itself(snapshot, state, definition, context, (ACCOUNT_LIMIT, cause))


def time_out(
    snapshot: Snapshot, state: str, definition: Definition, context: Mapping[str, Json]
) -> Decision[RunStatus | More | None]:
    """Fail a state, leased or not, whose TimeoutSeconds or HeartbeatSeconds have passed. None: they have not."""
    doc, meta = _open_state(snapshot, state)
    error = doc.timed_out(snapshot.now)
    if meta is None or error is None:
        return Decision(answer=None)
    return _end_by_itself(snapshot, state, definition, context, (error, None))


def wake(
    snapshot: Snapshot, state: str, definition: Definition, context: Mapping[str, Json]
) -> Decision[RunStatus | More | None]:
    """Continue after a Wait, a Retry's delay or a pause, when its time has come. None: it has not, or it has ended."""
    if not can_wake(snapshot, state):
        return Decision(answer=None)
    return _end_by_itself(snapshot, state, definition, context, None)


def can_wake(snapshot: Snapshot, state: str) -> bool:
    """Return True if an open state without a lease only waits to be continued."""
    doc, meta = _open_state(snapshot, state)
    is_due = doc.kind is not None and (doc.not_before or 0) <= snapshot.now
    was_woken = (doc.is_scope and doc.status is Status.RUNNING) or doc.waits_outside
    return meta is not None and is_due and not was_woken


def time_out_run(snapshot: Snapshot, definition: Definition) -> Decision[RunStatus | None]:
    """Fail a run whose TimeoutSeconds have passed; no Catch applies. None: they have not, or the run has ended."""
    meta, limit = snapshot.meta, from_text((snapshot.meta_document or {}).get("deadline"))
    if meta is None or meta.status is not RunStatus.RUNNING or limit is None or limit > snapshot.now:
        return Decision(answer=None)
    step = Transition(now=snapshot.now, epoch=snapshot.now, meta=meta)
    cause = f"The run did not end within {definition.machine.timeout_s} seconds."
    step.fail_run("States.Timeout", cause)
    return step.decision(step.run_status)


def _open_state(snapshot: Snapshot, state: str) -> tuple[StateDoc, Meta | None]:
    """Return the state, and meta; meta is None unless both the state and its run are open."""
    doc, meta = snapshot.states[state], snapshot.meta
    is_open = meta is not None and meta.status is RunStatus.RUNNING and not doc.status.is_terminal
    return doc, meta if is_open else None


def _end_by_itself(
    snapshot: Snapshot,
    state: str,
    definition: Definition,
    context: Mapping[str, Json],
    failure: tuple[str, str | None] | None,
) -> Decision[RunStatus | More | None]:
    """End a state without a holder's write: with a failure (error, cause), or because its time has come (None)."""
    doc, now = snapshot.states[state], snapshot.now
    epoch = doc.lease.next_epoch(now)
    visits = visits_to_leave(snapshot, state)
    clock = clock_of(now, epoch, snapshot.signals)
    if definition.units is not None and failure is not None:
        advance = EXTENSIONS.flow.failed(state, *failure)
    elif failure is None:
        advance = engine.wake(definition.machine, state, visits, context, clock)
    else:
        advance = engine.fail(definition.machine, state, visits, *failure, context, clock)
    step = open_transition(snapshot, state, epoch, definition)
    # If a chain continues before the run is started, starting the run announces the states that the chain opens.
    step.starting = failure is None and doc.status is Status.PENDING and not step.meta.is_started
    step.writes.states[state] = replace(doc, lease=Lease(epoch=epoch), claim=None)
    step.writes.timers[state] = None
    step.writes.claims.update(forgotten_claim(doc))
    step.writes.receipts.update(receipts.lost(state, doc, now))
    more = take(step, snapshot, state, advance, definition, context)
    if more is None and definition.units is not None:
        more = EXTENSIONS.flow.follow(step, snapshot, definition, state, None)
    if more is not None:
        return Decision(answer=more)
    step.writes.notices.extend([*stop_children({state: doc}), *lost_notices(state, doc.lease, "timed_out")])
    return step.decision(step.run_status)


def _settle(
    snapshot: Snapshot, request: Update, definition: Definition, context: Mapping[str, Json]
) -> Decision[Updated | Refusal | More]:
    """End the state and enter the states that follow, in one transaction; a Task with a callback begins to wait."""
    state, doc = request.state, snapshot.states[request.state]
    epoch = epoch_of(snapshot, state)
    step = open_transition(snapshot, state, epoch, definition)
    claimant = claimant_of(request, doc.lease.owner_agent_id, doc.lease.key)
    step.writes.claims.update(forgotten_claim(doc))
    if request.status is Status.SUCCEEDED and doc.visit is not None:
        handed = replace(doc, attempts=doc.attempts + request.attempts)
        closed = await_callback(step.writes, state, handed, snapshot.now)
    else:
        advance = _advance(snapshot, request, definition, context, clock_of(snapshot.now, epoch, snapshot.signals))
        step.writes.states[state] = closed = _closed(doc, request, snapshot.now)
        step.writes.timers[state] = None
        if request.has_output:
            step.writes.outputs[state] = request.output
        more = take(step, snapshot, state, advance, definition, context, claimant)
        if more is None and definition.units is not None:
            more = EXTENSIONS.flow.follow(step, snapshot, definition, state, claimant)
        if more is not None:
            return Decision(answer=more)
    claims = step.claims() if step.claimed else ()
    if claimant is not None and not request.only_entered and len(claims) < claimant.most:
        still = replace(claimant, most=claimant.most - len(claims))
        others = claim_ready(step, snapshot, still)
        claims += others
        page = look_for(step, snapshot, len(others), still, inside=not claims and "/" in state)
        if page is not None:
            return Decision(answer=page)
    answer = answer_to(step, request, closed, doc.lease.owner_agent_id, claims)
    mine, moved = receipts.keep(
        state, step.writes.states[state], receipt_of(request.given or request, answer, snapshot.now)
    )
    step.writes.states[state] = mine
    step.writes.receipts.update(moved)
    return step.decision(answer)


def _unfit(snapshot: Snapshot, request: Update, definition: Definition) -> Refusal | None:
    """Refuse an end that the document of the state does not allow."""
    if definition.units is not None and request.status is Status.SUCCEEDED:
        refusal = EXTENSIONS.flow.unless_open(snapshot, request.state)
        if refusal is not None:
            return refusal
    return _output_refusal(snapshot, request, definition) if definition.output_schemas else None


def _output_refusal(snapshot: Snapshot, request: Update, definition: Definition) -> Refusal | None:
    """Refuse an output that does not match its schema; what a holder says who hands a task token out is no output."""
    doc = snapshot.states[request.state]
    if request.status is not Status.SUCCEEDED or doc.visit is not None:
        return None
    output = request.output if request.has_output else snapshot.outputs.get(request.state)
    return output_refusal(definition, request.state, output, doc, TO_HOLDER)


def _advance(
    snapshot: Snapshot, request: Update, definition: Definition, context: Mapping[str, Json], clock: Clock
) -> Advance:
    state = request.state
    result = request.output if request.has_output else snapshot.outputs.get(state)
    if definition.units is not None:
        is_well = request.status is Status.SUCCEEDED
        return (
            EXTENSIONS.flow.succeeded(state, result)
            if is_well
            else EXTENSIONS.flow.failed(state, request.error, request.cause)
        )
    visits = visits_to_leave(snapshot, state)
    if request.status is Status.SUCCEEDED:
        return engine.complete(definition.machine, state, visits, result, context, clock)
    return engine.fail(definition.machine, state, visits, request.error, request.cause, context, clock)


def _closed(doc: StateDoc, request: Update, now: int) -> StateDoc:
    assert request.status is not None, "only a settling update closes a state"
    return replace(
        doc,
        status=request.status,
        attempts=doc.attempts + request.attempts,
        lease=cleared(doc.lease),
        finished_at=now,
        kind=None,
        attached=doc.attached and doc.lasting,
        last_error=error_text(request) if request.status is Status.FAILED else doc.last_error,
        claim=None,
        reminders=0,
    )


def claimant_of(request: Update, holder: str | None, key: str | None = None) -> Claimant | None:
    """Return the claim for the next state that this write contains; None if there is none."""
    owner = request.owner or holder
    if request.claim_ttl_s is None or owner is None or request.token is None:
        return None
    return Claimant(owner=owner, token=request.token, ttl_s=request.claim_ttl_s, most=request.claim_most, key=key)


def _unless_new(snapshot: Snapshot, request: Update) -> Decision[Updated | Refusal | More] | None:
    """Answer a repetition or refuse a request that is not the holder's; None if the request is to be applied."""
    doc, meta, key = snapshot.states[request.state], snapshot.meta, request.key
    assert meta is not None, "the control plane checks that the run exists before it decides"
    receipt = None if key is None else receipts.find(snapshot, request.state, key)
    if receipt is not None:
        return repeat(doc, meta, receipt, request)
    refusal = refusals.unless_holder(doc, meta, request.state, request.token) or _owner_refusal(doc, request)
    must_know = key is not None and (refusal is not None or request.is_partial)
    if key is not None and must_know and not receipts.was_read(snapshot, request.state, key):
        return Decision(answer=More(receipts=((request.state, key),)))
    return None if refusal is None else Decision(answer=refusal)


def _give_back(snapshot: Snapshot, request: Update) -> Decision[Updated | Refusal | More]:
    given_back = release(snapshot, Release(state=request.state, token=request.token))
    if isinstance(given_back.answer, Refusal | More):
        return Decision(answer=given_back.answer)
    answer = Updated(status=given_back.answer.doc.status, doc=given_back.answer.doc, output_written=False)
    return Decision(answer=answer, changes=given_back.changes)


def _write(doc: StateDoc, request: Update, now: int) -> Decision[Updated | Refusal | More]:
    """Apply a partial write: a part of the output, an error text, more attempts."""
    status = request.status or doc.status
    written = replace(
        signed(doc, now),
        status=status,
        attempts=doc.attempts + request.attempts,
        started_at=now if request.set_started_at else doc.started_at,
        finished_at=now if request.set_finished_at else doc.finished_at,
        last_error=error_text(request) or doc.last_error,
    )
    moved: dict[receipts.Place, Receipt] = {}
    if request.key is not None:
        updated = Updated(status=status, doc=written, output_written=request.has_output)
        written, moved = receipts.keep(request.state, written, receipt_of(request, updated, now))
    event = Event(
        type="StateUpdated",
        state=request.state,
        data={"epoch": doc.lease.epoch, "output": request.has_output},
    )
    return Decision(
        answer=Updated(status=written.status, doc=written, output_written=request.has_output),
        changes=WriteSet(
            states={request.state: written},
            outputs={request.state: request.output} if request.has_output else {},
            events=[event],
            receipts=moved,
        ),
    )


def _owner_refusal(doc: StateDoc, request: Update) -> Refusal | None:
    holder = doc.lease.owner_agent_id
    if request.owner is None or holder is None or request.owner == holder:
        return None
    return refusals.OWNER_MISMATCH.refuse(state=request.state, assigned=holder, caller=request.owner, doc=doc)
