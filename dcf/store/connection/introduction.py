"""What a new connection says and asks before anybody uses it, in one packet: who connects, and how documents are kept.

redis-py would take a round trip to name itself and another for its version. The answer about documents stays with the
connection. This module must not decide anything by it.
"""

from typing import Any, Final

import redis
from hiredis import pack_command
from redis import DriverInfo

from dcf.store.connection.commands import Command, Reply
from dcf.store.keys import table as keys

ASKED: Final[Command] = ("GET", keys.DOCUMENT_FORM)
"""The command that reads the record."""

_ANSWER: Final = "dcf_documents"
_NAMED: Final = DriverInfo()
_PACKET: Final[tuple[tuple[Any, ...], ...]] = (
    ("CLIENT", "SETINFO", "LIB-NAME", _NAMED.formatted_name),
    ("CLIENT", "SETINFO", "LIB-VER", _NAMED.lib_version),
    ASKED,
)


def introduce(connection: Any) -> None:
    """Log in as redis-py does, and send the packet. A server that does not know CLIENT SETINFO is used all the same."""
    connection.on_connect()
    connection.send_packed_command([b"".join(map(pack_command, _PACKET))], check_health=False)
    *_, vars(connection)[_ANSWER] = [_reply(connection) for _ in _PACKET]


def _reply(connection: Any) -> Reply:
    try:
        return connection.read_response()
    except redis.ResponseError as error:
        return error


def answer_of(connection: Any) -> list[Reply]:
    """Return the reply that a connection got to `ASKED` when it was opened; nothing if it was opened in another way."""
    fields = vars(connection)
    return [fields[_ANSWER]] if _ANSWER in fields else []


INTRODUCED: Final[dict[str, Any]] = {"redis_connect_func": introduce, "driver_info": None}
"""Options of a connection that introduces itself so."""
