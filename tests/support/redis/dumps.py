"""A Redis as lines of JSON, one for each key: read from any server, and written to any other by ordinary commands.

A file of Redis (RDB, AOF) would need the same server and its modules, and a change of it could not be read. Documents
are written by `documents`, so a dump can be restored in either form. This module does not know the meaning of keys.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, TypeAlias

from tests.support.redis.documents import is_document, read_document, write_document

Line: TypeAlias = Mapping[str, Any]

Client: TypeAlias = Any
"""A client of redis-py that does not decode. redis-py types its replies as if they were decoded or not."""

_MS: Final = 1000


def lines_of(client: Client) -> Iterator[Line]:
    """Yield a line for each key, in the order of the keys. The client must decode nothing."""
    for key in sorted(client.keys()):
        left_ms = client.pttl(key)
        life = {} if left_ms < 0 else {"life_s": -(-left_ms // _MS)}
        name, kind = key.decode(), client.type(key).decode()
        if is_document(client.execute_command, name):
            yield {"key": name, "type": "document", **life, "value": read_document(client.execute_command, name)}
        else:
            yield {"key": name, "type": kind, **life, "value": _READ[kind](client, key)}


def text_of(line: Line) -> str:
    """Return a line of a file."""
    return json.dumps(line, separators=(",", ":"))


def restore(client: Client, lines: Iterable[Line]) -> None:
    """Write all keys. The life of a key that expires starts again."""
    for line in lines:
        _WRITE[line["type"]](client, line["key"], line["value"])
        if "life_s" in line:
            assert client.expire(line["key"], line["life_s"])


def _text(value: bytes) -> str:
    """Return bytes as a text that has all of them, since a few values of dcf are no text."""
    return value.decode("utf-8", "surrogateescape")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _texts(values: Iterable[bytes]) -> list[str]:
    return [*map(_text, values)]


def _hash(client: Client, key: bytes) -> dict[str, str]:
    return {_text(name): _text(value) for name, value in sorted(client.hgetall(key).items())}


def _sorted_set(client: Client, key: bytes) -> list[list[Any]]:
    return [[_text(member), score] for member, score in client.zrange(key, 0, -1, withscores=True)]


def _stream(client: Client, key: bytes) -> dict[str, Any]:
    entries = [[_text(at), _pairs(fields)] for at, fields in client.xrange(key)]
    groups = [_group(client, key, xinfo_group) for xinfo_group in client.xinfo_groups(key)]
    return {"entries": entries, "last": _text(client.xinfo_stream(key)["last-generated-id"]), "groups": groups}


def _pairs(fields: Mapping[bytes, bytes]) -> dict[str, str]:
    return {_text(name): _text(value) for name, value in fields.items()}


def _group(client: Client, key: bytes, group: Mapping[str, Any]) -> dict[str, Any]:
    pending = client.xpending_range(key, group["name"], "-", "+", 1000) if group["pending"] else []
    taken = [[_text(arrival["message_id"]), _text(arrival["consumer"])] for arrival in pending]
    return {"name": _text(group["name"]), "last": _text(group["last-delivered-id"]), "pending": taken}


def _write_stream(client: Client, key: str, value: Mapping[str, Any]) -> None:
    for at, fields in value["entries"]:
        client.execute_command("XADD", key, at, *(_bytes(word) for pair in fields.items() for word in pair))
    if not value["entries"]:
        client.execute_command("XADD", key, "MAXLEN", 0, value["last"], "none", "")
    client.execute_command("XSETID", key, value["last"])
    for group in value["groups"]:
        client.xgroup_create(key, group["name"], group["last"])
        for at, consumer in group["pending"]:
            client.xclaim(key, group["name"], consumer, 0, [at], force=True, justid=True)


def _write_hash(client: Client, key: str, value: Mapping[str, str]) -> None:
    client.hset(key, mapping={_bytes(name): _bytes(item) for name, item in value.items()})


def _write_sorted_set(client: Client, key: str, value: Iterable[tuple[str, float]]) -> None:
    client.zadd(key, {_bytes(member): score for member, score in value})


_READ: Final[Mapping[str, Callable[[Client, bytes], Any]]] = {
    "string": lambda client, key: _text(client.get(key)),
    "hash": _hash,
    "list": lambda client, key: _texts(client.lrange(key, 0, -1)),
    "set": lambda client, key: _texts(sorted(client.smembers(key))),
    "zset": _sorted_set,
    "stream": _stream,
}

_WRITE: Final[Mapping[str, Callable[[Client, str, Any], Any]]] = {
    "document": lambda client, key, value: write_document(client.execute_command, key, value),
    "string": lambda client, key, value: client.set(key, _bytes(value)),
    "hash": _write_hash,
    "list": lambda client, key, value: client.rpush(key, *map(_bytes, value)),
    "set": lambda client, key, value: client.sadd(key, *map(_bytes, value)),
    "zset": _write_sorted_set,
    "stream": _write_stream,
}
