"""The time of the lab's Redis, as dcf sees it: faster than the real one, and stepped where the lab wants.

Everything in dcf that has to do with time asks Redis with `TIME`. The lab puts itself between: `timed_pool` changes the
replies to that command, and turns back the time by which a script of `store/transaction/guards.py` checks a decision,
for every process that maps the same file. So a lease of five seconds lasts half a second, and a clock that steps an
hour back does so for all of them at once. Times that Redis itself measures (idle entries of streams) are not stretched;
`quicken` shortens the two limits of dcf that depend on it.
"""

import importlib
import mmap
import re
import struct
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from dcf.features.accounts import model, scripts, storage
from dcf.runs.notifying import notifications
from dcf.store.cluster import connections as cluster
from dcf.store.connection.connections import Pool
from dcf.store.events import inbox
from dcf.store.transaction import attempts, prefetched
from dcf.values.instants import SECOND
from tests.support.redis.between import PoolBetween, Replied, Sending

FACTOR: Final = 20
DAY: Final = 240 * SECOND
"""A day of an account's budget: so short that a batch has some."""

_FORM: Final = struct.Struct("<qq")
_SECOND: Final = 1_000_000
_TIME: Final = b"\r\n$4\r\nTIME\r\n"
_DECIDED: Final = re.compile(rb"\bat=(\d{16})")
_PARTS: Final = 2
_TIMEOUT_S: Final = 0.5
_DIGITS: Final = 10
_TIME_OF_SCRIPT: Final = "now = t[1] * 1000000 + t[2]"


class SharedTime:
    """When stretched time began, and how far it was stepped: two numbers in a file that every process maps."""

    def __init__(self, path: Path) -> None:
        if not path.exists():
            path.write_bytes(_FORM.pack(time.time_ns() // 1000, 0))
        with path.open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), _FORM.size)

    def step(self, seconds: float) -> None:
        """Step the clock by a number of seconds."""
        began, offset = _FORM.unpack(self._map[:])
        self._map[:] = _FORM.pack(began, offset + int(seconds * _SECOND))

    def of(self, micros: int) -> int:
        """Return the stretched time at a real one."""
        began, offset = _FORM.unpack(self._map[:])
        return int(began + (micros - began) * FACTOR + offset)

    @property
    def began(self) -> int:
        """Return when stretched time began."""
        began, _ = _FORM.unpack(self._map[:])
        return int(began)

    def real(self, micros: int) -> int:
        """Return the real time at a stretched one."""
        began, offset = _FORM.unpack(self._map[:])
        return int(began + (micros - began - offset) / FACTOR)


class TimedPool(PoolBetween):
    """A pool whose connections tell stretched time."""

    def __init__(self, pool: Pool, shared: SharedTime) -> None:
        super().__init__(pool)
        self._shared = shared

    def between(self) -> tuple[Sending, Replied]:
        """Change the replies to TIME, and turn back the time of a decision."""
        request = [0]

        def noting(packet: bytes) -> bytes:
            request[0] = packet.count(_TIME)
            return _DECIDED.sub(self._real, packet)

        def stretched(reply: Any) -> Any:
            if not request[0] or not _is_time(reply):
                return reply
            request[0] -= 1
            micros = self._shared.of(int(reply[0]) * _SECOND + int(reply[1]))
            return [str(micros // _SECOND).encode(), str(micros % _SECOND).encode()]

        return noting, stretched

    def _real(self, decided: re.Match[bytes]) -> bytes:
        """Return the server's own time for the stretched one at which a step was decided that takes one packet."""
        return b"at=%d" % self._shared.real(int(decided[1]))


def timed(shared: SharedTime) -> Callable[[Pool], Pool]:
    """Return what puts stretched time around a pool, and has its connections give up soon."""

    def around(pool: Any) -> Pool:
        pool.connection_kwargs["socket_timeout"] = _TIMEOUT_S
        return TimedPool(pool, shared)

    return around


def quicken() -> None:
    """Shorten, in this process, what Redis measures in its own seconds and what callers wait for a dead server."""
    notifications.STALLED_S = 3.0  # type: ignore[misc]
    inbox.VISIBILITY_S = 1
    prefetched._PACE = FACTOR  # type: ignore[misc]  # noqa: SLF001 - the lab changes what no setting does
    cluster._CONFIRM_MS = 200  # type: ignore[misc]  # noqa: SLF001 - the lab changes what no setting does
    attempts._WAIT_MS = 200  # type: ignore[misc]  # noqa: SLF001 - the lab changes what no setting does


def quicken_accounts(shared: SharedTime) -> None:
    """Let the script of accounts, as this process sends it, read stretched time, and let budgets be of a short day.

    The script asks Redis itself for the time. It does not see steps of the lab's clock.
    """
    model.DAY = DAY  # type: ignore[misc]
    text, began = importlib.reload(scripts).PROTOCOL, shared.began
    assert _TIME_OF_SCRIPT in text, "the script reads the time as the lab knows"
    stretched = f"{_TIME_OF_SCRIPT}; now = math.floor({began} + (now - {began}) * {FACTOR})"
    vars(storage)["PROTOCOL"] = text.replace(_TIME_OF_SCRIPT, stretched)


def _is_time(reply: Any) -> bool:
    if not isinstance(reply, list) or len(reply) != _PARTS:
        return False
    return all(isinstance(part, bytes) and part.isdigit() for part in reply) and len(reply[0]) == _DIGITS
