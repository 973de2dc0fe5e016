"""The list of runs: pages of it for the command line, tools and pages. Never writes.

`store/lists/pages.py` reads a page, and `core/listing/runs.py` says what belongs on it.
"""

from dcf.core.listing.runs import LONGEST_PAGE, Counts, RunPage, RunQuery
from dcf.errors import InvalidArgument
from dcf.store.lists.pages import Catalog


class RunList:
    """Lists runs, newest first."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def list_runs(self, query: RunQuery) -> RunPage:
        """Return a page of the runs that meet the filters, and how many runs there are. Three round trips at most."""
        if not 0 < query.limit <= LONGEST_PAGE:
            raise InvalidArgument(f"limit is not between 1 and {LONGEST_PAGE}.", "Page on with the cursor.")
        return self._catalog.page(query)

    def counted_once(self, counts: Counts) -> Counts:
        """Return the counts of a page with each run counted under its own status only: two round trips at most."""
        return self._catalog.counted_once(counts)
