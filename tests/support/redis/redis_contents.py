"""All that is in a Redis, as text, for tests that look for what must not be there."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from dcf.store.connection.commands import Command
from dcf.store.connection.connections import Connections
from tests.support.redis.documents import Ask, is_document, read_text

_READ: Final[Mapping[bytes, Callable[[bytes], Command]]] = {
    b"ReJSON-RL": lambda key: ("JSON.GET", key),
    b"string": lambda key: ("GET", key),
    b"stream": lambda key: ("XRANGE", key, "-", "+"),
    b"zset": lambda key: ("ZRANGE", key, 0, -1),
    b"hash": lambda key: ("HGETALL", key),
    b"set": lambda key: ("SMEMBERS", key),
    b"list": lambda key: ("LRANGE", key, 0, -1),
}
_GONE: Final = b"none"

GONE_S: Final = -2
"""TTL's reply for a missing key; for a key that does not expire it is -1."""


def everything_in(connections: Connections) -> str:
    """Keys and values."""
    (keys,) = connections.send(("KEYS", "*"))
    kinds = connections.send(*(("TYPE", key) for key in keys)) if keys else []
    there = [(key, kind) for key, kind in zip(keys, kinds, strict=True) if kind != _GONE]
    values = connections.send(*(_READ[kind](key) for key, kind in there)) if there else []
    return "\n".join(sorted(f"{key.decode()} {value}" for (key, _), value in zip(there, values, strict=True)))


def value_of(connections: Connections, key: bytes) -> str:
    """The value as text; nothing for a key that expired, or was deleted, since it was listed."""
    (kind,) = connections.send(("TYPE", key))
    return "" if kind == _GONE else str(connections.send(_READ[kind](key))[0])


def content_of(ask: Ask, key: str | bytes) -> object:
    """The content of a key, equal to its earlier content if no part of it changed."""
    return read_text(ask, key) if is_document(ask, key) else ask("DUMP", key)


@dataclass(frozen=True, slots=True)
class Kept:
    """The content of a key, and whether the key expires."""

    content: object
    expires: bool


def changed(before: Mapping[str, Kept], after: Mapping[str, Kept]) -> set[str]:
    """The keys that are new, hold something else, or are gone although they do not expire."""
    keys = {key for key in before.keys() - after.keys() if not before[key].expires}
    return keys | {key for key, result in after.items() if before.get(key) != result}
