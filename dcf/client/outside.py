"""The verb of a client for signals, which come from outside into a run; described as in `verbs.py`."""

from dcf.client.arguments import json_text, request_id_for
from dcf.client.exchange import Conversation
from dcf.client.outside_records import SentSignal
from dcf.client.verbs import ask
from dcf.values.json_text import Json


def signal(
    workflow_id: str,
    name: str,
    payload: Json = None,
    *,
    reason: str | None = None,
    request_id: str | None = None,
) -> Conversation[SentSignal]:
    """Send a signal into a run: the Task that waits for this name ends with the payload; an early one is kept."""
    return ask(
        SentSignal,
        "send_signal",
        workflow_id=workflow_id,
        name=name,
        payload_json=json_text(payload, "payload"),
        reason=reason,
        request_id=request_id_for(request_id),
    )
