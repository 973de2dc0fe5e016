"""Releases a state without counting the attempt: its provider's limit ends later, or its worker shuts down. Pure.

A parked state becomes ready at the end of the limit. No agent can lease it before; the timer loop announces it.
"""

from dcf.core.documents.answers import StateRefusal
from dcf.core.documents.model import StateDoc
from dcf.core.documents.parking import LONGEST_S, TOLD, parked_after
from dcf.core.documents.refusals import PARKED_TOO_LONG
from dcf.values.instants import SECOND
from dcf.values.records import record, replace


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


def excused(freed: StateDoc, excuse: Excuse, now: int, *, by: str | None) -> StateDoc:
    """Return a released state whose last attempt is not counted. During a limit its timeout does not run."""
    if freed.status.is_terminal:
        return freed
    uncounted = replace(freed, tries_from=freed.tries_from + 1)
    until = excuse.until if excuse.within_s is None else now + int(excuse.within_s * SECOND)
    if until is None or until <= now:
        return uncounted
    return replace(
        uncounted,
        not_before=until,
        delay_s=-(-(until - now) // SECOND),
        deadline=None if freed.deadline is None else freed.deadline + until - now,
        parked=parked_after(freed.parked, until, now, kind=excuse.kind, by=excuse.by or by, account=excuse.account),
    )


def unless_short(state: str, doc: StateDoc, freed: StateDoc) -> StateRefusal | None:
    """Refuse to park a state for longer, in all of its visit, than limits last."""
    if freed.parked is None or freed.parked.seconds <= LONGEST_S:
        return None
    return PARKED_TOO_LONG.refuse(state=state, doc=doc, days=LONGEST_S // 86_400)
