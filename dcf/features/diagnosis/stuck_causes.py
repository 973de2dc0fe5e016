"""How many runs are stuck for what cause, for Prometheus: of a few stuck runs, and not at every scrape.

A run is explained as `dcf why` does it, in a few round trips each; so only the newest stuck ones are, and what was
found is good for a while. Never changes a run.
"""

import time
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Final

from dcf.core.listing.runs import RunQuery
from dcf.errors import NotFound
from dcf.features.diagnosis.operations import Diagnosis
from dcf.runs.views.lists import RunList

MOST_EXPLAINED: Final = 20
"""Stuck runs that are explained, the newest ones."""

GOOD_FOR_S: Final = 30.0


class StuckCauses:
    """Counts them."""

    def __init__(self, runs: RunList, diagnosis: Diagnosis, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._runs = runs
        self._diagnosis = diagnosis
        self._monotonic = monotonic
        self._found: tuple[float, Mapping[str, int]] | None = None

    def counts(self) -> Mapping[str, int]:
        """Return how many of these runs are stuck by the cause that is first in their explanations."""
        now = self._monotonic()
        if self._found is None or now >= self._found[0] + GOOD_FOR_S:
            rows = self._runs.list_runs(RunQuery(limit=MOST_EXPLAINED, stuck=True)).rows
            causes = (self._cause(row.workflow_id) for row in rows if row.stuck)
            self._found = now, Counter(cause for cause in causes if cause is not None)
        return self._found[1]

    def _cause(self, workflow_id: str) -> str | None:
        """Return the code of the cause; None if the run continues again, or was deleted meanwhile."""
        try:
            findings = self._diagnosis.explain(workflow_id).findings
        except NotFound:
            return None
        return next((finding.cause.value for finding in findings if finding.stuck), None)
