"""Directories of the embedded server that no other user may look into: its data, and its socket."""

import contextlib
import hashlib
import os
import stat
import tempfile
from pathlib import Path
from typing import Final

from dcf.errors import StoreUnavailable

_FIRST_FILE: Final = "start.lock"
"""The embedded server's first file: a directory that has files, but not this one, is not its."""


def make_private(home: Path) -> None:
    """Take the rights of others away from an existing directory; raise if it is not ours, or holds something else."""
    home_stat = home.stat()
    if not stat.S_IMODE(home_stat.st_mode) & 0o077:
        return
    names = {path.name for path in home.iterdir()}
    if home_stat.st_uid != os.getuid() or (names and _FIRST_FILE not in names):
        raise StoreUnavailable(
            f"The data directory {home} is open to other users, and it is not dcf's alone.",
            "Name a directory for dcf alone, which need not exist yet, or close this one: chmod 700.",
        )
    home.chmod(0o700)


def socket_directory(home: Path) -> Path:
    """Create a directory with a short path. Others may write in its parent, so an existing one is checked."""
    digest = hashlib.sha256(os.fsencode(home)).hexdigest()[:16]
    private = Path(tempfile.gettempdir()) / f"dcf-{os.getuid()}-{digest}"
    with contextlib.suppress(FileExistsError):
        private.mkdir(mode=0o700)
    socket_stat = private.lstat()
    ours = stat.S_ISDIR(socket_stat.st_mode) and socket_stat.st_uid == os.getuid()
    if not ours or stat.S_IMODE(socket_stat.st_mode) & 0o077:
        raise StoreUnavailable(
            f"{private}, where the Redis socket belongs, is not a private directory of this user.",
            "Remove it, or name a data directory with a shorter path.",
        )
    return private
