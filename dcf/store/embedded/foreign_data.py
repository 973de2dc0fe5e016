"""Tells from a server's log that it ended because another kind of server wrote the data.

Redis 8 and Valkey 9 do not read each other's snapshots, and only a server with RedisJSON reads its documents. So
another Python, whose extra has another server, may not read a data directory. This module must not change any data.
"""

import os
import re
from pathlib import Path
from typing import Final

_SIGN: Final = re.compile(
    r"Can't handle RDB format version|Wrong signature trying to load DB"
    r"|Bad file format reading the append only file \S+\.base\.rdb"
    r"|[Uu]nknown command 'JSON\.|contains module data I can't load"
)
_LINES: Final = 4
_BYTES: Final = 4096


def is_foreign(log: Path) -> bool:
    """Return True if the last lines of the log say so."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - _BYTES))
            lines = file.read().decode(errors="replace").splitlines()[-_LINES:]
    except OSError:
        return False
    return any(map(_SIGN.search, lines))
