"""All that is in a Redis, as text, for tests that look for what must not be there."""

from dcf.store.connection import Connections


def everything_in(connections: Connections) -> str:
    """Keys and values; bytes that are no text are left out."""
    (keys,) = connections.send(("KEYS", "*"))
    return "\n".join(f"{key.decode()} {_value(connections, key)}" for key in sorted(keys))


def _value(connections: Connections, key: bytes) -> str:
    (kind,) = connections.send(("TYPE", key))
    if kind == b"ReJSON-RL":
        return str(connections.send(("JSON.GET", key))[0])
    read = {
        b"string": ("GET", key),
        b"stream": ("XRANGE", key, "-", "+"),
        b"zset": ("ZRANGE", key, 0, -1),
        b"hash": ("HGETALL", key),
        b"set": ("SMEMBERS", key),
        b"list": ("LRANGE", key, 0, -1),
    }
    return str(connections.send(read[kind])[0])
