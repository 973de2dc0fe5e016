"""Opens each new connection to Redis: logs in, sends the version of dcf, and reads how the data is kept.

All of it happens before any other command, also after a reconnection. The Redis that answers then may be a restored
copy, or a newer dcf may have written to it since. Alone, redis-py sends its name and its version in a packet each. Here
both go in one packet, with the questions about the key layout and the form of the documents. The answer about the form
stays with the connection.
"""

from typing import Any, Final

import redis
from redis.driver_info import DriverInfo

from dcf.errors import StoreUnsuitable
from dcf.store.connection import faults, layout
from dcf.store.connection.commands import Command, Reply
from dcf.store.connection.packets import IN_PACKETS
from dcf.store.keys import table as keys
from dcf.version import __version__

_DRIVER: Final = DriverInfo().add_upstream_driver("dcf", __version__)
_INTRODUCTION: Final[tuple[Command, ...]] = tuple(
    ("CLIENT", "SETINFO", name, value)
    for name, value in (("LIB-NAME", _DRIVER.formatted_name), ("LIB-VER", _DRIVER.lib_version))
    if isinstance(value, str)
)
"""Tells Redis who is connected. CLIENT LIST shows it: so an operator sees which versions of dcf still run."""

ASK_FORM: Final[Command] = ("GET", keys.DOCUMENT_FORM)
"""Reads the record of the form of documents (`store/forms/record.py`)."""

_PACKET: Final = (*_INTRODUCTION, layout.READ, ASK_FORM)
_FORM: Final = "dcf_documents"


def greet(connection: Any) -> None:
    """Log in, and read the records. Raise UnusableStore if dcf must not use this Redis."""
    connection.on_connect()
    connection.send_packed_command(connection.pack_commands(_PACKET), check_health=False)
    *_, record, vars(connection)[_FORM] = [_reply(connection) for _ in _PACKET]
    refusal = _refusal_of(record)
    if refusal is not None:
        raise faults.UnusableStore(refusal)


def _reply(connection: Any) -> Reply:
    """Read a reply; an error reply is returned, since a service may not know CLIENT SETINFO."""
    try:
        return connection.read_response()
    except redis.ResponseError as error:
        return error


def _refusal_of(record: Reply) -> StoreUnsuitable | None:
    """Return why dcf must not use this Redis.

    A node of a cluster that does not have the record says so, and another node is asked when it is connected. Other
    errors are ignored here: the commands that follow get them too, and report them.
    """
    if isinstance(record, redis.ResponseError):
        return layout.changed_by_hand() if faults.is_of_another_type(record) else None
    return layout.refusal_of(record)


def answer_of(connection: Any) -> list[Reply]:
    """Return the reply to `ASK_FORM` that a connection got at its opening; nothing if it was opened in another way."""
    fields = vars(connection)
    return [fields[_FORM]] if _FORM in fields else []


BEGUN: Final[dict[str, Any]] = IN_PACKETS | {"redis_connect_func": greet, "driver_info": None}
"""Options of a connection that begins with `greet`, and is read in packets."""
