"""Agents that are webhooks, in Redis: their addresses, the keys that sign their requests, and pauses after failures.

The secrets are stored as they are, since dcf signs with them: any user that may read Redis can sign. They are in no
audit trail, log or export, and no answer shows them but that of the call that made them.
"""

import secrets
from collections.abc import Callable
from dataclasses import field, replace
from typing import Final

from dcf.features.webhooks import keys as webhook_keys
from dcf.store.connection.connections import Connections
from dcf.store.connection.documents import Documents, Verdict, micros
from dcf.values.instants import SECOND
from dcf.values.json_text import Json, dump, load
from dcf.values.record_json.codec import RecordCodec
from dcf.values.records import record
from dcf.values.webhook_signatures import SECRET_BYTES, secret_text

_KEY_ID_BYTES: Final = 4
_TOKEN_SECRET_BYTES: Final = 24
_SIGNING: Final = 2
"""Keys that sign at the same time: the newest, and the one before it, until the receiver has the new one."""

_FIRST_REST_S: Final = 2.0
_LONGEST_REST_S: Final = 300.0
_REMEMBERED_S: Final = 3600
_MOST_DOUBLINGS: Final = 10


@record(frozen=True, slots=True, kw_only=True)
class SigningKey:
    """A key that signs the requests to a webhook. `secret` is shown once, in the answer to the call that made it."""

    key_id: str
    secret: str = field(repr=False)
    created_at: int


@record(frozen=True, slots=True, kw_only=True)
class Webhook:
    """An agent that is a URL. `keys` are those that sign, the newest first.

    `token_secret` makes its task tokens. It has `lease_ttl_s` for a piece of work, and longer with each heartbeat.
    """

    agent_id: str
    url: str = field(repr=False)
    keys: tuple[SigningKey, ...]
    token_secret: str = field(repr=False)
    lease_ttl_s: int
    created_at: int
    created_by: str


@record(frozen=True, slots=True, kw_only=True)
class Rest:
    """A receiver that is left alone for `for_s` seconds, after `failures` in a row, the last of them in words."""

    for_s: float
    failures: int
    error: str


class Webhooks:
    """The webhooks of one Redis."""

    def __init__(self, connections: Connections, *, wait_replicas: int = 0) -> None:
        self._connections = connections
        self._documents = Documents(connections, wait_replicas=wait_replicas)

    def add(self, agent_id: str, url: str, *, lease_ttl_s: int, created_by: str) -> tuple[Webhook, bool]:
        """Register an agent, or change where it is and how long it has; return it, and whether its key was made now.

        The list entry is written first, so it may lack its document.
        """
        key, token_secret = _new_key(), secrets.token_hex(_TOKEN_SECRET_BYTES)

        def decide(document: Json, now: int) -> Verdict[tuple[Webhook, bool]]:
            if document is not None:
                known = _WEBHOOK.read(document)
                webhook = replace(known, url=url, lease_ttl_s=lease_ttl_s)
                made = known.keys[0].key_id == key.key_id  # the reply to an earlier try was lost
                return Verdict(answer=(webhook, made), changed=webhook != known, write=_WEBHOOK.write(webhook))
            webhook = Webhook(
                agent_id=agent_id,
                url=url,
                keys=(replace(key, created_at=now),),
                token_secret=token_secret,
                lease_ttl_s=lease_ttl_s,
                created_at=now,
                created_by=created_by,
            )
            listed = ("ZADD", webhook_keys.WEBHOOKS, "NX", now, agent_id)
            return Verdict(answer=(webhook, True), changed=True, write=_WEBHOOK.write(webhook), announcements=(listed,))

        return self._documents.transact(webhook_keys.webhook(agent_id), decide)

    def rotate(self, agent_id: str, *, at_once: bool = False) -> Webhook | None:
        """Make a new key, which signs from now on; the one before it signs too, unless it is to end `at_once`.

        None if there is no such webhook.
        """
        key = _new_key()

        def decide(known: Webhook, now: int) -> Webhook:
            if known.keys[0].key_id == key.key_id:
                return known
            keys = () if at_once else known.keys[: _SIGNING - 1]
            return replace(known, keys=(replace(key, created_at=now), *keys))

        return self._change(agent_id, decide)

    def remove(self, agent_id: str) -> bool:
        """Remove a webhook with its keys, so that its task tokens serve no more. Return True if there was one."""
        removed, *_ = self._connections.send(
            ("DEL", webhook_keys.webhook(agent_id)),
            ("ZREM", webhook_keys.WEBHOOKS, agent_id),
            ("DEL", webhook_keys.rest(agent_id)),
        )
        return bool(removed)

    def get(self, agent_id: str) -> Webhook | None:
        """Return a webhook; None if there is none of this agent."""
        document, _ = self._documents.read(webhook_keys.webhook(agent_id))
        return None if document is None else _WEBHOOK.read(document)

    def all(self) -> list[Webhook]:
        """Return all webhooks, oldest first."""
        (members,) = self._connections.send(("ZRANGE", webhook_keys.WEBHOOKS, 0, -1))
        named = [webhook_keys.webhook(member.decode()) for member in members]
        form = self._connections.form
        replies = self._connections.send(*map(form.read, named)) if named else []
        return [_WEBHOOK.read(load(text)) for text in map(form.text, replies) if text is not None]

    def now(self) -> float:
        """Return the server time in seconds since the epoch."""
        (clock,) = self._connections.send(("TIME",))
        return micros(clock) / SECOND

    def resting(self, agent_id: str) -> Rest | None:
        """Return how long the receiver is still left alone; None if it may be called."""
        clock, rest_text = self._connections.send(("TIME",), ("GET", webhook_keys.rest(agent_id)))
        if rest_text is None:
            return None
        until, failures, error = load(rest_text)
        left = (until - micros(clock)) / SECOND
        return Rest(for_s=left, failures=failures, error=error) if 0 < left <= _REMEMBERED_S else None

    def let_rest(self, agent_id: str, error: str, asked_s: float | None = None) -> Rest:
        """Leave the receiver alone for a while, longer with each failure, or as long as it asked; return for how long.

        Two processes that fail at once count one failure; that is near enough.
        """
        key = webhook_keys.rest(agent_id)
        clock, rest_text = self._connections.send(("TIME",), ("GET", key))
        failures = 1 if rest_text is None else load(rest_text)[1] + 1
        grown = _FIRST_REST_S * 2.0 ** min(failures - 1, _MOST_DOUBLINGS)
        for_s = min(grown, _LONGEST_REST_S) if asked_s is None else min(max(asked_s, 1.0), float(_REMEMBERED_S))
        until = micros(clock) + int(for_s * SECOND)
        self._connections.send(("SET", key, dump([until, failures, error]), "EX", 2 * _REMEMBERED_S))
        return Rest(for_s=for_s, failures=failures, error=error)

    def woke(self, agent_id: str) -> None:
        """Forget the failures of a receiver that answered."""
        self._connections.send(("DEL", webhook_keys.rest(agent_id)))

    def _change(self, agent_id: str, change: Callable[[Webhook, int], Webhook]) -> Webhook | None:
        def decide(document: Json, now: int) -> Verdict[Webhook | None]:
            if document is None:
                return Verdict(answer=None)
            known = _WEBHOOK.read(document)
            answer = change(known, now)
            return Verdict(answer=answer, changed=answer != known, write=_WEBHOOK.write(answer))

        return self._documents.transact(webhook_keys.webhook(agent_id), decide)


def _new_key() -> SigningKey:
    secret = secret_text(secrets.token_bytes(SECRET_BYTES))
    return SigningKey(key_id=f"whk_{secrets.token_hex(_KEY_ID_BYTES)}", secret=secret, created_at=0)


_WEBHOOK: Final = RecordCodec(Webhook, strict=True)
