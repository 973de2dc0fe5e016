"""Ends Tasks that wait for something outside of dcf, with the output or failure that has come.

It names the documents to read, and the pure decision about them (`core/completing/conclusion.py`). This module must
not make decisions or send Redis commands.
"""

from dataclasses import replace
from functools import partial

from dcf.core.completing import conclusion
from dcf.core.completing.conclusion import Conclusion
from dcf.core.definitions import needs
from dcf.core.documents.decision import ReadSet, Snapshot
from dcf.core.documents.operations import RunDecision
from dcf.core.documents.premises import Premise, resting_on, with_premise
from dcf.runs.control_plane import ControlPlane
from dcf.runs.operating import Operated, within_quota
from dcf.runs.requests import run_request
from dcf.runs.transactions import Run


class Outside:
    """Ends states that wait for something outside of dcf."""

    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane

    def conclude(
        self,
        workflow_id: str,
        wish: Conclusion,
        *,
        verb: str = "conclude",
        reason: str | None = None,
        request_id: str | None = None,
        premise: Premise | None = None,
    ) -> Operated:
        """End a state that waits, with an output or a failure. A repetition with the same id gets the first answer.

        If there is a premise and it does not hold, nothing is written.
        """
        wish = replace(wish, state=self._plane.path(workflow_id, wish.state))
        request = run_request(verb, reason, request_id, wish.arguments())

        def reads(run: Run) -> ReadSet:
            needed = replace(needs.to_end(run.definition, wish.state), run_receipts=(request.key,))
            return with_premise(needed, premise)

        def decide(run: Run, snapshot: Snapshot) -> RunDecision:
            ended = partial(conclusion.conclude, snapshot, request, wish, run.definition, run.context)
            return resting_on(premise, snapshot, ended)

        return self._plane.operations.by_definition(
            workflow_id, reads, decide if wish.failed else within_quota(decide), wish.state
        )
