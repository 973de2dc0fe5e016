"""Notes of what happens to turns: lines of JSON that processes append, which the rules about accounts judge.

Times are microseconds of this machine. A line is written with one `write`, so that a SIGKILL does not tear it.
"""

import json
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


def clock() -> int:
    """Return the time of this machine in microseconds."""
    return time.time_ns() // 1000


@dataclass(slots=True)
class Notes:
    """Appends the lines of one process to its file."""

    path: Path
    _file: int = field(init=False)

    def __post_init__(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._file = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def add(self, event: str, **more: Any) -> None:
        """Write a line."""
        os.write(self._file, json.dumps({"event": event, "at": clock(), **more}).encode() + b"\n")


def read_notes(folder: Path) -> list[dict[str, Any]]:
    """Return the lines of all files of a folder, in the order of their times."""
    return sorted(_lines(folder), key=lambda line: int(line["at"]))


def _lines(folder: Path) -> Iterator[dict[str, Any]]:
    for path in sorted(folder.glob("*.jsonl")):
        yield from map(json.loads, path.read_bytes().splitlines())
