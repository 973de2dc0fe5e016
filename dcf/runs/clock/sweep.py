"""Finds and repairs wrong entries in the indexes across runs: for `dcf doctor`, and regularly with the timer loop.

Index entries are written before the objects that they name, so no operation depends on this reconciliation. It repairs
wrong entries that older versions, manual changes and restored backups left. It works page by page, so that it does not
block other clients of Redis.
"""

import logging
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Final, TypeAlias

from dcf.core.listing.checks import ListFlaw, ListKind
from dcf.core.listing.sweep_results import Trouble
from dcf.errors import DcfError, StoreUnavailable, StoreUnsuitable
from dcf.runs.clock.duties import Cleaning
from dcf.store.keys.parts import read_member
from dcf.store.lists.checks import Flaws, Listings
from dcf.values.records import record

_log = logging.getLogger(__name__)

Rearm: TypeAlias = Callable[[str, str], object]
"""Sets the timer of a state, by run and path, if it has none."""

EVERY_S: Final = 3600
"""Seconds from the end of a reconciliation to the next, for all servers. With millions of runs it takes longer."""

_ASK_EVERY_S: Final = 300.0
"""Seconds between a process's checks whether a reconciliation is due."""

_PAGES: Final = 10
"""Pages per step."""


@record(frozen=True, slots=True, kw_only=True)
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

    def __init__(
        self,
        listings: Listings,
        cleaning: Sequence[Cleaning] = (),
        rearm: Rearm | None = None,
    ) -> None:
        """Sweep these; `cleaning` is done at each step, `rearm` sets the timer of a state of a run that has lost it."""
        self._rearm = rearm
        self._listings = listings
        self._cleaning = cleaning
        self._ask_at = 0.0
        self._pages: Iterator[Flaws] | None = None
        self._found: list[ListFlaw] = []

    def look(self, *, repair: bool) -> SweepReport:
        """Check all indexes, repair them if `repair`, and record the result for health reports.

        Raise StoreUnsuitable if this Redis user may not SCAN.
        """
        with self._recorded_if_refused():
            report = _report(flaw for page in self._checked(repair=repair) for flaw in page)
        self._record(report, repaired=repair)
        return report

    def step(self) -> int:
        """Clean up, and repair some pages, if a reconciliation is due.

        Return the number of wrong entries that it found.
        """
        for clean in self._cleaning:
            clean()
        pages, self._pages = self._pages or self._begin(), None
        if pages is None:
            return 0
        with self._recorded_if_refused():
            pages_read = list(islice(pages, _PAGES))
        report = _report(flaw for page in pages_read for flaw in page)
        self._found += (flaw for page in pages_read for flaw in page)
        if report.total:
            _log.warning("sweep: entered %s and took off %s", _counts(report.missing), _counts(report.dangling))
        if len(pages_read) == _PAGES:
            self._pages = pages
            self._listings.keep_turn(EVERY_S)
        else:
            self._record(_report(self._found), repaired=True)
        return report.total

    def _begin(self) -> Iterator[Flaws] | None:
        if time.monotonic() < self._ask_at:
            return None
        self._ask_at = time.monotonic() + _ASK_EVERY_S
        if not self._listings.take_turn(EVERY_S):
            return None
        self._found = []
        return self._checked(repair=True)

    def _checked(self, *, repair: bool) -> Iterator[Flaws]:
        """Check page by page, and have the timers set that are missing, if `repair`."""
        for page in self._listings.pages(repair=repair):
            for flaw in page if repair else ():
                if flaw.kind is ListKind.TIMERS and self._rearm is not None:
                    self._set(*read_member(flaw.name), self._rearm)
            yield page

    def _set(self, workflow_id: str, path: str, rearm: Rearm) -> None:
        """Have a timer set. A problem of one run must not affect the other runs."""
        try:
            rearm(workflow_id, path)
        except StoreUnavailable:
            raise
        except DcfError as error:
            _log.warning("sweep: state %s of run %s: %s: %s", path, workflow_id, error.code, error.message)

    def _record(self, report: SweepReport, *, repaired: bool) -> None:
        missing, dangling = _by_name(report.missing), _by_name(report.dangling)
        with _only_logged():
            self._listings.record(missing, dangling, repaired=repaired)

    @contextmanager
    def _recorded_if_refused(self) -> Iterator[None]:
        """Record for health reports that the lists cannot be checked: this Redis user may not SCAN, for example."""
        try:
            yield
        except StoreUnsuitable as error:
            with _only_logged():
                self._listings.record(trouble=Trouble.of(error))
            raise


@contextmanager
def _only_logged() -> Iterator[None]:
    """Log that the result could not be written: the check itself was made."""
    try:
        yield
    except StoreUnavailable as error:
        _log.warning("sweep: its result could not be written: %s", error.message)


def _report(flaws: Iterable[ListFlaw]) -> SweepReport:
    # SCAN may return a key twice.
    once = {(flaw.index, flaw.name): flaw for flaw in flaws if not flaw.is_due}.values()
    return SweepReport(
        missing=Counter(flaw.kind for flaw in once if flaw.is_missing),
        dangling=Counter(flaw.kind for flaw in once if not flaw.is_missing),
    )


def _by_name(document: Mapping[ListKind, int]) -> dict[str, int]:
    return {kind.value: count for kind, count in document.items()}


def _counts(document: Mapping[ListKind, int]) -> str:
    return ", ".join(f"{count} {kind}" for kind, count in document.items()) or "nothing"
