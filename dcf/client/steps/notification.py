"""Tells agents of work: of the states that come first, or of one state again."""

from dcf.client.arguments import given, json_text
from dcf.client.calls import call_tool
from dcf.client.exchange import Conversation, ToolCall
from dcf.client.failures import accepted
from dcf.values.json_paths import MISSING
from dcf.values.json_text import Json
from dcf.verbs.records.notification import NotifiedAgent, NotifiedAgents


def notify(
    workflow_id: str, state: str | None = None, *, reason: str | None = None, payload: Json = MISSING
) -> Conversation[NotifiedAgents]:
    """Tell agents of work: of those states that come first, or again of one state that can be taken."""
    sent = None if payload is MISSING else json_text(payload, "payload")
    if state is None:
        call = call_tool(
            NotifiedAgents, "notify_next_worker_agent", workflow_id=workflow_id, reason=reason, payload_json=sent
        )
        return (yield from call)
    arguments = {"workflow_id": workflow_id, "state": state, "reason": reason, "payload_json": sent}
    answer = accepted((yield ToolCall("notify_if_ready", given(**arguments))))
    notified_agent = NotifiedAgent(
        state=state,
        agent_id=answer["agent_id"],
        sent=answer["skipped"] is False,
        skipped_not_ready=answer["skipped"] is True,
        reason=answer["skip_reason"],
        message_id=answer["message_id"],
        run_id=answer["run_id"],
    )
    return NotifiedAgents(workflow_id=workflow_id, targets=(notified_agent,))
