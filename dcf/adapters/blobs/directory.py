"""Keeps bytes in files below one directory that only this user may look into.

A file is written under another name, synced, and then renamed: under its own name it is complete, even after a crash.
dcf makes the names from ids. A name that could leave the directory is refused all the same.
"""

import contextlib
import os
import secrets
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

from dcf.errors import StoreUnavailable

_UNFINISHED = ".part-"


class DirectoryBlobs:
    """The store of one directory; servers on one machine, or with one mounted directory, may share it."""

    def __init__(self, home: Path) -> None:
        self._home = home.absolute()
        self._is_checked = False

    def _make_home(self) -> None:
        """Make the directory, unless it is there; raise StoreUnavailable if others may look into it."""
        _make(self._home)
        home_stat = self._home.stat()
        if stat.S_IMODE(home_stat.st_mode) & 0o077 or home_stat.st_uid != os.getuid():
            raise StoreUnavailable(
                f"The artifact directory {self._home} is open to other users, or another user's.",
                "Name a directory for dcf alone, which need not exist yet, or close this one: chmod 700.",
            )
        self._is_checked = True

    def write(self, name: str, data: bytes) -> None:
        """Keep bytes under a name."""
        path = self._path(name)
        with _told(self._home):
            if not self._is_checked:
                self._make_home()
            _make(path.parent)
            unfinished = path.parent / f"{_UNFINISHED}{secrets.token_hex(8)}"
            try:
                _write(unfinished, data)
                unfinished.rename(path)
            finally:
                unfinished.unlink(missing_ok=True)
            _sync(path.parent)

    def read(self, name: str) -> bytes | None:
        """Return the bytes under a name; None if there are none."""
        with _told(self._home):
            try:
                return self._path(name).read_bytes()
            except FileNotFoundError:
                return None

    def delete(self, prefix: str) -> None:
        """Delete everything below a name, and directories that are empty then."""
        path = self._path(prefix)
        with _told(self._home):
            with contextlib.suppress(FileNotFoundError):
                shutil.rmtree(path)
            for above in path.parents:
                if above == self._home:
                    break
                try:
                    above.rmdir()
                except OSError:  # others have files there
                    break

    def _path(self, name: str) -> Path:
        parts = name.split("/")
        assert all(part and part not in {".", ".."} and not part.startswith(_UNFINISHED) for part in parts), name
        return self._home.joinpath(*parts)


def _make(directory: Path) -> None:
    """Make a directory that only this user may look into, and those above it; with parents=True those would be open."""
    for folder in (*reversed(directory.parents), directory):
        if not folder.exists():
            folder.mkdir(mode=0o700, exist_ok=True)


def _write(path: Path, data: bytes) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _sync(directory: Path) -> None:
    """Have the directory itself on the disk, so that a power loss does not take the renamed file."""
    opened = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


@contextlib.contextmanager
def _told(home: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        why = error.strerror or "it cannot be used"
        raise StoreUnavailable(
            f"The artifact directory {home} does not work: {why}.", "Look at the disk and at the directory's rights."
        ) from None
