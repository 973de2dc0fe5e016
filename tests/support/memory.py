"""How much memory this process needs at once while something is done, whatever it needed before."""

import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

_STATUS = Path("/proc/self/status")
_PEAK_ANEW = Path("/proc/self/clear_refs")
_KIB = 1024


@dataclass(slots=True)
class Growth:
    """The bytes of RAM by which this process grew at its peak."""

    bytes: int = 0


@contextmanager
def growth() -> Iterator[Growth]:
    """Measure how much this process grows inside the block.

    The peak of a process is that of its whole life, so Linux is told to count it again.
    """
    grown = Growth()
    if not _PEAK_ANEW.exists():
        before = _peak_of_life()
        yield grown
        grown.bytes = _peak_of_life() - before
        return
    _PEAK_ANEW.write_text("5")
    before = _row("VmRSS:")
    yield grown
    grown.bytes = _row("VmHWM:") - before


def _row(name: str) -> int:
    return int(_STATUS.read_text("ascii").partition(name)[2].split()[0]) * _KIB


def _peak_of_life() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else _KIB)
