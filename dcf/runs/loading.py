"""The loader of open runs: its types, and the table that has it.

The definition of such a run is more than its document: it has the units of the run. `features/installed_runs.py` fills
the table before the first run is read: a table that is not filled raises.
"""

from collections.abc import Callable, Mapping
from typing import Final, Protocol

from dcf.core.definitions.model import Definition
from dcf.store.transaction.runs import RunStore
from dcf.values.json_text import Json
from dcf.values.records import record
from dcf.values.tables import Tables


class GrownDefinitions(Protocol):
    """The definitions of open runs, of one process."""

    def definition(self, workflow_id: str, document: Json, facts: Mapping[str, Json]) -> Definition:
        """Return the definition of a run as it is now; `facts` are the fixed fields of its meta document."""


@record(frozen=True, slots=True, kw_only=True)
class GrownLoading:
    """How the definition of an open run is recognized (`is_grown`, by its document), and read from a store."""

    is_grown: Callable[[Json], bool]
    definitions: Callable[[RunStore], GrownDefinitions]


class RunExtensions(Tables):
    """The table."""

    filled_by = "dcf.features.installed_runs"
    growing: GrownLoading

    def install(self, *, growing: GrownLoading) -> None:
        """Fill the table."""
        self.growing = growing


RUNS: Final = RunExtensions()
