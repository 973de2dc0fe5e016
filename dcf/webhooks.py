"""For receivers of webhooks: checks that a request is dcf's and fresh, and reads it (docs/agents/webhooks.md).

It must use only the standard library and open no connection. It has no storage. Any verifier of Standard Webhooks
does the same check.
"""

import json
import time
from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeAlias

from dcf.errors import WebhookRefused
from dcf.values.records import record
from dcf.values.webhook_signatures import (
    ID_HEADER,
    SIGNATURE_HEADER,
    TIMESTAMP_HEADER,
    is_signed,
    secret_bytes,
)

__all__ = ["TOLERANCE_S", "WebhookEvent", "WebhookRefused", "verify"]

Json: TypeAlias = Any
"""Any JSON value."""

TOLERANCE_S: Final = 300.0
"""Seconds by which the sender's time may differ from the receiver's; an older request may be a replay."""

_LONGEST_NUMBER: Final = 12


@record(frozen=True, slots=True, kw_only=True)
class WebhookEvent:
    """The event in a webhook. `id` is the same in every attempt: answer a known one with 2xx, and drop it.

    `work` describes the work, with instructions, input and the schema of the output; None for an event without work.
    `task_token` ends the work, if sent to one of the addresses in `answer_at` (success, failure, heartbeat).
    """

    id: str
    type: str
    agent_id: str
    workflow_id: str
    state: str | None
    work: Mapping[str, Json] | None
    task_token: str | None
    answer_at: Mapping[str, str]
    data: Mapping[str, Json]

    def __repr__(self) -> str:
        return f"WebhookEvent({self.id}, {self.type})"


def verify(
    headers: Mapping[str, str],
    body: bytes,
    secrets: str | Iterable[str],
    *,
    tolerance_s: float = TOLERANCE_S,
    now: float | None = None,
) -> WebhookEvent:
    """Return the event of a request; raise WebhookRefused unless it was signed with one of the secrets, just now.

    `body` is the body as it came, byte for byte. Pass the old and the new secret while a key is rotated.
    """
    keys = _keys(secrets)
    named = {name.lower(): value for name, value in headers.items()}
    message_id, sent, signed = (named.get(name) for name in (ID_HEADER, TIMESTAMP_HEADER, SIGNATURE_HEADER))
    if not message_id or not sent or not signed:
        raise WebhookRefused("The request has no signature.", "Answer 401; it is not from dcf.")
    if not (sent.isascii() and sent.isdecimal() and len(sent) <= _LONGEST_NUMBER):
        raise WebhookRefused("The request's timestamp is not a number of seconds.", "Answer 401; it is not from dcf.")
    if not is_signed(signed, keys, message_id, int(sent), body):
        raise WebhookRefused(
            "No signature of the request was made with a secret that is known here.",
            "Answer 401. If it is from dcf, its secret has changed: use that of `register_agent(new_key=true)`.",
        )
    if abs((time.time() if now is None else now) - int(sent)) > tolerance_s:
        raise WebhookRefused(
            f"The request was signed more than {tolerance_s:g} seconds ago, or in the future.",
            "Answer 401: it may be a replay. If all requests are refused, set the clock of this machine.",
        )
    return _event(message_id, body)


def _keys(secrets: str | Iterable[str]) -> list[bytes]:
    secret_texts = [secrets] if isinstance(secrets, str) else list(secrets)
    keys = [secret_bytes(text) for text in secret_texts]
    usable = [key for key in keys if key is not None]
    if not usable or len(usable) < len(keys):
        raise WebhookRefused("The value is not the secret of a webhook.", "Pass it as it was shown, with whsec_.")
    return usable


def _event(message_id: str, body: bytes) -> WebhookEvent:
    event = json.loads(body)
    data = event["data"]
    return WebhookEvent(
        id=message_id,
        type=event["type"],
        agent_id=data["agent_id"],
        workflow_id=data["workflow_id"],
        state=data.get("state"),
        work=data.get("work"),
        task_token=data.get("task_token"),
        answer_at=data.get("answer_at") or {},
        data=data,
    )
