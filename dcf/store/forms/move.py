"""Moves the documents of a Redis from one form to the other, while no process uses it.

The record says `moving` from before the first document is moved until after the last: no process starts on such a
Redis. One script replaces each document: it compares the document with the text that was read, and keeps its expiry. A
moved document has another type than before, so that a stopped move continues where it stopped, in either direction.
"""

import hashlib
from collections.abc import Iterator, Sequence
from typing import Final

from dcf.errors import StoreUnsuitable
from dcf.store.connection.commands import Command, Reply
from dcf.store.connection.connections import Connections, checked
from dcf.store.connection.documents import micros
from dcf.store.forms.form import DocumentForm
from dcf.store.forms.json_form import JSON_FORM
from dcf.store.forms.record import MOVING, has_json
from dcf.store.forms.text_form import TEXT_FORM, fields_of
from dcf.store.keys import companions
from dcf.store.keys import table as keys
from dcf.store.keys.documents import is_stored_document, shape_of
from dcf.values.instants import SECOND
from dcf.values.json_text import load

IDLE_S: Final = 90
"""Seconds since the last sign of life of a process, after which a Redis counts as idle: clocks look each minute."""

_PAGE: Final = 200

_TO_TEXT: Final = """
local key, as = KEYS[1], ARGV[2]
if redis.sha1hex(redis.call('JSON.GET', key, '$') or '') ~= ARGV[1] then
  return 0
end
local left = redis.call('PTTL', key)
redis.call('DEL', key)
if as == 'text' then
  redis.call('SET', key, ARGV[3])
else
  for at = 3, #ARGV, 1000 do
    redis.call('HSET', key, unpack(ARGV, at, math.min(at + 999, #ARGV)))
  end
end
if left > 0 then
  redis.call('PEXPIRE', key, left)
end
return 1
"""

_TO_JSON: Final = """
local key, as = KEYS[1], ARGV[2]
local found = as == 'text' and redis.call('GET', key) or table.concat(redis.call('HGETALL', key))
if redis.sha1hex(found) ~= ARGV[1] then
  return 0
end
local left = redis.call('PTTL', key)
redis.call('DEL', key)
redis.call('JSON.SET', key, '$', ARGV[3])
if left > 0 then
  redis.call('PEXPIRE', key, left)
end
return 1
"""
"""Lua scripts that replace a document, unless it has changed. ARGV: the digest of what was read, and its shape."""

_NOT_IDLE: Final = "Stop all processes of dcf (servers, workers, clocks, pages), wait {wait} s, and run this again."


class DocumentMove:
    """Moves documents. `moved` is how many so far.

    The connections must not follow the record. `prefixes` are those of the keys of the JSON tools.
    """

    def __init__(self, connections: Connections, prefixes: Sequence[str]) -> None:
        self._connections = connections
        self._prefixes = tuple(prefixes)
        self.moved = 0

    def move(self, to: DocumentForm) -> None:
        """Move all documents to a form. Raise StoreUnsuitable if Redis is not idle, or has no RedisJSON.

        Where the record says this form already, a dcf that knows no record may have added documents in its own.
        """
        (recorded,) = self._connections.send(("GET", keys.DOCUMENT_FORM))
        if recorded == to.name.encode() and not self._has_json():
            return
        began = self._check(to)
        self._connections.send(("SET", keys.DOCUMENT_FORM, MOVING))
        for names in self._pages():
            self.moved += self._moved(names, to)
        self._check_still_unused(began)
        self._connections.send(("SET", keys.DOCUMENT_FORM, to.name))

    def _check(self, to: DocumentForm) -> int:
        """Make sure that documents may be moved, and return the server's time."""
        if not self._has_json():
            raise StoreUnsuitable(
                "Documents can be moved only where Redis has RedisJSON, and this user may use it.",
                "Move them before the server is changed for one without the module."
                if to is TEXT_FORM
                else "Start a server that has the module with this data, and then move them.",
            )
        now, latest = self._signs()
        if latest > now - IDLE_S * SECOND:
            raise StoreUnsuitable(
                f"A process of dcf used this Redis {(now - latest) // SECOND} s ago.", _NOT_IDLE.format(wait=IDLE_S)
            )
        return now

    def _has_json(self) -> bool:
        return has_json(lambda commands: self._connections.ask(*commands))

    def _check_still_unused(self, began: int) -> None:
        _, latest = self._signs()
        if latest > began:
            raise StoreUnsuitable(
                "A process of dcf used this Redis while its documents were moved.", _NOT_IDLE.format(wait=IDLE_S)
            )

    def _signs(self) -> tuple[int, int]:
        """Return the server's time, and when a timer loop ran or an agent called last."""
        clock, looked, called = self._connections.send(
            ("TIME",), ("GET", keys.SERVER_TIME), ("ZREVRANGE", keys.SEEN, 0, 0, "WITHSCORES")
        )
        return micros(clock), max(int(looked or 0), int(float(called[1])) if called else 0)

    def _pages(self) -> Iterator[list[str]]:
        """Yield all keys that may hold documents, some perhaps twice."""
        for server in self._connections.servers():
            cursor = None
            while cursor != b"0":
                scan: Command = ("SCAN", cursor or 0, "COUNT", _PAGE)
                ((cursor, keys_found),) = server.send(scan)
                named = [self._connections.named(key) for key in keys_found if key.isascii()]
                yield [key for key in named if is_stored_document(key) or key.startswith(self._prefixes)]

    def _moved(self, names: Sequence[str], to: DocumentForm) -> int:
        source: DocumentForm = JSON_FORM if to is TEXT_FORM else TEXT_FORM
        kinds = self._connections.send(*(("TYPE", name) for name in names)) if names else []
        documents_found = [name for name, kind in zip(names, kinds, strict=True) if source.is_document(name, kind)]
        documents_found = self._owned(documents_found) if source is TEXT_FORM else documents_found
        replies = self._connections.send(*map(source.read, documents_found)) if documents_found else []
        there = [(name, reply) for name, reply in zip(documents_found, replies, strict=True) if reply]
        scripts = [_replacing(name, reply, to) for name, reply in there]
        done = [checked(reply) for reply in (self._connections.send(*scripts) if scripts else ())]
        if not all(done):
            raise StoreUnsuitable(
                f"The document '{there[done.index(0)][0][:200]}' changed while it was moved.",
                _NOT_IDLE.format(wait=IDLE_S),
            )
        return len(done)

    def _owned(self, names: Sequence[str]) -> list[str]:
        """Return those that are dcf's own, and those that a JSON tool has written: other strings are of others."""
        free = [name for name in names if not is_stored_document(name)]
        shards = self._connections.shards
        commands: list[Command] = [("HGET", companions.register(name, shards), name) for name in free]
        owners = self._connections.send(*commands) if commands else []
        foreign = {name for name, owner in zip(free, owners, strict=True) if owner is None}
        return [name for name in names if name not in foreign]


def _replacing(name: str, reply: Reply, to: DocumentForm) -> Command:
    """Return the script that replaces a document by what it is in the other form."""
    shape = "text" if shape_of(name) == "text" else "hash"
    digest = hashlib.sha1(reply if isinstance(reply, bytes) else b"".join(reply), usedforsecurity=False).hexdigest()
    if to is JSON_FORM:
        return ("EVAL", _TO_JSON, 1, name, digest, shape, TEXT_FORM.text(reply) or b"null")
    text = JSON_FORM.text(reply) or b"null"
    return ("EVAL", _TO_TEXT, 1, name, digest, shape, *((text,) if shape == "text" else fields_of(load(text))))
