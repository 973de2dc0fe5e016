"""Runs commands of gates on this machine: only those that a person allowed, without a shell, and never for ever.

A command that comes from the server is text from elsewhere. It runs if a template (`command_templates.py`) of
`--allow-command`, or of a file outside the repository, covers each of its words. What could not be run is
`unavailable`, which is no verdict on the work: the command is missing, not allowed, or took longer than its time.
"""

import os
import signal
import subprocess
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from shutil import which
from typing import Final

import anyio
from anyio.abc import Process

from dcf.errors import InvalidArgument
from dcf.local.command_templates import Allowed, words_of
from dcf.values.json_text import Json
from dcf.values.records import record

LONGEST_S: Final = 3600.0
USUAL_S: Final = 600.0
TAIL_BYTES: Final = 4000
_DRAIN_S: Final = 1.0
_KEPT: Final = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "TZ", "USER", "LOGNAME", "SHELL")
"""Variables that a command gets; those that hold keys of dcf or of anybody else are not among them."""

_running: Final[set[int]] = set()
"""Process groups of the commands that run now."""

_starting: Final[list[str]] = []
"""Programs of the commands that are just being started."""

_ending: Final[list[Callable[[], object]]] = []
"""What ends this process, once these are."""


@record(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of a command: `pass`, `fail` or `unavailable`, and why."""

    verdict: str
    why: str
    exit_code: int | None = None
    tail: str = ""
    cut: bool = False

    def as_json(self) -> dict[str, Json]:
        """Return what an answer shows."""
        return {
            "verdict": self.verdict,
            "why": self.why,
            "exit_code": self.exit_code,
            "output_tail": self.tail,
            "output_cut": self.cut,
        }


async def run(command: str | Sequence[str], root: Path, allowed: Allowed, timeout_s: float | None) -> Outcome:
    """Run a command in the root, if it is allowed; it and all its children end when its time is over."""
    try:
        words = words_of(command)
    except InvalidArgument as error:
        return Outcome(verdict="unavailable", why=error.message)
    if not words or not allowed.covers(words, root):
        return Outcome(
            verdict="unavailable", why="Nobody allowed this command here: dcf local --allow-command, or its allow file."
        )
    program = _program(words[0], root)
    if program is None:
        return Outcome(verdict="unavailable", why=f"There is no program '{words[0][:100]}' on this machine.")
    limit_s = min(timeout_s or USUAL_S, LONGEST_S)
    _starting.append(program)
    try:
        process = await anyio.open_process(
            [program, *words[1:]],
            cwd=root,
            env={name: os.environ[name] for name in _KEPT if name in os.environ},
            stdin=subprocess.DEVNULL,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        _running.add(process.pid)
    except (OSError, ValueError):
        return Outcome(verdict="unavailable", why=f"'{words[0][:100]}' cannot be started.")
    finally:
        _starting.remove(program)
        if _ending:
            end_all(_ending.pop())
    return await _outcome(process, limit_s)


def end_all(then: Callable[[], object]) -> None:
    """End every command that runs, and call `then`, which ends this process at once.

    A command that is just being started has no group yet that could be ended: then both are done once it has one.
    """
    if _starting:
        _ending[:] = [then]
        return
    for group in tuple(_running):
        _end(group)
    then()


def _end(group: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)
    _running.discard(group)


async def _outcome(process: Process, limit_s: float) -> Outcome:
    tail = _Tail()
    try:
        with anyio.move_on_after(limit_s) as timed:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(tail.read, process)
                await process.wait()
                tasks.cancel_scope.deadline = anyio.current_time() + _DRAIN_S
    finally:
        with anyio.CancelScope(shield=True):
            _end(process.pid)
            await process.wait()
            await process.aclose()
    text, cut = tail.text()
    if timed.cancelled_caught:
        why = f"It was not done after {limit_s:g} seconds, and was ended."
        return Outcome(verdict="unavailable", why=why, tail=text, cut=cut)
    code = process.returncode
    verdict = "pass" if code == 0 else "fail"
    return Outcome(verdict=verdict, why=f"Exit code {code}.", exit_code=code, tail=text, cut=cut)


class _Tail:
    """The last bytes that a command printed."""

    def __init__(self) -> None:
        self._bytes = b""
        self._cut = False

    async def read(self, process: Process) -> None:
        output = process.stdout
        with suppress(anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
            while output is not None:
                whole = self._bytes + await output.receive()
                self._cut = self._cut or len(whole) > TAIL_BYTES
                self._bytes = whole[-TAIL_BYTES:]

    def text(self) -> tuple[str, bool]:
        return self._bytes.decode("utf-8", "replace"), self._cut


def _program(name: str, root: Path) -> str | None:
    """Return the file of a program: found on the path, or below the root where the name has a slash."""
    if "/" not in name:
        return which(name)
    place = Path(os.path.realpath(root / name))
    inside = Path(name).is_absolute() or place.is_relative_to(root)
    return str(place) if inside and os.access(place, os.X_OK) and place.is_file() else None
