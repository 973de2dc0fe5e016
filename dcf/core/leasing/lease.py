"""Acquire, renew, release: who may write a state, and until when.

Pure: (snapshot, request) to Decision. The caller draws the token of a request before the call. The token is also the
request id, so the call may be repeated until its outcome is known (reliability notes, section 1).
"""

from collections.abc import Container

from dcf.core.completing.waiting_refusals import waits_outside
from dcf.core.definitions.scopes import entry_epoch_of
from dcf.core.documents import receipts, refusals
from dcf.core.documents.answers import Leased, Released
from dcf.core.documents.decision import Decision, Event, More, Snapshot, WriteSet
from dcf.core.documents.limit_refusals import limited
from dcf.core.documents.model import Lease, Meta, Operation, Receipt, RunStatus, StateDoc, Status
from dcf.core.documents.notices import lost_notices
from dcf.core.documents.parking import Closure
from dcf.core.leasing.attention import REMINDER_DELAY
from dcf.core.leasing.extensions import LEASING
from dcf.core.leasing.first_terms import DEFAULT_TTL_S, asked_again, signed
from dcf.core.leasing.halt_refusals import no_leases
from dcf.core.leasing.healing import healed
from dcf.core.leasing.lost_leases import LostLease, lost_lease
from dcf.core.leasing.parking import Excuse, excused, keep_out, unless_short
from dcf.values.digest import fingerprint
from dcf.values.instants import SECOND
from dcf.values.records import record, replace
from dcf.values.refusal import Refusal


@record(frozen=True, slots=True, kw_only=True)
class Acquire:
    """Request for the lease on a state, for `ttl_s` seconds.

    `claims`: any states will do, `most` of them at most. Which ones were leased is then recorded by token, so that a
    repetition finds them. `epoch`: only while the state has this one, and its input was corrected so often
    (`corrections`), as it was offered. `takes_back`: also from its own holder, if gates sent the output back.
    `first_term_s`: the holder may not hear of the lease, which ends after these seconds without a sign; None: this
    call is a sign. `only_held`: nothing new is leased; what is returned was leased before, and awaits a sign. `key`:
    dcf drew the token for this key. `regains`: a live lease of this owner and key is returned as it is. `closed`: how
    the owner's account is closed. `excusable`: agents whose lost leases may be excused.
    """

    state: str
    owner: str
    token: str
    ttl_s: int
    any_owner: bool = False
    may_take_over: bool = True
    set_running: bool = True
    claims: bool = False
    most: int = 1
    attempts: int = 1
    epoch: int | None = None
    corrections: int = 0
    takes_back: bool = True
    first_term_s: int | None = None
    only_held: bool = False
    key: str | None = None
    regains: bool = False
    closed: Closure | None = None
    excusable: Container[str] = ()


@record(frozen=True, slots=True, kw_only=True)
class Renew:
    """Request of the holder to extend its lease; `ttl_s` None keeps the TTL that the lease has."""

    state: str
    token: str
    owner: str | None = None
    ttl_s: int | None = None
    reject_if_expired: bool = True


@record(frozen=True, slots=True, kw_only=True)
class Release:
    """Request of the holder to release the state unfinished. `force` lets an operator end another agent's lease.

    `reason` is recorded in the history. `epoch`: only if the lease still has this epoch, as the caller saw it.
    `excuse`: the attempt is not counted.
    """

    state: str
    token: str | None
    owner: str | None = None
    force: bool = False
    clear_owner: bool = True
    reason: str | None = None
    epoch: int | None = None
    excuse: Excuse | None = None


def acquire(snapshot: Snapshot, request: Acquire) -> Decision[Leased | LostLease | Refusal]:
    """Grant the lease, return it again to its holder, or refuse with the reason. A lost lease may have to be excused.

    A run may have been finalized without its open states. Their documents still have a lease, which holds no more.
    """
    doc, meta = snapshot.states[request.state], snapshot.existing_meta
    is_holder = doc.lease.is_held_with(request.token) and not _owner_differs(doc, request.owner)
    is_holder = is_holder or (request.regains and doc.lease.is_regained_by(request.key, request.owner, snapshot.now))
    if is_holder and meta.status is RunStatus.RUNNING and not doc.status.is_terminal:
        return _granted_before(snapshot, doc, request)
    refusal = _why_not(doc, meta, request, snapshot)
    lost = lost_lease(request.state, doc, snapshot.now, request.excusable)
    if lost is not None and (refusal is None or refusal.code == "attempts_exhausted"):
        return Decision(answer=lost)
    if refusal is None and request.closed is not None and request.closed.until > snapshot.now:
        return keep_out(snapshot, request.state, request.owner, request.closed)
    if refusal is None:
        return _grant(snapshot, doc, request)
    if refusal.code == "lease_held" and (mended := healed(doc, snapshot.now)) != doc:
        return _heal(mended, request.state, snapshot.now)
    return Decision(answer=refusal)


def renew(snapshot: Snapshot, request: Renew) -> Decision[Leased | Refusal]:
    """Extend the holder's lease. Idempotent."""
    doc, now = snapshot.states[request.state], snapshot.now
    refusal = _unless_holder(snapshot, doc, request)
    if refusal is None and request.reject_if_expired and not (doc.lease.is_live(now) or doc.lease.awaits_sign):
        refusal = refusals.LEASE_EXPIRED.refuse(state=request.state)
    if refusal is not None:
        return Decision(answer=refusal)
    ttl_s = request.ttl_s or doc.lease.ttl_s or DEFAULT_TTL_S
    expires_at = now + ttl_s * SECOND
    lease = replace(doc.lease, ts=now, ttl_s=ttl_s, expires_at=expires_at, awaits_sign=False)
    renewed = replace(doc, lease=lease)
    event = Event(type="LeaseRenewed", state=request.state, data={"epoch": doc.lease.epoch, "ttl_s": ttl_s})
    return Decision(
        answer=Leased(outcome="lease_renewed", state=request.state, doc=renewed),
        changes=WriteSet(
            states={request.state: renewed},
            events=[event] if is_worth_an_event(doc, now) else [],
            timers={request.state: renewed.attention(expires_at)},
        ),
    )


def release(snapshot: Snapshot, request: Release) -> Decision[Released | Refusal | More]:
    """End the lease. The state is pending again and keeps its epoch; any assigned agent may take it."""
    doc = snapshot.states[request.state]
    if request.epoch is not None and request.epoch != doc.lease.epoch:
        return Decision(answer=refusals.MOVED_ON.refuse(state=request.state, doc=doc, epoch=request.epoch))
    if _is_clear(snapshot, doc, request):
        return Decision(answer=Released(outcome="lease_already_clear", doc=doc))
    if not request.force:
        refusal = _unless_holder(snapshot, doc, request)
        if refusal is not None:
            return Decision(answer=_unread(snapshot, request.state, request.token) or refusal)
    for hold in () if request.force else LEASING.holds:
        refusal = hold(request.state, doc)
        if refusal is not None:
            return Decision(answer=refusal)
    freed, receipts = _freed(doc, snapshot.now, request)
    if request.excuse is not None:
        freed = excused(freed, request.excuse, snapshot.now, by=doc.lease.owner_agent_id)
        too_long = unless_short(request.state, doc, freed)
        if too_long is not None:
            return Decision(answer=too_long)
    data: dict[str, int | bool | str] = {"epoch": doc.lease.epoch, "forced": request.force}
    data |= {} if request.reason is None else {"reason": request.reason}
    event = Event(type="LeaseReleased", state=request.state, data=data)
    at = freed.attention(freed.not_before or snapshot.now + REMINDER_DELAY)
    timers: dict[str, int | None] = {} if freed.status.is_terminal else {request.state: at}
    is_holder = request.token is not None and doc.lease.is_held_with(request.token)
    return Decision(
        answer=Released(outcome="lease_released", doc=freed),
        changes=WriteSet(
            states={request.state: freed},
            events=[event],
            notices=[] if is_holder else lost_notices(request.state, doc.lease, "released"),
            timers=timers,
            claims=forgotten_claim(doc),
            receipts=receipts,
        ),
    )


def forgotten_claim(doc: StateDoc) -> dict[str, str | None]:
    """Return the change that forgets the claim recorded for this state's token."""
    return {} if doc.claim is None else {doc.claim: None}


def cleared(lease: Lease) -> Lease:
    """Return the lease without its holder. Only the fencing number (epoch) stays."""
    return Lease(epoch=lease.epoch)


def granted(lease: Lease, *, owner: str, token: str, ttl_s: int, now: int, key: str | None = None) -> Lease:
    """Return the lease of a new holder."""
    return Lease(
        token=token,
        owner_agent_id=owner,
        ts=now,
        ttl_s=ttl_s,
        epoch=lease.next_epoch(now),
        expires_at=now + ttl_s * SECOND,
        key=key,
    )


def acquired_event(state: str, doc: StateDoc, *, takeover: bool) -> Event:
    """Return the history entry of a grant."""
    data = {
        "epoch": doc.lease.epoch,
        "owner": doc.lease.owner_agent_id,
        "attempt": doc.attempts,
        "ttl_s": doc.lease.ttl_s,
    }
    return Event(type="LeaseAcquired", state=state, data=data | ({"takeover": True} if takeover else {}))


def is_worth_an_event(doc: StateDoc, now: int) -> bool:
    """Return True for the first renewal of a lease, and the first after it has lasted 1, 2, 4, 8 and so on minutes.

    So a lease adds a few entries to the history, however often it is renewed; the state's document has the latest.
    """
    begun, last = doc.started_at, doc.lease.ts
    if begun is None or last is None:
        return False
    return last <= begun or _doublings(now - begun) > _doublings(last - begun)


def _doublings(lasted: int) -> int:
    return max(0, lasted // (60 * SECOND)).bit_length()


def _granted_before(snapshot: Snapshot, doc: StateDoc, request: Acquire) -> Decision[Leased | Refusal]:
    """Return the lease again to its holder; the call is a sign of it, unless it asks through a wait again."""
    term_s, now = request.first_term_s, snapshot.now
    after = signed(doc, now) if term_s is None else asked_again(doc, term_s, now)
    answer = Leased(
        outcome="lease_already_held",
        state=request.state,
        doc=after,
        given=snapshot.inputs.get(request.state),
        entry_epoch=entry_epoch_of(request.state, snapshot.states.get, snapshot.existing_meta),
    )
    if after is doc:
        return Decision(answer=answer)
    timers: dict[str, int | None] = {request.state: after.attention(after.lease.expires_at or now)}
    return Decision(answer=answer, changes=WriteSet(states={request.state: after}, timers=timers))


def _grant(snapshot: Snapshot, doc: StateDoc, request: Acquire) -> Decision[Leased | Refusal]:
    now, key = snapshot.now, request.key
    lease = granted(doc.lease, owner=request.owner, token=request.token, ttl_s=request.ttl_s, now=now, key=key)
    term_s = request.ttl_s
    if request.first_term_s is not None:
        term_s = request.first_term_s
        lease = replace(lease, expires_at=snapshot.now + term_s * SECOND, awaits_sign=True)
    taken = replace(
        doc,
        status=Status.RUNNING if request.set_running else doc.status,
        attempts=doc.attempts + request.attempts,
        lease=lease,
        started_at=snapshot.now,
        not_before=None,
        delay_s=None,
        claim=fingerprint(request.token) if request.claims else None,
        reminders=0,
        start_reminders=0,
        logged=0,
    )
    takes_over = doc.lease.token is not None
    event = acquired_event(request.state, taken, takeover=takes_over)
    return Decision(
        answer=Leased(
            outcome="lease_acquired",
            state=request.state,
            doc=taken,
            given=snapshot.inputs.get(request.state),
            entry_epoch=entry_epoch_of(request.state, snapshot.states.get, snapshot.existing_meta),
        ),
        changes=WriteSet(
            states={request.state: taken},
            events=[event],
            notices=lost_notices(request.state, doc.lease, "taken_over", request.owner) if takes_over else [],
            timers={request.state: taken.attention(snapshot.now + term_s * SECOND)},
            claims=forgotten_claim(doc) | ({fingerprint(request.token): request.state} if request.claims else {}),
            receipts=receipts.lost(request.state, doc, snapshot.now),
        ),
    )


def _why_not(doc: StateDoc, meta: Meta, request: Acquire, snapshot: Snapshot) -> Refusal | None:
    """Return the reason to refuse the lease, or None. Permanent reasons come before those that pass with time."""
    return (
        _unless_open(doc, meta, request, snapshot)
        or no_leases(meta)
        or _unless_due(doc, request, snapshot.now)
        or _unless_assigned(doc, meta, request)
        or _unless_free(doc, meta, request, snapshot.now)
    )


def _unread(snapshot: Snapshot, state: str, token: str | None) -> More | None:
    """Return the request to read a token's receipt; None if it was read or cannot exist."""
    if token is None or receipts.was_read(snapshot, state, receipts.token_key(token)):
        return None
    return More(receipts=((state, receipts.token_key(token)),))


def _unless_open(doc: StateDoc, meta: Meta, request: Acquire, snapshot: Snapshot) -> Refusal | None:
    if meta.status is not RunStatus.RUNNING:
        return refusals.RUN_CLOSED.refuse(status=meta.status)
    if doc.status.is_terminal:
        return refusals.STATE_TERMINAL.refuse(state=request.state, doc=doc)
    offered = (request.epoch, request.corrections)
    if request.epoch is not None and offered != (doc.lease.epoch, doc.corrections):
        return refusals.MOVED_ON.refuse(state=request.state, doc=doc, epoch=request.epoch)
    used = receipts.find(snapshot, request.state, receipts.token_key(request.token))
    return None if used is None else refusals.TOKEN_USED.refuse(state=request.state, doc=doc)


def _unless_due(doc: StateDoc, request: Acquire, now: int) -> Refusal | None:
    if doc.waits_outside:
        return waits_outside(request.state, doc)
    if doc.kind is not None:
        return refusals.GOES_BY_ITSELF.refuse(state=request.state, doc=doc)
    if not doc.is_ready:
        return refusals.NOT_READY.refuse(state=request.state, doc=doc)
    if doc.not_before is not None and doc.not_before > now:
        met = doc.limit(now)
        return refusals.not_due(request.state, doc, now) if met is None else limited(request.state, doc, met, now)
    return None


def _unless_assigned(doc: StateDoc, meta: Meta, request: Acquire) -> Refusal | None:
    if request.any_owner or meta.may_take(request.state, request.owner):
        return None
    return refusals.OWNER_MISMATCH.refuse(
        state=request.state, assigned=" or ".join(meta.assigned(request.state)), caller=request.owner, doc=doc
    )


def _unless_free(doc: StateDoc, meta: Meta, request: Acquire, now: int) -> Refusal | None:
    if request.takes_back and _was_sent_back(doc, request.owner):
        return (
            None if doc.tries < meta.max_attempts else refusals.ATTEMPTS_EXHAUSTED.refuse(state=request.state, doc=doc)
        )
    if doc.lease.is_live(now) or (doc.lease.token is not None and not request.may_take_over):
        return refusals.lease_held(request.state, doc, now)
    if doc.tries >= meta.max_attempts:
        return refusals.ATTEMPTS_EXHAUSTED.refuse(state=request.state, doc=doc)
    return None


def _was_sent_back(doc: StateDoc, owner: str) -> bool:
    """Return True if the output of this very agent was sent back: it may take the state again, token or not."""
    return doc.lease.owner_agent_id == owner and any(value.was_sent_back(doc) for value in doc.attached)


def _heal(mended: StateDoc, state: str, now: int) -> Decision[Leased | Refusal]:
    """Shorten a lease that would last far too long because the server clock stepped back."""
    event = Event(type="TimesHealed", state=state, data={"epoch": mended.lease.epoch})
    look = mended.attention(mended.lease.expires_at or now)
    return Decision(
        answer=refusals.lease_held(state, mended, now),
        changes=WriteSet(states={state: mended}, events=[event], timers={state: look}),
    )


def _is_clear(snapshot: Snapshot, doc: StateDoc, request: Release) -> bool:
    """Return True if there is nothing to release: the state is not leased, or the caller released it before."""
    if doc.lease.token is None and (request.force or doc.status.is_terminal):
        return True
    if request.force or request.token is None or doc.lease.is_held_with(request.token):
        return False
    done = receipts.find(snapshot, request.state, receipts.token_key(request.token))
    return done is not None and done.operation is not Operation.LOST


def _freed(doc: StateDoc, now: int, request: Release) -> tuple[StateDoc, dict[receipts.Place, Receipt]]:
    """Clear the lease. Keep the receipt of the caller that released it, or record that its holder lost it."""
    kept_owner = None if request.clear_owner else doc.lease.owner_agent_id
    lease = Lease(epoch=doc.lease.epoch, ts=now, ttl_s=doc.lease.ttl_s, owner_agent_id=kept_owner)
    status = doc.status if doc.status.is_terminal else Status.PENDING
    free = replace(doc, kind=None, attached=doc.lasting) if doc.is_judged else doc  # what was submitted is withdrawn
    freed = replace(free, status=status, lease=lease, claim=None)
    if request.token is None or not doc.lease.is_held_with(request.token):
        return freed, receipts.lost(request.state, doc, now)
    given_back = Receipt(
        request=receipts.token_key(request.token), operation=Operation.RELEASE, at=now, status=Status.PENDING
    )
    return receipts.keep(request.state, freed, given_back)


def _unless_holder(snapshot: Snapshot, doc: StateDoc, request: Renew | Release) -> Refusal | None:
    refusal = refusals.unless_holder(doc, snapshot.existing_meta, request.state, request.token)
    if refusal is None and _owner_differs(doc, request.owner):
        holder, caller = doc.lease.owner_agent_id or "", request.owner or ""
        return refusals.OWNER_MISMATCH.refuse(state=request.state, assigned=holder, caller=caller, doc=doc)
    return refusal


def _owner_differs(doc: StateDoc, owner: str | None) -> bool:
    return owner is not None and doc.lease.owner_agent_id is not None and owner != doc.lease.owner_agent_id
