"""Appends to a file: all of the data or none of it, with a file lock so that writers take turns."""

import errno
import os
import stat
import sys
import time
from contextlib import suppress
from typing import Final

from dcf.files.flags import CLOEXEC, NOFOLLOW, NONBLOCK
from dcf.files.roots import Stopped

if sys.platform != "win32":
    import fcntl

_APPEND: Final = os.O_WRONLY | os.O_APPEND | os.O_CREAT | NOFOLLOW | NONBLOCK | CLOEXEC
_GROWTH: Final = 64
"""A file may grow by appending to this many times the size that one call may write."""

_PATIENCE_S: Final = 5.0
_PAUSE_S: Final = 0.005


def append_to(directory: int, name: str, data: bytes, max_bytes: int) -> None:
    """Append bytes to a file, created if missing. A failed write is undone. Raise Stopped or OSError."""
    deadline = time.monotonic() + _PATIENCE_S
    while not _append(directory, name, data, max_bytes * _GROWTH, deadline):
        pass  # another file took this name before we had the lock


def _append(directory: int, name: str, data: bytes, largest: int, deadline: float) -> bool:
    file = os.open(name, _APPEND, 0o666, dir_fd=directory)
    try:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            raise Stopped("not_a_file", f"'{name}' is no regular file.")
        _lock(file, name, deadline)
        size = os.fstat(file).st_size
        if not _is_still(file, directory, name):
            return False
        if size + len(data) > largest:
            raise Stopped("too_large", f"The file would be larger than {largest} bytes.", "Begin another file.")
        _write(file, data, size)
        os.fsync(file)
        os.fsync(directory)
        return True
    finally:
        os.close(file)


def _lock(file: int, name: str, deadline: float) -> None:
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno not in (errno.EAGAIN, errno.EACCES) or time.monotonic() >= deadline:
                raise Stopped("write_failed", f"Somebody else keeps writing '{name}'.", "Call again later.") from None
            time.sleep(_PAUSE_S)
        else:
            return


def _is_still(file: int, directory: int, name: str) -> bool:
    try:
        there = os.stat(name, dir_fd=directory, follow_symlinks=False)
    except OSError:
        return False
    here = os.fstat(file)
    return (there.st_dev, there.st_ino) == (here.st_dev, here.st_ino)


def _write(file: int, data: bytes, size: int) -> None:
    rest = memoryview(data)
    try:
        while rest:
            rest = rest[os.write(file, rest) :]
    except OSError:
        with suppress(OSError):
            os.ftruncate(file, size)
        raise
