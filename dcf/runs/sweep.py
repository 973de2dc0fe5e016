"""Finds and mends what the lists across runs say wrongly: for `dcf doctor`, and now and then beside the clock.

Entries are written before what they name, so nothing depends on this: it is for what older versions, hands and
restored backups left. A sweep goes page by page, so that it holds nobody up.
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
"""How often all servers together go through the lists."""

_ASK_EVERY_S: Final = 300.0
"""How often a process asks whether it is time."""

_PAGES: Final = 10
"""How much is looked at in one step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepReport:
    """How many names lists lacked, and how many they had that nothing goes by, by what the lists are of."""

    missing: Mapping[ListKind, int]
    dangling: Mapping[ListKind, int]

    @property
    def total(self) -> int:
        """How much was wrong."""
        return sum(self.missing.values()) + sum(self.dangling.values())


class Sweep:
    """Goes through the lists of one Redis."""

    def __init__(self, listings: Listings) -> None:
        self._listings = listings
        self._ask_at = 0.0
        self._pages: Iterator[Flaws] | None = None

    def look(self, *, repair: bool) -> SweepReport:
        """Go through all lists at once, and mend them if asked; raise StoreUnsuitable without the right to SCAN."""
        return _report(flaw for page in self._listings.pages(repair=repair) for flaw in page)

    def step(self) -> int:
        """Mend some pages, where nobody went through the lists within the hour; how much was wrong there."""
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
    once = {(flaw.index, flaw.name): flaw for flaw in flaws}.values()  # a scan may come upon a key twice
    return SweepReport(
        missing=Counter(flaw.kind for flaw in once if flaw.is_missing),
        dangling=Counter(flaw.kind for flaw in once if not flaw.is_missing),
    )


def _counts(found: Mapping[ListKind, int]) -> str:
    return ", ".join(f"{count} {kind}" for kind, count in found.items()) or "nothing"
