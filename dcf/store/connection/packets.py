"""Reads the replies to a whole packet, where redis-py goes through three layers and their checks for each reply.

Half of the calls of reading a transaction's dozen replies were those. Waiting, time-outs and broken connections remain
redis-py's: the first reply of what has arrived is always read through it.
"""

from typing import Any, Final

import redis
from redis._parsers import _HiredisParser
from redis._parsers.hiredis import NOT_ENOUGH_DATA


class PacketParser(_HiredisParser):
    """redis-py's parser, which also gives its connection the method `arrived`."""

    def on_connect(self, connection: Any, **options: Any) -> None:
        """Begin to read for a connection."""
        super().on_connect(connection, **options)  # type: ignore[no-untyped-call]  # redis-py leaves it untyped
        connection.arrived = self.arrived

    def arrived(self, most: int) -> list[Any]:
        """Return at most `most` replies that have arrived already, also error replies; raise connection errors."""
        arrived_replies: list[Any] = []
        reader = self._reader
        if reader is None:  # another thread closes the connection; reading on through redis-py says so
            return arrived_replies
        while len(arrived_replies) < most and (reply := reader.gets()) is not NOT_ENOUGH_DATA:
            first = reply[0] if isinstance(reply, list) and reply else reply
            if isinstance(first, redis.ConnectionError):
                raise first
            arrived_replies.append(reply)
        return arrived_replies


IN_PACKETS: Final[dict[str, Any]] = {"parser_class": PacketParser}
"""Options of a connection that is read with `arrived`."""
