"""Reads the files that a Map's ItemReader names, from the configured directories only.

`Bucket` is a directory below one of the roots; if no root has it, the key is looked up in the roots themselves.
Every directory is opened relative to its parent and never through a symbolic link. So a process that may write below a
root cannot redirect a reader outside of it, not even by renaming directories during the read. Messages never contain
the path of a root.
"""

import errno
import gzip
import hashlib
import io
import os
import stat
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final, TextIO

from dcf.asl.items.reading import reader_failure
from dcf.asl.items.sources import Listed, bring, missing
from dcf.asl.steps import NeedItems
from dcf.files.flags import CLOEXEC, DIRECTORY, NOFOLLOW, NONBLOCK
from dcf.values.json_text import Json
from dcf.values.records import record
from dcf.values.text_pieces import clip

MAX_BYTES: Final = 16 * 1024 * 1024
MAX_DEPTH: Final = 32
"""Most levels of directories in one listing."""

_CHUNK: Final = 64 * 1024
_DIRECTORY: Final = os.O_RDONLY | DIRECTORY | CLOEXEC
_STEP: Final = _DIRECTORY | NOFOLLOW
# Without O_NONBLOCK, opening a named pipe would block until somebody writes to it.
_FILE: Final = os.O_RDONLY | NOFOLLOW | NONBLOCK | CLOEXEC


@record(frozen=True, slots=True, kw_only=True)
class ItemFiles:
    """Reads items from files below the roots. `max_bytes` limits what one ItemReader reads in total, unpacked."""

    roots: tuple[Path, ...]
    max_bytes: int = MAX_BYTES

    def read(self, need_items: NeedItems) -> Json:
        """Return the items; raise StateError States.ItemReaderFailed."""
        if not self.roots:
            raise reader_failure("No directory is configured to read items from: set DCF_ITEMS_DIRS.")
        return bring(need_items, _Directories(roots=self.roots, left=self.max_bytes, allowed=self.max_bytes))


@dataclass(slots=True, kw_only=True)
class _Directories:
    """The roots during one read. `left` is how many bytes may still be read, of `allowed`."""

    roots: tuple[Path, ...]
    left: int
    allowed: int

    @contextmanager
    def open(self, bucket: str | None, key: str) -> Iterator[TextIO]:
        steps = _steps(key)
        with ExitStack() as opened:
            for base in self._bases(bucket, opened):
                file = _file_at(base, steps, opened)
                if file is not None:
                    unpacked = opened.enter_context(gzip.GzipFile(fileobj=file)) if key.endswith(".gz") else file
                    bounded = io.BufferedReader(_Bounded(unpacked, self), _CHUNK)
                    yield opened.enter_context(io.TextIOWrapper(bounded, encoding="utf-8-sig", newline=""))
                    return
            raise missing(bucket, key)

    def listing(self, bucket: str | None, prefix: str) -> Iterator[Listed]:
        folder, slash, start = prefix.rpartition("/")
        steps = _steps(folder) if slash else ()
        with ExitStack() as opened:
            for base in self._bases(bucket, opened):
                directory = _directory_at(base, steps, opened)
                if directory is not None:
                    yield from _below(directory, f"{folder}{slash}", start, MAX_DEPTH)
                    return

    def spend(self, count: int) -> None:
        """Subtract bytes that were read; raise StateError when the limit is exceeded."""
        self.left -= count
        if self.left < 0:
            raise reader_failure(f"The items take more than {self.allowed} bytes: set MaxItems, or split the file.")

    def _bases(self, bucket: str | None, opened: ExitStack) -> list[int]:
        roots = [
            root_handle
            for root in self.roots
            if (root_handle := _opened(str(root), _DIRECTORY, None, opened)) is not None
        ]
        if not roots:
            raise reader_failure("No directory of DCF_ITEMS_DIRS can be read.")
        if bucket is None:
            return roots
        step = _steps(bucket)
        return [
            root_handle for root in roots if (root_handle := _directory_at(root, step, opened)) is not None
        ] or roots


class _Bounded(io.RawIOBase):
    """A file that counts the bytes read. Its errors do not contain the operating system's text."""

    def __init__(self, source: BinaryIO | gzip.GzipFile, owner: _Directories) -> None:
        self._source = source
        self._owner = owner

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        try:
            # Reading one byte beyond the limit shows whether the file ends there.
            data = self._source.read(min(len(buffer), self._owner.left + 1))
        except (OSError, EOFError, zlib.error):
            raise reader_failure("The file cannot be read to its end.") from None
        self._owner.spend(len(data))
        buffer[: len(data)] = data
        return len(data)


def _steps(name: str) -> tuple[str, ...]:
    """Split a key into path steps; raise StateError for empty, '.' or '..' steps."""
    steps = tuple(name.split("/"))
    if any(step in ("", ".", "..") or "\0" in step for step in steps) or not _is_unicode(name):
        raise reader_failure(f"'{clip(name)}' does not name a file below a directory of items.")
    return steps


def _is_unicode(name: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in name)


def _opened(name: str, flags: int, base: int | None, opened: ExitStack) -> int | None:
    """Open a file or directory and close it with `opened`; return None if it is missing or not readable."""
    try:
        handle = os.open(name, flags, dir_fd=base)
    except OSError as error:
        if error.errno in (errno.EMFILE, errno.ENFILE):
            raise reader_failure("Too many files are open.") from None
        return None
    opened.callback(os.close, handle)
    return handle


def _directory_at(base: int, steps: tuple[str, ...], opened: ExitStack) -> int | None:
    for step in steps:
        handle = _opened(step, _STEP, base, opened)
        if handle is None:
            return None
        base = handle
    return base


def _file_at(base: int, steps: tuple[str, ...], opened: ExitStack) -> BinaryIO | None:
    directory = _directory_at(base, steps[:-1], opened)
    handle = None if directory is None else _opened(steps[-1], _FILE, directory, opened)
    if handle is None or not stat.S_ISREG(os.fstat(handle).st_mode):
        return None
    return opened.enter_context(os.fdopen(handle, "rb", closefd=False))


def _below(directory: int, folder: str, start: str, depth: int) -> Iterator[Listed]:
    """List the files in a directory in the order of their keys. A directory sorts by its name with a slash appended."""
    if depth == 0:
        raise reader_failure(f"The directories are nested deeper than {MAX_DEPTH} levels.")
    for name in sorted(_entries(directory, start)):
        if name.endswith("/"):
            with ExitStack() as opened:
                inner = _opened(name[:-1], _STEP, directory, opened)
                if inner is not None:
                    yield from _below(inner, folder + name, "", depth - 1)
            continue
        about = _about(directory, name)
        if about is not None:
            yield _listed(folder + name, about)


def _entries(directory: int, start: str) -> Iterator[str]:
    try:
        with os.scandir(directory) as entries:
            for entry in entries:
                if not entry.name.startswith(start) or not _is_unicode(entry.name):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    yield f"{entry.name}/"
                elif entry.is_file(follow_symlinks=False):
                    yield entry.name
    except OSError:
        raise reader_failure("A directory cannot be listed.") from None


def _about(directory: int, name: str) -> os.stat_result | None:
    """Return the status of a regular file; None if it is gone or has become something else."""
    try:
        file_stat = os.stat(name, dir_fd=directory, follow_symlinks=False)
    except OSError:
        return None
    return file_stat if stat.S_ISREG(file_stat.st_mode) else None


def _listed(key: str, about: os.stat_result) -> Listed:
    # An ETag must change with the content; size and time suffice, and hashing would read every file.
    etag = hashlib.md5(f"{about.st_size} {about.st_mtime_ns}".encode(), usedforsecurity=False).hexdigest()
    return Listed(key=key, size=about.st_size, modified=int(about.st_mtime), etag=etag)
