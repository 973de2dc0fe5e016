"""The answer to an agent whose write shows another token than that of its own lease."""

from dcf.core.documents.answers import StateRefusal
from dcf.values.json_text import Json
from dcf.values.records import replace
from dcf.values.refusal import Refusal
from dcf.verbs.callers import calling_key, current_caller
from dcf.workforce.question_steps import to_regain

_HINT = (
    "The lease is yours, with another token. `acquire_state_lease` without a token gives you the work again, with its "
    "`lease_token`, and with what failed if a gate has sent the output back."
)


def may_regain(refusal: Refusal, agent_id: str | None) -> bool:
    """Return True for a refused token of a lease which the caller's key, bound to this agent, gets back."""
    if refusal.code != "lease_lost" or not isinstance(refusal, StateRefusal):
        return False
    key, lease = calling_key(), refusal.doc.lease
    return key is not None and lease.key == key and lease.owner_agent_id == (agent_id or current_caller().agent_id)


def regaining(refusal: Refusal, workflow_id: str, state: str) -> tuple[Refusal, list[dict[str, Json]]]:
    """Return the refusal with the way to the lease in its hint, and the call that goes it."""
    step = to_regain({"workflow_id": workflow_id, "state": state}, current_caller().agent_id or "")
    return replace(refusal, hint=_HINT), [step.as_json()]
