"""Keeps the units of open runs, so that a process reads only the units that were added since it last looked.

The hash in meta tells when there is something to read. It is read before the units, so that the units are never older
than the hash under which they are cached. The last known unit is read again. If it is gone, Redis lost the latest units
in a power loss or a failover, and all units are read again.
"""

from collections.abc import Mapping
from typing import Final

from dcf.core.definitions.model import Definition
from dcf.features.growing.definition import grown_definition, is_grown
from dcf.features.growing.model import NO_UNITS, Unit, Units, read_unit
from dcf.runs.loading import GrownLoading
from dcf.store.transaction.runs import RunStore
from dcf.values.json_text import Json
from dcf.values.records import record

_MOST: Final = 256


@record(frozen=True, slots=True, kw_only=True)
class _Kept:
    created_at: str
    last: tuple[str, Unit] | None = None
    units: Units = NO_UNITS


class KeptUnits:
    """The units of the runs that this process has looked at."""

    def __init__(self, store: RunStore) -> None:
        self._store = store
        self._kept: dict[str, _Kept] = {}

    def definition(self, workflow_id: str, document: Json, facts: Mapping[str, Json]) -> Definition:
        """Return the definition of a run with all the units that it has now."""
        created_at = str(facts.get("created_at") or "")
        cached = self._kept.get(workflow_id)
        if cached is None or cached.created_at != created_at:
            cached = _Kept(created_at=created_at)
        run_units = [] if cached.last is None else self._units(workflow_id, cached.last[0])
        if run_units[:1] != [cached.last]:
            cached, run_units = _Kept(created_at=created_at), self._units(workflow_id)
        if run_units:
            cached = _Kept(
                created_at=created_at,
                last=run_units[-1],
                units=cached.units.plus(new_unit for _, new_unit in run_units),
            )
        if len(self._kept) >= _MOST:
            self._kept.clear()
        self._kept[workflow_id] = cached
        name = document.get("workflow_name") if isinstance(document, dict) else None
        return grown_definition(str(name), cached.units)

    def _units(self, workflow_id: str, since: str = "-") -> list[tuple[str, Unit]]:
        return [(entry, read_unit(document)) for entry, document in self._store.units(workflow_id, since)]


LOADING: Final = GrownLoading(is_grown=is_grown, definitions=KeptUnits)
"""The loader of the runs that grow."""
