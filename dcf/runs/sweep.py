"""Finds and repairs wrong entries in the indexes across runs: for `dcf doctor`, and regularly beside the clock.

Index entries are written before what they name, so nothing depends on this sweep. It repairs what older versions,
manual changes and restored backups left. It works page by page, so that it does not block others.
"""

import logging
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Final

from dcf.core.listings import ListFlaw, ListKind
from dcf.store.listings import Flaws, Listings

_log = logging.getLogger(__name__)

EVERY_S: Final = 3600
"""Seconds between two sweeps, for all servers together."""

_ASK_EVERY_S: Final = 300.0
"""Seconds between a process's checks whether a sweep is due."""

_PAGES: Final = 10
"""Pages per step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepReport:
    """Number of missing and of dangling entries, by kind of index."""

    missing: Mapping[ListKind, int]
    dangling: Mapping[ListKind, int]

    @property
    def total(self) -> int:
        """Number of wrong entries."""
        return sum(self.missing.values()) + sum(self.dangling.values())


class Sweep:
    """Sweeps the indexes of one Redis."""

    def __init__(self, listings: Listings) -> None:
        self._listings = listings
        self._ask_at = 0.0
        self._pages: Iterator[Flaws] | None = None

    def look(self, *, repair: bool) -> SweepReport:
        """Check all indexes, and repair them if `repair`. Raise StoreUnsuitable if this Redis user may not SCAN."""
        return _report(flaw for page in self._listings.pages(repair=repair) for flaw in page)

    def step(self) -> int:
        """Repair some pages, if a sweep is due. Return the number of wrong entries."""
        pages, self._pages = self._pages or self._begin(), None
        if pages is None:
            return 0
        found = list(islice(pages, _PAGES))
        if len(found) == _PAGES:
            self._pages = pages
        report = _report(flaw for page in found for flaw in page)
        if report.total:
            _log.warning("sweep: entered %s and took off %s", _counts(report.missing), _counts(report.dangling))
        return report.total

    def _begin(self) -> Iterator[Flaws] | None:
        if time.monotonic() < self._ask_at:
            return None
        self._ask_at = time.monotonic() + _ASK_EVERY_S
        return self._listings.pages(repair=True) if self._listings.take_turn(EVERY_S) else None


def _report(flaws: Iterable[ListFlaw]) -> SweepReport:
    # SCAN may return a key twice.
    once = {(flaw.index, flaw.name): flaw for flaw in flaws if not flaw.is_due}.values()
    return SweepReport(
        missing=Counter(flaw.kind for flaw in once if flaw.is_missing),
        dangling=Counter(flaw.kind for flaw in once if not flaw.is_missing),
    )


def _counts(found: Mapping[ListKind, int]) -> str:
    return ", ".join(f"{count} {kind}" for kind, count in found.items()) or "nothing"
