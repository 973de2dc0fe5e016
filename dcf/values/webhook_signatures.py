"""Signatures of webhooks, in the format of Standard Webhooks 1.0.0 (standardwebhooks.com), so that any verifier fits.

A secret is `whsec_` and base64 of its bytes. What is signed, with HMAC-SHA-256, is the id, the time and the body with
full stops between them; a signature is `v1,` and base64. A request may carry several, one for each secret in use. Pure.
"""

import base64
import binascii
import hashlib
import hmac
from collections.abc import Iterable
from typing import Final

ID_HEADER: Final = "webhook-id"
TIMESTAMP_HEADER: Final = "webhook-timestamp"
SIGNATURE_HEADER: Final = "webhook-signature"
KEY_ID_HEADER: Final = "webhook-key-id"
"""Ours: the ids of the keys that signed, in the order of the signatures, so that a receiver sees which are in use."""

SECRET_PREFIX: Final = "whsec_"  # noqa: S105 - what secrets begin with
SECRET_BYTES: Final = 32
_FEWEST_BYTES: Final = 24
_MOST_BYTES: Final = 64
_VERSION: Final = "v1,"


def secret_text(raw: bytes) -> str:
    """Return a secret in the form in which the operator of a receiver sees it."""
    return SECRET_PREFIX + base64.b64encode(raw).decode()


def secret_bytes(text: str) -> bytes | None:
    """Return the bytes of a secret; None for a text that is none."""
    try:
        raw = base64.b64decode(text.removeprefix(SECRET_PREFIX), validate=True)
    except (binascii.Error, ValueError):
        return None
    return raw if _FEWEST_BYTES <= len(raw) <= _MOST_BYTES else None


def signature(secret: bytes, message_id: str, timestamp: int, body: bytes) -> str:
    """Return the signature of a message that is sent at this time, in seconds since 1970."""
    signed = f"{message_id}.{timestamp}.".encode() + body
    return _VERSION + base64.b64encode(hmac.new(secret, signed, hashlib.sha256).digest()).decode()


def is_signed(header: str, secrets: Iterable[bytes], message_id: str, timestamp: int, body: bytes) -> bool:
    """Return True if one of the signatures in the header was made with one of the secrets. Compares in constant time.

    Signatures of versions that are not known here are passed over.
    """
    signatures = [part.encode() for part in header.split() if part.startswith(_VERSION)]
    made = [signature(secret, message_id, timestamp, body).encode() for secret in secrets]
    matches = [hmac.compare_digest(signature, other) for signature in signatures for other in made]
    return any(matches)


def message_id_of(agent_id: str, event_id: str) -> str:
    """Return the id under which an agent gets an event, the same at every try; it has no full stop in it."""
    return "msg_" + hashlib.sha256(f"{agent_id}\n{event_id}".encode()).hexdigest()[:32]
