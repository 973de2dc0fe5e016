"""Calls and their answers, as lines of JSON: one when a call begins, one when it ends.

A call whose process was killed has no second line: it may have taken effect or not. Lines are written with one `write`
each, so that a SIGKILL neither loses nor tears a line.
"""

import json
import os
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HELD_UP = ("review_running", "needs_work")
"""Codes of completions that wait for the verdicts of gates, or were sent back by one."""


@dataclass(slots=True, kw_only=True)
class Call:
    """One call. `code` None: the caller received no answer. Codes that begin with `!` are failures that say nothing."""

    run: str
    op: str
    agent: str
    start: float
    end: float | None = None
    state: str = ""
    token: str | None = None
    content: Any = None
    code: str | None = None
    epoch: int | None = None
    repeated: bool = False
    given: Any = None
    claimed: dict[str, Any] | None = None
    after_end: bool = False

    @property
    def is_ok(self) -> bool:
        """Return True if the caller heard that the call took effect."""
        return self.code == "ok"

    @property
    def is_refused(self) -> bool:
        """Return True if the caller heard that the call had no effect."""
        return self.code is not None and self.code != "ok" and not self.code.startswith("!")

    def told(self) -> str:
        """Return the call in one line, for the story of a run."""
        took = "no answer" if self.end is None else f"{1000 * (self.end - self.start):.0f} ms"
        more = {"epoch": self.epoch, "token": self.token and self.token[-6:], "content": self.content}
        shown = " ".join(f"{name}={value}" for name, value in more.items() if value is not None)
        again = " (repetition)" if self.repeated else ""
        return f"{self.agent} {self.op} {self.state} {shown} -> {self.code}{again} [{took}]"


@dataclass(slots=True)
class Recorder:
    """Appends the lines of one process to its file."""

    path: Path
    agent: str
    after_end: bool = False
    _file: int = field(init=False)
    _count: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self._file = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def begin(self, op: str, run: str, **more: Any) -> str:
        """Note that a call begins; its number."""
        with self._lock:
            self._count += 1
            number = f"{os.getpid()}.{self.path.stem}.{self._count}"
        call = {"op": op, "run": run, "agent": self.agent, "after_end": self.after_end, **more}
        self._write({"id": number, "start": time.monotonic(), **call})
        return number

    def end(self, number: str, **answer: Any) -> None:
        """Note what the call was answered."""
        self._write({"id": number, "end": time.monotonic(), **answer})

    def _write(self, line: dict[str, Any]) -> None:
        os.write(self._file, json.dumps(line).encode() + b"\n")


def read_calls(folder: Path) -> Iterator[Call]:
    """Read every call of every file in a folder, in the order in which they began."""
    result: dict[str, dict[str, Any]] = {}
    for path in sorted(folder.glob("*.jsonl")):
        for line in path.read_bytes().splitlines():
            entry = json.loads(line)
            result.setdefault(entry.pop("id"), {}).update(entry)
    yield from sorted((Call(**entry) for entry in result.values()), key=lambda call: call.start)
