"""Stamps outputs, and counts the looks of the clock."""

from typing import TYPE_CHECKING, Final

from dcf.core.definitions.briefs import field_of
from dcf.core.documents.decision import Decision, More, ReadSet, Snapshot, WriteSet
from dcf.core.documents.parts import WHOLE
from dcf.runs.clock.duties import Duty
from dcf.runs.control_plane import ControlPlane
from dcf.runs.transactions import Run
from dcf.store.connection.connections import Connections
from dcf.values.refusal import Refusal
from tests.support.capabilities.stamps.model import BOOK, Stamp
from tests.support.capabilities.stamps.syntax import NAME

if TYPE_CHECKING:
    from dcf.store.transaction.runs import Committed

LOOKS: Final[list[int]] = []
"""The server time of each look of a clock of this process."""


class Stamps:
    """The stamps of one process."""

    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane

    def stamp(self, workflow_id: str, state: str, by: str) -> tuple[str, ...] | Refusal:
        """Stamp an output that waits. Return the lines of the book before."""

        def decide(run: Run, snapshot: Snapshot) -> Decision[tuple[str, ...] | Refusal | More]:
            allowed = field_of(run.definition, state, NAME)
            if not snapshot.states[state].has(Stamp.field):
                return Decision(answer=_refused("not_waiting", f"'{state}' waits for no stamp.", "Submit first."))
            if not isinstance(allowed, tuple) or by not in allowed:
                return Decision(answer=_refused("not_allowed", f"'{by}' may not stamp '{state}'.", "Ask another."))
            changes = WriteSet(states={state: snapshot.states[state].attaching(Stamp(is_stamped=True))})
            changes.put(BOOK, (f"stamped by {by}",))
            return Decision(answer=snapshot.part(BOOK) or (), changes=changes)

        reads = ReadSet(states=(state,), parts=BOOK.wanted(WHOLE))
        transactions = self._plane.transactions
        done: Committed[tuple[str, ...] | Refusal] = transactions.by_definition(
            workflow_id, lambda _: reads, decide, state
        )
        return done.answer

    def book(self, workflow_id: str) -> tuple[str, ...]:
        """Return the lines of the book of a run."""
        return self._plane.transactions.store.read(workflow_id, ReadSet(parts=BOOK.wanted(WHOLE))).part(BOOK) or ()


def counting(_: ControlPlane, __: Connections) -> Duty:
    """Return the duty to note each look of the clock."""
    return LOOKS.append


def _refused(code: str, message: str, hint: str) -> Refusal:
    return Refusal(code=code, message=message, hint=hint)
