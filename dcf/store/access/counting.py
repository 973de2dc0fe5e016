"""Counts documents for API keys on a Redis Cluster, where a document and what its owner holds are in different slots.

A single server does it in the script that writes the document (`quota_scripts`, `definitions`,
`text_index/scripts.py`). On a cluster there are three steps:

1. `hold` counts the larger of the old and the new size, if the quotas allow it.
2. The document is written, with an entry in the register of its slot that names its owner.
3. `settle` counts the new size.

So after a crash the count of a key may be too high, never too low. The next write of the document corrects it. For a
deleted document the next `hold` or the reconciliation does. Of two writers at once the later `hold` decides the count.
"""

import secrets
from typing import Final

from dcf.core.access.quotas import Account
from dcf.store.access.quota_scripts import FREE_RUNS, GIVE_BACK, RECEIPTS, WRITE_HELD_DOCUMENT
from dcf.store.access.quotas import NO_QUOTA, DocumentWrite, refusal_in
from dcf.store.connection.commands import Command
from dcf.store.connection.connections import Connections
from dcf.store.forms.form import DocumentForm
from dcf.store.keys import companions as companion_keys
from dcf.store.keys import table as keys
from dcf.store.keys.parts import KeyText
from dcf.store.keys.table import RunKeys
from dcf.store.lists.elsewhere import LOOK, ask
from dcf.values.records import record
from dcf.values.refusal import Refusal

_RELEASE: Final = """
local function release(account, docs, sizes, name, size)
  local before = tonumber(string.match(redis.call('HGET', sizes, name) or '0', '^%d+'))
  if not size then
    redis.call('HDEL', sizes, name)
    redis.call('ZREM', docs, name)
  end
  if redis.call('HINCRBY', account, 'bytes', (size or 0) - before) <= 0 then
    redis.call('HDEL', account, 'bytes')
  end
end
"""

_HOLD: Final = (
    LOOK
    + GIVE_BACK
    + RECEIPTS
    + FREE_RUNS
    + _RELEASE
    + """
local account, docs, receipts, sizes, runs = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local name, size, life, mark = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4]
local most_documents, most_bytes, receipt = tonumber(ARGV[5]), tonumber(ARGV[6]), ARGV[10]
local now, gone = tonumber(redis.call('TIME')[1]), {}
for _, one in ipairs(redis.call('ZRANGE', docs, '-inf', now, 'BYSCORE', 'LIMIT', 0, 100)) do
  if look(one, 'EXISTS', one) == 0 then gone[#gone + 1] = one end
end
if unseen() then return unseen() end
for _, one in ipairs(gone) do
  if ARGV[13] ~= '' then give_back(ARGV[13], ARGV[14], ARGV[15], one) end
  release(account, docs, sizes, one)
end
drop_receipts(account, receipts, now)
local before = tonumber(string.match(redis.call('HGET', sizes, name) or '', '^%d+'))
local more = size - (before or 0)
if most_documents >= 0 then
  local count = redis.call('ZCARD', docs)
  if not before and count >= most_documents then return {'documents', count, most_documents} end
  if more > 0 and held(account) + more > most_bytes then
    free_runs(account, runs, ARGV[7], ARGV[8], ARGV[9], now)
    if unseen() then return unseen() end
    if held(account) + more > most_bytes then return {'stored_bytes', held(account), most_bytes} end
  end
end
redis.call('HSET', sizes, name, string.format('%.0f %s', math.max(size, before or 0), mark))
redis.call('ZADD', docs, life > 0 and now + life or 9007199254740992, name)
if more > 0 then redis.call('HINCRBY', account, 'bytes', more) end
if receipt ~= '' then hold_receipt(account, receipts, receipt, ARGV[11], ARGV[12], now) end
return {}
"""
)
"""Counts a document that is about to be written, if the quotas of its owner allow it.

On a single server projects alone are held: the register has the bytes of other documents that have expired.
"""

_SETTLE: Final = (
    _RELEASE
    + """
local mark = string.match(redis.call('HGET', KEYS[3], ARGV[1]) or '', '^%d+ (.*)$')
if not mark or mark ~= ARGV[3] then return 0 end
release(KEYS[1], KEYS[2], KEYS[3], ARGV[1], tonumber(ARGV[2]))
if ARGV[2] ~= '' then redis.call('HSET', KEYS[3], ARGV[1], ARGV[2] .. ' ' .. mark) end
return 1
"""
)
"""Counts what a document has after it was written, or that it is gone, unless a later write holds it by now."""

_FORGET: Final = (
    LOOK
    + _RELEASE
    + """
local is_there = look(ARGV[1], 'EXISTS', ARGV[1]) == 1
if unseen() then return unseen() end
if is_there then return 0 end
release(KEYS[1], KEYS[2], KEYS[3], ARGV[1])
return 1
"""
)
"""Counts a document no more that is gone."""

_META_BEFORE, _META_AFTER = RunKeys("\0").meta.split("\0")

_CLUSTER: Final = 2
"""Any number of shards but one: keys as they are on a cluster."""


@record(frozen=True, slots=True, kw_only=True)
class Owned:
    """An entry of a register: the owner of a document, its bytes, its lifetime in seconds (0: no limit), and its mark.

    The mark is that of the write that made the entry; `settle` compares it.
    """

    owner: str
    size: int
    life_s: int
    mark: str


@record(frozen=True, slots=True, kw_only=True)
class CountedDocument:
    """A write of a document that is to be counted for an owner. `life_s` 0: the document is kept without a limit.

    `receipt` is the key of the receipt of a change by hand, its bytes, and for how many seconds it is kept.
    """

    key: str
    owner: str
    size: int
    life_s: int
    receipt: tuple[str, int, int] | None = None


def new_mark() -> str:
    """Return a mark for one write."""
    return secrets.token_hex(8)


def owned(connections: Connections, key: str) -> Owned | None:
    """Return the entry of a document in the register; None if there is none."""
    (text,) = connections.send(("HGET", companion_keys.register(key, connections.shards), key))
    if text is None:
        return None
    owner, size, life_s, mark = text.decode().split(" ")
    return Owned(owner=owner, size=int(size), life_s=int(life_s), mark=mark)


def hold(
    connections: Connections, counted_document: CountedDocument, account: Account | None, mark: str
) -> Refusal | None:
    """Count a document that is about to be written; refuse it beyond the account's quotas. None: nothing is refused."""
    most = (NO_QUOTA, NO_QUOTA) if account is None else (account.quotas.documents, account.quotas.stored_bytes)
    own = counted_document.owner
    register = (keys.DOCUMENTS, keys.quota(""), keys.quota("", "docs")) if connections.shards == 1 else ("", "", "")
    script: Command = (
        *("EVAL", _HOLD, 5, keys.quota(own), keys.quota(own, "docs"), keys.quota(own, "receipts")),
        *(
            keys.quota(own, "sizes"),
            keys.quota(own, "runs"),
            counted_document.key,
            counted_document.size,
            counted_document.life_s,
            mark,
            *most,
        ),
        *(
            KeyText(keys.quota(own, "part")),
            _META_BEFORE,
            _META_AFTER,
            *(counted_document.receipt or ("", 0, 0)),
            *register,
        ),
    )
    (reply,) = ask(connections, script)
    return refusal_in(reply)


def settle(connections: Connections, key: str, owner: str, size: int | None, mark: str) -> None:
    """Count what a document has after the write of this mark; None: it is gone, or somebody else's now."""
    keyed = (keys.quota(owner), keys.quota(owner, "docs"), keys.quota(owner, "sizes"))
    connections.send(("EVAL", _SETTLE, 3, *keyed, key, "" if size is None else size, mark))


def held_document_command(
    form: DocumentForm, receipt: str, write: DocumentWrite, counted_document: CountedDocument, mark: str
) -> Command:
    """Return the command that writes a document outside runs, or deletes it, after it was held."""
    return (
        *("EVAL", form.script(WRITE_HELD_DOCUMENT), 3, counted_document.key, receipt),
        companion_keys.register(counted_document.key, _CLUSTER),
        *(
            counted_document.owner,
            write.text or "",
            counted_document.life_s,
            mark,
            write.receipt,
            write.receipt_life_s,
            counted_document.key,
        ),
    )


def forget_counted(owner: str, key: str) -> Command:
    """Return the command that counts a document no more if it is gone. Send it by `lists.elsewhere`."""
    keyed = (keys.quota(owner), keys.quota(owner, "docs"), keys.quota(owner, "sizes"))
    return ("EVAL", _FORGET, 3, *keyed, key)
