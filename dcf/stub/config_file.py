"""The configuration file of a running stub, read again when it changes.

An invalid file never replaces a valid configuration: the old tools stay, and `problem` says why.
"""

import threading
from pathlib import Path
from typing import Final

from dcf.errors import InvalidArgument
from dcf.stub.config import StubConfig, read_config
from dcf.values.located import Report, SourcePlace, read_json

MAX_CONFIG: Final = 16 * 1024 * 1024

_Signature = tuple[int, int, int]


class ConfigFile:
    """The latest valid configuration of a file. Thread-safe. Raises InvalidArgument if the first one is invalid."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._seen: _Signature | None = _signature(path)
        self._config, problem = _load(path)
        if self._config is None:
            raise InvalidArgument(
                f"The stub configuration {path} cannot be used: {problem}",
                "Correct it, or make a new one with `dcf skills generate`.",
            )
        self._problem: str | None = None

    def current(self) -> StubConfig:
        """Return the configuration; read the file again if it has changed."""
        with self._lock:
            signature = _signature(self._path)
            if signature != self._seen:
                loaded, self._problem = _load(self._path)
                self._config = loaded or self._config
                self._seen = signature
            assert self._config is not None, "the constructor refuses a file without one"
            return self._config

    @property
    def problem(self) -> str | None:
        """Why the file in its current form is not in use; None if it is."""
        self.current()
        return self._problem


def _load(path: Path) -> tuple[StubConfig | None, str | None]:
    """Read the file; return the configuration, or the first problem in it."""
    try:
        with path.open("rb") as file:
            content = file.read(MAX_CONFIG + 1)
        text = content.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError):
        return None, "it cannot be read as UTF-8 text."
    report = Report()
    node = read_json(text, SourcePlace(path.name), report, max_bytes=MAX_CONFIG)
    config = None if node is None else read_config(node, report)
    if report.problems:
        more = f" ({len(report.problems) - 1} more)" if len(report.problems) > 1 else ""
        return None, f"{report.problems[0]}{more}"
    return config, None


def _signature(path: Path) -> _Signature | None:
    """Return what differs between versions of the file; a replaced file has another inode."""
    try:
        file_stat = path.stat()
    except OSError:
        return None
    return file_stat.st_mtime_ns, file_stat.st_size, file_stat.st_ino
