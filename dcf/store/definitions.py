"""Kept definitions: workflow documents that runs were started from, by hash and by name and version.

Each project has names of its own, and so have the workflows of no project: what somebody keeps in one project changes
nothing that is started in another.

A document is kept for a while after it was last started, counted as a document of the key that first kept it. What a
version is, the document says itself (`version`); a version that is kept stands for one document. A document without a
version is found by its hash, and by its name as long as it is the newest.

Each script is atomic. Decides nothing about runs.
"""

import time
from collections.abc import Callable
from typing import Final, TypeAlias

from dcf.core.access import LOCAL
from dcf.core.definition import Definition
from dcf.core.refusals import definition_differs, quota_exceeded
from dcf.core.starting import Reference
from dcf.store import companion_keys, keys
from dcf.store.attempts import Attempts
from dcf.store.authors import current_account
from dcf.store.connection import Command, Connections, Reply
from dcf.store.counting import CountedDocument, hold, new_mark, owned, settle
from dcf.store.key_parts import KeyText
from dcf.store.quota_scripts import GIVE_BACK, RECEIPTS
from dcf.store.quotas import NO_QUOTA
from dcf.values.json_text import Json, dump, load
from dcf.values.refusal import Refusal

KEPT_S: Final = 90 * 24 * 3600
"""Seconds that a definition is kept after it was last started."""

_FRESH_S: Final = 3600.0
"""Seconds for which a process does not keep once more what it has kept."""

_MOST_FRESH: Final = 256
_NEWEST: Final = "newest"
_OTHER: Final = b"other"

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
if version ~= '' then redis.call('HSET', names, 'v:' .. version, sha) end
redis.call('EXPIRE', names, life)
return {}
"""
)
"""Keeps a document, unless its name and version stand for another one or the key holds too much."""

_KEEP_HELD: Final = """
local kept, names, register = KEYS[1], KEYS[2], KEYS[3]
local sha, version, text, life, owner, mark = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6]
if version ~= '' then
  local other = redis.call('HGET', names, 'v:' .. version)
  if other and other ~= sha and redis.call('EXISTS', ARGV[7] .. other) == 1 then return {'other', other} end
end
if redis.call('EXISTS', kept) == 0 then
  redis.call('SET', kept, text)
  redis.call('HSET', names, 'newest', sha)
end
redis.call('HSET', register, ARGV[8], owner .. ' ' .. #text .. ' ' .. life .. ' ' .. mark)
redis.call('EXPIRE', register, life)
redis.call('EXPIRE', kept, life)
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
"""Finds a document by its hash, or by a field of its name's hash; it is kept as long anew."""


Listing: TypeAlias = Callable[[Definition, str | None], None]
"""What is called with a definition that was kept, and its project."""


class KeptDefinitions:
    """The definitions that are kept in Redis."""

    def __init__(self, connections: Connections, *, wait_replicas: int = 0) -> None:
        self._connections = connections
        self._attempts = Attempts(connections=connections, wait_replicas=wait_replicas)
        self._fresh: dict[str, float] = {}
        self._after_keeping: Listing = _nothing

    def after_keeping(self, tell: Listing) -> None:
        """Call this with each definition that was kept, at most once an hour: who lists them, lists them again."""
        self._after_keeping = tell

    def keep(self, definition: Definition, project: str | None = None) -> Refusal | None:
        """Keep a definition; refuse another document of the same name and version, or one document too many."""
        kept, now = keys.definition(definition.sha256, project), time.monotonic()
        if self._fresh.get(kept, 0.0) > now:
            return None
        refusal = self._kept(definition, project, kept)
        if refusal is not None:
            return refusal
        if len(self._fresh) >= _MOST_FRESH:
            self._fresh.clear()
        self._after_keeping(definition, project)
        self._fresh[kept] = now + _FRESH_S
        return None

    def find(self, reference: Reference, project: str | None = None) -> Json | None:
        """Return the document that is kept in this project, or None if none is."""
        sha256, field = reference.sha256 or "", ""
        if reference.sha256 is None:
            field = _NEWEST if reference.version is None else f"v:{reference.version}"
        command: Command = ("EVAL", _FIND, 1, keys.definitions_named(reference.name, project), sha256, field)
        beginning = KeyText(keys.definition("", project))
        (reply,) = self._attempts.surely(((*command, beginning, KEPT_S),), companion_keys.barrier(beginning))
        return load(reply[0]) if reply else None

    def _kept(self, definition: Definition, project: str | None, kept: str) -> Refusal | None:
        if self._connections.shards > 1:
            return self._kept_on_cluster(definition, project, kept)
        (reply,) = self._attempts.surely((_keeping(definition, project),), companion_keys.barrier(kept))
        return _refusal(definition, reply) if reply else None

    def _kept_on_cluster(self, definition: Definition, project: str | None, kept: str) -> Refusal | None:
        """Count the document, keep it, and count what became of it: three steps, since each is in a slot of its own."""
        was, account, mark = owned(self._connections, kept), current_account(), new_mark()
        owner = was.owner if was is not None else LOCAL if account is None else account.key_id
        text = dump(definition.identity)
        wanted = CountedDocument(key=kept, owner=owner, size=len(text.encode()), life_s=KEPT_S)
        refusal = hold(self._connections, wanted, account if was is None else None, mark)
        if refusal is not None:
            return refusal
        names = keys.definitions_named(definition.name, project)
        command: Command = (
            *("EVAL", _KEEP_HELD, 3, kept, names, companion_keys.register(kept, self._connections.shards)),
            *(definition.sha256, definition.version or "", text, KEPT_S, owner, mark),
            *(KeyText(keys.definition("", project)), kept),
        )
        (reply,) = self._attempts.surely((command,), companion_keys.barrier(kept))
        settle(self._connections, kept, owner, None if reply and was is None else wanted.size, mark)
        return _refusal(definition, reply) if reply else None


def _nothing(_: Definition, __: str | None) -> None:
    """Do nothing with a definition that was kept."""


def _keeping(definition: Definition, project: str | None) -> Command:
    account = current_account()
    owner = LOCAL if account is None else account.key_id
    most = (NO_QUOTA, NO_QUOTA) if account is None else (account.quotas.documents, account.quotas.stored_bytes)
    names = keys.definitions_named(definition.name, project)
    keyed = (keys.definition(definition.sha256, project), names, keys.DOCUMENTS)
    text = dump(definition.identity)
    return (
        *("EVAL", _KEEP, 3, *keyed, definition.sha256, definition.version or "", text, KEPT_S, owner, *most),
        *(KeyText(keys.definition("", project)), keys.quota(""), keys.quota("", "docs")),
    )


def _refusal(definition: Definition, reply: Reply) -> Refusal:
    if reply[0] == _OTHER:
        return definition_differs(definition.name, definition.version or "", reply[1].decode(), definition.sha256)
    quota, used, limit = reply
    return quota_exceeded(quota.decode(), int(used), int(limit))
