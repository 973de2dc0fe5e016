"""Runs that grow: opened without a graph, given units while they are open.

Each operation names what it reads and the pure decision that is made on it. This module decides nothing and sends no
Redis command.
"""

import secrets
from functools import partial
from typing import TYPE_CHECKING

from dcf.core import growing
from dcf.core.answers import Created
from dcf.core.decision import Decision, More, Reads, Snapshot
from dcf.core.growing import Added, AddUnits
from dcf.core.opening import OpenRequest, open_run
from dcf.core.refusals import unless_full
from dcf.core.starting import new_id
from dcf.runs.control_plane import ControlPlane
from dcf.runs.requests import run_request
from dcf.runs.transactions import Run
from dcf.store.authors import current_account
from dcf.values.refusal import Refusal

if TYPE_CHECKING:
    from dcf.store.runs import Committed


class Growing:
    """Opens runs that grow, and adds units to them."""

    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane
        self._transactions = plane.transactions
        self._follow_ups = plane.follow_ups
        self._store = plane.transactions.store

    def open_run(self, asked: OpenRequest) -> Created | Refusal:
        """Open a run without units. Repeating the same request returns the run that exists."""
        wish = asked.wish
        committed = self._store.create(
            wish.workflow_id, Reads(whole_meta=True), partial(open_run, request=asked), wish.size
        )
        return self._follow_ups.after_creation(wish, committed)

    def add_units(
        self, workflow_id: str, wish: AddUnits, *, reason: str | None = None, request_id: str | None = None
    ) -> Added | Refusal:
        """Add units, and lease those that the caller claims, in one transaction. A refused call writes nothing."""
        request = run_request("add_units", reason, request_id, wish.arguments())

        def reads(run: Run) -> Reads:
            units = run.definition.units
            if units is None:
                return Reads()
            return Reads(
                states=growing.to_add(units, wish),
                inputs=wish.claimed,
                agents=wish.claimed,
                run_receipts=(request.key,),
                growth=True,
            )

        def decide(run: Run, snapshot: Snapshot) -> Decision[Added | Refusal | More]:
            decision = growing.add_units(snapshot, request, wish, run.definition)
            full = unless_full(current_account()) if decision.changes is not None else None
            return decision if full is None else Decision(answer=full)

        committed: Committed[Added | Refusal] = self._transactions.by_definition(workflow_id, reads, decide)
        self._follow_ups.after(workflow_id, committed)
        return committed.answer


def id_for_opening(name: str, request_id: str | None, caller: str | None) -> str:
    """Return the id of a run to be opened: drawn, or the same each time for a request id of this caller."""
    seed = secrets.token_hex(16) if request_id is None else f"{caller}\nopen {name}\n{request_id}"
    return new_id(name, seed)
