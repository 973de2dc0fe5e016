"""Finds and reads source files below one directory, and only there, up to size limits.

Reports name files relative to that directory, so messages do not tell where on the machine it is.
"""

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from dcf.values.located import Report, SourcePlace

MAX_FILE: Final = 4 * 1024 * 1024
MAX_FILES: Final = 5_000
MAX_TOTAL: Final = 64 * 1024 * 1024


@dataclass(slots=True)
class SourceFiles:
    """A directory of sources. `left` is how many bytes may still be read from it."""

    root: Path
    report: Report
    left: int = MAX_TOTAL

    def has(self, name: str) -> bool:
        """Return True if there is such a file."""
        try:
            return (self.root / name).is_file()
        except (OSError, ValueError):
            return False

    def find(self, *patterns: str) -> list[str]:
        """Return the files that match glob patterns, sorted; without hidden files and links that leave the root."""
        names = {name for pattern in patterns for name in self._matching(pattern)}
        if len(names) > MAX_FILES:
            message = f"There are more than {MAX_FILES} files."
            self.report.refuse(SourcePlace(self.root.name), "too_many_files", message, "Divide the source.")
        return sorted(names)[:MAX_FILES]

    def read(self, name: str, *, named_at: SourcePlace | None = None, max_bytes: int = MAX_FILE) -> str | None:
        """Read a UTF-8 text file; None, and a reported problem, if that fails. `named_at`: where a source names it."""
        place = named_at or SourcePlace(name)
        path = self._confined(name)
        if path is None:
            hint = "Name a file below the source's directory by its path from there."
            self.report.refuse(place, "path_refused", "The path leads out of the source's directory.", hint)
            return None
        try:
            if not stat.S_ISREG(path.stat().st_mode):
                raise FileNotFoundError
            with path.open("rb") as file:
                content = file.read(min(max_bytes, max(self.left, 0)) + 1)
        except (OSError, ValueError):
            self.report.refuse(place, "file_not_found", f"There is no file {name[:200]}.", "Check the path.")
            return None
        self.left -= len(content)
        if len(content) > max_bytes or self.left < 0:
            message = f"{name[:200]} is larger than {max_bytes} bytes, or all files together than {MAX_TOTAL}."
            self.report.refuse(place, "file_too_large", message, "Make it smaller.")
            return None
        return self._decoded(content, place)

    def _decoded(self, content: bytes, place: SourcePlace) -> str | None:
        try:
            text = content.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = content[: error.start].count(b"\n") + 1
            where = SourcePlace(place.file, place.line or line, place.column)
            self.report.refuse(where, "not_utf8", "The file is not UTF-8 text.", "Save it as UTF-8.")
            return None
        if "\0" in text:
            self.report.refuse(place, "not_text", "The file holds a NUL character.", "Save it as plain text.")
            return None
        return text.replace("\r\n", "\n").replace("\r", "\n")

    def _confined(self, name: str) -> Path | None:
        root = Path(os.path.realpath(self.root))
        try:
            # realpath resolves links, and does not raise if they form a cycle.
            target = Path(os.path.realpath(root / name))
        except ValueError:
            return None
        return target if target.is_relative_to(root) and not Path(name).is_absolute() else None

    def _matching(self, pattern: str) -> Iterator[str]:
        for path in self.root.glob(pattern):
            name = path.relative_to(self.root)
            hidden = any(part.startswith(".") for part in name.parts)
            if not hidden and path.is_file() and self._confined(name.as_posix()) is not None:
                yield name.as_posix()
