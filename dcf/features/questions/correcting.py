"""Corrects results of states until they are used. It names what is read and the pure decision (`core/corrections`)."""

from typing import TYPE_CHECKING, TypeAlias

from dcf.core.documents.decision import Decision, ReadSet, Snapshot
from dcf.core.documents.operations import RunAnswer, RunDecision
from dcf.core.documents.refusals import unless_full
from dcf.features.questions import corrections
from dcf.features.questions.corrections import Correct
from dcf.runs.control_plane import ControlPlane
from dcf.runs.requests import run_request
from dcf.runs.transactions import Run
from dcf.store.access.authors import current_account
from dcf.values.records import replace
from dcf.values.refusal import Refusal

if TYPE_CHECKING:
    from dcf.store.transaction.runs import Committed

Operated: TypeAlias = RunAnswer | Refusal


class Corrections:
    """Corrections of results."""

    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane
        self._transactions = plane.transactions
        self._follow_ups = plane.follow_ups

    def correct_result(
        self, workflow_id: str, wish: Correct, *, reason: str | None = None, request_id: str | None = None
    ) -> Operated:
        """Replace the result of a state and what came from it. A repetition with the same request id has no effect.

        Raise UnknownState.
        """
        path = self._plane.place(workflow_id, wish.state).path
        wish = replace(wish, state=path)
        request = run_request("correct_result", reason, request_id, wish.arguments())

        def reads(run: Run) -> ReadSet:
            return replace(corrections.to_correct(run.definition, path), run_receipts=(request.key,))

        def decide(run: Run, snapshot: Snapshot) -> RunDecision:
            decision = corrections.correct(snapshot, request, wish, run.definition, run.context)
            full = unless_full(current_account()) if decision.changes is not None else None
            return decision if full is None else Decision(answer=full)

        committed: Committed[Operated] = self._transactions.by_definition(workflow_id, reads, decide, path)
        self._follow_ups.after(workflow_id, committed)
        return committed.answer
