"""Ends Tasks that wait for something outside of dcf, with the output or failure that has come.

It names the documents to read, and the pure decision about them (`core/completing/conclusion.py`). This module must
not make decisions or send Redis commands.
"""

import secrets
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from dcf.core.completing import conclusion
from dcf.core.completing.conclusion import Conclusion
from dcf.core.definitions import needs
from dcf.core.documents.decision import Decision, ReadSet, Snapshot
from dcf.core.documents.operations import RunAnswer, RunDecision, RunRequest
from dcf.core.documents.premises import Premise, resting_on, with_premise
from dcf.core.documents.refusals import unless_full
from dcf.runs.control_plane import ControlPlane
from dcf.runs.transactions import Run
from dcf.store.access.authors import current_account
from dcf.values.refusal import Refusal

if TYPE_CHECKING:
    from dcf.store.transaction.runs import Committed

Operated: TypeAlias = RunAnswer | Refusal


class Outside:
    """Ends states that wait for something outside of dcf."""

    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane
        self._transactions = plane.transactions
        self._follow_ups = plane.follow_ups

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
        request = RunRequest(
            verb=verb,
            request_id=secrets.token_hex(8) if request_id is None else request_id,
            reason=reason,
            arguments=wish.arguments(),
        )

        def reads(run: Run) -> ReadSet:
            needed = replace(needs.to_end(run.definition, wish.state), run_receipts=(request.key,))
            return with_premise(needed, premise)

        def decide(run: Run, snapshot: Snapshot) -> RunDecision:
            ended = partial(conclusion.conclude, snapshot, request, wish, run.definition, run.context)
            decision = resting_on(premise, snapshot, ended)
            full = None if decision.changes is None or wish.failed else unless_full(current_account())
            return decision if full is None else Decision(answer=full)

        committed: Committed[Operated] = self._transactions.by_definition(workflow_id, reads, decide, wish.state)
        self._follow_ups.after(workflow_id, committed)
        return committed.answer
