"""The processes of one system while it is measured: workers, servers and a driver, ended after their turn.

Each process leads a session of its own, so that what it forks is counted and ended with it (Linux only).
"""

import json
import os
import re
import select
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, Self

_TICK: Final = os.sysconf("SC_CLK_TCK")
_ROOT: Final = Path(__file__).parents[2]
_PATH: Final = re.compile(r"(?<!\w)/[\w./-]+")
START_S: Final = 40.0

Kind = Literal["worker", "server", "driver"]


class TookTooLong(Exception):
    """A process did not answer in time, or ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A process to start. `ready` says by what was logged when it takes work: by default once it prints a line."""

    kind: Kind
    words: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)
    folder: Path = _ROOT
    ready: Callable[[str], bool] | None = None


@dataclass(slots=True)
class Member:
    """A running process."""

    command: Command
    process: subprocess.Popen[bytes]

    def answer(self, patience_s: float) -> dict[str, Any]:
        """Return the next line of JSON it prints; raise TookTooLong."""
        deadline = time.monotonic() + patience_s
        assert self.process.stdout is not None
        while True:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.process.stdout], [], [], left)[0]:
                raise TookTooLong(f"not over after {patience_s:.0f} s")
            line = self.process.stdout.readline()
            if not line:
                raise TookTooLong(f"the {self.command.kind} ended unexpectedly")
            if line.startswith(b"{"):
                document: dict[str, Any] = json.loads(line)
                return document

    def kill(self) -> None:
        """End the process and whatever it forked, as a power cut would."""
        for pid in [self.process.pid, *_of_session(self.process.pid)]:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                stream.close()


class Crew:
    """Processes of a system; use as a context."""

    def __init__(self, log: Path) -> None:
        self._log = log
        self.members: list[Member] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for member in self.members:
            member.kill()

    def start(self, commands: Sequence[Command]) -> None:
        """Start the servers, then the workers, then the driver; each kind side by side, until all of it are ready."""
        for kind in ("server", "worker", "driver"):
            fresh = [self._spawn(command) for command in commands if command.kind == kind]
            self.members += fresh
            for member in fresh:
                _wait_until_ready(member, self._logged)

    def order(self, order: Mapping[str, object], patience_s: float) -> dict[str, Any]:
        """Have the driver carry out a run; return what it says of it."""
        self.send(order)
        return self.driver.answer(patience_s)

    def send(self, order: Mapping[str, object]) -> None:
        """Give the driver a run, and do not wait."""
        assert self.driver.process.stdin is not None
        self.driver.process.stdin.write(json.dumps(order).encode() + b"\n")
        self.driver.process.stdin.flush()

    @property
    def driver(self) -> Member:
        """Return the process that submits."""
        return next(member for member in self.members if member.command.kind == "driver")

    def of(self, kind: Kind) -> list[Member]:
        """Return the processes of a kind."""
        return [member for member in self.members if member.command.kind == kind]

    def cpu_s(self, kind: Kind) -> float:
        """Return the seconds of CPU that the processes of a kind have used, and those that they forked."""
        return sum(_cpu_s(pid) for member in self.of(kind) for pid in _of_session(member.process.pid))

    def last_words(self) -> str:
        """Return the last line that a process logged, without paths: it is printed in a document."""
        lines = self._logged().strip().splitlines()
        return _PATH.sub("...", lines[-1])[:120] if lines else "nothing was logged"

    def _logged(self) -> str:
        return self._log.read_text("utf-8", "replace") if self._log.exists() else ""

    def _spawn(self, command: Command) -> Member:
        with self._log.open("ab") as log:
            process = subprocess.Popen(
                list(command.words),
                stdin=subprocess.PIPE,
                stdout=log if command.ready else subprocess.PIPE,
                stderr=log,
                env={**os.environ, **command.environment},
                cwd=command.folder,
                start_new_session=True,
                bufsize=0,
            )
        return Member(command, process)


def _wait_until_ready(member: Member, logged: Callable[[], str]) -> None:
    ready = member.command.ready
    if ready is None:
        member.answer(START_S)
        return
    deadline = time.monotonic() + START_S
    while not ready(logged()):
        if time.monotonic() > deadline or member.process.poll() is not None:
            raise TookTooLong(f"the {member.command.kind} did not start")
        time.sleep(0.02)


def _of_session(leader: int) -> list[int]:
    pids = [int(entry.name) for entry in os.scandir("/proc") if entry.name.isdecimal()]
    return [pid for pid in pids if (fields := _stat(pid)) and int(fields[3]) == leader]


def _cpu_s(pid: int) -> float:
    fields = _stat(pid)
    return sum(int(fields[place]) for place in (11, 12, 13, 14)) / _TICK if fields else 0.0


def _stat(pid: int) -> list[str]:
    """Return the fields of a process after its name; none if it is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text("ascii", "replace").rpartition(")")[2].split()
    except OSError:
        return []
