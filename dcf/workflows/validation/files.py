"""Reads the files that a document imports: only JSON below the allowed directories, and up to a size limit.

No message says where a directory is or what else it contains.
"""

import base64
import binascii
import hashlib
import json
import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from dcf.values.json_text import Json

MAX_FILE: Final = 16 * 1024 * 1024
MAX_TOTAL: Final = 64 * 1024 * 1024

_INTEGRITY: Final = re.compile(r"(?:(sha256|sha384|sha512)[-:])?([0-9A-Za-z+/=_-]{44,128})")
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


class Unreadable(Exception):
    """The file cannot be used; `code` is the reason for programs, the text for people."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(slots=True, kw_only=True)
class ImportReader:
    """Reads JSON files below one or several directories; their total size is limited."""

    base: Path
    others: tuple[Path, ...] = ()
    left: int = MAX_TOTAL

    def read(self, uri: str, integrity: str | None) -> tuple[Json, str]:
        """Return a file's content and its SHA-256; raise Unreadable."""
        content = self._content(self._place(uri))
        if integrity is not None and not _agrees(content, integrity):
            raise Unreadable("integrity_mismatch", "The file is not the one that integrity describes.")
        try:
            return json.loads(content), hashlib.sha256(content).hexdigest()
        except (ValueError, RecursionError):
            raise Unreadable("import_not_json", "The file is not valid JSON.") from None

    def _place(self, uri: str) -> Path:
        """Return the path in the first directory that has the file, or else in the first directory that may hold it."""
        allowed = [place for base in (self.base, *self.others) if (place := _confined(base, uri)) is not None]
        if not allowed:
            raise Unreadable("import_refused", "The path leads out of the directory for imports.")
        return next(filter(_is_there, allowed), allowed[0])

    def _content(self, path: Path) -> bytes:
        try:
            if not stat.S_ISREG(path.stat().st_mode):
                raise Unreadable("import_not_found", "There is no such file.")
            with path.open("rb") as file:
                content = file.read(min(MAX_FILE, self.left) + 1)
        except (OSError, ValueError):
            raise Unreadable("import_not_found", "There is no such file.") from None
        self.left -= len(content)
        if len(content) > MAX_FILE or self.left < 0:
            raise Unreadable("import_too_large", f"The file is larger than {MAX_FILE} bytes, or all imports together.")
        return content


def _confined(base: Path, uri: str) -> Path | None:
    root = Path(os.path.realpath(base))
    try:
        # realpath follows links and, unlike Path.resolve, does not raise when links form a loop.
        target = Path(os.path.realpath(root / _local_path(uri)))
    except ValueError:
        raise Unreadable("import_refused", "The URI is not a path.") from None
    return target if target.is_relative_to(root) else None


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def _local_path(uri: str) -> str:
    """Convert a plain path or a file:// URI to a path."""
    if uri.startswith("file:"):
        parts = urlsplit(uri)
        if parts.netloc not in {"", "localhost"} or parts.query or parts.fragment:
            raise Unreadable("import_refused", "A file:// URI must name a file of this machine.")
        return unquote(parts.path)
    if _SCHEME.match(uri):
        raise Unreadable("import_refused", "Only a plain path or a file:// URI can be imported.")
    return uri


def _agrees(content: bytes, integrity: str) -> bool:
    read = _INTEGRITY.fullmatch(integrity)
    if read is None:
        raise Unreadable("invalid_integrity", "The integrity is no digest; write sha256-<base64>, or 64 hex digits.")
    digest = hashlib.new(read[1] or "sha256", content).digest()
    return digest in _decodings(read[2])


def _decodings(text: str) -> list[bytes]:
    """List the possible digests that a text encodes: hex, or base64 in either alphabet."""
    decodings: list[bytes] = []
    for decode in (bytes.fromhex, base64.b64decode, base64.urlsafe_b64decode):
        try:
            decodings.append(decode(text))
        except (ValueError, binascii.Error):
            continue
    return decodings
