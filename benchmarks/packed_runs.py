"""Fills a Redis or a cluster with many runs in minutes: copies of a few that dcf made, in all lists of their models.

A copy has every key of its model, under another id and with another creation time, and is in the same lists. No
copy has data that dcf itself never wrote.
"""

import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from dcf.store.connection.commands import Command
from dcf.store.connection.connections import Connections
from dcf.store.forms.form import DOCUMENTS, DocumentForm
from dcf.store.keys import table as keys
from dcf.store.keys.table import RunKeys
from dcf.store.lists.shards import place_of, plain_list
from dcf.values.instants import to_text

_DATED: Final = (keys.RUNS, keys.LIVE)
"""The first characters of lists in which runs stand by the time at which they were created, or nearly so."""

_PACKET: Final = 1000
_FREE_GIB: Final = 6

_READ: Final = "return {redis.call('DUMP', KEYS[1]), redis.call('PTTL', KEYS[1])}"

# KEYS: those of a copy, meta first. ARGV: the places of its id and its creation time, each with its text, then of each
# key the milliseconds until it expires (0: never), and the reply to DUMP of the model's.
_RESTORE: Final = (
    DOCUMENTS
    + """
for i, key in ipairs(KEYS) do
  redis.call('RESTORE', key, ARGV[3 + 2 * i], ARGV[4 + 2 * i])
end
write_member(KEYS[1], ARGV[1], ARGV[2])
write_member(KEYS[1], ARGV[3], ARGV[4])
"""
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Document:
    """A key of the model: what stands before and after the id, the milliseconds until it expires, and its content."""

    before: str
    after: str
    expires_ms: int
    dump: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """An entry of a list that names the model. `score` None: the time at which the run was created."""

    key: str
    before: str
    after: str
    score: str | None

    @property
    def index(self) -> str:
        """The plain key of the list."""
        return plain_list(self.key)

    def place(self, name: str, shards: int) -> str:
        """Return the key of the list that has the entry of a copy."""
        if self.key.startswith(keys.DUE):
            return keys.due(name)
        return self.key if self.key == self.index else place_of(self.index, name, shards)

    def entry(self, name: str) -> str:
        """Return the entry of the list for a copy."""
        return f"{self.before}{name}{self.after}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """A run as it is stored: its keys, and the entries that name it."""

    run: str
    documents: tuple[_Document, ...]
    listings: tuple[Listing, ...]

    def listed_too(self, key: str) -> "Model":
        """Return the model with an entry, by creation time, in one more list."""
        return replace(self, listings=(*self.listings, Listing(key=key, before="", after="", score=None)))

    def keys_of(self, name: str) -> list[str]:
        """Return the keys of a copy, meta first."""
        return [f"{document.before}{name}{document.after}" for document in self.documents]


def read_models(connections: Connections, runs: Sequence[str]) -> list[Model]:
    """Read how these runs are stored, and take them away from dcf, so that they stay as they are.

    The Redis has few others as yet, since all lists are looked through.
    """
    keys = _keys(connections, "cp:idx:*")
    kinds = connections.send(*(("TYPE", key) for key in keys))
    lists = [key for key, kind in zip(keys, kinds, strict=True) if kind == b"zset"]
    entries = connections.send(*(("ZRANGE", key, 0, -1, "WITHSCORES") for key in lists))
    details = [
        (key, member.decode(), score.decode())
        for key, listed in zip(lists, entries, strict=True)
        for member, score in zip(listed[::2], listed[1::2], strict=True)
    ]
    models = [_model(connections, run, details) for run in runs]
    for model in models:
        taken: list[Command] = [("ZREM", listing.key, listing.entry(model.run)) for listing in model.listings]
        connections.send(*taken, ("DEL", *model.keys_of(model.run)))
    return models


def _keys(connections: Connections, pattern: str) -> list[str]:
    """Return the keys of all servers that a pattern matches, as dcf writes them."""
    replies = [server.send(("KEYS", pattern)) for server in connections.servers()]
    return [connections.named(key) for (result,) in replies for key in result]


def _model(connections: Connections, run: str, details: Sequence[tuple[str, str, str]]) -> Model:
    result = sorted(_keys(connections, f"?p:wf:*{run}*"), key=lambda key: key != RunKeys(run).meta)
    contents = connections.send(*(("EVAL", _READ, 1, key) for key in result))
    documents = [
        _Document(before=before, after=after, expires_ms=max(0, millis), dump=dump)
        for key, (dump, millis) in zip(result, contents, strict=True)
        for before, _, after in (key.partition(run),)
        if dump is not None
    ]
    listings = [
        Listing(key=key, before=before, after=after, score=None if plain_list(key).startswith(_DATED) else score)
        for key, member, score in details
        for before, name, after in (member.partition(run),)
        if name
    ]
    return Model(run=run, documents=tuple(documents), listings=tuple(listings))


def copy(connections: Connections, model: Model, number: int, created: int) -> list[str]:
    """Make a number of copies of a model, created one microsecond apart from then on. Return their ids."""
    names = [f"packed-{secrets.token_hex(6)}" for _ in range(number)]
    for start in range(0, number, _PACKET):
        assert free_gib() > _FREE_GIB, "the machine is about to run out of memory"
        page = names[start : start + _PACKET]
        connections.send(*_restored(connections.form, model, page, created + start))
        connections.send(*_listed(model, page, created + start, connections.shards))
    return names


def _restored(form: DocumentForm, model: Model, names: Sequence[str], created: int) -> Iterator[Command]:
    restore, places = form.script(_RESTORE), (form.place("workflow_id"), form.place("created_at"))
    contents = [word for document in model.documents for word in (document.expires_ms, document.dump)]
    for at, name in enumerate(names, created):
        own = model.keys_of(name)
        members = (places[0], f'"{name}"', places[1], f'"{to_text(at)}"')
        yield ("EVAL", restore, len(own), *own, *members, *contents)


def _listed(model: Model, names: Sequence[str], created: int, shards: int) -> Iterator[Command]:
    for listing in model.listings:
        entries: dict[str, list[str | int]] = {}
        for at, name in enumerate(names, created):
            score = at if listing.score is None else listing.score
            entries.setdefault(listing.place(name, shards), []).extend((score, listing.entry(name)))
        for key, words in entries.items():
            yield ("ZADD", key, *words)


def free_gib() -> float:
    """Return how much memory the machine has left."""
    result = dict(line.split(":") for line in Path("/proc/meminfo").read_text("ascii").splitlines())
    return int(result["MemAvailable"].split()[0]) / 2**20
