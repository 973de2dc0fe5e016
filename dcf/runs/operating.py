"""Carries out operations on runs: has them decided, does the work that follows from the commit, and returns the answer.

It must not decide, except that a key that holds as many bytes as it may cannot write more (`within_quota`).
"""

from collections.abc import Callable
from typing import ParamSpec, TypeAlias, TypeVar, cast

from dcf.core.documents.decision import Decision, More, ReadSet, Snapshot
from dcf.core.documents.operations import RunAnswer, RunDecision
from dcf.core.documents.refusals import unless_full
from dcf.errors import UnknownRun
from dcf.runs.follow_ups import FollowUps
from dcf.runs.transactions import Run, Transactions
from dcf.store.access.authors import current_account
from dcf.store.transaction.runs import Committed
from dcf.values.refusal import Refusal

Answer = TypeVar("Answer")
P = ParamSpec("P")
Operated: TypeAlias = RunAnswer | Refusal


def within_quota(decide: Callable[P, Decision[Answer]]) -> Callable[P, Decision[Answer | Refusal]]:
    """Have a decision refused that would write although the key of the call holds as many bytes as it may."""

    def guarded(*arguments: P.args, **named: P.kwargs) -> Decision[Answer | Refusal]:
        decision = decide(*arguments, **named)
        full = None if decision.changes is None else unless_full(current_account())
        return cast("Decision[Answer | Refusal]", decision) if full is None else Decision(answer=full)

    return guarded


class Operations:
    """The operations on the runs of one store."""

    def __init__(self, transactions: Transactions, follow_ups: FollowUps) -> None:
        self._transactions = transactions
        self._follow_ups = follow_ups

    def read(self, workflow_id: str, reads: ReadSet) -> Snapshot:
        """Return documents of a run as they are. Raise UnknownRun."""
        snapshot = self._transactions.store.read(workflow_id, reads)
        if snapshot.meta is None:
            raise UnknownRun(workflow_id)
        return snapshot

    def on_run(self, workflow_id: str, reads: ReadSet, decide: Callable[[Snapshot], RunDecision]) -> Operated:
        """Apply a request to a run by documents that are known before. Raise UnknownRun."""
        committed = self._transactions.on_run(workflow_id, reads, decide)
        self._follow_ups.after(workflow_id, committed)
        assert not isinstance(committed.answer, More), "these decisions know what they read"
        return committed.answer

    def on_state(
        self, workflow_id: str, path: str, reads: ReadSet, decide: Callable[[Snapshot], RunDecision]
    ) -> Operated:
        """Apply a request to a state, opened or not. Raise UnknownRun or UnknownState."""
        committed: Committed[Operated] = self._transactions.on_state(workflow_id, path, reads, decide)
        return self.answer(workflow_id, committed)

    def by_definition(
        self,
        workflow_id: str,
        reads: Callable[[Run], ReadSet],
        decide: Callable[[Run, Snapshot], RunDecision],
        *paths: str,
    ) -> Operated:
        """Apply a request by the definition of the run, about these states. Raise UnknownRun or CapabilityMissing."""
        committed: Committed[Operated] = self._transactions.by_definition(workflow_id, reads, decide, *paths)
        return self.answer(workflow_id, committed)

    def answer(self, workflow_id: str, committed: Committed[Answer]) -> Answer:
        """Do the work that follows from a commit, and return its answer."""
        self._follow_ups.after(workflow_id, committed)
        return committed.answer
