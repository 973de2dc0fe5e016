"""Methods of the clients for the verbs of the toolset notification. Derived from their descriptions."""

from collections.abc import Mapping, Sequence

from dcf.client.arguments import json_text, request_id_for
from dcf.client.calls import call_tool
from dcf.client.exchange import Conversation
from dcf.values.json_paths import MISSING
from dcf.values.json_text import Json
from dcf.verbs.records.notification import AwaitedEvent, NotifiedAgents, RoleName


def await_workflow_event(
    agent_id: str,
    *,
    timeout_s: float = 20,
    ack_message_id: str | None = None,
    lease: bool = True,
    lease_ttl_s: int = 300,
    lease_token: str | None = None,
    lease_states: Sequence[str] | None = None,
    lease_functions: Mapping[str, Sequence[str]] | None = None,
    request_id: str | None = None,
    whole_input: bool = False,
    unassigned: bool = False,
) -> Conversation[AwaitedEvent]:
    """Wait for `work`: it comes leased, with its input and `next` calls; on 'timeout' call again.

    Renew within `sign_within_s` what takes longer. Events without `work` come again until you acknowledge them.
    """
    return call_tool(
        AwaitedEvent,
        "await_workflow_event",
        agent_id=agent_id,
        timeout_s=timeout_s,
        ack_message_id=ack_message_id,
        lease=lease,
        lease_ttl_s=lease_ttl_s,
        lease_token=lease_token,
        lease_states=lease_states,
        lease_functions=lease_functions,
        request_id=request_id_for(request_id),
        whole_input=whole_input or None,
        unassigned=unassigned or None,
    )


def notify_next_worker_agent(
    workflow_id: str,
    *,
    source_state: str | None = None,
    reason: str | None = None,
    payload: Json = MISSING,
    message_role: RoleName = "system",
    async_message: bool = True,
    max_steps: int | None = None,
    include_only_ready: bool = True,
) -> Conversation[NotifiedAgents]:
    """Wake the next agents: call it without `source_state` to start a run, with it after completing a state.

    Safe to repeat: receivers drop the same event_id.
    """
    return call_tool(
        NotifiedAgents,
        "notify_next_worker_agent",
        workflow_id=workflow_id,
        source_state=source_state,
        reason=reason,
        payload_json=None if payload is MISSING else json_text(payload, "payload"),
        message_role=message_role,
        async_message=async_message,
        max_steps=max_steps,
        include_only_ready=include_only_ready,
    )
