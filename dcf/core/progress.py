"""A holder's writes: partial ones, and the completion or failure that moves the run on.

Pure: (snapshot, request, definition) to Decision. Nothing here is accepted without the current token.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from dcf.asl import engine
from dcf.asl.state_paths import join
from dcf.asl.steps import Advance, Entry, OpenTask
from dcf.core import refusals
from dcf.core.answers import Leased, Refusal, Updated
from dcf.core.decision import Changes, Decision, Event, Snapshot
from dcf.core.definition import Definition
from dcf.core.digest import fingerprint, next_token
from dcf.core.json_text import Json
from dcf.core.lease import Release, cleared, release
from dcf.core.model import Lease, Meta, RunStatus, StateDoc, Status
from dcf.core.transition import Claimant, Transition, clock_of, name_of

_NOTHING_KEPT = Entry(raw=None, variables={}, entered_at="")
"""Stands for an entry that leaving the state does not need."""

_SETTLING = (Status.SUCCEEDED, Status.FAILED)
_TOLD_BY_DEFAULT = {"complete": Status.SUCCEEDED, "release": Status.PENDING, "update": Status.RUNNING}
"""What stored replies leave out, since it is what they nearly always say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Update:
    """A write by the holder of `token`.

    `request_id` makes a partial write repeatable; completing needs none, since a token completes once. `error` and
    `cause` are the ASL error of a failure. `claim_ttl_s` asks to lease the next state for `owner` as well.
    """

    state: str
    token: str | None
    owner: str | None = None
    status: Status | None = None
    has_output: bool = False
    output: Json = None
    error: str | None = None
    cause: str | None = None
    attempts: int = 0
    set_started_at: bool = False
    set_finished_at: bool = False
    claim_ttl_s: int | None = None
    request_id: str | None = None


def update(
    snapshot: Snapshot, request: Update, definition: Definition, context: Mapping[str, Json]
) -> Decision[Updated | Refusal]:
    """Apply a holder's write, or repeat the reply if this very request was applied before."""
    doc, meta = snapshot.states[request.state], snapshot.meta
    assert meta is not None, "the control plane checks that the run exists before it decides"
    repeated = _repeated(doc, request)
    if repeated is not None:
        return Decision(answer=repeated, repeats=True)
    refusal = refusals.unless_holder(doc, meta, request.state, request.token) or _owner_refusal(doc, request)
    if refusal is not None:
        return Decision(answer=refusal)
    if request.status in _SETTLING:
        return _settle(snapshot, request, definition, context)
    if request.status is Status.PENDING:
        return _give_back(snapshot, request)
    if request.status not in (None, Status.RUNNING):
        return Decision(answer=refusals.invalid_transition(request.state, doc.status, request.status))
    return _write(doc, request, snapshot.now)


def exhaust(
    snapshot: Snapshot, state: str, definition: Definition, context: Mapping[str, Json]
) -> Decision[RunStatus | None]:
    """Fail a state that was leased as often as the run allows and is held by nobody; None: no longer so."""
    doc, meta = _open_state(snapshot, state)
    if meta is None or not doc.is_claimable(snapshot.now) or doc.tries < meta.max_attempts:
        return Decision(answer=None)
    cause = f"State '{state}' was leased {doc.attempts} times and no holder finished it."
    return _end_by_itself(snapshot, state, definition, context, ("DCF.AttemptsExhausted", cause))


def time_out(
    snapshot: Snapshot, state: str, definition: Definition, context: Mapping[str, Json]
) -> Decision[RunStatus | None]:
    """Fail a state whose TimeoutSeconds or HeartbeatSeconds are over, whoever holds it; None: no longer so."""
    doc, meta = _open_state(snapshot, state)
    error = doc.timed_out(snapshot.now)
    if meta is None or error is None:
        return Decision(answer=None)
    return _end_by_itself(snapshot, state, definition, context, (error, f"State '{state}' did not end in time."))


def wake(
    snapshot: Snapshot, state: str, definition: Definition, context: Mapping[str, Json]
) -> Decision[RunStatus | None]:
    """Go on after a Wait whose time has come; None: no longer so."""
    doc, meta = _open_state(snapshot, state)
    if meta is None or doc.kind is None or (doc.not_before or 0) > snapshot.now:
        return Decision(answer=None)
    return _end_by_itself(snapshot, state, definition, context, None)


def _open_state(snapshot: Snapshot, state: str) -> tuple[StateDoc, Meta | None]:
    """Return the state, and meta only while both the state and its run are open."""
    doc, meta = snapshot.states[state], snapshot.meta
    is_open = meta is not None and meta.status is RunStatus.RUNNING and not doc.status.is_terminal
    return doc, meta if is_open else None


def _end_by_itself(
    snapshot: Snapshot,
    state: str,
    definition: Definition,
    context: Mapping[str, Json],
    failure: tuple[str, str] | None,
) -> Decision[RunStatus | None]:
    """End a state that nobody writes the end of: it failed in this way, or its time has come."""
    doc, now = snapshot.states[state], snapshot.now
    epoch = doc.lease.next_epoch(now)
    step = _open_transition(snapshot, state, epoch, definition)
    step.states[state] = replace(doc, lease=Lease(epoch=epoch))
    step.timers[state] = None
    clock, (path, visits) = clock_of(now, epoch), _visit(snapshot, state)
    if failure is None:
        step.apply(engine.wake(definition.machine, path, visits, context, clock))
    else:
        step.apply(engine.fail(definition.machine, path, visits, *failure, context, clock))
    return Decision(answer=step.run_status, changes=step.changes())


def _settle(
    snapshot: Snapshot, request: Update, definition: Definition, context: Mapping[str, Json]
) -> Decision[Updated | Refusal]:
    """Close the state and decide what comes next, in one transaction."""
    state, doc = request.state, snapshot.states[request.state]
    advance = _advance(snapshot, request, definition, context)
    step = _open_transition(snapshot, state, doc.lease.epoch, definition)
    step.states[state] = closed = _closed(doc, request, snapshot.now)
    step.timers[state] = None
    if request.has_output:
        step.outputs[state] = request.output
    step.apply(advance, _claimant(request, doc, advance))
    answer = _answer(step, request, closed)
    mine = step.states[state]
    done = {"req": _repetition_key(request), **_reply(answer)}
    step.states[state] = replace(mine, last={**mine.last, "complete": done})
    return Decision(answer=answer, changes=step.changes())


def _advance(snapshot: Snapshot, request: Update, definition: Definition, context: Mapping[str, Json]) -> Advance:
    state = request.state
    path, visits = _visit(snapshot, state)
    clock = clock_of(snapshot.now, snapshot.states[state].lease.epoch)
    if request.status is Status.SUCCEEDED:
        result = request.output if request.has_output else snapshot.outputs.get(state)
        return engine.complete(definition.machine, path, visits, result, context, clock)
    error, cause = request.error or "States.TaskFailed", request.cause or ""
    return engine.fail(definition.machine, path, visits, error, cause, context, clock)


def _visit(snapshot: Snapshot, state: str) -> tuple[str, dict[str, Entry]]:
    """Name the state as the engine does, and give it what was kept of the state's entry."""
    path = join("", state)
    return path, {path: snapshot.entries.get(state, _NOTHING_KEPT)}


def _open_transition(snapshot: Snapshot, state: str, epoch: int, definition: Definition) -> Transition:
    assert snapshot.meta is not None, "checked by the fence"
    others = {name: doc for name, doc in snapshot.states.items() if name != state}
    return Transition(
        now=snapshot.now,
        epoch=epoch,
        meta=snapshot.meta,
        stateful=definition.stateful,
        visited_before=others,
    )


def _closed(doc: StateDoc, request: Update, now: int) -> StateDoc:
    assert request.status is not None, "only a settling update closes a state"
    return replace(
        doc,
        status=request.status,
        attempts=doc.attempts + request.attempts,
        lease=cleared(doc.lease),
        finished_at=now,
        last_error=_error_text(request) if request.status is Status.FAILED else doc.last_error,
        last={operation: reply for operation, reply in doc.last.items() if operation == "release"},
    )


def _claimant(request: Update, doc: StateDoc, advance: Advance) -> Claimant | None:
    owner = request.owner or doc.lease.owner_agent_id
    if request.claim_ttl_s is None or owner is None or request.token is None:
        return None
    entered = next((step.path for step in advance.steps if isinstance(step, OpenTask)), None)
    if entered is None:
        return None
    token = next_token(request.token, name_of(entered))
    return Claimant(owner=owner, token=token, ttl_s=request.claim_ttl_s)


def _answer(step: Transition, request: Update, closed: StateDoc) -> Updated:
    claimed = None
    if step.claimed is not None:
        claimed = Leased(
            outcome="lease_acquired",
            state=step.claimed,
            doc=step.states[step.claimed],
            given=step.inputs[step.claimed].effective,
        )
    failed = step.run_status is RunStatus.FAILED
    doc = step.states[request.state] if failed else closed
    return Updated(
        status=doc.status,
        doc=doc,
        output_written=request.has_output,
        run_status=step.run_status,
        next_states=step.entered,
        claimed=claimed,
    )


def _reply(answer: Updated) -> dict[str, Json]:
    """Note what a repetition must be told, without what a reader assumes anyway."""
    reply: dict[str, Json] = {}
    if answer.status is not Status.SUCCEEDED:
        reply["status"] = answer.status.value
    if answer.run_status is not RunStatus.RUNNING:
        reply["run_status"] = answer.run_status.value
    if answer.claimed is not None:
        reply["claimed"] = answer.claimed.state
    elif answer.next_states:
        reply["next"] = list(answer.next_states)
    return reply


def _repeated(doc: StateDoc, request: Update) -> Updated | None:
    done = doc.last.get(_operation(request))
    key = _repetition_key(request)
    if not isinstance(done, dict) or key is None or done.get("req") != key:
        return None
    claimed = done.get("claimed")
    return Updated(
        status=Status(done.get("status", _TOLD_BY_DEFAULT[_operation(request)])),
        doc=doc,
        output_written=request.has_output and _operation(request) != "release",
        run_status=RunStatus(done.get("run_status", RunStatus.RUNNING.value)),
        next_states=tuple(done.get("next", [claimed] if claimed else ())),
        claimed=_claimed_before(claimed, request),
        repeated=True,
    )


def _repetition_key(request: Update) -> str | None:
    """By what a repetition is known: a token ends its lease once; of partial writes its holder may name each."""
    if request.token is None:
        return None
    if _operation(request) != "update":
        return fingerprint(request.token)
    return None if request.request_id is None else fingerprint(f"{request.token}\n{request.request_id}")


def _operation(request: Update) -> str:
    """Name the reply that a repetition of the request looks for."""
    if request.status in _SETTLING:
        return "complete"
    return "release" if request.status is Status.PENDING else "update"


def _claimed_before(state: str | None, request: Update) -> Leased | None:
    if state is None or request.token is None:
        return None
    lease = Lease(token=next_token(request.token, state))
    return Leased(outcome="lease_already_held", state=state, doc=StateDoc(status=Status.RUNNING, lease=lease))


def _give_back(snapshot: Snapshot, request: Update) -> Decision[Updated | Refusal]:
    given = release(snapshot, Release(state=request.state, token=request.token))
    if isinstance(given.answer, Refusal):
        return Decision(answer=given.answer)
    answer = Updated(status=given.answer.doc.status, doc=given.answer.doc, output_written=False)
    return Decision(answer=answer, changes=given.changes)


def _write(doc: StateDoc, request: Update, now: int) -> Decision[Updated | Refusal]:
    """Write what leaves the state running: part of the output, a note of an error, one more attempt."""
    last, status, key = dict(doc.last), request.status or doc.status, _repetition_key(request)
    if key is not None:
        last["update"] = {"req": key, "status": status.value}
    written = replace(
        doc,
        status=status,
        attempts=doc.attempts + request.attempts,
        started_at=now if request.set_started_at else doc.started_at,
        finished_at=now if request.set_finished_at else doc.finished_at,
        last_error=_error_text(request) or doc.last_error,
        last=last,
    )
    event = Event(
        type="StateUpdated",
        state=request.state,
        data={"epoch": doc.lease.epoch, "output": request.has_output},
    )
    return Decision(
        answer=Updated(status=written.status, doc=written, output_written=request.has_output),
        changes=Changes(
            states={request.state: written},
            outputs={request.state: request.output} if request.has_output else {},
            events=(event,),
        ),
    )


def _error_text(request: Update) -> str | None:
    if request.error is None:
        return request.cause
    return f"{request.error}: {request.cause or ''}"


def _owner_refusal(doc: StateDoc, request: Update) -> Refusal | None:
    holder = doc.lease.owner_agent_id
    if request.owner is None or holder is None or request.owner == holder:
        return None
    return refusals.owner_mismatch(request.state, holder, request.owner, doc)
