"""Reads the files that an agent names, below the root and nowhere else, and says what they hold: sha256 and size.

A symbolic link is followed only to a place below the root; the file is then opened without following any, so that a
link that changes meanwhile leads nowhere. What is missing, or no regular file, is refused.
"""

import hashlib
import os
import stat
from pathlib import Path
from typing import BinaryIO, Final

from dcf.errors import InvalidArgument
from dcf.files.roots import Roots, Stopped
from dcf.values.record_json.codec import json_method
from dcf.values.records import record

MOST_FILES: Final = 100
LONGEST: Final = 64 * 1024 * 1024
"""Bytes of one file."""
_CHUNK: Final = 1024 * 1024


@record(frozen=True, slots=True, kw_only=True)
class FoundFile:
    """A file: its path below the root, and what it held when it was read."""

    path: str
    sha256: str
    size: int

    as_json = json_method("sha256 size")


def below(root: Path, named: str) -> Path:
    """Return the real path of what is named; raise InvalidArgument if that is not below the root."""
    if not named or "\0" in named:
        raise InvalidArgument("A path is empty or holds a NUL.", "Name files by their paths below the root.")
    real = Path(os.path.realpath(root / named))
    if not real.is_relative_to(root) or real == root:
        raise InvalidArgument(
            f"'{named[:200]}' is not below the root, {root}.",
            "Name a file below it, or pass root; links that leave the root are not followed.",
        )
    return real


def found(root: Path, named: str) -> FoundFile:
    """Return what a file holds; raise InvalidArgument if it is missing, too long or not below the root."""
    real = below(root, named)
    digest, size = hashlib.sha256(), 0
    with _opened(root, real, named) as file:
        while piece := file.read(_CHUNK):
            digest.update(piece)
            size += len(piece)
            if size > LONGEST:
                raise InvalidArgument(f"'{named[:200]}' is longer than {LONGEST} bytes.", "Name a shorter file.")
    return FoundFile(path=str(real.relative_to(root)), sha256=digest.hexdigest(), size=size)


def content(root: Path, file: FoundFile) -> bytes:
    """Return the bytes of a file that was found; raise InvalidArgument if it changed since."""
    with _opened(root, root / file.path, file.path) as opened:
        data: bytes = opened.read(LONGEST + 1)
    now = hashlib.sha256(data).hexdigest()
    if file.sha256 != now:
        raise InvalidArgument(f"'{file.path[:200]}' changed while it was read.", "Call again once it is written.")
    return data


def all_found(root: Path, named: list[str]) -> list[FoundFile]:
    """Return what several files hold; raise InvalidArgument that lists all that are missing."""
    if len(named) > MOST_FILES:
        raise InvalidArgument(f"{len(named)} files are named.", f"Name at most {MOST_FILES} in one call.")
    files: list[FoundFile] = []
    wrong: list[str] = []
    for name in dict.fromkeys(named):
        try:
            files.append(found(root, name))
        except InvalidArgument as error:
            wrong.append(error.message)
    if wrong:
        more = f" (and {len(wrong) - 5} more)" if len(wrong) > 5 else ""  # noqa: PLR2004 - enough to see what it is
        raise InvalidArgument(
            " ".join(wrong[:5]) + more, "Write these files first, or leave them out; nothing was sent to the server."
        )
    return files


def _opened(root: Path, real: Path, named: str) -> BinaryIO:
    try:
        place = Roots(read=(root,), write=()).place(str(real))
        with place.open_parent() as (directory, name):
            about = os.stat(name, dir_fd=directory, follow_symlinks=False)
            if not stat.S_ISREG(about.st_mode):
                if stat.S_ISDIR(about.st_mode):
                    raise InvalidArgument(f"'{named[:200]}' is a directory: name the files in it.", "Name files.")
                raise InvalidArgument(f"'{named[:200]}' is no regular file.", "Name files, not directories.")
            number = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=directory)
            return os.fdopen(number, "rb")
    except (FileNotFoundError, Stopped):
        raise InvalidArgument(f"'{named[:200]}' does not exist below {root}.") from None
    except OSError:
        raise InvalidArgument(f"'{named[:200]}' cannot be read.", "Check its permissions.") from None
