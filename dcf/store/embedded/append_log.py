"""Repairs the log of an embedded Redis before it starts again: a power loss may have torn its last transaction.

Redis drops such a transaction when it loads the log, but leaves its beginning in the file, and writes on behind it
(8.2.3, measured). At the next start everything written since belongs to the unfinished transaction, and is lost or
applied in part. So dcf cuts the file before it. Does not start or stop servers.
"""

import os
from pathlib import Path
from typing import Final

import hiredis

_MULTI: Final = b"*1\r\n$5\r\nMULTI\r\n"
_EXEC: Final = b"*1\r\n$4\r\nEXEC\r\n"
_PIECE: Final = 1 << 20


def drop_torn_transaction(data_dir: Path) -> int:
    """Cut an unfinished transaction off the end of the log. Return how many bytes were cut. No server may run."""
    log = _latest_log(data_dir / "appendonlydir")
    if log is None:
        return 0
    size = log.stat().st_size
    begin = _begin_of_torn_transaction(log, size)
    if begin is None:
        return 0
    os.truncate(log, begin)
    return size - begin


def _latest_log(folder: Path) -> Path | None:
    """Return the file that Redis wrote to last: the last incremental file in the manifest."""
    named = [
        words[1]
        for manifest in folder.glob("*.manifest")
        for line in manifest.read_text("utf-8").splitlines()
        if len(words := line.split()) > 1 and " type i" in line
    ]
    return folder / named[-1] if named and (folder / named[-1]).exists() else None


def _begin_of_torn_transaction(log: Path, size: int) -> int | None:
    """Return where the last transaction begins, if it does not end. Search backwards for the last MULTI or EXEC."""
    overlap = len(_MULTI)
    with log.open("rb") as file:
        end = size
        while end > 0:
            start = max(0, end - _PIECE)
            file.seek(start)
            piece = file.read(end - start + overlap)
            begun, done = piece.rfind(_MULTI), piece.rfind(_EXEC)
            if begun >= 0 or done >= 0:
                return start + begun if begun > done and _is_transaction(log, start + begun) else None
            end = start
    return None


def _is_transaction(log: Path, begin: int) -> bool:
    """Return True if commands stand from here to the end, the last perhaps torn: this is no part of a value."""
    reader = hiredis.Reader()
    with log.open("rb") as file:
        file.seek(begin)
        reader.feed(file.read())
    try:
        while (command := reader.gets()) is not False:
            if not isinstance(command, list):
                return False
    except hiredis.ProtocolError:
        return False
    return True
