"""API keys in Redis: one record per key, with a digest in place of the key, and one sorted set that lists them.

Every request looks its key up, in one round trip, so that all servers refuse a revoked key at once.
"""

import secrets
from collections.abc import Callable
from dataclasses import dataclass, replace
from hmac import compare_digest

from dcf.core.access import (
    SECRET_BYTES,
    ApiKey,
    Caller,
    Scope,
    admit,
    digest_of,
    key_id_of,
    key_text,
    read_key,
    why_refused,
    write_key,
)
from dcf.errors import StoreUnavailable, UnknownKey
from dcf.store import keys
from dcf.store.connection import Connections
from dcf.store.documents import Documents, Verdict, micros
from dcf.values.instants import SECOND
from dcf.values.json_text import Json, load

_ID_BYTES = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class NewKey:
    """A new API key. `text` is the key itself: shown once, never stored."""

    record: ApiKey
    text: str

    def __repr__(self) -> str:
        return f"NewKey({self.record.key_id})"


class AccessKeys:
    """The API keys of one Redis."""

    def __init__(self, connections: Connections, *, wait_replicas: int = 0) -> None:
        self._connections = connections
        self._documents = Documents(connections, wait_replicas=wait_replicas)

    def create(
        self, scopes: tuple[Scope, ...], *, agent_id: str | None, label: str | None, life_s: int | None
    ) -> NewKey:
        """Generate a key and store its digest. The list entry is written first, so it may lack its record."""
        key_id = secrets.token_hex(_ID_BYTES)
        text = key_text(key_id, secrets.token_urlsafe(SECRET_BYTES))
        digest = digest_of(text)

        def decide(document: Json, now: int) -> Verdict[ApiKey]:
            if document is not None and compare_digest(
                read_key(document).digest, digest
            ):  # the reply to an earlier try was lost
                return Verdict(answer=read_key(document))
            record = ApiKey(
                key_id=key_id,
                digest=digest,
                scopes=scopes,
                created_at=now,
                agent_id=agent_id,
                label=label,
                expires_at=None if life_s is None else now + life_s * SECOND,
            )
            listed = ("ZADD", keys.KEY_INDEX, now, key_id)
            return Verdict(answer=record, changed=True, write=write_key(record), announcements=(listed,))

        return NewKey(record=self._documents.transact(keys.access_key(key_id), decide), text=text)

    def all(self) -> tuple[list[ApiKey], int]:
        """Return all keys, oldest first, and the server's time."""
        clock, members = self._connections.send(("TIME",), ("ZRANGE", keys.KEY_INDEX, 0, -1))
        ids = [member.decode() for member in members]
        found = self._connections.send(*(("JSON.GET", keys.access_key(one), "$") for one in ids)) if ids else []
        records = [read_key(load(document)[0]) for document in found if document is not None]
        return records, micros(clock)

    def any_active(self) -> bool:
        """Return True if any key is valid now."""
        records, now = self.all()
        return any(one.standing(now) == "active" and Scope.READ in one.scopes for one in records)

    def revoke(self, key_id: str) -> ApiKey:
        """Revoke a key for good. Idempotent.

        A Redis without free memory refuses writes but not deletes; then the record is deleted instead.
        """
        try:
            found = self._documents.transact(keys.access_key(key_id), _revoking())
        except StoreUnavailable:
            document, now = self._documents.read(keys.access_key(key_id))
            self._connections.send(("DEL", keys.access_key(key_id)))
            found = None if document is None else replace(read_key(document), revoked_at=now)
        if found is None:
            raise UnknownKey(key_id)
        return found

    def admit(self, text: str) -> Caller | None:
        """Return the caller that this key belongs to; None if the key is not valid."""
        key_id = key_id_of(text)
        if key_id is None:
            return None
        document, now = self._documents.read(keys.access_key(key_id))
        return admit(text, None if document is None else read_key(document), now)

    def why_refused(self, text: str) -> str:
        """Return why a key of the right form is not valid."""
        document, now = self._documents.read(keys.access_key(key_id_of(text) or ""))
        return why_refused(text, None if document is None else read_key(document), now)


def _revoking() -> Callable[[Json, int], Verdict[ApiKey | None]]:
    def decide(document: Json, now: int) -> Verdict[ApiKey | None]:
        if document is None:
            return Verdict(answer=None)
        record = read_key(document)
        if record.revoked_at is not None:
            return Verdict(answer=record)
        record = replace(record, revoked_at=now)
        return Verdict(answer=record, changed=True, write=write_key(record))

    return decide
