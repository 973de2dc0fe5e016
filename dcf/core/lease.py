"""Acquire, renew, release: who may write a state, and until when.

Pure: (snapshot, request) to Decision. The token in a request is drawn by the caller before the call and is also the
request id, so the same call may be repeated until its outcome is known (reliability notes, section 1).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from dcf.core import refusals
from dcf.core.answers import Leased, Released
from dcf.core.attention import REMINDER_DELAY
from dcf.core.decision import Changes, Decision, Event, Snapshot
from dcf.core.healing import healed
from dcf.core.model import Lease, Meta, RunStatus, StateDoc, Status
from dcf.values.digest import fingerprint
from dcf.values.instants import SECOND
from dcf.values.json_text import Json
from dcf.values.refusal import Refusal

_DEFAULT_TTL_S = 300
"""Length of a renewed lease that came without a readable one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Acquire:
    """A wish to hold a state for `ttl_s` seconds.

    `claims` says that any state would do: which one it got is then noted, since a repetition cannot know.
    """

    state: str
    owner: str
    token: str
    ttl_s: int
    any_owner: bool = False
    may_take_over: bool = True
    set_running: bool = True
    claims: bool = False
    attempts: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Renew:
    """A holder's wish for more time; `ttl_s` None keeps the length it has."""

    state: str
    token: str
    owner: str | None = None
    ttl_s: int | None = None
    reject_if_expired: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """A holder gives the state back unfinished; `force` is an operator's right."""

    state: str
    token: str | None
    owner: str | None = None
    force: bool = False
    clear_owner: bool = True


def acquire(snapshot: Snapshot, request: Acquire) -> Decision[Leased | Refusal]:
    """Grant the lease to one owner, tell its holder that it already has it, or say why not."""
    doc, meta = snapshot.states[request.state], _meta(snapshot)
    is_holder = doc.lease.is_held_with(request.token) and not _owner_differs(doc, request.owner)
    if is_holder and not doc.status.is_terminal:
        held = Leased(
            outcome="lease_already_held",
            state=request.state,
            doc=doc,
            given=snapshot.inputs.get(request.state),
        )
        return Decision(answer=held)
    refusal = _why_not(doc, meta, request, snapshot.now)
    if refusal is None:
        return _grant(snapshot, doc, request)
    if refusal.code == "lease_held" and (mended := healed(doc, snapshot.now)) != doc:
        return _heal(mended, request.state, snapshot.now)
    return Decision(answer=refusal)


def renew(snapshot: Snapshot, request: Renew) -> Decision[Leased | Refusal]:
    """Move the holder's expiry on; repeating it is harmless."""
    doc, now = snapshot.states[request.state], snapshot.now
    refusal = refusals.unless_holder(doc, _meta(snapshot), request.state, request.token)
    if refusal is None and _owner_differs(doc, request.owner):
        refusal = refusals.owner_mismatch(request.state, doc.lease.owner_agent_id or "", request.owner or "", doc)
    if refusal is None and request.reject_if_expired and not doc.lease.is_live(now):
        refusal = refusals.lease_expired(request.state)
    if refusal is not None:
        return Decision(answer=refusal)
    ttl_s = request.ttl_s or doc.lease.ttl_s or _DEFAULT_TTL_S
    expires_at = now + ttl_s * SECOND
    renewed = replace(doc, lease=replace(doc.lease, ts=now, ttl_s=ttl_s, expires_at=expires_at))
    event = Event(type="LeaseRenewed", state=request.state, data={"epoch": doc.lease.epoch, "ttl_s": ttl_s})
    return Decision(
        answer=Leased(outcome="lease_renewed", state=request.state, doc=renewed),
        changes=Changes(
            states={request.state: renewed}, events=[event], timers={request.state: renewed.attention(expires_at)}
        ),
    )


def release(snapshot: Snapshot, request: Release) -> Decision[Released | Refusal]:
    """Give the state back: pending again, its epoch kept, so that whoever is assigned may take it."""
    doc = snapshot.states[request.state]
    if _is_clear(doc, request):
        return Decision(answer=Released(outcome="lease_already_clear", doc=doc))
    if not request.force:
        refusal = refusals.unless_holder(doc, _meta(snapshot), request.state, request.token)
        if refusal is None and _owner_differs(doc, request.owner):
            refusal = refusals.owner_mismatch(request.state, doc.lease.owner_agent_id or "", request.owner or "", doc)
        if refusal is not None:
            return Decision(answer=refusal)
    freed = _freed(doc, snapshot.now, request)
    event = Event(type="LeaseReleased", state=request.state, data={"epoch": doc.lease.epoch, "forced": request.force})
    at = freed.attention(snapshot.now + REMINDER_DELAY)
    timers: dict[str, int | None] = {} if freed.status.is_terminal else {request.state: at}
    return Decision(
        answer=Released(outcome="lease_released", doc=freed),
        changes=Changes(states={request.state: freed}, events=[event], timers=timers, claims=forgotten_claim(doc)),
    )


def forgotten_claim(doc: StateDoc) -> dict[str, str | None]:
    """Forget which state was claimed with the token that held this one."""
    mark = doc.last.get("claim")
    return {mark: None} if isinstance(mark, str) else {}


def without_claim(last: Mapping[str, Json]) -> dict[str, Json]:
    """Leave out of the stored replies by which token the state was claimed."""
    return {operation: reply for operation, reply in last.items() if operation != "claim"}


def cleared(lease: Lease) -> Lease:
    """Clear the lease after its holder is done: only the fencing number stays."""
    return Lease(epoch=lease.epoch)


def granted(lease: Lease, *, owner: str, token: str, ttl_s: int, now: int) -> Lease:
    """Make the lease of a new holder."""
    return Lease(
        token=token,
        owner_agent_id=owner,
        ts=now,
        ttl_s=ttl_s,
        epoch=lease.next_epoch(now),
        expires_at=now + ttl_s * SECOND,
    )


def acquired_event(state: str, doc: StateDoc, *, takeover: bool) -> Event:
    """Write the history entry of a grant."""
    data = {"epoch": doc.lease.epoch, "owner": doc.lease.owner_agent_id, "attempt": doc.attempts}
    return Event(type="LeaseAcquired", state=state, data=data | ({"takeover": True} if takeover else {}))


def _grant(snapshot: Snapshot, doc: StateDoc, request: Acquire) -> Decision[Leased | Refusal]:
    lease = granted(doc.lease, owner=request.owner, token=request.token, ttl_s=request.ttl_s, now=snapshot.now)
    taken = replace(
        doc,
        status=Status.RUNNING if request.set_running else doc.status,
        attempts=doc.attempts + request.attempts,
        lease=lease,
        started_at=snapshot.now,
        not_before=None,
        delay_s=None,
        last={**without_claim(doc.last), **({"claim": fingerprint(request.token)} if request.claims else {})},
    )
    event = acquired_event(request.state, taken, takeover=doc.lease.token is not None)
    return Decision(
        answer=Leased(
            outcome="lease_acquired",
            state=request.state,
            doc=taken,
            given=snapshot.inputs.get(request.state),
        ),
        changes=Changes(
            states={request.state: taken},
            events=[event],
            timers={request.state: taken.attention(snapshot.now + request.ttl_s * SECOND)},
            claims=forgotten_claim(doc) | ({fingerprint(request.token): request.state} if request.claims else {}),
        ),
    )


def _why_not(doc: StateDoc, meta: Meta, request: Acquire, now: int) -> Refusal | None:
    """Name the first reason against a grant; what waiting does not mend comes first."""
    return (
        _unless_open(doc, meta, request)
        or _unless_due(doc, request, now)
        or _unless_assigned(doc, meta, request)
        or _unless_free(doc, meta, request, now)
    )


def _unless_open(doc: StateDoc, meta: Meta, request: Acquire) -> Refusal | None:
    if meta.status is not RunStatus.RUNNING:
        return refusals.run_closed(meta.status)
    if doc.status.is_terminal:
        return refusals.state_terminal(request.state, doc)
    return refusals.token_used(request.state, doc) if _is_done_with(doc, request.token) else None


def _unless_due(doc: StateDoc, request: Acquire, now: int) -> Refusal | None:
    if doc.kind is not None:
        return refusals.goes_by_itself(request.state, doc)
    if not doc.is_ready:
        return refusals.not_ready(request.state, doc)
    if doc.not_before is not None and doc.not_before > now:
        return refusals.not_due(request.state, doc, now)
    return None


def _unless_assigned(doc: StateDoc, meta: Meta, request: Acquire) -> Refusal | None:
    if request.any_owner or meta.may_take(request.state, request.owner):
        return None
    return refusals.owner_mismatch(request.state, " or ".join(meta.assigned(request.state)), request.owner, doc)


def _unless_free(doc: StateDoc, meta: Meta, request: Acquire, now: int) -> Refusal | None:
    if doc.lease.is_live(now) or (doc.lease.token is not None and not request.may_take_over):
        return refusals.lease_held(request.state, doc, now)
    if doc.tries >= meta.max_attempts:
        return refusals.attempts_exhausted(request.state, doc)
    return None


def _heal(mended: StateDoc, state: str, now: int) -> Decision[Leased | Refusal]:
    """Bound a lease that a backward step of the server's clock would make last far too long."""
    event = Event(type="TimesHealed", state=state, data={"epoch": mended.lease.epoch})
    look = mended.attention(mended.lease.expires_at or now)
    return Decision(
        answer=refusals.lease_held(state, mended, now),
        changes=Changes(states={state: mended}, events=[event], timers={state: look}),
    )


def _is_clear(doc: StateDoc, request: Release) -> bool:
    """Tell whether there is nothing to release: nobody holds the state, or the caller gave it up before."""
    if doc.lease.token is None and (request.force or doc.status.is_terminal):
        return True
    return not request.force and not doc.lease.is_held_with(request.token) and _is_done_with(doc, request.token)


def _freed(doc: StateDoc, now: int, request: Release) -> StateDoc:
    kept_owner = None if request.clear_owner else doc.lease.owner_agent_id
    lease = Lease(epoch=doc.lease.epoch, ts=now, ttl_s=doc.lease.ttl_s, owner_agent_id=kept_owner)
    last = without_claim(doc.last)
    if request.token is not None and doc.lease.is_held_with(request.token):
        last["release"] = {"req": fingerprint(request.token)}
    return replace(doc, status=doc.status if doc.status.is_terminal else Status.PENDING, lease=lease, last=last)


def _is_done_with(doc: StateDoc, token: str | None) -> bool:
    """Tell whether this token held the state before, and released or completed it."""
    ended = (doc.last.get(operation) for operation in ("release", "complete"))
    return token is not None and any(
        isinstance(reply, dict) and reply.get("req") == fingerprint(token) for reply in ended
    )


def _owner_differs(doc: StateDoc, owner: str | None) -> bool:
    return owner is not None and doc.lease.owner_agent_id is not None and owner != doc.lease.owner_agent_id


def _meta(snapshot: Snapshot) -> Meta:
    assert snapshot.meta is not None, "the control plane checks that the run exists before it decides"
    return snapshot.meta
