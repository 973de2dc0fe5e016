"""Writes generated files: all are prepared first, then each replaces the old one by an atomic rename.

Readers see the old file or the new one, never a part. A crash in between leaves some old and some new files, each of
them complete; generating again repairs that.
"""

import os
import tempfile
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from dcf.errors import InvalidArgument
from dcf.values.records import record

_MODE = 0o644


@record(frozen=True, slots=True)
class Output:
    """A file to write."""

    path: Path
    text: str

    @property
    def is_current(self) -> bool:
        """True if the file exists with this text."""
        try:
            return self.path.read_text("utf-8") == self.text
        except (OSError, UnicodeDecodeError):
            return False


def write_all(outputs: Sequence[Output], stale: Iterable[Path] = ()) -> None:
    """Write the files and delete the stale ones; raise InvalidArgument if a file cannot be written."""
    prepared: list[tuple[str, Path]] = []
    try:
        for output in outputs:
            output.path.parent.mkdir(parents=True, exist_ok=True)
            prepared.append((_prepare(output), output.path))
        for temporary, path in prepared:
            os.replace(temporary, path)  # noqa: PTH105 - mkstemp's names are texts
        for path in stale:
            path.unlink(missing_ok=True)
        for folder in {output.path.parent for output in outputs}:
            _sync(folder)
    except OSError as error:
        for temporary, _ in prepared:
            with suppress(OSError):
                Path(temporary).unlink(missing_ok=True)
        raise InvalidArgument(
            f"The generated files cannot be written: {error.strerror or 'the path cannot be used'}.",
            "Check the output directory and its permissions.",
        ) from None


def _prepare(output: Output) -> str:
    """Write the text to a temporary file in the same directory, since renaming within it is atomic."""
    number, temporary = tempfile.mkstemp(prefix=".dcf-", suffix=".new", dir=output.path.parent)
    try:
        with os.fdopen(number, "wb") as file:
            file.write(output.text.encode())
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).chmod(_MODE)
    except OSError:
        with suppress(OSError):
            Path(temporary).unlink(missing_ok=True)
        raise
    return temporary


def _sync(folder: Path) -> None:
    number = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)
