"""Corrects results of states until they are used. It names what is read and the pure decision (`core/corrections`)."""

from dcf.core.documents.decision import ReadSet, Snapshot
from dcf.core.documents.operations import RunDecision
from dcf.features.questions import corrections
from dcf.features.questions.corrections import Correct
from dcf.runs.control_plane import ControlPlane
from dcf.runs.operating import Operated, within_quota
from dcf.runs.requests import run_request
from dcf.runs.transactions import Run
from dcf.values.records import replace


class Corrections:
    """Corrections of results."""

    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane

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
            return corrections.correct(snapshot, request, wish, run.definition, run.context)

        return self._plane.operations.by_definition(workflow_id, reads, within_quota(decide), path)
