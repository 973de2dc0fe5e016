"""Says in words which usage limit a state waits for, and refuses callers because of one. Pure.

`why`, the answers to agents and the web page use the same words: account, time, and who reported the limit.
"""

from typing import Final

from dcf.core.documents.answers import StateRefusal
from dcf.core.documents.model import StateDoc
from dcf.core.documents.parking import CLOSING, OF_MODELS, Closure, Parked
from dcf.values.instants import seconds, to_text
from dcf.values.refusal import Refusal

_OF_AGENT: Final = {
    "limit": "The usage limit of {by} lasts until {until}",
    "guess": "The usage limit of {by} has no known end; the next attempt is at {until}",
    "busy": "The provider of {by} is overloaded; the next attempt is at {until}",
    "spent": "The credit or quota of {by} is used up: a person must pay; the next attempt is at {until}",
}

_OF_ACCOUNT: Final = {
    "limit": "Account {account} is closed until {until}",
    "guess": "Account {account} is closed, nobody knows until when; the next attempt is at {until}",
    "spent": "Account {account} has no credit: a person must pay; the next attempt is at {until}",
    "day": "Account {account} has used up its budget of the day; the next begins at {until}",
    OF_MODELS: "Account {account} is closed for the model of this agent until {until}",
    "wait": "Account {account} has no room for another turn; the next attempt is at {until}",
}

_REPORTED: Final = CLOSING | {OF_MODELS}


def limit_words(met: Parked | Closure, rest: str, reason: str | None = None) -> str:
    """Return the limit as a sentence: its account or agent, its end and in what time that is, who reported it."""
    kinds, by = (_OF_AGENT if met.account is None else _OF_ACCOUNT), met.by or "an agent"
    words = kinds.get(met.kind, kinds["guess"]).format(by=by, account=met.account, until=f"{to_text(met.until)[:19]}Z")
    is_reported = met.account is not None and met.kind in _REPORTED  # the others follow from the account's own limits
    source = f" ({reason or 'usage limit'}, reported by {by})" if is_reported else ""
    return f"{words}, in {rest}{source}."


_HINT: Final = "No work is lost. Wait with `await_workflow_event`: the state is announced when the limit ends."

_PARKED: Final = StateRefusal.kind("not_ready", "State '{state}' is parked. {limit}", _HINT)
_PARKED_BY_ACCOUNT: Final = StateRefusal.kind("account_closed", "State '{state}' is parked. {limit}", _HINT)
_ACCOUNT_CLOSED: Final = Refusal.kind("account_closed", "{limit}", _HINT)


def limited(state: str, doc: StateDoc, met: Parked, now: int) -> StateRefusal:
    """Refuse because the state waits for a usage limit: of an account, or of the agent or the budget alone."""
    kind, wait = _PARKED_BY_ACCOUNT if met.is_of_account else _PARKED, seconds(met.until - now)
    return kind.refuse(state=state, doc=doc, limit=limit_words(met, f"{wait:g} s"), retry_after_s=wait)


def account_closed(met: Closure) -> Refusal:
    """Refuse because a usage limit has closed the account of the agent."""
    wait = seconds(met.lasts)
    return _ACCOUNT_CLOSED.refuse(limit=limit_words(met, f"{wait:g} s"), retry_after_s=wait)
