"""API keys in Redis: one record per key, with a digest in place of the key, and one sorted set that lists them.

Every request looks its key up, in one command that also counts the request, so that all servers refuse a revoked key at
once and together keep its rates.
"""

import secrets
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from hmac import compare_digest
from typing import TYPE_CHECKING, Final

from dcf.core.access.model import (
    KEY_CALLER,
    SECRET_BYTES,
    ApiKey,
    Caller,
    Scope,
    admit,
    digest_of,
    key_id_of,
    key_text,
    read_key,
    standing,
    why_refused,
    write_key,
)
from dcf.core.access.quotas import DEFAULTS, Account, Amount, Quotas, with_own
from dcf.core.completing.waiting_refusals import STARTS_NOTHING
from dcf.errors import StoreUnavailable, UnknownKey
from dcf.store.access.lease_secret import LeaseSecret
from dcf.store.connection.connections import Connections
from dcf.store.connection.documents import Documents, Verdict, micros
from dcf.store.forms.form import DOCUMENTS, Member
from dcf.store.keys import table as keys
from dcf.store.lists.shards import newest, newest_commands, oldest, oldest_commands, place_of
from dcf.values.instants import SECOND
from dcf.values.json_text import Json, load
from dcf.values.records import record, replace
from dcf.values.refusal import Refusal

if TYPE_CHECKING:
    from dcf.store.connection.commands import Command

_ID_BYTES = 6
_PAGE: Final = 500

_ADMIT: Final = (
    DOCUMENTS
    + """
local clock = redis.call('TIME')
local found = read_document(redis.call, KEYS[1])
if not found then return {clock, false, 0, '0', '', 1} end
local record = cjson.decode(found)
if record.digest ~= ARGV[1] then return {clock, found, 0, '0', '', 1} end
local own = record.quotas or {}
local function of(name, standard) return own[name] or tonumber(standard) end
local now = tonumber(clock[1]) + tonumber(clock[2]) / 1000000
local held = redis.call('HMGET', KEYS[2], 'calls', 'events', 'at')
local passed = math.max(0, now - (tonumber(held[3]) or 0))
local function refilled(left, rate, burst) return math.min(burst, (tonumber(left) or burst) + passed * rate) end
local rates = {of('calls_per_s', ARGV[2]), of('events_per_s', ARGV[4])}
local calls = refilled(held[1], rates[1], of('calls_burst', ARGV[3]))
local events = refilled(held[2], rates[2], of('events_burst', ARGV[5]))
local holds = redis.call('HMGET', KEYS[3], 'bytes', 'receipts')
local stored = (tonumber(holds[1]) or 0) + (tonumber(holds[2]) or 0)
if calls < 1 then return {clock, found, stored, tostring((1 - calls) / rates[1]), 'calls', 1} end
if events < 0 then return {clock, found, stored, tostring(-events / rates[2]), 'events', 1} end
redis.set_repl(redis.REPL_NONE)
local text = function(amount) return string.format('%.6f', amount) end
local wrote = redis.pcall('HSET', KEYS[2], 'calls', text(calls - 1), 'events', text(events), 'at', text(now))
if type(wrote) == 'table' then return {clock, found, stored, '0', '', 0} end
redis.call('EXPIRE', KEYS[2], ARGV[6])
return {clock, found, stored, '0', '', 1}
"""
)
"""Reads a key, and takes one call from its rates if the secret is right and no rate is exceeded.

The rest of a rate is written to no replica and no file: each call would wait for a disk, and a crash costs one burst at
most. A Redis that refuses writes still answers; the call is then not counted.
"""

_RATE_LIFE_S: Final = 3600

_MOST_LOOKED_AT: Final = 2_000
_BOUND: Final = ("agent_id",)
_STANDING: Final = ("expires_at", "revoked_at")
"""Members of a key's record that say whether it is valid."""


@record(frozen=True, slots=True, kw_only=True)
class NewKey:
    """A new API key. `text` is the key itself: shown once, never stored."""

    record: ApiKey
    text: str

    def __repr__(self) -> str:
        return f"NewKey({self.record.key_id})"


class AccessKeys:
    """The API keys of one Redis."""

    def __init__(self, connections: Connections, *, wait_replicas: int = 0, quotas: Quotas = DEFAULTS) -> None:
        self._connections = connections
        self._quotas = quotas
        self.lease_secret = LeaseSecret(connections)
        self._documents = Documents(connections, wait_replicas=wait_replicas)

    def create(
        self,
        scopes: tuple[Scope, ...],
        *,
        agent_id: str | None,
        label: str | None,
        life_s: int | None,
        remembered: bool = True,
        quotas: Mapping[str, Amount] | None = None,
        groups: tuple[str, ...] = (),
        profile: str | None = None,
        project: str | None = None,
    ) -> NewKey:
        """Generate a key and store its digest. The list entry is written first, so it may lack its record.

        An expired key stays listed, unless it is not `remembered`.
        """
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
                quotas=quotas or {},
                groups=groups,
                profile=profile,
                project=project,
            )
            listed = ("ZADD", self._list_with(key_id), now, key_id)
            return Verdict(
                answer=record,
                changed=True,
                write=write_key(record),
                life_s=None if remembered else life_s,
                announcements=(listed,),
            )

        return NewKey(record=self._documents.transact(keys.access_key(key_id), decide), text=text)

    def all(self) -> tuple[list[ApiKey], int]:
        """Return all keys, oldest first, and the server's time."""
        clock, *listed = self._connections.send(("TIME",), *oldest_commands(keys.KEY_INDEX, self._connections.shards))
        ids = oldest(listed)
        form = self._connections.form
        replies = self._connections.send(*(form.read(keys.access_key(key_id)) for key_id in ids)) if ids else []
        records = [read_key(load(text)) for text in map(form.text, replies) if text is not None]
        return records, micros(clock)

    def bound_to(self, agent_ids: Collection[str]) -> set[str]:
        """Return those of these agents that a key is bound to, or may be: of many keys only the newest are looked at.

        Of each only its agent is read, and none any more once all of these agents are seen.
        """
        left, shards = set(agent_ids), self._connections.shards
        listed = self._connections.send(*newest_commands(keys.KEY_INDEX, shards, _MOST_LOOKED_AT)) if left else []
        ids = newest(listed, _MOST_LOOKED_AT)
        form = self._connections.form
        for start in range(0, len(ids), _PAGE):
            if left:
                page = ids[start : start + _PAGE]
                replies = self._connections.send(*(form.members(keys.access_key(key_id), _BOUND) for key_id in page))
                left -= {(form.values(_BOUND, reply) or {}).get("agent_id") for reply in replies}
        return {*agent_ids} if len(ids) == _MOST_LOOKED_AT else {*agent_ids} - left

    def any_active(self) -> bool:
        """Return True if any key is valid now."""
        records, now = self.all()
        return any(record.standing(now) == "active" and Scope.READ in record.scopes for record in records)

    def revoke(self, key_id: str) -> ApiKey:
        """Revoke a key permanently. Idempotent.

        A Redis without free memory refuses writes but not deletes; then the record is deleted instead.
        """
        try:
            revoked = self._documents.transact(keys.access_key(key_id), _revoking())
        except StoreUnavailable:
            document, now = self._documents.read(keys.access_key(key_id))
            self._connections.send(("DEL", keys.access_key(key_id)))
            revoked = None if document is None else replace(read_key(document), revoked_at=now)
        if revoked is None:
            raise UnknownKey(key_id)
        return revoked

    def delete(self, key_id: str) -> None:
        """Remove a key and its list entry, so that no trace of it is left. Idempotent."""
        self._connections.send(("DEL", keys.access_key(key_id)), ("ZREM", self._list_with(key_id), key_id))

    def _list_with(self, key_id: str) -> str:
        return place_of(keys.KEY_INDEX, key_id, self._connections.shards)

    def admit(self, text: str) -> Caller | None:
        """Return the caller that this key belongs to, and count its call; None if the key is not valid."""
        key_id = key_id_of(text)
        if key_id is None:
            return None
        record, account, now = self._counted(key_id, digest_of(text))
        return admit(text, record, now, account)

    def acting(self, name: str) -> Caller | None:
        """Return the caller of this name, for work that dcf does later on its behalf, and count a call.

        Return None if its key is no longer valid.
        """
        key_id = name.removeprefix(KEY_CALLER)
        form = self._connections.form
        (reply,) = self._connections.send(form.read(keys.access_key(key_id)))
        text = form.text(reply)
        return None if text is None else self.admit_digest(key_id, read_key(load(text)).digest)

    def admit_digest(self, key_id: str, digest: str) -> Caller | None:
        """Return the caller of the key with this digest, for a caller that has shown the key before, and count a call.

        Return None if the key is no longer valid.
        """
        record, account, now = self._counted(key_id, digest)
        return _caller_of(record, digest, now, account)

    def caller_of(self, key_id: str, digest: str) -> Caller | None:
        """Return the same, and count nothing: for what waits on behalf of a key."""
        document, now = self._documents.read(keys.access_key(key_id))
        return _caller_of(None if document is None else read_key(document), digest, now, None)

    def _counted(self, key_id: str, digest: str) -> tuple[ApiKey | None, Account | None, int]:
        """Return the record of a key, its account after one more call, and the server's time."""
        rates = self._quotas
        command: Command = (
            *(
                "EVAL",
                self._connections.form.script(_ADMIT),
                3,
                keys.access_key(key_id),
                keys.rate(key_id),
                keys.quota(key_id),
                digest,
            ),
            *(rates.calls_per_s, rates.calls_burst, rates.events_per_s, rates.events_burst, _RATE_LIFE_S),
        )
        ((clock, result, stored, wait_s, over, was_counted),) = self._connections.send(command)
        record = None if result is None else read_key(load(result))
        if record is None:
            return None, None, micros(clock)
        account = Account(
            key_id=key_id,
            quotas=with_own(rates, record.quotas),
            stored_bytes=stored,
            wait_s=float(wait_s),
            over=over.decode(),
            was_counted=bool(was_counted),
        )
        return record, account, micros(clock)

    def account_of(self, name: str) -> Account | Refusal | None:
        """Return the account of a caller by its name; a refusal if its key may start no runs, None if it has no key."""
        if not name.startswith(KEY_CALLER):
            return None
        key_id = name.removeprefix(KEY_CALLER)
        document, now = self._documents.read(keys.access_key(key_id))
        record = None if document is None else read_key(document)
        if record is None or record.standing(now) != "active" or Scope.PLAN not in record.scopes:
            return STARTS_NOTHING.refuse(name=name)
        return Account(key_id=key_id, quotas=with_own(self._quotas, record.quotas))

    def holds(self, caller: Caller) -> bool:
        """Return True if the key that this caller came with is still valid."""
        return caller.name in self.which_hold([caller.name])

    def which_hold(self, names: Iterable[str]) -> set[str]:
        """Return the names of those callers whose keys are still valid."""
        names_left, active = list(names), set[str]()
        for start in range(0, len(names_left), _PAGE):
            page = names_left[start : start + _PAGE]
            records = [keys.access_key(name.removeprefix(KEY_CALLER)) for name in page]
            now, standings = self._standing(records)
            active |= {
                name for name, own in zip(page, standings, strict=True) if own is not None and _is_active(own, now)
            }
        return active

    def _standing(self, records: Sequence[str]) -> tuple[int, list[dict[Member, Json] | None]]:
        """Return the time, and of each of these keys when it expires and when it was revoked; None if it is gone."""
        form = self._connections.form
        if self._connections.shards == 1:
            clock, *replies = self._connections.send(("TIME",), *form.members_of_each(records, _STANDING))
            return micros(clock), form.values_of_each(_STANDING, replies)
        clock, *replies = self._connections.send(("TIME",), *(form.members(record, _STANDING) for record in records))
        return micros(clock), [form.values(_STANDING, reply) for reply in replies]

    def why_refused(self, text: str) -> str:
        """Return why a key of the right form is not valid."""
        document, now = self._documents.read(keys.access_key(key_id_of(text) or ""))
        return why_refused(text, None if document is None else read_key(document), now)


def _caller_of(record: ApiKey | None, digest: str, now: int, account: Account | None) -> Caller | None:
    if record is None or not compare_digest(record.digest, digest) or record.standing(now) != "active":
        return None
    return record.caller(account)


def _is_active(members: Mapping[Member, Json], now: int) -> bool:
    """Return True if a key with these members is valid now."""
    return standing(members["expires_at"], members.get("revoked_at", now), now) == "active"


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
