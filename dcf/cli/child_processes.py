"""Child processes that stop when their parent stops, and that are restarted when they exit early."""

import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from dcf.cli.places.context import LOCAL
from dcf.errors import DcfError, InvalidArgument

_POLL_S = 0.05
_PATIENCE_S = 10
_USAGE = 2  # exit code of wrong usage: restarting cannot help
MOST_DEATHS = 5
"""A process that has exited this often without progress is not restarted."""

_MARK, _HINT, _GREETING = "dcf: ", "     ", "dcf: worker "
_LONGEST = 500
_TOO_LATE = "Pass a longer --timeout, or let them load faster."


class ProcessFailed(DcfError):
    """A child process could not start, or kept exiting."""

    code = "process_failed"
    default_hint = "Correct the fault that it names, then run again."


@dataclass(slots=True, kw_only=True)
class _Child:
    """A child process and its name; `command` restarts it.

    `deaths` counts its unexpected exits, `since_progress` those since the last progress.
    """

    name: str
    command: list[str]
    inherit: tuple[int, ...]
    environment: Mapping[str, str]
    process: subprocess.Popen[bytes]
    deaths: int = 0
    since_progress: int = 0
    exit_code: int = 0


class ChildProcesses:
    """Child processes that run dcf. A thread restarts each that exits; each exits when this process does."""

    def __init__(self, logs: Path, environment: Mapping[str, str]) -> None:
        self._logs = logs
        self._environment = {**os.environ, "DCF_CONTEXT": LOCAL, **environment}
        self._members: list[_Child] = []
        self._failure: DcfError | None = None
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

    def start(
        self,
        name: str,
        arguments: list[str],
        *,
        inherit: tuple[int, ...] = (),
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Start `dcf ARGUMENTS` (with --leash) under this name; its output goes to a log of that name.

        Only this process gets `environment`, which is where a secret belongs: other users can read command lines.
        """
        command = [sys.executable, "-m", "dcf", *arguments]
        own = {**self._environment, **(environment or {})}
        process = self._spawn(name, command, inherit, own)
        self._members.append(_Child(name=name, command=command, inherit=inherit, environment=own, process=process))

    def start_loaded(
        self,
        name: str,
        arguments: list[str],
        noun: str,
        timeout_s: float,
        *,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Start `dcf ARGUMENTS` in the same way, and return when it has loaded `what` it runs (`say_loaded`).

        Raise InvalidArgument with its message when it refuses its arguments. It is not restarted before it has loaded.
        `timeout_s` is what is left of the run's time: what was started before may have used up most of it.
        """
        command = [sys.executable, "-m", "dcf", *arguments]
        own = {**self._environment, **(environment or {})}
        reader, writer = os.pipe()
        try:
            first = [*command[:4], "--loaded-fd", str(writer), *command[4:]]
            process = self._spawn(name, first, (writer,), own)
        finally:
            os.close(writer)
        try:
            self._await_loading(process, reader, name, noun, timeout_s)
        except BaseException:
            process.kill()
            _wait_for(process)
            raise
        finally:
            os.close(reader)
        self._members.append(_Child(name=name, command=command, inherit=(), environment=own, process=process))

    def _await_loading(
        self, process: subprocess.Popen[bytes], reader: int, name: str, noun: str, timeout_s: float
    ) -> None:
        is_told, _, _ = select.select([reader], [], [], timeout_s)
        if is_told and os.read(reader, 1):
            return
        try:
            exit_code = process.wait(timeout=_PATIENCE_S if is_told else 0)
        except subprocess.TimeoutExpired:
            raise ProcessFailed(f"The run's time was over before the {noun} had loaded.", _TOO_LATE) from None
        if exit_code == _USAGE:
            raise InvalidArgument(*self._refusal(name, noun))
        raise ProcessFailed(f"{noun} ended ({_manner(exit_code)}): {self._last_words(name)}")

    def check(self) -> None:
        """Raise if a process keeps exiting and is no longer restarted."""
        if self._failure is not None:
            raise self._failure

    def forgive(self) -> None:
        """Count the exits of each process from now on, since there was progress."""
        for member in self._members:
            member.since_progress = 0

    def deaths(self) -> str | None:
        """Return a sentence about the process with the most unexpected exits; None if there was none."""
        worst = max(self._members, key=lambda member: member.deaths, default=None)
        return None if worst is None or not worst.deaths else self._death_of(worst)

    def _keep(self) -> None:
        while self._failure is None and not self._done.wait(_POLL_S):
            for member in list(self._members):
                if member.process.poll() is not None:
                    self._replace(member)

    def _replace(self, member: _Child) -> None:
        """Restart a process that exited, unless restarting it has failed too often."""
        member.exit_code = _wait_for(member.process)
        member.deaths += 1
        member.since_progress += 1
        if member.exit_code == _USAGE or member.since_progress >= MOST_DEATHS:
            self._failure = ProcessFailed(self._death_of(member))
        else:
            member.process = self._spawn(member.name, member.command, member.inherit, member.environment)

    def _death_of(self, member: _Child) -> str:
        times = "once" if member.deaths == 1 else f"{member.deaths} times"
        return f"{member.name} ended {times} ({_manner(member.exit_code)}): {self._last_words(member.name)}"

    def _spawn(
        self, name: str, command: list[str], inherit: tuple[int, ...], environment: Mapping[str, str]
    ) -> subprocess.Popen[bytes]:
        """Start a process in its own session: only this process handles a Ctrl-C in the terminal."""
        with self._log(name).open("ab") as log:
            return subprocess.Popen(  # noqa: S603 - our own interpreter and command line
                command,
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                pass_fds=inherit,
                env=environment,
                start_new_session=True,
            )

    def _log(self, name: str) -> Path:
        return self._logs / f"{name}.log"

    def _refusal(self, name: str, noun: str) -> tuple[str, str]:
        """Read the message, without its code, and the hint of an error that the command line printed."""
        lines = self._lines(name)
        at = max((at for at, line in enumerate(lines) if line.startswith(_MARK)), default=None)
        if at is None:
            return f"{noun}: {self._last_words(name)}", ProcessFailed.default_hint
        message = lines[at].removeprefix(_MARK).partition(": ")[2]
        return message[:_LONGEST], lines[at + 1].strip() if at + 1 < len(lines) else ProcessFailed.default_hint

    def _last_words(self, name: str) -> str:
        """Return the last line that a process logged, except the hint after an error and a worker's greeting."""
        for line in reversed(self._lines(name)):
            if any(map(str.isalnum, line)) and not line.startswith((_HINT, _GREETING)):
                return line.removeprefix(_MARK)[:_LONGEST]
        return "it printed nothing"

    def _lines(self, name: str) -> list[str]:
        return self._log(name).read_text("utf-8", "replace").strip().splitlines()


def _manner(exit_code: int) -> str:
    """Return how a process ended, in words."""
    return f"exit code {exit_code}" if exit_code >= 0 else f"killed by {signal.Signals(-exit_code).name}"


def hold_leash() -> None:
    """End this process with SIGTERM when the other end of its standard input is closed: its parent is gone.

    For everybody else in this process standard input is empty, so that `input()` in a function fails and does not wait.
    """
    leash = os.dup(0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    threading.Thread(target=_wait_for_parent, args=(leash,), daemon=True).start()


def say_loaded(pipe: int | None) -> None:
    """Tell the parent, if it waits for that (`start_loaded`), that this process has loaded what it runs."""
    if pipe is not None:
        os.write(pipe, b"1")
        os.close(pipe)


def _wait_for_parent(leash: int) -> None:
    while os.read(leash, 1024):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


def _wait_for(process: subprocess.Popen[bytes]) -> int:
    """Wait for a process that was told to stop; kill it when it takes too long."""
    if process.stdin is not None:
        process.stdin.close()
    try:
        return process.wait(timeout=_PATIENCE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()
