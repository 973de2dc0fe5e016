"""The verbs of a client for what comes from outside: signals, and callbacks of who holds a task token.

They are described as in `verbs.py`.
"""

from collections.abc import Mapping

from dcf.client.answers.external import EndedTask, LivingTask, SentSignal
from dcf.client.arguments import json_text, request_id_for
from dcf.client.exchange import Conversation
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


def send_task_success(
    task_token: str, output: Json = None, *, usage: Mapping[str, Json] | None = None
) -> Conversation[EndedTask]:
    """End the Task that waits for a callback with this task token. A token serves once; repeating the call is safe.

    `usage` is what the work used up, as `{"tokens_in": 900, "cost": "0.25", "currency": "EUR"}`.
    """
    told = {"output_json": json_text(output, "output"), "usage_json": None if usage is None else dict(usage)}
    return ask(EndedTask, "send_task_success", task_token=task_token, **told)


def send_task_failure(
    task_token: str,
    *,
    error: str | None = None,
    cause: str | None = None,
    usage: Mapping[str, Json] | None = None,
) -> Conversation[EndedTask]:
    """Fail the Task that waits for a callback with this task token; its Retry and Catch apply."""
    used = None if usage is None else dict(usage)
    return ask(EndedTask, "send_task_failure", task_token=task_token, error=error, cause=cause, usage_json=used)


def send_task_heartbeat(task_token: str) -> Conversation[LivingTask]:
    """Say that the Task of this task token is still worked on, before its HeartbeatSeconds pass."""
    return ask(LivingTask, "send_task_heartbeat", task_token=task_token)
