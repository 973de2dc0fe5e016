"""A small deployment in addition to the drawn runs, in real time: a Redis, and servers as `dcf serve` starts them.

Its servers may run an older version, and their hosts may have wrong clocks.
"""

import os
import resource
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from lab.extras import Calls
from lab.http_verbs import connected
from lab.redis_servers import LabRedis
from lab.serving import answers
from tests.support.redis.servers import free_port
from tests.support.waiting import wait_until

_SOON: Final = {"DCF_PULSE_INTERVAL_S": "0.1", "DCF_ALLOW_OPERATOR": "true"}
_STARTED_S: Final = 60
_CLOCKS: Final = Path(__file__).parent / "wrong_clock"
_KIB: Final = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """Where a server runs: with the program of a directory (None: this one), and a clock that is so far off.

    `memory` are the bytes of address space that a server may have.
    """

    program: Path | None = None
    ahead_s: int = 0
    memory: int | None = None


class Deployment:
    """A Redis, and servers without API keys, one on each host."""

    def __init__(self, home: Path, hosts: Sequence[Host], **settings: str) -> None:
        self._home = home
        self._redis = LabRedis(home / "redis", "--appendonly", "yes", "--appendfsync", "always")
        self._settings = settings
        self._hosts = {free_port(): host for host in hosts}
        self._running: dict[int, subprocess.Popen[bytes]] = {}
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as started:
            started.enter_context(self._redis)
            started.callback(lambda: self._end(*self._running))
            self._start(*self._hosts)
            self._stack = started.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    @property
    def urls(self) -> tuple[str, ...]:
        """Return where the servers are, in the order of their hosts."""
        return tuple(f"http://127.0.0.1:{port}/mcp" for port in self._hosts)

    @contextmanager
    def calls(self, *urls: str) -> Iterator[Calls]:
        """Yield calls to all servers, or to these."""
        with connected(urls or self.urls, None) as there:
            yield Calls(there, "")

    def client(self) -> Any:
        """Return a plain client of its Redis."""
        return self._redis.client()

    def kill(self, *numbers: int) -> None:
        """Kill servers, start them again, and wait until they answer."""
        ports = [port for number, port in enumerate(self._hosts) if number in numbers]
        self._end(*ports)
        self._start(*ports)

    def revive(self) -> int:
        """Start the servers again that have ended on their own; return how many."""
        dead = [port for port in self._running if self._has_ended(port)]
        self._start(*dead)
        return len(dead)

    def peak(self) -> int:
        """Return the most memory in bytes that any server has had."""
        return max(map(_peak_of, self._running.values()))

    def _start(self, *ports: int) -> None:
        for port in ports:
            self._running[port] = self._begun(port, self._hosts[port])
        for port in ports:
            wait_until(lambda port=port: answers(port) or self._has_ended(port), _STARTED_S)  # type: ignore[misc]
            assert not self._has_ended(port), self._log(port).read_text()[-2000:]

    def _has_ended(self, port: int) -> bool:
        return self._running[port].poll() is not None

    def _log(self, port: int) -> Path:
        return self._home / f"server {port}.log"

    def _begun(self, port: int, host: Host) -> subprocess.Popen[bytes]:
        environment = {**os.environ, **_SOON, **self._settings, "DCF_SERVER_URL": f"http://127.0.0.1:{port}/mcp"}
        environment["REDIS_URL"] = f"redis://127.0.0.1:{self._redis.port}"
        environment["LAB_AHEAD_S"] = str(host.ahead_s)
        paths = [*([_CLOCKS] if host.ahead_s else []), *([host.program] if host.program is not None else [])]
        environment["PYTHONPATH"] = os.pathsep.join(map(str, paths))
        command = (sys.executable, "-m", "dcf", "serve", "--transport", "http", "--port", str(port), "--auth", "off")
        with self._log(port).open("ab") as log:
            process = subprocess.Popen(command, env=environment, cwd=host.program, stdout=log, stderr=log)
        if host.memory is not None:
            resource.prlimit(process.pid, resource.RLIMIT_AS, (host.memory, host.memory))
        return process

    def _end(self, *ports: int) -> None:
        for port in ports:
            self._running[port].kill()
            self._running[port].wait()


def _peak_of(process: subprocess.Popen[bytes]) -> int:
    try:
        lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * _KIB for line in lines if line.startswith("VmHWM")), 0)
