"""The processes of a batch: workers and clocks, forked from a server that has imported everything."""

import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from multiprocessing.process import BaseProcess

_CONTEXT: Final = get_context("forkserver")
_CONTEXT.set_forkserver_preload(
    [
        "lab.worker",
        "lab.limited_worker",
        "lab.clock",
        "lab.operating",
        "lab.growing",
        "lab.people",
        "lab.reviewing",
        "lab.packets",
        "lab.serving",
    ]
)

_CRASH: Final = "=== crashed ==="

AGENTS: Final = ("ann", "bob", "cyd")
"""The agents of every batch: one worker process each."""

LAB: Final = "the lab"
"""The agent whose API key may do more: errands call with it if they need no key of their own."""


class Crew:
    """Named processes. A process of the same name replaces a killed process."""

    def __init__(self, logs: Path) -> None:
        self._logs = logs
        self._started: dict[str, tuple[Callable[[Any], None], Any]] = {}
        self._running: dict[str, BaseProcess] = {}

    @property
    def names(self) -> list[str]:
        """Return the names of all processes."""
        return sorted(self._running)

    def start(self, name: str, main: Callable[[Any], None], duty: Any) -> None:
        """Start a process."""
        self._started[name] = (main, duty)
        self._logs.mkdir(parents=True, exist_ok=True)
        process = _CONTEXT.Process(target=_run, args=(main, duty, self._logs / f"{name}.log"), daemon=True)
        process.start()
        self._running[name] = process

    def kill(self, name: str) -> None:
        """Kill a process, and start it again."""
        self._end(name)
        self.start(name, *self._started[name])

    def freeze(self, name: str) -> None:
        """Stop a process."""
        self._signal(name, signal.SIGSTOP)

    def thaw(self, name: str) -> None:
        """Let a process continue."""
        self._signal(name, signal.SIGCONT)

    def end(self, prefix: str = "") -> None:
        """Kill the processes whose names begin so."""
        for name in [name for name in self._running if name.startswith(prefix)]:
            self._end(name)
            del self._running[name]

    def crashes(self) -> list[str]:
        """Return which processes and threads ended with an unexpected exception."""
        logs = (path for name in self._started if (path := self._logs / f"{name}.log").exists())
        return [
            f"{path.stem}: {text.split(_CRASH)[1].strip()}" for path in logs if _CRASH in (text := path.read_text())
        ]

    def _end(self, name: str) -> None:
        process = self._running[name]
        process.kill()
        process.join()

    def _signal(self, name: str, number: signal.Signals) -> None:
        pid = self._running[name].pid
        if pid is not None:
            with suppress(ProcessLookupError):
                os.kill(pid, number)


def _run(main: Callable[[Any], None], value: Any, log: Path) -> None:
    """Run in a process of its own, whose words go to a file."""
    file = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.dup2(file, 1)
    os.dup2(file, 2)
    threading.excepthook = lambda result: _note_crash(result.exc_value)
    try:
        main(value)
    except Exception as error:
        _note_crash(error)
        raise


def _note_crash(error: BaseException | None) -> None:
    """Write what ended a process or a thread; what libraries log of errors that were handled is not meant."""
    sys.stderr.write(f"{_CRASH} {''.join(traceback.format_exception(error))}{_CRASH}")
