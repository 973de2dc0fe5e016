"""A holder's writes: partial ones, and the completion or failure that moves the run on.

Pure: (snapshot, request, definition) to Decision. Nothing here is accepted without the current token.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from dcf.asl import engine
from dcf.asl.steps import Advance
from dcf.core import refusals
from dcf.core.advancing import epoch_of, open_transition, take, visits_to_leave
from dcf.core.answers import Leased, Updated
from dcf.core.decision import Changes, Decision, Event, More, Snapshot
from dcf.core.definition import Definition
from dcf.core.lease import Release, cleared, forgotten_claim, release, without_claim
from dcf.core.model import Lease, Meta, RunStatus, StateDoc, Status
from dcf.core.transition import Claimant, Transition, clock_of
from dcf.values.digest import fingerprint, next_token
from dcf.values.instants import from_text
from dcf.values.json_text import Json
from dcf.values.refusal import Refusal

_SETTLING = (Status.SUCCEEDED, Status.FAILED)

WriteKind: TypeAlias = Literal["complete", "release", "update"]
"""The kinds of writes whose latest reply is stored, each under its name."""

_TOLD_BY_DEFAULT: Mapping[WriteKind, Status] = {
    "complete": Status.SUCCEEDED,
    "release": Status.PENDING,
    "update": Status.RUNNING,
}
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

    @property
    def needs_id(self) -> bool:
        """Whether nothing tells a repetition of it: it leaves the state running, and its caller named no id."""
        return self.request_id is None and self.status in (None, Status.RUNNING)


def update(
    snapshot: Snapshot, request: Update, definition: Definition, context: Mapping[str, Json]
) -> Decision[Updated | Refusal | More]:
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
) -> Decision[RunStatus | More | None]:
    """Fail a state that was leased as often as the run allows and is held by nobody; None: no longer so."""
    doc, meta = _open_state(snapshot, state)
    if meta is None or not doc.is_claimable(snapshot.now) or doc.tries < meta.max_attempts:
        return Decision(answer=None)
    cause = f"State '{state}' was leased {doc.attempts} times and no holder finished it."
    return _fail_by_itself(snapshot, state, definition, context, ("DCF.AttemptsExhausted", cause))


def time_out(
    snapshot: Snapshot, state: str, definition: Definition, context: Mapping[str, Json]
) -> Decision[RunStatus | More | None]:
    """Fail a state whose TimeoutSeconds or HeartbeatSeconds are over, whoever holds it; None: no longer so."""
    doc, meta = _open_state(snapshot, state)
    error = doc.timed_out(snapshot.now)
    if meta is None or error is None:
        return Decision(answer=None)
    return _fail_by_itself(snapshot, state, definition, context, (error, None))


def time_out_run(snapshot: Snapshot, definition: Definition) -> Decision[RunStatus | None]:
    """Fail a run whose machine's TimeoutSeconds are over; nothing can catch that. None: it is not so."""
    meta, limit = snapshot.meta, from_text((snapshot.meta_document or {}).get("deadline"))
    if meta is None or meta.status is not RunStatus.RUNNING or limit is None or limit > snapshot.now:
        return Decision(answer=None)
    step = Transition(now=snapshot.now, epoch=snapshot.now, meta=meta)
    cause = f"The run did not end within {definition.machine.timeout_s} seconds."
    step.fail_run("States.Timeout", cause)
    return step.decision(step.run_status)


def _open_state(snapshot: Snapshot, state: str) -> tuple[StateDoc, Meta | None]:
    """Return the state, and meta only while both the state and its run are open."""
    doc, meta = snapshot.states[state], snapshot.meta
    is_open = meta is not None and meta.status is RunStatus.RUNNING and not doc.status.is_terminal
    return doc, meta if is_open else None


def _fail_by_itself(
    snapshot: Snapshot,
    state: str,
    definition: Definition,
    context: Mapping[str, Json],
    failure: tuple[str, str | None],
) -> Decision[RunStatus | More | None]:
    """Fail, in this way, a state that nobody writes the end of."""
    doc, now = snapshot.states[state], snapshot.now
    epoch = doc.lease.next_epoch(now)
    visits = visits_to_leave(snapshot, state)
    clock = clock_of(now, epoch)
    advance = engine.fail(definition.machine, state, visits, *failure, context, clock)
    step = open_transition(snapshot, state, epoch, definition)
    step.writes.states[state] = replace(doc, lease=Lease(epoch=epoch), last=without_claim(doc.last))
    step.writes.timers[state] = None
    step.writes.claims.update(forgotten_claim(doc))
    more = take(step, snapshot, state, advance, definition, context)
    if more is not None:
        return Decision(answer=more)
    return step.decision(step.run_status)


def _settle(
    snapshot: Snapshot, request: Update, definition: Definition, context: Mapping[str, Json]
) -> Decision[Updated | Refusal | More]:
    """Close the state and decide what comes next, in one transaction."""
    state, doc = request.state, snapshot.states[request.state]
    advance = _advance(snapshot, request, definition, context)
    step = open_transition(snapshot, state, epoch_of(snapshot, state), definition)
    step.writes.states[state] = closed = _closed(doc, request, snapshot.now)
    step.writes.timers[state] = None
    step.writes.claims.update(forgotten_claim(doc))
    if request.has_output:
        step.writes.outputs[state] = request.output
    more = take(step, snapshot, state, advance, definition, context, claimant_of(request, doc.lease.owner_agent_id))
    if more is not None:
        return Decision(answer=more)
    answer = _answer(step, request, closed, doc.lease.owner_agent_id)
    mine = step.writes.states[state]
    done = {"req": _repetition_key(request), **_reply(answer)}
    step.writes.states[state] = replace(mine, last={**mine.last, "complete": done})
    return step.decision(answer)


def _advance(snapshot: Snapshot, request: Update, definition: Definition, context: Mapping[str, Json]) -> Advance:
    state = request.state
    visits = visits_to_leave(snapshot, state)
    clock = clock_of(snapshot.now, epoch_of(snapshot, state))
    if request.status is Status.SUCCEEDED:
        result = request.output if request.has_output else snapshot.outputs.get(state)
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
        last_error=_error_text(request) if request.status is Status.FAILED else doc.last_error,
        last={operation: reply for operation, reply in doc.last.items() if operation == "release"},
    )


def claimant_of(request: Update, holder: str | None) -> Claimant | None:
    """Tell who, with this write, wants to lease what comes next; None: nobody."""
    owner = request.owner or holder
    if request.claim_ttl_s is None or owner is None or request.token is None:
        return None
    return Claimant(owner=owner, token=request.token, ttl_s=request.claim_ttl_s)


def _answer(step: Transition, request: Update, closed: StateDoc, holder: str | None) -> Updated:
    failed = step.run_status is RunStatus.FAILED
    doc = step.writes.states[request.state] if failed else closed
    return Updated(
        status=doc.status,
        doc=doc,
        output_written=request.has_output,
        run_status=step.run_status,
        next_states=step.entered,
        claimed=step.claim(),
        owner=holder,
    )


def _reply(answer: Updated) -> dict[str, Json]:
    """Note what a repetition must be told, without what a reader assumes anyway."""
    reply: dict[str, Json] = {}
    if answer.status is not Status.SUCCEEDED:
        reply["status"] = answer.status.value
    if answer.run_status is not RunStatus.RUNNING:
        reply["run_status"] = answer.run_status.value
    claimed = () if answer.claimed is None else (answer.claimed.state,)
    if claimed:
        reply["claimed"] = claimed[0]
    if answer.next_states != claimed:
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


def _operation(request: Update) -> WriteKind:
    """Name the reply that a repetition of the request looks for."""
    if request.status in _SETTLING:
        return "complete"
    return "release" if request.status is Status.PENDING else "update"


def _claimed_before(state: str | None, request: Update) -> Leased | None:
    if state is None or request.token is None:
        return None
    lease = Lease(token=next_token(request.token, state))
    return Leased(outcome="lease_already_held", state=state, doc=StateDoc(status=Status.RUNNING, lease=lease))


def _give_back(snapshot: Snapshot, request: Update) -> Decision[Updated | Refusal | More]:
    given = release(snapshot, Release(state=request.state, token=request.token))
    if isinstance(given.answer, Refusal):
        return Decision(answer=given.answer)
    answer = Updated(status=given.answer.doc.status, doc=given.answer.doc, output_written=False)
    return Decision(answer=answer, changes=given.changes)


def _write(doc: StateDoc, request: Update, now: int) -> Decision[Updated | Refusal | More]:
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
            events=[event],
        ),
    )


def _error_text(request: Update) -> str | None:
    return ": ".join(filter(None, (request.error, request.cause))) or None


def _owner_refusal(doc: StateDoc, request: Update) -> Refusal | None:
    holder = doc.lease.owner_agent_id
    if request.owner is None or holder is None or request.owner == holder:
        return None
    return refusals.owner_mismatch(request.state, holder, request.owner, doc)
