"""Says of a parked state which limit it waits for, until when, and which agent reported the limit. Pure."""

from typing import Final

from dcf.core.documents.model import StateDoc
from dcf.core.documents.parking import Parked
from dcf.features.diagnosis import remedies
from dcf.features.diagnosis.facts import Facts, lasting, moment, text
from dcf.features.diagnosis.model import Cause, RunFinding

_KINDS: Final = {
    "limit": "The usage limit of {by} lasts until {until}, in {rest}.",
    "guess": "The usage limit of {by} has no known end; the next attempt is at {until}, in {rest}.",
    "busy": "The provider of {by} is overloaded; the next attempt is at {until}, in {rest}.",
    "spent": "The credit or quota of {by} is used up: a person must pay; the next attempt is at {until}, in {rest}.",
}


def limit_of(doc: StateDoc, now: int) -> Parked | None:
    """Return the limit that an open state waits for; None if it waits for something else."""
    met = doc.parked
    return (
        None if met is None or doc.lease.token is not None or met.until != doc.not_before or met.until <= now else met
    )


def about_limit(path: str, doc: StateDoc, met: Parked, facts: Facts) -> RunFinding:
    """Return until when the state is parked. It is not stuck: it resumes at that time."""
    words = _KINDS.get(met.kind, _KINDS["guess"])
    limit = words.format(by=met.by or "an agent", until=moment(met.until), rest=lasting(met.until - facts.now))
    return RunFinding(
        cause=Cause.ACCOUNT_CLOSED,
        sentence=f"State '{path}' is parked. {limit}",
        remedy=remedies.wait(facts.workflow_id, path),
        stuck=False,
        state=path,
        since=met.since,
        evidence={
            "until": text(met.until),
            "kind": met.kind,
            "reported_by": met.by,
            "parked_times": met.count,
            "parked_seconds": met.seconds,
            "attempts": doc.attempts,
        },
    )
