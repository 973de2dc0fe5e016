"""The program that the embedded server runs, and the check that its files are those that dcf knows.

The files of a wheel are compared with their hashes before each start (25 ms for the largest, measured). The result is
not stored. A program on PATH is the responsibility of the machine's administrator: dcf has no hash of it.
"""

import hashlib
from pathlib import Path

from dcf.errors import StoreUnsuitable
from dcf.values.records import record


@record(frozen=True, slots=True, kw_only=True)
class KnownFile:
    """A file of a wheel, and the SHA-256 that it must have: one of these."""

    path: Path
    digests: tuple[str, ...]


@record(frozen=True, slots=True, kw_only=True)
class Program:
    """A server, the modules that it loads, and which of these files have a known hash."""

    server: Path
    modules: tuple[Path, ...] = ()
    known: tuple[KnownFile, ...] = ()

    def verify(self) -> None:
        """Raise StoreUnsuitable if a file of a wheel is not the one that dcf knows."""
        for file in self.known:
            with file.path.open("rb") as content:
                digest = hashlib.file_digest(content, "sha256").hexdigest()
            if digest not in file.digests:
                known = " or ".join(file.digests)
                raise StoreUnsuitable(
                    f"{file.path} is not the file that dcf knows: its SHA-256 is {digest}, not {known}.",
                    "Install dcf-mcp[embedded] again (pip install --force-reinstall --no-cache-dir), or set REDIS_URL.",
                )
