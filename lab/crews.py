"""The processes of a batch: workers and clocks, forked from a server that has imported everything."""

import os
import signal
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from typing import Any, Final

_CONTEXT: Final = get_context("forkserver")
_CONTEXT.set_forkserver_preload(["lab.worker", "lab.clock", "lab.packets"])


class Crew:
    """Named processes; one that is killed is replaced by another of the same name."""

    def __init__(self) -> None:
        self._started: dict[str, tuple[Callable[[Any], None], Any]] = {}
        self._running: dict[str, BaseProcess] = {}

    @property
    def names(self) -> list[str]:
        """Return the names of all processes."""
        return sorted(self._running)

    def start(self, name: str, main: Callable[[Any], None], given: Any) -> None:
        """Start a process."""
        self._started[name] = (main, given)
        process = _CONTEXT.Process(target=main, args=(given,), daemon=True)
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
        """Let a process go on."""
        self._signal(name, signal.SIGCONT)

    def end(self, prefix: str = "") -> None:
        """Kill the processes whose names begin so."""
        for name in [name for name in self._running if name.startswith(prefix)]:
            self._end(name)
            del self._running[name]

    def _end(self, name: str) -> None:
        process = self._running[name]
        process.kill()
        process.join()

    def _signal(self, name: str, number: signal.Signals) -> None:
        pid = self._running[name].pid
        if pid is not None:
            with suppress(ProcessLookupError):
                os.kill(pid, number)
