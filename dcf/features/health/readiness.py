"""Answers `/readyz` from the health report, so that anybody may ask at any rate and a silent Redis delays no caller.

At most one report is made at a time, on a thread of its own, and one is good for a second. No caller waits longer than
the deadline: then the answer is that Redis does not answer. It shows levels and counts only, for it asks for no key.
"""

import asyncio
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Final

from dcf.core.listing.sweep_results import Trouble
from dcf.features.health.operations import HealthReport, silent
from dcf.values.json_text import Json

DEADLINE_S: Final = 2.0
"""Seconds after which a request is answered without a report; balancers and Docker give up after a few."""

_GOOD_FOR_S: Final = 1.0
_LATE: Final = Trouble(message="Redis did not answer in time.", remedy="Look at its log and at what it is busy with.")


class Readiness:
    """Keeps the latest report and makes a new one when it is asked for; used by one event loop."""

    def __init__(
        self,
        check: Callable[[], HealthReport],
        *,
        deadline_s: float = DEADLINE_S,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._check = check
        self._deadline_s = deadline_s
        self._monotonic = monotonic
        self._latest: Future[HealthReport] | None = None
        self._good_until = 0.0

    async def answer(self) -> tuple[int, dict[str, Json]]:
        """Return the HTTP status (200, or 503 if calls of tools fail) and the document."""
        report = asyncio.wrap_future(self._report())
        done, _ = await asyncio.wait([report], timeout=self._deadline_s)
        result = report.result() if done else silent(_LATE)
        return 200 if result.is_ready else 503, result.summary()

    def _report(self) -> Future[HealthReport]:
        """Return the report that is being made or still good, else begin another."""
        latest = self._latest
        if latest is not None and (not latest.done() or self._monotonic() < self._good_until):
            return latest
        self._latest = latest = Future()
        self._good_until = self._monotonic() + _GOOD_FOR_S
        threading.Thread(target=self._make, args=(latest,), name="dcf-health", daemon=True).start()
        return latest

    def _make(self, report: Future[HealthReport]) -> None:
        report.set_result(self._check())
