"""Bytes of artifacts that API keys hold: counted before they are stored, and released if they are not.

The script that counts bytes also notes them as arriving, under the name that their sender drew. So a packet that is
sent again counts or releases once. A process may end before it writes its record. The next put of the key, or the
sweep, finds those bytes: after a minute the records of the run say whether they name that sender.
"""

from collections.abc import Iterable
from typing import Final

from dcf.core.access.quotas import Account
from dcf.features.artifacts.keys import arriving
from dcf.features.artifacts.model import ArtifactPut
from dcf.store.access.quotas import refusal_in
from dcf.store.connection.commands import Command
from dcf.store.connection.connections import Connections
from dcf.store.keys import table as keys
from dcf.store.keys.table import RunKeys
from dcf.store.lists.elsewhere import LOOK, ask
from dcf.values.refusal import Refusal

_ARRIVES_WITHIN_S: Final = 60
"""Seconds after which a put that was counted has ended: its transaction is given up after ten."""

_SETTLED_AT_ONCE: Final = 20
"""What is settled by one script, at most."""

_ARRIVING: Final = arriving("")
_META_BEFORE, _META_AFTER = RunKeys("\0").meta.split("\0")
_DATA_BEFORE, _DATA_AFTER = RunKeys("\0").of("artifacts").removesuffix("artifacts").split("\0")

_TAKE_BACK: Final = """
local function take_back(held, run, size)
  for _, name in ipairs({run, ''}) do
    if redis.call('HINCRBY', held, name, -size) <= 0 then redis.call('HDEL', held, name) end
  end
end
"""

_SETTLE: Final = (
    LOOK
    + _TAKE_BACK
    + """
local held, arriving, before, after = KEYS[1], KEYS[2], ARGV[1], ARGV[2]
local ended, found = tonumber(redis.call('TIME')[1]) - tonumber(ARGV[3]), {}
for _, one in ipairs(redis.call('ZRANGE', arriving, '-inf', ended, 'BYSCORE', 'LIMIT', 0, ARGV[4])) do
  local run, created, artifact, sender, size = string.match(one, '^([^/]+)/([^/]+)/([^/]+)/(%S+) (%d+)$')
  local is_kept = false
  for _, kind in ipairs({'artifacts', 'uploads'}) do
    local record = look(one, 'HGET', before .. run .. after .. kind, artifact)
    for _, by in ipairs(record and cjson.decode(record).by or {}) do is_kept = is_kept or by == sender end
  end
  found[#found + 1] = {one, run .. '/' .. created, tonumber(size), is_kept}
end
if unseen() then return unseen() end
for _, one in ipairs(found) do
  redis.call('ZREM', arriving, one[1])
  if not one[4] then take_back(held, one[2], one[3]) end
end
return #found
"""
)
"""Releases bytes that did not arrive: neither an artifact nor an upload of the run names its sender."""

_RESERVE: Final = (
    LOOK
    + """
local held, arriving, run, name = KEYS[1], KEYS[2], ARGV[1], ARGV[2]
local size, most = tonumber(ARGV[3]), tonumber(ARGV[4])
if redis.call('ZSCORE', arriving, name) then return {} end
local total = tonumber(redis.call('HGET', held, '')) or 0
if total + size > most then
  local all, gone = redis.call('HGETALL', held), {}
  total = 0
  for at = 1, #all, 2 do
    if all[at] ~= '' then
      local its_run = string.match(all[at], '^([^/]+)/')
      if its_run and look(its_run, 'EXISTS', ARGV[5] .. its_run .. ARGV[6]) == 1 then
        total = total + tonumber(all[at + 1])
      else
        gone[#gone + 1] = all[at]
      end
    end
  end
  if unseen() then return unseen() end
  for _, one in ipairs(gone) do redis.call('HDEL', held, one) end
  redis.call('HSET', held, '', total)
  if total + size > most then return {'artifact_bytes', total, most} end
end
redis.call('ZADD', arriving, redis.call('TIME')[1], name)
redis.call('HINCRBY', held, run, size)
redis.call('HINCRBY', held, '', size)
return {}
"""
)
"""Counts bytes of artifacts of a run, if the key may hold them. Before a refusal it releases those of deleted runs."""

_GIVE_BACK: Final = (
    _TAKE_BACK
    + """
if redis.call('ZREM', KEYS[2], ARGV[2]) == 1 then take_back(KEYS[1], ARGV[1], tonumber(ARGV[3])) end
return 1
"""
)
"""Releases bytes that were counted and not stored."""


def reserve(connections: Connections, prefix: str, wish: ArtifactPut, account: Account) -> Refusal | None:
    """Count the bytes of a put for a key, or refuse them. `prefix` is what the run's bytes are kept under."""
    keyed = _keys_of(account.key_id)
    most = account.quotas.artifact_bytes
    arguments = (prefix, _name(prefix, wish), wish.part.size, most, _META_BEFORE, _META_AFTER)
    _, reply = ask(connections, _settled(account.key_id), ("EVAL", _RESERVE, *keyed, *arguments))
    return refusal_in(reply)


def give_back(connections: Connections, prefix: str, wish: ArtifactPut, account: Account) -> None:
    """Release the bytes of a put that stored no artifact."""
    connections.send(("EVAL", _GIVE_BACK, *_keys_of(account.key_id), prefix, _name(prefix, wish), wish.part.size))


def settle(connections: Connections, names: Iterable[str]) -> None:
    """Release bytes that did not arrive, for each owner whose key of arriving bytes is among these."""
    for name in names:
        if name.startswith(_ARRIVING):
            while ask(connections, _settled(name.removeprefix(_ARRIVING))) == [_SETTLED_AT_ONCE]:
                pass


def _settled(owner: str) -> Command:
    limits = (_ARRIVES_WITHIN_S, _SETTLED_AT_ONCE)
    return ("EVAL", _SETTLE, *_keys_of(owner), _DATA_BEFORE, _DATA_AFTER, *limits)


def _keys_of(owner: str) -> tuple[int, str, str]:
    return 2, keys.quota(owner, "artifacts"), arriving(owner)


def _name(prefix: str, wish: ArtifactPut) -> str:
    return f"{prefix}/{wish.artifact_id}/{wish.drawn} {wish.part.size}"
