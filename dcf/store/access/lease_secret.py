"""The secret from which lease tokens are derived for clients that keep none: they are known by who they are.

| key | type | writer | lifetime |
|---|---|---|---|
| `cp:idx:lease-secret` | string | the first process that serves such a client | no limit |

A reader of the secret can act for every such client, so no tool reads this key. Deleting the key affects only new
leases: holders of older leases then wait until these expire.
"""

import hashlib
import hmac
import secrets
from typing import Final

from dcf.store.connection.connections import Connections

LEASE_SECRET: Final = "cp:idx:lease-secret"  # noqa: S105 - the name of a key
_BYTES: Final = 32


class LeaseSecret:
    """Derives tokens. All processes on one Redis derive the same ones."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._known: bytes | None = None

    def load(self) -> None:
        """Read the secret from Redis, or draw it, unless this process knows it."""
        self._secret()

    def token(self, identity: str, run: str, unit: str, attempt: int) -> str:
        """Return the lease token of this identity for one attempt of a unit."""
        identity_text = "\x00".join((identity, run, unit, str(attempt)))
        return f"lease-{hmac.new(self._secret(), identity_text.encode(), hashlib.sha256).hexdigest()[:32]}"

    def _secret(self) -> bytes:
        if self._known is None:
            drawn = secrets.token_hex(_BYTES)
            _, stored_secret = self._connections.send(("SET", LEASE_SECRET, drawn, "NX"), ("GET", LEASE_SECRET))
            self._known = bytes(stored_secret)
        return self._known
