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

_OF_ACCOUNT: Final = {
    "limit": "Account {account} is closed until {until}, in {rest} (usage limit, reported by {by}).",
    "guess": "Account {account} is closed: {by} met a limit without an end; the next attempt is at {until}, in {rest}.",
    "spent": "Account {account} has no credit: a person must pay; the next attempt is at {until}, in {rest}.",
    "day": "Account {account} has used up its budget of the day; the next begins at {until}, in {rest}.",
    "wait": "Account {account} has no room for another turn; the next attempt is at {until}, in {rest}.",
}


def limit_of(doc: StateDoc, now: int) -> Parked | None:
    """Return the limit that an open state waits for; None if it waits for something else."""
    met = doc.parked
    return (
        None if met is None or doc.lease.token is not None or met.until != doc.not_before or met.until <= now else met
    )


def about_limit(path: str, doc: StateDoc, met: Parked, facts: Facts) -> RunFinding:
    """Return until when the state is parked. It is not stuck: it resumes at that time."""
    kinds = _KINDS if met.account is None else _OF_ACCOUNT
    words = kinds.get(met.kind, kinds["guess"])
    times = {"until": moment(met.until), "rest": lasting(met.until - facts.now)}
    limit = words.format(by=met.by or "an agent", account=met.account, **times)
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
            "account": met.account,
            "reported_by": met.by,
            "parked_times": met.count,
            "parked_seconds": met.seconds,
            "attempts": doc.attempts,
        },
    )
