"""Fills a Redis with many runs in minutes: copies of a few that dcf made, in the lists that dcf wrote them to.

A copy has every key of its model, under another id and with another creation time, and stands in the same lists. What
dcf itself never wrote is in no copy.
"""

import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from dcf.store import keys
from dcf.store.connection import Command, Connections
from dcf.store.keys import RunKeys
from dcf.values.instants import to_text

_DATED: Final = (keys.RUNS, keys.LIVE)
"""What the lists begin with in which runs stand by the time at which they were created, or nearly so."""

_PACKET: Final = 500
_PACKETS: Final = 4
_FREE_GIB: Final = 6

# ARGV: of the model's keys how many, then each: what stands before and after the id. Of its lists how many, then each:
# the key, what stands before and after the id in the entry, and the score ("" for the creation time). The model's id;
# its meta key before and after the id. Then of each copy: id, list of due times, creation time, the same as JSON.
_COPY: Final = """
local at = 1
local function pieces(of_one)
  local all, count = {}, tonumber(ARGV[at])
  at = at + 1
  for i = 1, count do
    all[i] = {unpack(ARGV, at, at + of_one - 1)}
    at = at + of_one
  end
  return all
end
local documents, lists = pieces(2), pieces(4)
local model, before, after, due = ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3]
for i = at + 4, #ARGV, 4 do
  local name, own_due, score, created = unpack(ARGV, i, i + 3)
  for _, one in ipairs(documents) do
    redis.call('COPY', 'model:' .. one[1] .. model .. one[2], one[1] .. name .. one[2])
  end
  redis.call('JSON.SET', before .. name .. after, '$.workflow_id', '"' .. name .. '"')
  redis.call('JSON.SET', before .. name .. after, '$.created_at', created)
  for _, one in ipairs(lists) do
    local key = one[1]:sub(1, #due) == due and own_due or one[1]
    redis.call('ZADD', key, one[4] == '' and score or one[4], one[2] .. name .. one[3])
  end
end
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Listing:
    """An entry of a list that names the model. `score` None: the time at which the run was created."""

    key: str
    before: str
    after: str
    score: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """A run as it is stored: what its keys begin and end with, and the entries that name it."""

    run: str
    documents: tuple[tuple[str, str], ...]
    listings: tuple[_Listing, ...]

    def listed_too(self, key: str) -> "Model":
        """Return the model with an entry, by creation time, in one more list."""
        more = _Listing(key=key, before="", after="", score=None)
        return Model(run=self.run, documents=self.documents, listings=(*self.listings, more))


def read_models(connections: Connections, runs: Sequence[str]) -> list[Model]:
    """Read how these runs are stored, and take them away from dcf, so that they stay as they are.

    The Redis has few others as yet, since all lists are looked through.
    """
    (found,) = connections.send(("KEYS", "cp:idx:*"))
    kinds = connections.send(*(("TYPE", key) for key in found))
    lists = [key for key, kind in zip(found, kinds, strict=True) if kind == b"zset"]
    entries = connections.send(*(("ZRANGE", key, 0, -1, "WITHSCORES") for key in lists))
    told = [
        (key.decode(), member.decode(), score.decode())
        for key, listed in zip(lists, entries, strict=True)
        for member, score in zip(listed[::2], listed[1::2], strict=True)
    ]
    models = [_model(connections, run, told) for run in runs]
    for model in models:
        connections.send(*_away(model))
    return models


def _model(connections: Connections, run: str, told: Sequence[tuple[str, str, str]]) -> Model:
    (found,) = connections.send(("KEYS", f"?p:wf:{run}:*"))
    documents = [key.decode().partition(run) for key in found]
    listings = [
        _Listing(key=key, before=before, after=after, score=None if key.startswith(_DATED) else score)
        for key, member, score in told
        for before, name, after in (member.partition(run),)
        if name
    ]
    pieces = tuple((before, after) for before, _, after in documents)
    return Model(run=run, documents=pieces, listings=tuple(listings))


def _away(model: Model) -> Iterator[Command]:
    for one in model.listings:
        yield ("ZREM", one.key, f"{one.before}{model.run}{one.after}")
    for before, after in model.documents:
        yield ("RENAME", f"{before}{model.run}{after}", f"model:{before}{model.run}{after}")


def copy(connections: Connections, model: Model, number: int, created: int) -> list[str]:
    """Make so many copies of a model, created one microsecond apart from then on. Return their ids."""
    names = [f"packed-{secrets.token_hex(6)}" for _ in range(number)]
    packets = [_command(model, names[at : at + _PACKET], created + at) for at in range(0, number, _PACKET)]
    for at in range(0, len(packets), _PACKETS):
        assert free_gib() > _FREE_GIB, "the machine is about to run out of memory"
        connections.send(*packets[at : at + _PACKETS])
    return names


def _command(model: Model, names: Sequence[str], created: int) -> Command:
    before, _, after = RunKeys(model.run).meta.partition(model.run)
    return ("EVAL", _COPY, 0, *_pieces(model), model.run, before, after, keys.DUE, *_copies(names, created))


def _pieces(model: Model) -> Iterator[str | int]:
    yield len(model.documents)
    for before, after in model.documents:
        yield from (before, after)
    yield len(model.listings)
    for one in model.listings:
        yield from (one.key, one.before, one.after, one.score or "")


def _copies(names: Sequence[str], created: int) -> Iterator[str | int]:
    for at, name in enumerate(names, created):
        yield from (name, keys.due(name), at, f'"{to_text(at)}"')


def free_gib() -> float:
    """Return how much memory the machine has left."""
    found = dict(line.split(":") for line in Path("/proc/meminfo").read_text("ascii").splitlines())
    return int(found["MemAvailable"].split()[0]) / 2**20
