"""Child processes that end with their parent and are started again when they die before."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from dcf.errors import DcfError, InvalidArgument

_POLL_S = 0.05
_MAX_RESTARTS = 20
_PATIENCE_S = 10
_USAGE = 2  # the exit code of a command that was called in the wrong way: calling it again cannot help
_MARK = "dcf: "


class ProcessFailed(DcfError):
    """A process of the run kept dying."""

    code = "process_failed"
    default_hint = "Mend what its log says, then run again."


@dataclass(slots=True, kw_only=True)
class _Child:
    """One process under its name; `command` starts it again."""

    name: str
    command: list[str]
    inherit: tuple[int, ...]
    process: subprocess.Popen[bytes]


class ChildProcesses:
    """Processes of dcf. A thread starts again whoever dies; each ends by itself when this process is gone."""

    def __init__(self, logs: Path, environment: Mapping[str, str]) -> None:
        self._logs = logs
        self._environment = {**os.environ, **environment}
        self._members: list[_Child] = []
        self._failure: DcfError | None = None
        self._restarts = 0
        self._done = threading.Event()
        self._keeper = threading.Thread(target=self._keep, daemon=True)

    def __enter__(self) -> Self:
        self._keeper.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._keeper.join()
        for member in self._members:
            member.process.terminate()
        for member in self._members:
            _wait_for(member.process)

    def start(self, name: str, arguments: list[str], *, inherit: tuple[int, ...] = ()) -> None:
        """Start `dcf ARGUMENTS` (with --leash) under this name; its output goes to a log of that name."""
        command = [sys.executable, "-m", "dcf", *arguments]
        process = self._spawn(name, command, inherit)
        self._members.append(_Child(name=name, command=command, inherit=inherit, process=process))

    def check(self) -> None:
        """Raise if a process cannot be kept alive."""
        if self._failure is not None:
            raise self._failure

    def _keep(self) -> None:
        while self._failure is None and not self._done.wait(_POLL_S):
            for member in list(self._members):
                if member.process.poll() is not None:
                    self._replace(member)

    def _replace(self, member: _Child) -> None:
        """Start a dead process again, unless that has been of no help."""
        exit_code = _wait_for(member.process)
        self._restarts += 1
        if exit_code == _USAGE:
            self._failure = InvalidArgument(f"{member.name} could not start: {self._last_words(member.name)}")
        elif self._restarts > _MAX_RESTARTS:
            words = self._last_words(member.name)
            self._failure = ProcessFailed(f"{member.name} keeps ending (exit code {exit_code}): {words}")
        else:
            member.process = self._spawn(member.name, member.command, member.inherit)

    def _spawn(self, name: str, command: list[str], inherit: tuple[int, ...]) -> subprocess.Popen[bytes]:
        """Start a process in a session of its own: a Ctrl-C in the terminal is for this process to deal with."""
        with self._log(name).open("ab") as log:
            return subprocess.Popen(  # nosec B603 # noqa: S603 - our own interpreter and command line
                command,
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                pass_fds=inherit,
                env=self._environment,
                start_new_session=True,
            )

    def _log(self, name: str) -> Path:
        return self._logs / f"{name}.log"

    def _last_words(self, name: str) -> str:
        """Find what a process said last, without the hint that follows it."""
        lines = self._log(name).read_text("utf-8", "replace").strip().splitlines()
        spoken = [line.removeprefix(_MARK) for line in lines if line.startswith(_MARK)] or [
            line for line in lines if any(map(str.isalnum, line))
        ]
        return spoken[-1][:500] if spoken else "it printed nothing"


def hold_leash() -> None:
    """End this process, as SIGTERM does, when whoever holds the other end of its standard input is gone."""
    threading.Thread(target=_wait_for_parent, daemon=True).start()


def _wait_for_parent() -> None:
    while os.read(0, 1024):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


def _wait_for(process: subprocess.Popen[bytes]) -> int:
    """Wait for the end of a process that was told to end; kill it when it takes too long."""
    if process.stdin is not None:
        process.stdin.close()
    try:
        return process.wait(timeout=_PATIENCE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()
