"""Runs commands on this machine: only allowed ones, without a shell, and with a timeout.

A command that comes from the server is text from elsewhere. It runs if a template (`command_templates.py`) of
`--allow-command`, or of a file outside the repository, covers each of its words. A command that could not be run is
`unavailable`, which is no verdict on the work: it is missing, not allowed, or took longer than its time.
`ask` runs a command that a person configured here, with a text as its input, and returns what it printed.
"""

import os
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from shutil import which
from typing import Final

import anyio
from anyio.abc import ByteReceiveStream, Process

from dcf.errors import InvalidArgument
from dcf.local.command_templates import Allowed, words_of
from dcf.values.record_json.codec import json_method
from dcf.values.records import record

LONGEST_S: Final = 3600.0
USUAL_S: Final = 600.0
TAIL_BYTES: Final = 4000
MOST_PRINTED: Final = 1024 * 1024
"""Bytes of an answer that a command prints."""
_DRAIN_S: Final = 1.0
_KEPT: Final = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "TZ", "USER", "LOGNAME", "SHELL")
"""Variables that a command gets; those that hold keys of dcf or of anybody else are not among them."""

_OWN: Final = ("DCF_", "LETTA_", "REDIS_")
"""How variables begin that dcf reads, and that may hold its keys."""
_LONGEST_COMPLAINT: Final = 500

_running: Final[set[int]] = set()
"""Process groups of the commands that run now."""

_starting: Final[list[str]] = []
"""Programs of the commands that are just being started."""

_ending: Final[list[Callable[[], object]]] = []
"""Signals that end this process."""


@record(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The outcome of a command: `pass`, `fail` or `unavailable`, and why."""

    verdict: str
    why: str
    exit_code: int | None = None
    tail: str = ""
    cut: bool = False

    as_json = json_method(named={"tail": "output_tail", "cut": "output_cut"})


@record(frozen=True, slots=True, kw_only=True)
class Answer:
    """The output of a command that ended with exit code 0; else `why_not` says why there is none."""

    text: str = ""
    why_not: str | None = None


async def run(command: str | Sequence[str], root: Path, allowed: Allowed, timeout_s: float | None) -> Outcome:
    """Run a command in the root, if it is allowed; a timeout ends it with all its children."""
    try:
        words = words_of(command)
    except InvalidArgument as error:
        return Outcome(verdict="unavailable", why=error.message)
    if not words or not allowed.covers(words, root):
        return Outcome(
            verdict="unavailable",
            why="Not allowed here; allow it with `dcf agents local --allow-command` or in the allow file.",
        )
    if (program := _program(words[0], root)) is None:
        return Outcome(verdict="unavailable", why=_missing(words[0]))
    limit_s = min(timeout_s or USUAL_S, LONGEST_S)
    variables = {name: os.environ[name] for name in _KEPT if name in os.environ}
    process = await _started(program, words, root, variables, stdin=subprocess.DEVNULL, stderr=subprocess.STDOUT)
    if process is None:
        return Outcome(verdict="unavailable", why=_not_started(words[0]))
    return await _outcome(process, limit_s)


async def ask(words: Sequence[str], root: Path, stdin: str, limit_s: float) -> Answer:
    """Run a command in the root with a text as its input; a timeout ends it with all its children.

    It gets the environment of this process without the variables of dcf, which may hold keys.
    """
    if (program := _program(words[0], root)) is None:
        return Answer(why_not=_missing(words[0]))
    variables = {name: value for name, value in os.environ.items() if not name.startswith(_OWN)}
    process = await _started(program, words, root, variables, stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    if process is None:
        return Answer(why_not=_not_started(words[0]))
    printed, complaint = _Tail(MOST_PRINTED), _Tail(TAIL_BYTES)
    timed_out = await _ended(process, limit_s, stdin.encode("utf-8", "replace"), printed, complaint)
    text, cut = printed.text()
    if timed_out:
        return Answer(why_not=_too_slow(limit_s))
    if process.returncode != 0:
        complaint_text = complaint.text()[0].strip() or text.strip()
        return Answer(why_not=f"It ended with exit code {process.returncode}: {complaint_text[-_LONGEST_COMPLAINT:]}")
    return Answer(why_not=f"It printed more than {MOST_PRINTED} bytes.") if cut else Answer(text=text)


async def _started(
    program: str, words: Sequence[str], root: Path, variables: Mapping[str, str], *, stdin: int, stderr: int
) -> Process | None:
    """Start a program in a process group of its own; return None if it cannot be started."""
    _starting.append(program)
    try:
        process = await anyio.open_process(
            [program, *words[1:]], cwd=root, env=variables, stdin=stdin, stderr=stderr, start_new_session=True
        )
        _running.add(process.pid)
    except (OSError, ValueError):
        return None
    finally:
        _starting.remove(program)
        if _ending:
            end_all(_ending.pop())
    return process


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
    tail = _Tail(TAIL_BYTES)
    timed_out = await _ended(process, limit_s, None, tail)
    text, cut = tail.text()
    if timed_out:
        return Outcome(verdict="unavailable", why=_too_slow(limit_s), tail=text, cut=cut)
    code = process.returncode
    verdict = "pass" if code == 0 else "fail"
    return Outcome(verdict=verdict, why=f"Exit code {code}.", exit_code=code, tail=text, cut=cut)


async def _ended(process: Process, limit_s: float, stdin: bytes | None, *tails: "_Tail") -> bool:
    """Wait for a process, write its input and keep what it prints; return True if its time was over before."""
    try:
        with anyio.move_on_after(limit_s) as timed:
            async with anyio.create_task_group() as tasks:
                for tail, stream in zip(tails, (process.stdout, process.stderr), strict=False):
                    tasks.start_soon(tail.read, stream)
                if stdin is not None:
                    tasks.start_soon(_write, process, stdin)
                await process.wait()
                tasks.cancel_scope.deadline = anyio.current_time() + _DRAIN_S
    finally:
        with anyio.CancelScope(shield=True):
            _end(process.pid)
            await process.wait()
            await process.aclose()
    return timed.cancelled_caught


async def _write(process: Process, stdin: bytes) -> None:
    """Write the input of a process and close it; a process need not read it."""
    assert process.stdin is not None, "it was asked for"
    with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
        await process.stdin.send(stdin)
        await process.stdin.aclose()


def _missing(name: str) -> str:
    return f"There is no program '{name[:100]}' on this machine."


def _not_started(name: str) -> str:
    return f"'{name[:100]}' cannot be started."


def _too_slow(limit_s: float) -> str:
    return f"It was not done after {limit_s:g} seconds, and was ended."


class _Tail:
    """The last bytes that a command printed."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._bytes = b""
        self._cut = False

    async def read(self, stream: ByteReceiveStream | None) -> None:
        with suppress(anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
            while stream is not None:
                whole = self._bytes + await stream.receive()
                self._cut = self._cut or len(whole) > self._most
                self._bytes = whole[-self._most :]

    def text(self) -> tuple[str, bool]:
        return self._bytes.decode("utf-8", "replace"), self._cut


def _program(name: str, root: Path) -> str | None:
    """Return the file of a program: found on the path, or below the root where the name has a slash."""
    if "/" not in name:
        return which(name)
    place = Path(os.path.realpath(root / name))
    inside = Path(name).is_absolute() or place.is_relative_to(root)
    return str(place) if inside and os.access(place, os.X_OK) and place.is_file() else None
