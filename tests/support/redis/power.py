"""A power loss between two packets of a process: what was written since a moment is gone, and its connection breaks."""

from collections.abc import Callable
from typing import Any

import redis

from dcf.store.connection.connections import Connections, Pool
from tests.support.redis.between import PoolBetween, Replied, Sending


class Outlet(PoolBetween):
    """Connections of one process to a server that loses power before a packet of theirs, if a test says so.

    The server continues; an onlooker writes back the keys that a run had at `note`, and the connection breaks.
    """

    def __init__(self, pool: Pool, onlooker: Connections) -> None:
        super().__init__(pool)
        self._onlooker = onlooker
        self._kept: dict[bytes, bytes] = {}
        self._of = ""
        self._passing: int | None = None

    def note(self, run: str) -> None:
        """Let a power loss take back what is written from now on of this run, and of those whose names begin so."""
        self._of = run
        keys = self._keys()
        self._kept = dict(zip(keys, self._onlooker.send(*(("DUMP", key) for key in keys)), strict=True))

    def strikes(self, after: int, work: Callable[[], object]) -> bool:
        """Do the work, and lose power after this number of packets; return True if it sent more than these."""
        self._passing = after
        work()
        has_struck, self._passing = self._passing is None, None
        return has_struck

    def between(self) -> tuple[Sending, Replied]:
        return self._sent, _as_it_is

    def _sent(self, packet: bytes) -> bytes:
        if self._passing == 0:
            self._passing = None
            self._lose()
            raise redis.ConnectionError
        if self._passing is not None:
            self._passing -= 1
        return packet

    def _lose(self) -> None:
        removed = [("DEL", key) for key in self._keys()]
        self._onlooker.send(*removed, *(("RESTORE", key, 0, text) for key, text in self._kept.items()))

    def _keys(self) -> list[bytes]:
        (result,) = self._onlooker.send(("KEYS", f"[cd]p:wf:{self._of}*"))
        return list(result)


def _as_it_is(reply: Any) -> Any:
    return reply
