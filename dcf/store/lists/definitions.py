"""Kept definitions: workflow documents that runs were started from, by hash and by name and version.

Each project has names of its own, and so have the workflows of no project: what somebody keeps in one project changes
nothing that is started in another.

A document is kept for a while after it was last started, counted as a document of the key that first kept it. The
document has its version in the field `version`; a kept version means one document. A document without a version is
found by its hash, and by its name as long as it is the newest.

A transaction that depends on a document stores it in each attempt, over the connection that commits (`keep_in`): no
process knows from earlier that it is there, since a power loss or a failover may have taken it.

Each script is atomic. Decides nothing about runs.
"""

import time
from collections.abc import Callable
from typing import Final, TypeAlias

from dcf.core.access.model import LOCAL
from dcf.core.definitions.model import Definition
from dcf.core.documents.refusals import DEFINITION_DIFFERS, quota_exceeded
from dcf.core.lifecycle.starting import Reference
from dcf.store.access.authors import current_account
from dcf.store.access.counting import CountedDocument, hold, new_mark, owned, settle
from dcf.store.access.quota_scripts import GIVE_BACK, RECEIPTS
from dcf.store.access.quotas import NO_QUOTA
from dcf.store.connection.commands import Command, Reply
from dcf.store.connection.connections import Connection, Connections, all_checked, exchange
from dcf.store.keys import companions as companion_keys
from dcf.store.keys import table as keys
from dcf.store.keys.parts import KeyText
from dcf.store.transaction.attempts import Attempts
from dcf.values.json_text import Json, dump, load
from dcf.values.records import record
from dcf.values.refusal import Refusal

KEPT_S: Final = 90 * 24 * 3600
"""Seconds that a definition is kept after it was last started."""

_LISTED_S: Final = 3600.0
"""Seconds for which a process does not list a document again, unless the document was rewritten."""

_MOST_LISTED: Final = 256
_NEWEST: Final = "newest"
_OTHER: Final = b"other"
_ABSENT: Final = b"absent"

_KEEP: Final = (
    GIVE_BACK
    + RECEIPTS
    + """
local kept, names, register = KEYS[1], KEYS[2], KEYS[3]
local sha, version, text, life, owner = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local most_documents, most_bytes = tonumber(ARGV[6]), tonumber(ARGV[7])
local prefix, quota, docs = ARGV[8], ARGV[9], ARGV[10]
local account, mine = quota .. owner, docs .. owner
local now = tonumber(redis.call('TIME')[1])
if version ~= '' then
  local other = redis.call('HGET', names, 'v:' .. version)
  if other and other ~= sha and redis.call('EXISTS', prefix .. other) == 1 then return {'other', other} end
end
if redis.call('EXISTS', kept) == 0 then
  if text == '' then return {'absent'} end
  for _, name in ipairs(redis.call('ZRANGE', mine, '-inf', now, 'BYSCORE', 'LIMIT', 0, 100)) do
    if redis.call('EXISTS', name) == 0 then give_back(register, quota, docs, name) end
  end
  if most_documents >= 0 then
    local count = redis.call('ZCARD', mine)
    if count >= most_documents then return {'documents', count, most_documents} end
    if held(account) + #text > most_bytes then return {'stored_bytes', held(account), most_bytes} end
  end
  give_back(register, quota, docs, kept)
  redis.call('SET', kept, text)
  redis.call('HSET', register, kept, owner .. ' ' .. #text .. ' ' .. life)
  redis.call('HINCRBY', account, 'bytes', #text)
  redis.call('HSET', names, 'newest', sha)
end
local its_owner = string.match(redis.call('HGET', register, kept) or owner, '^(%S+)')
redis.call('ZADD', docs .. its_owner, now + life, kept)
redis.call('EXPIRE', kept, life)
if not redis.call('HGET', names, 'newest') then redis.call('HSET', names, 'newest', sha) end
if version ~= '' then redis.call('HSET', names, 'v:' .. version, sha) end
redis.call('EXPIRE', names, life)
return {}
"""
)
"""Keeps a document, unless its name and version stand for another one or the key holds too much.

Without its text, the script only extends the life of an existing document.
"""

_KEEP_HELD: Final = """
local kept, names, register = KEYS[1], KEYS[2], KEYS[3]
local sha, version, text, life, owner, mark = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6]
if version ~= '' then
  local other = redis.call('HGET', names, 'v:' .. version)
  if other and other ~= sha and redis.call('EXISTS', ARGV[7] .. other) == 1 then return {'other', other} end
end
if redis.call('EXISTS', kept) == 0 then
  if text == '' then return {'absent'} end
  redis.call('SET', kept, text)
  redis.call('HSET', names, 'newest', sha)
end
if text ~= '' then redis.call('HSET', register, ARGV[8], owner .. ' ' .. #text .. ' ' .. life .. ' ' .. mark) end
redis.call('EXPIRE', register, life)
redis.call('EXPIRE', kept, life)
if not redis.call('HGET', names, 'newest') then redis.call('HSET', names, 'newest', sha) end
if version ~= '' then redis.call('HSET', names, 'v:' .. version, sha) end
redis.call('EXPIRE', names, life)
return {}
"""
"""Does the same on a Redis Cluster, where the document was counted just before (`counting`)."""

_FIND: Final = """
local sha = ARGV[1]
if ARGV[2] ~= '' then sha = redis.call('HGET', KEYS[1], ARGV[2]) end
local text = sha and redis.call('GET', ARGV[3] .. sha)
if not text then return {} end
redis.call('EXPIRE', ARGV[3] .. sha, ARGV[4])
if ARGV[2] ~= '' then redis.call('EXPIRE', KEYS[1], ARGV[4]) end
return {text}
"""
"""Finds a document by its hash, or by a field of its name's hash, and renews its lifetime."""


@record(frozen=True, slots=True, kw_only=True)
class WantedDefinition:
    """A definition that a transaction depends on, the project in which it is to be stored, and its version there."""

    definition: Definition
    project: str | None
    version: str | None

    @property
    def key(self) -> str:
        """The key of its document."""
        return keys.definition(self.definition.sha256, self.project)

    @property
    def names(self) -> str:
        """The key of the versions of its name."""
        return keys.definitions_named(self.definition.name, self.project)


Listing: TypeAlias = Callable[[Definition, str | None], None]
"""Called with a stored definition and its project."""


class KeptDefinitions:
    """The definitions that are kept in Redis."""

    def __init__(self, connections: Connections, *, wait_replicas: int = 0) -> None:
        self._connections = connections
        self._attempts = Attempts(connections=connections, wait_replicas=wait_replicas)
        self._listed: dict[str, float] = {}
        self._after_keeping: Listing = _nothing

    def after_keeping(self, tell: Listing) -> None:
        """Call this with definitions that are kept: each that was written, others at most once an hour."""
        self._after_keeping = tell

    def keep(self, definition: Definition, project: str | None = None) -> Refusal | None:
        """Keep a definition; refuse another document of the same name and version, or one document too many."""
        entry = WantedDefinition(definition=definition, project=project, version=definition.version)

        def once(connection: Connection) -> Refusal | None:
            refusal = self.keep_in(entry, connection)
            self._attempts.confirm(connection, companion_keys.barrier(entry.key))
            return refusal

        refusal = self._attempts.until_done(once)
        if refusal is None:
            self.tell(entry)
        return refusal

    def keep_in(self, entry: WantedDefinition, connection: Connection) -> Refusal | None:
        """Keep a definition in an attempt of a transaction that depends on it; refuse as `keep` does.

        Its text is only sent if it is not there. On a single server the attempt confirms what was written.
        """
        reply = self._sent(entry, self._keeping(entry), connection)
        if reply and reply[0] == _ABSENT:
            self._listed.pop(entry.key, None)
            reply = self._written(entry, connection)
        return reply if isinstance(reply, Refusal) else _refusal(entry.definition, reply)

    def tell(self, entry: WantedDefinition) -> None:
        """Have a definition listed that is kept now."""
        now = time.monotonic()
        if self._listed.get(entry.key, 0.0) > now:
            return
        if len(self._listed) >= _MOST_LISTED:
            self._listed.clear()
        self._after_keeping(entry.definition, entry.project)
        self._listed[entry.key] = now + _LISTED_S

    def find(self, reference: Reference, project: str | None = None) -> Json | None:
        """Return the document that is kept in this project, or None if none is."""
        sha256, field = reference.sha256 or "", ""
        if reference.sha256 is None:
            field = _NEWEST if reference.version is None else f"v:{reference.version}"
        command: Command = ("EVAL", _FIND, 1, keys.definitions_named(reference.name, project), sha256, field)
        beginning = KeyText(keys.definition("", project))
        (reply,) = self._attempts.surely(((*command, beginning, KEPT_S),), companion_keys.barrier(beginning))
        return load(reply[0]) if reply else None

    def _written(self, entry: WantedDefinition, connection: Connection) -> Reply | Refusal:
        """Write a document that is not there. On a cluster its size is counted before, and settled after the write."""
        text, key = dump(entry.definition.identity), entry.key
        if self._connections.shards == 1:
            return self._sent(entry, self._keeping(entry, text), connection)
        was, account, mark = owned(self._connections, key), current_account(), new_mark()
        owner = _owner() if was is None else was.owner
        counted = CountedDocument(key=key, owner=owner, size=len(text.encode()), life_s=KEPT_S)
        refusal = hold(self._connections, counted, account if was is None else None, mark)
        if refusal is not None:
            return refusal
        reply = self._sent(entry, self._keeping(entry, text, owner, mark), connection)
        settle(self._connections, key, owner, None if reply and was is None else counted.size, mark)
        return reply

    def _sent(self, entry: WantedDefinition, command: Command, connection: Connection) -> Reply:
        """Send a script over the attempt's connection; on a cluster to the server of the definitions, and confirmed."""
        if self._connections.shards == 1:
            (reply,) = all_checked(exchange(connection, [command]))
        else:
            (reply,) = self._attempts.surely((command,), companion_keys.barrier(entry.key))
        return reply

    def _keeping(self, entry: WantedDefinition, text: str = "", owner: str | None = None, mark: str = "") -> Command:
        """Return the script that keeps a document. Without its text the document must exist."""
        key, account, shards = entry.key, current_account(), self._connections.shards
        keyed = (3, key, entry.names, companion_keys.register(key, shards))
        arguments = (entry.definition.sha256, entry.version or "", text, KEPT_S, owner or _owner())
        beginning = KeyText(keys.definition("", entry.project))
        if shards > 1:
            return ("EVAL", _KEEP_HELD, *keyed, *arguments, mark, beginning, key)
        most = (NO_QUOTA, NO_QUOTA) if account is None else (account.quotas.documents, account.quotas.stored_bytes)
        return ("EVAL", _KEEP, *keyed, *arguments, *most, beginning, keys.quota(""), keys.quota("", "docs"))


def _owner() -> str:
    account = current_account()
    return LOCAL if account is None else account.key_id


def _nothing(_: Definition, __: str | None) -> None:
    """Do nothing with a definition that was kept."""


def _refusal(definition: Definition, reply: Reply) -> Refusal | None:
    if not reply:
        return None
    if reply[0] == _OTHER:
        return DEFINITION_DIFFERS.refuse(
            name=definition.name, version=definition.version or "", stored=reply[1].decode(), sent=definition.sha256
        )
    quota, used, limit = reply
    return quota_exceeded(quota.decode(), int(used), int(limit))
