"""Reads the text files of a directory for an index: those that git knows or would add, else all but what tools make.

It follows no link, opens what is a regular file, and passes over what is binary, long, or below a hidden directory.
"""

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from dcf.errors import InvalidArgument
from dcf.local import file_reading, git
from dcf.local.git import GitRefused

_MADE: Final = frozenset(
    {"node_modules", "__pycache__", "dist", "build", "target", "vendor", "venv", "site-packages", "coverage"}
)
"""Directories that tools generate."""


def text_files(root: Path, *, largest: int) -> Iterator[tuple[str, str]]:
    """Yield paths below a directory, in their order, with their texts."""
    for path in sorted(_paths(root)):
        parts = path.split("/")
        if any(part.startswith(".") or part in _MADE for part in parts[:-1]):
            continue
        text = _text(root, path, largest)
        if text is not None:
            yield path, text


def _paths(root: Path) -> Iterator[str]:
    try:
        listed = git.run(root, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    except GitRefused:
        yield from _walked(root)
        return
    yield from (os.fsdecode(name) for name in listed.split(b"\0") if name)


def _walked(root: Path) -> Iterator[str]:
    for directory, inside, files in os.walk(root):
        inside[:] = [name for name in inside if not name.startswith(".") and name not in _MADE]
        for name in files:
            yield str((Path(directory) / name).relative_to(root))


def _text(root: Path, path: str, largest: int) -> str | None:
    """Return the text of a file; None for what is no file, is long, is binary or cannot be read."""
    try:
        about = (root / path).lstat()
        if not stat.S_ISREG(about.st_mode) or about.st_size > largest:
            return None
        content = file_reading.content(root, file_reading.found(root, path))
    except (OSError, InvalidArgument):
        return None
    if len(content) > largest or b"\0" in content:
        return None
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return None
