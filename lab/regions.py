"""Two regions far from each other: network namespaces with one link between them, which can be cut.

In each the Redis of the other is reached at the port that it has there, on loopback: what listens there passes on what
it hears, after a while (`distance.py`), over the link. A process in neither reaches a Redis by its unix socket.
Only root may make namespaces, and not everywhere.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from tests.support.waiting import wait_until

_LINK: Final = "between"
_NUMBERS: Final = count()
_PREFIX_LENGTH: Final = 30
_DISTANCE: Final = Path(__file__).with_name("distance.py")


@dataclass(frozen=True, slots=True, kw_only=True)
class Region:
    """A network namespace; `address` is its end of the link."""

    name: str
    address: str

    def command(self, *words: str) -> list[str]:
        """Return what runs a program in this network."""
        return ["ip", "netns", "exec", self.name, *words]


class Regions:
    """Two regions and the link between them, over which everything takes `delay_s` seconds each way."""

    def __init__(self, delay_s: float) -> None:
        names = [f"dcf-{os.getpid()}-{next(_NUMBERS)}" for _ in range(2)]
        self.here, self.there = (
            Region(name=name, address=f"10.0.0.{number}") for number, name in enumerate(names, start=1)
        )
        self._delay_s = delay_s
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as made:
            for item in self._both:
                ip("netns", "add", item.name)
                made.callback(ip, "netns", "del", item.name)
            peer = ("peer", "name", _LINK, "netns", self.there.name)
            ip("link", "add", _LINK, "netns", self.here.name, "type", "veth", *peer)
            for item in self._both:
                ip("-n", item.name, "addr", "add", f"{item.address}/{_PREFIX_LENGTH}", "dev", _LINK)
                ip("-n", item.name, "link", "set", "lo", "up")
                ip("-n", item.name, "link", "set", _LINK, "up")
            self._stack = made.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    @property
    def _both(self) -> tuple[Region, Region]:
        return self.here, self.there

    def lead(self, source: Region, port: int, target: Region) -> None:
        """Lead who connects to this port on loopback in one region to the same port in the other."""
        words = (sys.executable, "-I", str(_DISTANCE), str(port), target.address, str(port), str(self._delay_s))
        passing_on = subprocess.Popen(source.command(*words), stderr=subprocess.DEVNULL)
        self._stack.callback(passing_on.wait)
        self._stack.callback(passing_on.kill)
        wait_until(lambda: _is_open(source, port), 30)

    def cut(self) -> None:
        """Stop all traffic between the two. Open connections receive no bytes and no error."""
        ip("-n", self.here.name, "link", "set", _LINK, "down")

    def join(self) -> None:
        """Let everything pass again."""
        ip("-n", self.here.name, "link", "set", _LINK, "up")


@cache
def why_not() -> str | None:
    """Return why regions cannot be made here; None if they can."""
    if shutil.which("ip") is None:
        return "there is no ip (Debian: iproute2)"
    try:
        with Regions(0.0):
            return None
    except subprocess.CalledProcessError as error:
        return f"network namespaces are not allowed here: {error.stderr.decode().strip()}"


def _is_open(region: Region, port: int) -> bool:
    return bool(_output_of(region.command("ss", "-Hltn", f"sport = :{port}")))


def ip(*words: str) -> None:
    """Tell the kernel about networks. Raise CalledProcessError if it refuses."""
    _output_of(["ip", *words])


def _output_of(command: Sequence[str]) -> bytes:
    return subprocess.run(command, check=True, capture_output=True).stdout
