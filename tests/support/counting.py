"""A pool whose connections note every packet that is sent, and the commands in it."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from dcf.store.connection import Pool
from tests.support.fake_redis import parsed_commands


class CountingPool:
    """`packets` holds the command names of each packet, in order: its length is the number of round trips."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self.packets: list[list[str]] = []

    def get_connection(self) -> Any:
        connection = self._pool.get_connection()
        send = connection.send_packed_command

        def counted(command: list[bytes], check_health: bool = True) -> None:
            self.packets.append([found[0].decode() for found in parsed_commands(b"".join(command))])
            send(command, check_health=check_health)

        connection.send_packed_command = counted
        return connection

    def release(self, connection: Any) -> None:
        vars(connection).pop("send_packed_command", None)
        self._pool.release(connection)

    def disconnect(self) -> None:
        self._pool.disconnect()

    @contextmanager
    def counted(self) -> Iterator[list[list[str]]]:
        """The packets sent inside the block (read them after it)."""
        before, found = len(self.packets), list[list[str]]()
        yield found
        found += self.packets[before:]
