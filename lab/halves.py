"""Two halves of a network, in each some nodes of a cluster: the link between them can be cut.

A process in neither half, such as dcf, reaches both as before. So a minority that is cut off from the others serves its
connections until it notices. Each half is a network namespace, which only root may make.
"""

import os
from contextlib import ExitStack
from itertools import count
from types import TracebackType
from typing import Final, Self

from lab.regions import ip
from tests.support.redis.cluster import Host

_LINK: Final = "between"
_OUT: Final = "out"
_NUMBERS: Final = count()


class Halves:
    """Two network namespaces with a link between them, and one from each to where everybody else is."""

    def __init__(self) -> None:
        number = next(_NUMBERS)
        self._net = f"10.{77 + number % 100}.{os.getpid() % 250}"
        self._names = tuple(f"dcf{os.getpid() % 100_000}h{number}{side}" for side in "ab")
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as made:
            for name in self._names:
                ip("netns", "add", name)
                made.callback(ip, "netns", "del", name)
            here, there = self._names
            ip("link", "add", _LINK, "netns", here, "type", "veth", "peer", "name", _LINK, "netns", there)
            for name, address, other in zip(self._names, self._addresses, reversed(self._addresses), strict=True):
                ip("link", "add", name, "type", "veth", "peer", "name", _OUT, "netns", name)
                ip("addr", "add", f"{self._net}.9/32", "dev", name)
                ip("link", "set", name, "up")
                ip("-n", name, "addr", "add", f"{address}/32", "dev", "lo")
                for device in ("lo", _OUT, _LINK):
                    ip("-n", name, "link", "set", device, "up")
                ip("route", "add", address, "dev", name, "src", f"{self._net}.9")
                ip("-n", name, "route", "add", f"{self._net}.9", "dev", _OUT, "src", address)
                ip("-n", name, "route", "add", other, "dev", _LINK, "src", address)
            self._stack = made.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    @property
    def _addresses(self) -> tuple[str, str]:
        return f"{self._net}.1", f"{self._net}.2"

    @property
    def hosts(self) -> tuple[Host, Host]:
        """Where the nodes of each half run."""
        here, there = (
            Host(address, ("ip", "netns", "exec", name))
            for name, address in zip(self._names, self._addresses, strict=True)
        )
        return here, there

    def cut(self) -> None:
        """Stop all traffic between the halves. Open connections receive no bytes and no error."""
        ip("-n", self._names[0], "link", "set", _LINK, "down")

    def join(self) -> None:
        """Let everything pass again."""
        here, there = self._addresses
        ip("-n", self._names[0], "link", "set", _LINK, "up")
        ip("-n", self._names[0], "route", "replace", there, "dev", _LINK, "src", here)
