"""A pool whose connections note every packet that is sent, the commands in it, and how many bytes went to and fro."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from dcf.store.connection.connections import Pool
from tests.support.redis.between import PoolBetween, Replied, Sending
from tests.support.redis.fake_redis import parsed_commands


class CountingPool(PoolBetween):
    """`packets` holds the command names of each packet, in order: its length is the number of round trips.

    `traffic` holds for each packet the bytes of it and of the replies to it, `watched` for each WATCH its keys.
    """

    def __init__(self, pool: Pool) -> None:
        super().__init__(pool)
        self.packets: list[list[str]] = []
        self.traffic: list[int] = []
        self.watched: list[tuple[bytes, ...]] = []

    def between(self) -> tuple[Sending, Replied]:
        return self._counted, self._weighed

    def _counted(self, packet: bytes) -> bytes:
        commands = list(parsed_commands(packet))
        self.packets.append([command[0].decode() for command in commands])
        self.watched += [command[1:] for command in commands if command[0] == b"WATCH"]
        self.traffic.append(len(packet))
        return packet

    def _weighed(self, reply: Any) -> Any:
        if self.traffic:
            self.traffic[-1] += _bytes_in(reply)
        return reply

    @contextmanager
    def counted(self) -> Iterator[list[list[str]]]:
        """The packets sent inside the block (read them after it)."""
        before, result = len(self.packets), list[list[str]]()
        yield result
        result += self.packets[before:]


def _bytes_in(reply: Any) -> int:
    if isinstance(reply, list):
        return sum(map(_bytes_in, reply))
    return len(reply) if isinstance(reply, bytes | str) else 8
