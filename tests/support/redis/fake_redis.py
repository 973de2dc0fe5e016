"""fakeredis behind the interface of `dcf.store.connection.connections.Pool`, with the reply shapes of the real server.

For the logic of decisions and transactions only: fakeredis differs from Redis on expiry inside WATCH, on JSON paths
and on errors, so nothing about those is tested here.
"""

import json
from collections import deque
from collections.abc import Iterator
from typing import Any

import fakeredis
import hiredis
import redis

Command = tuple[bytes, ...]


class FakeConnection:
    """Understands packets of packed commands, which fakeredis's own connection does not."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self._pending: deque[Command] = deque()

    def send_packed_command(self, command: list[bytes], check_health: bool = True) -> None:
        self._pending.extend(parsed_commands(b"".join(command)))

    def read_response(self) -> Any:
        command = self._pending.popleft()
        name = command[0].upper()
        if name == b"JSON.MGET":
            # fakeredis unwraps the documents and answers [] for missing keys.
            return [self._get(key, command[-1]) for key in command[1:-1]]
        if name == b"EVAL":
            command = (command[0], _with_whole_documents(command[1]), *command[2:])
        if name == b"JSON.GET" and len(command) == 3:
            return self._get(*command[1:])
        reply = self._translated(name, command)
        if name == b"ZRANGE" and command[-1].upper() == b"WITHSCORES":
            return [part for member, score in _pairs(reply) for part in (member, b"%.17g" % float(score))]
        if name == b"XREADGROUP" and isinstance(reply, dict):
            return [[stream, entries] for stream, entries in reply.items()]
        if name == b"JSON.GET" and isinstance(reply, bytes):
            return _compact(json.loads(reply))
        return reply

    def disconnect(self) -> None:
        self._pending.clear()
        self._ask(b"UNWATCH")

    def _translated(self, name: bytes, command: Command) -> Any:
        try:
            return self._ask(*command)
        except redis.ResponseError:
            if name not in {b"XREADGROUP", b"XAUTOCLAIM"}:
                raise
            raise redis.ResponseError("NOGROUP No such key or consumer group") from None  # it has another text here

    def _get(self, key: bytes, path: bytes) -> bytes | None:
        """One path of one document. fakeredis unwraps a single array that it finds, unless asked for two paths."""
        reply = self._ask(b"JSON.GET", key, path, b"$.no.such.path")
        return None if reply is None else _compact(json.loads(reply)[path.decode()])

    def _ask(self, *command: bytes) -> Any:
        self._connection.send_command(*command)
        return self._connection.read_response()


_AS_IN_REDIS = b"""
local real = redis
local function get(key, path)
  local text = real.call('JSON.GET', key, path)
  if path == '$' then
    text = real.call('JSON.GET', key, path, '$.no.such.path')
  end
  text = text and (text:match('^{"%$": (.*), "%$%.no%.such%.path": %[%]}$') or text)
  return text and text:gsub('"(%l[%l_]+)": ', '"%1":')
end
local redis = {pcall = real.pcall, call = function(name, ...)
  if name == 'JSON.GET' then
    return (get(...))
  elseif name ~= 'JSON.MGET' then
    return real.call(name, ...)
  end
  local words, found = {...}, {}
  for i = 1, #words - 1 do
    found[i] = get(words[i], words[#words]) or false
  end
  return found
end}
"""


def _with_whole_documents(script: bytes) -> bytes:
    """Return the script with replies to JSON.GET and JSON.MGET as the real server has them, without a `#!` line."""
    return _AS_IN_REDIS + (script.split(b"\n", 1)[1] if script.startswith(b"#!") else script)


class FakePool:
    """Connections to one fake server, which lives as long as this object."""

    def __init__(self) -> None:
        self._client = fakeredis.FakeRedis(server=fakeredis.FakeServer(), protocol=2)

    def get_connection(self) -> FakeConnection:
        return FakeConnection(self._client.connection_pool.get_connection())

    def release(self, connection: FakeConnection) -> None:
        self._client.connection_pool.release(connection._connection)

    def disconnect(self) -> None:
        self._client.connection_pool.disconnect()


def parsed_commands(packet: bytes) -> Iterator[Command]:
    """The commands in a packet, as tuples of bytes."""
    reader = hiredis.Reader()
    reader.feed(packet)
    while (gets := reader.gets()) is not False:
        yield tuple(gets)


def _compact(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def _pairs(reply: list[Any]) -> list[tuple[Any, Any]]:
    if reply and isinstance(reply[0], list):
        return [(member, score) for member, score in reply]
    return list(zip(reply[::2], reply[1::2], strict=True))
