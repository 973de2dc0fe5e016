"""Stamps outputs, and counts the looks of the clock."""

from dcf.core.documents.decision import Decision, ReadSet, Snapshot, WriteSet
from dcf.core.documents.parts import WHOLE
from dcf.runs.control_plane import ControlPlane
from dcf.values.refusal import Refusal
from tests.support.capabilities.stamps.model import BOOK, Stamp


class Stamps:
    """The stamps of one process. `look` is a duty of the clock."""

    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane
        self.looks = 0

    def stamp(self, workflow_id: str, state: str, by: str) -> tuple[str, ...] | Refusal:
        """Stamp an output that waits. Return the lines of the book before."""

        def decide(snapshot: Snapshot) -> Decision[tuple[str, ...] | Refusal]:
            doc = snapshot.states[state]
            if not doc.has(Stamp.field):
                return Decision(
                    answer=Refusal(code="not_waiting", message=f"'{state}' waits for no stamp.", hint="Submit first.")
                )
            changes = WriteSet(states={state: doc.attaching(Stamp(is_stamped=True))})
            changes.put(BOOK, (f"stamped by {by}",))
            return Decision(answer=snapshot.part(BOOK) or (), changes=changes)

        reads = ReadSet(states=(state,), parts=BOOK.wanted(WHOLE))
        return self._plane.transactions.on_run(workflow_id, reads, decide).answer

    def book(self, workflow_id: str) -> tuple[str, ...]:
        """Return the lines of the book of a run."""
        return self._plane.transactions.store.read(workflow_id, ReadSet(parts=BOOK.wanted(WHOLE))).part(BOOK) or ()

    def look(self, _: int) -> None:
        """Count a look of the clock."""
        self.looks += 1
