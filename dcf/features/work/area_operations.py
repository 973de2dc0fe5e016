"""Warns who gets a lease of other work in the same files, of the same project or run. Never refuses."""

from dcf.asl.state_paths import name_of
from dcf.core.documents.answers import Leased
from dcf.core.documents.decision import Decision, Event, ReadSet, Snapshot, WriteSet
from dcf.features.work.area_storage import AreaBook
from dcf.features.work.areas import Occupied, areas_of, event_data, overlaps, warnings_of
from dcf.runs.control_plane import ControlPlane


class Areas:
    """Compares the areas of what is worked on."""

    def __init__(self, plane: ControlPlane, book: AreaBook) -> None:
        self._plane = plane
        self._book = book

    def warn(self, workflow_id: str, leased: Leased) -> list[str]:
        """Enter the areas of a lease that was granted just now; return what overlaps them, which the history tells too.

        A state without areas costs no command.
        """
        areas = areas_of(leased.doc) or self._plane.run(workflow_id).definition.areas.get(name_of(leased.state), ())
        if not areas or leased.outcome != "lease_acquired":
            return []
        owner = leased.doc.lease.owner_agent_id or "unknown"
        mine = Occupied(workflow_id=workflow_id, state=leased.state, owner=owner, areas=areas)
        overlapping = overlaps(areas, self._book.enter(self._plane.transactions.run(workflow_id).project, mine))
        if overlapping:
            event = Event(type="AreasOverlap", state=leased.state, data=event_data(overlapping))

            def decide(_: Snapshot) -> Decision[None]:
                return Decision(answer=None, changes=WriteSet(events=[event]))

            self._plane.transactions.on_run(workflow_id, ReadSet(), decide)
        return warnings_of(overlapping)
