"""Files that only their owner can read: the list of contexts, and keys. Each is replaced in one step."""

import os
import stat
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Final

from dcf.errors import InvalidArgument

_MOST_BYTES: Final = 256 * 1024
_OTHERS: Final = 0o077
_NONBLOCK: Final = getattr(os, "O_NONBLOCK", 0)


def read_private(path: Path) -> str | None:
    """Return the text of a file, or None where there is none; raise InvalidArgument if others can read or write it."""
    try:
        with open(path, "rb", opener=_open_at_once) as file:
            _refuse_shared(path, os.fstat(file.fileno()))
            data = file.read(_MOST_BYTES + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _unusable(path, error) from None
    if len(data) > _MOST_BYTES:
        raise InvalidArgument(f"{path} is too large.", "Check the path.")
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise InvalidArgument(f"{path} is no text.", "Check the path.") from None


def write_private(path: Path, text: str) -> None:
    """Replace a file, or make it, so that only its owner can read it; a reader sees the old text or the new one."""
    temporary: str | None = None
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        number, temporary = tempfile.mkstemp(prefix=".dcf-", suffix=".new", dir=path.parent)  # mode 0600
        with os.fdopen(number, "wb") as file:
            file.write(text.encode())
            file.flush()
            os.fsync(number)
        os.replace(temporary, path)  # noqa: PTH105 - mkstemp's names are texts
    except OSError as error:
        if temporary is not None:
            with suppress(OSError):
                Path(temporary).unlink(missing_ok=True)
        raise _unusable(path, error) from None


def _open_at_once(path: str, flags: int) -> int:
    """Open a file without waiting for somebody at the other end, which a pipe would do."""
    return os.open(path, flags | _NONBLOCK)


def _refuse_shared(path: Path, about: os.stat_result) -> None:
    if not stat.S_ISREG(about.st_mode):
        raise InvalidArgument(f"{path} is no file.", "Name a file that only you can read.")
    if sys.platform != "win32" and (stat.S_IMODE(about.st_mode) & _OTHERS or about.st_uid != os.geteuid()):
        raise InvalidArgument(f"{path} can be read or written by others.", f"Make it yours alone: chmod 600 {path}.")


def _unusable(path: Path, error: OSError) -> InvalidArgument:
    return InvalidArgument(
        f"{path} cannot be used: {error.strerror or 'the path is wrong'}.", "Check the path and its permissions."
    )
