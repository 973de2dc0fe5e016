"""Says of a parked state which limit it waits for, until when, who reported it, and what place it has. Pure."""

from typing import Final

from dcf.core.documents.limit_refusals import limit_words
from dcf.core.documents.model import StateDoc
from dcf.core.documents.parking import OF_MODELS, Parked
from dcf.features.diagnosis import remedies
from dcf.features.diagnosis.extensions import ExplainOffer
from dcf.features.diagnosis.facts import NO_SIGN, Facts, LimitSign, lasting, moment, text
from dcf.features.diagnosis.model import Cause, Remedy, RunFinding
from dcf.values.instants import from_text


def about_limit(path: str, doc: StateDoc, facts: Facts) -> RunFinding | None:
    """Return until when the state is parked, if it is.

    It is not stuck: it resumes at that time, if the run has time for it.
    """
    met = doc.limit(facts.now)
    if met is None:
        return None
    sign = NO_SIGN if met.account is None else facts.signs.get((met.account, met.until), NO_SIGN)
    times_out = from_text(facts.document.get("deadline"))
    is_short = times_out is not None and times_out < met.until
    reason = None if met.kind == OF_MODELS else sign.reason or None  # the reason is that of a limit on all models
    limit = limit_words(met, lasting(met.until - facts.now), reason)
    warning = f" The run times out first, at {moment(times_out)}." if times_out is not None and is_short else ""
    return RunFinding(
        cause=Cause.ACCOUNT_CLOSED,
        sentence=f"State '{path}' is parked. {limit}{_order(sign)}{warning}",
        remedy=_remedy(path, met, facts, is_short=is_short),
        stuck=False,
        state=path,
        since=met.since,
        evidence={
            "limit": limit,
            "until": text(met.until),
            "kind": met.kind,
            "account": met.account,
            "reported_by": met.by,
            "reason": reason,
            "ahead": sign.ahead,
            "waiting_states": sign.waiting,
            "parked_times": met.count,
            "parked_seconds": met.seconds,
            "attempts": doc.attempts,
            "run_times_out_at": text(times_out) if is_short else None,
        },
    )


def _order(sign: LimitSign) -> str:
    """Say which place the state has among those that wait for the account, if some become ready before it."""
    if sign.waiting <= 1:
        return ""
    if sign.ahead:
        return f" It is number {sign.ahead + 1} of {sign.waiting} states that wait for the account."
    return f" {sign.waiting} states wait for the account."


def _remedy(path: str, met: Parked, facts: Facts, *, is_short: bool) -> Remedy:
    if met.account is None or not (is_short or met.kind == "spent"):
        return remedies.wait(facts.workflow_id, path)
    return remedies.open_account(met.account, is_spent=met.kind == "spent")


OFFER: Final = ExplainOffer(parking=about_limit)
