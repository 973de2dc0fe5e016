"""Makes the request to a receiver of webhooks: the headers and the body, signed. Pure.

The body has the three members that Standard Webhooks recommends. It is the same at every try but for what changes in
Redis meanwhile; the time in the headers is that of the try.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from dcf.values.json_text import Json, dump
from dcf.values.webhook_signatures import (
    ID_HEADER,
    KEY_ID_HEADER,
    SIGNATURE_HEADER,
    TIMESTAMP_HEADER,
    secret_bytes,
    signature,
)

WORK: Final = "work"
"""Type of a request that brings work; others have that of the event."""

_CANCELLED: Final = "cancelled"
_CARRIED: Final = ("workflow_id", "reason", "payload", "provenance", "status", "epoch", "title")
_VERBS: Final = ("success", "failure", "heartbeat")


def body_of(
    agent_id: str, event: Mapping[str, Json], work: Mapping[str, Json] | None, task_token: str | None, answers: str
) -> bytes:
    """Return the body for an event. `answers` is the URL below which task tokens are taken."""
    data: dict[str, Json] = {"agent_id": agent_id, "event_id": event.get("event_id")}
    data |= {"state": event.get("target_state")} | {name: event[name] for name in _CARRIED if name in event}
    if work is not None:
        data |= {"work": work, "task_token": task_token}
        data["answer_at"] = {verb: f"{answers}/{verb}" for verb in _VERBS}
    return dump({"type": _type_of(event, work), "timestamp": event.get("ts"), "data": data}).encode()


def headers_of(
    message_id: str, timestamp: int, body: bytes, keys: Sequence[tuple[str, str]], traceparent: Json = None
) -> dict[str, str]:
    """Return the headers, signed with each of these keys (id and secret). `traceparent` is the event's, if any."""
    secrets = {key_id: secret_bytes(secret) for key_id, secret in keys}
    signing = {key_id: secret for key_id, secret in secrets.items() if secret is not None}
    trace = {"traceparent": traceparent} if isinstance(traceparent, str) else {}
    return trace | {
        "Content-Type": "application/json",
        "User-Agent": "dcf",
        ID_HEADER: message_id,
        TIMESTAMP_HEADER: str(timestamp),
        SIGNATURE_HEADER: " ".join(signature(secret, message_id, timestamp, body) for secret in signing.values()),
        KEY_ID_HEADER: " ".join(signing),
    }


def _type_of(event: Mapping[str, Json], work: Mapping[str, Json] | None) -> str:
    if work is not None:
        return WORK
    return _CANCELLED if event.get("reason") == _CANCELLED else str(event.get("type"))
