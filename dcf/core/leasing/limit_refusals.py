"""The refusals of leases to agents whose account a usage limit has closed.

account_closed   account_closed, account_closed_to   the account of the agent is closed
"""

from dcf.core.documents.answers import StateRefusal
from dcf.core.documents.model import StateDoc
from dcf.core.documents.parking import Closure
from dcf.values.instants import seconds, to_text
from dcf.values.refusal import Refusal


def account_closed(state: str, doc: StateDoc, now: int) -> StateRefusal:
    """Refuse because a usage limit has closed the account of the agent; `doc` says until when, and who reported it."""
    assert doc.parked is not None, "the caller looked"
    met = doc.parked
    refusal = account_closed_to(Closure(account=str(met.account), until=met.until, lasts=met.until - now, by=met.by))
    return StateRefusal(
        code=refusal.code,
        message=f"State '{state}' waits. {refusal.message}",
        hint=refusal.hint,
        retry_after_s=refusal.retry_after_s,
        doc=doc,
    )


def account_closed_to(closed: Closure) -> Refusal:
    """Refuse because a usage limit has closed the account of the agent."""
    ends, reporter = f"{to_text(closed.until)[:19]}Z", closed.by or "an agent"
    return Refusal(
        code="account_closed",
        message=f"Account {closed.account} is closed until {ends} (usage limit, reported by {reporter}).",
        hint="No work is lost. Wait with `await_workflow_event`: dcf announces the state when the account opens.",
        retry_after_s=seconds(closed.lasts),
    )
