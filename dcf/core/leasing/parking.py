"""Releases a state without counting the attempt: its provider's limit ends later, or its worker shuts down. Pure.

A parked state becomes ready at the end of the limit. No agent can lease it before; the timer loop announces it.
"""

from dcf.core.documents.answers import StateRefusal
from dcf.core.documents.decision import Decision, Snapshot, WriteSet
from dcf.core.documents.limit_refusals import limited
from dcf.core.documents.model import Meta, StateDoc
from dcf.core.documents.parking import LONGEST_S, TOLD, Closure, parked_after
from dcf.core.documents.refusals import PARKED_TOO_LONG
from dcf.errors import InvalidArgument
from dcf.values.instants import SECOND, from_text
from dcf.values.records import record, replace
from dcf.values.spans import read_span


@record(frozen=True, slots=True, kw_only=True)
class Excuse:
    """Why an attempt is not counted. A limit of this kind ends at `until`, or `within_s` seconds from now.

    Without a time the worker shuts down, and the state is ready at once. `account` is what the limit is of,
    `by` the agent that reported it, if that is not the lease holder.
    """

    until: int | None = None
    within_s: float | None = None
    kind: str = TOLD
    account: str | None = None
    by: str | None = None


def excuse_of(
    limited_until: str | None, kind: str, *, counts: bool, account: str | None = None, by: str | None = None
) -> Excuse | None:
    """Return why the attempt is not counted; None if it is. Raise InvalidArgument for what is no time.

    A length of time begins when the server reads it: the clock of the caller may be wrong.
    """
    if limited_until is None:
        return None if counts else Excuse()
    until, within_s = moment_of(limited_until)
    return Excuse(until=until, within_s=within_s, kind=kind, account=account, by=by)


def moment_of(limited_until: str) -> tuple[int | None, int | None]:
    """Return a point in time, or seconds from now; raise InvalidArgument for what is neither."""
    within_s = read_span(limited_until)
    until = None if within_s is not None else from_text(limited_until)
    if within_s is None and until is None:
        raise InvalidArgument(
            "limited_until is no time.", f"Write 2026-11-24T14:00:00Z, or seconds from now: 90s. At most {LONGEST_S}s."
        )
    return until, within_s


def excused(freed: StateDoc, excuse: Excuse, now: int, *, by: str | None) -> StateDoc:
    """Return a released state whose last attempt is not counted. During a limit its timeout does not run."""
    if freed.status.is_terminal:
        return freed
    return put_off(replace(freed, tries_from=freed.tries_from + 1), excuse, now, by=by)


def put_off(free: StateDoc, excuse: Excuse, now: int, *, by: str | None) -> StateDoc:
    """Return a state without a lease as it waits for the end of a limit; as it is if the limit has ended."""
    until = excuse.until if excuse.within_s is None else now + int(excuse.within_s * SECOND)
    if until is None or until <= now:
        return free
    parked = parked_after(free.parked, until, now, kind=excuse.kind, by=excuse.by or by, account=excuse.account)
    return replace(
        free,
        not_before=until,
        delay_s=-(-(until - now) // SECOND),
        deadline=None if free.deadline is None else free.deadline + until - now,
        parked=replace(parked, reminders=free.reminders),
    )


def keep_out(snapshot: Snapshot, state: str, agent: str, closed: Closure) -> Decision[StateRefusal]:
    """Refuse the lease on a free state to an agent of a closed account. If no other agent may take it, park it."""
    doc, meta, now = snapshot.states[state], snapshot.meta, snapshot.now
    limit = Excuse(until=closed.until, kind=closed.kind, account=closed.account, by=closed.by)
    waiting = put_off(doc, limit, now, by=agent)
    assert waiting.parked is not None, "an account that is closed opens later than now"
    refusal = limited(state, waiting, waiting.parked, now)
    if meta is None or not is_alone(meta, state, agent):
        return Decision(answer=refusal)
    too_long = unless_short(state, doc, waiting)
    if too_long is not None:
        return Decision(answer=too_long)
    timers: dict[str, int | None] = {state: waiting.attention(closed.until)}
    return Decision(answer=refusal, changes=WriteSet(states={state: waiting}, timers=timers))


def is_alone(meta: Meta, state: str, agent: str) -> bool:
    """Return True if no other agent may take the state: it waits for the account of this one."""
    return meta.assigned(state) == (agent,)


def unless_short(state: str, doc: StateDoc, freed: StateDoc) -> StateRefusal | None:
    """Refuse to park a state for longer, in all of its visit, than limits last."""
    if freed.parked is None or freed.parked.seconds <= LONGEST_S:
        return None
    return PARKED_TOO_LONG.refuse(state=state, doc=doc, days=LONGEST_S // 86_400)
