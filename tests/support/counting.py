"""A pool whose connections note every packet that is sent, the commands in it, and how many bytes went to and fro."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from dcf.store.connection import Pool
from tests.support.fake_redis import parsed_commands


class CountingPool:
    """`packets` holds the command names of each packet, in order: its length is the number of round trips.

    `traffic` holds for each packet the bytes of it and of the replies to it, `watched` for each WATCH its keys.
    """

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self.packets: list[list[str]] = []
        self.traffic: list[int] = []
        self.watched: list[tuple[bytes, ...]] = []
        self._arrived: dict[Any, Any] = {}

    def get_connection(self) -> Any:
        connection = self._pool.get_connection()
        send, read = connection.send_packed_command, connection.read_response
        arrived = vars(connection).get("arrived")

        def counted(command: list[bytes], check_health: bool = True) -> None:
            packet = b"".join(command)
            commands = list(parsed_commands(packet))
            self.packets.append([found[0].decode() for found in commands])
            self.watched += [found[1:] for found in commands if found[0] == b"WATCH"]
            self.traffic.append(len(packet))
            send(command, check_health=check_health)

        def weighed(*arguments: Any, **options: Any) -> Any:
            reply = read(*arguments, **options)
            if self.traffic:
                self.traffic[-1] += _bytes_in(reply)
            return reply

        def weighed_too(most: int) -> list[Any]:
            replies: list[Any] = arrived(most)
            self.traffic[-1] += _bytes_in(replies)
            return replies

        connection.send_packed_command, connection.read_response = counted, weighed
        if arrived is not None:
            self._arrived[connection] = arrived
            connection.arrived = weighed_too
        return connection

    def release(self, connection: Any) -> None:
        for name in ("send_packed_command", "read_response"):
            vars(connection).pop(name, None)
        if connection in self._arrived:
            connection.arrived = self._arrived.pop(connection)
        self._pool.release(connection)

    def disconnect(self) -> None:
        self._pool.disconnect()

    @contextmanager
    def counted(self) -> Iterator[list[list[str]]]:
        """The packets sent inside the block (read them after it)."""
        before, found = len(self.packets), list[list[str]]()
        yield found
        found += self.packets[before:]


def _bytes_in(reply: Any) -> int:
    if isinstance(reply, list):
        return sum(map(_bytes_in, reply))
    return len(reply) if isinstance(reply, bytes | str) else 8
