"""Ends the lease on a state: its holder by the lease token, an operator without it."""

from dcf.client.calls import call_tool
from dcf.client.exchange import Conversation
from dcf.verbs.records.leases import ReleasedState


def release(
    workflow_id: str,
    state: str,
    *,
    lease_token: str | None = None,
    owner_agent_id: str | None = None,
    clear_owner: bool = True,
    epoch: int | None = None,
    reason: str | None = None,
) -> Conversation[ReleasedState]:
    """End another agent's lease on a state so that others can acquire it. A right of operators.

    With the `lease_token`, its holder releases the state unfinished.
    """
    return call_tool(
        ReleasedState,
        "release_state_lease",
        workflow_id=workflow_id,
        state=state,
        lease_token=lease_token,
        owner_agent_id=owner_agent_id,
        force=lease_token is None,
        clear_owner=clear_owner,
        epoch=epoch,
        reason=reason,
    )
