"""The share of this machine's memory that the embedded Redis may use."""

import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Final

_SHARE: Final = 2
"""Divisor of the memory: the rest is for dcf, and for the copies that Redis makes while it rewrites its log."""

_LIMITS: Final = (
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
)
"""Where Linux tells a container's limit: cgroups of version 2, and of version 1."""


def share_of_memory(limits: Iterable[Path] = _LIMITS) -> int:
    """Return half of the container's limit or of the machine's memory, whichever is less; 0 where neither is known."""
    known = [amount for amount in (_machine(), *map(_limit, limits)) if amount]
    return min(known, default=0) // _SHARE


def _machine() -> int:
    if sys.platform == "win32":
        return 0
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
