"""The usage of work: read by run, agent or project; and the budgets of runs. This module must not decide."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from dcf.core.documents.decision import Decision, More, ReadSet, Snapshot
from dcf.core.documents.operations import RunAnswer, RunRequest
from dcf.core.documents.usage import BilledTurn, Budget, read_budget_change
from dcf.core.documents.usage_sums import sums_of_tree
from dcf.core.listing.runs import Cursor, RunQuery
from dcf.features.journal.model import ENTRIES
from dcf.features.usage import budgets
from dcf.features.usage.budget_operations import ALL, SharedBudgets
from dcf.features.usage.charging import AUTHOR
from dcf.features.usage.periods import days_between
from dcf.features.usage.storage import Kind, UsageBooks
from dcf.features.work.limit_operations import limits_of
from dcf.runs.control_plane import ControlPlane
from dcf.runs.requests import run_request
from dcf.runs.views.lists import RunList
from dcf.store.access.authors import current_author
from dcf.values.json_text import Json
from dcf.values.records import record
from dcf.values.refusal import Refusal

if TYPE_CHECKING:
    from dcf.store.transaction.runs import Committed

MOST_CHILDREN: Final = 100
"""Most child runs of one answer."""


@record(frozen=True, slots=True, kw_only=True)
class RunUsage:
    """The usage of a run: in all, by state, by agent and by model; and its budget."""

    total: Mapping[str, int]
    states: Mapping[str, Mapping[str, int]]
    agents: Mapping[str, Mapping[str, int]]
    models: Mapping[str, Mapping[str, int]]
    budget: Budget | None


@record(frozen=True, slots=True, kw_only=True)
class ChildrenUsage:
    """The usage of child runs, each with all runs below it, and the cursor to more of them."""

    sums: Mapping[str, Mapping[str, int]]
    next_cursor: Cursor | None


@record(frozen=True, slots=True, kw_only=True)
class BookUsage:
    """The usage of an agent or a project: of all time, and of the days of the period that have any."""

    total: Mapping[str, int]
    days: Mapping[str, Mapping[str, int]]


class Usages:
    """Sums of usage, and budgets. From now on `plane` has what its commits owe moved to the books."""

    def __init__(self, plane: ControlPlane, books: UsageBooks, runs: RunList) -> None:
        self._plane = plane
        self._books = books
        self._runs = runs
        self._shared = SharedBudgets(plane, books, runs)
        plane.after_usage = self.settle

    def settle(self, workflow_id: str, turns: Sequence[BilledTurn] = ()) -> None:
        """Move what a commit owes to the books. Block the run if a budget that it shares is used up."""
        moved = self._books.settle(workflow_id, turns)
        if moved:
            self._shared.check(workflow_id, moved)

    def _settle_owed(self) -> None:
        """Do the same for all runs that owe something."""
        for workflow_id, moved in self._books.settle_owed().items():
            self._shared.check(workflow_id, moved)

    def of_run(self, workflow_id: str) -> RunUsage:
        """Return what a run used up. Raise UnknownRun if there is none."""
        meta = self._plane.read(workflow_id, (), whole_meta=False).meta
        self.settle(workflow_id)
        parts = self._books.parts(workflow_id)
        (total,) = self._books.of_runs([workflow_id])
        return RunUsage(
            total=total,
            states=parts["states"],
            agents=parts["agents"],
            models=parts["models"],
            budget=None if meta is None else meta.budget,
        )

    def of_children(self, workflow_id: str, cursor: Cursor | None) -> ChildrenUsage:
        """Return what the child runs used up, each with all runs below it, the newest first."""
        self._settle_owed()
        page = self._runs.list_runs(RunQuery(limit=MOST_CHILDREN, parent=workflow_id, cursor=cursor))
        sums = {row.workflow_id: sums_of_tree(row.usage) for row in page.rows}
        return ChildrenUsage(sums=sums, next_cursor=page.next_cursor)

    def of_runs(self, workflow_ids: Sequence[str]) -> list[dict[str, int]]:
        """Return the sums of each of these runs."""
        return self._books.of_runs(workflow_ids)

    def of(self, kind: Kind, name: str, first: str, last: str) -> BookUsage:
        """Return what an agent or a project used up, by day from `first` to `last`."""
        self._settle_owed()
        total, days = self._books.book(kind, name, days_between(first, last))
        return BookUsage(total=total, days=days)

    def set_budget(
        self, workflow_id: str, change: Mapping[str, Json], *, reason: str | None = None, request_id: str | None = None
    ) -> RunAnswer | Refusal:
        """Change the budget of a run. A run that is blocked by its budget continues, if the new one is not used up."""
        change = read_budget_change(change, of_run=True)
        request = run_request("set_budget", reason, request_id, {"budget": dict(change)})
        before = self._plane.read(workflow_id, (), whole_meta=False)
        issue = _issue_of(before)
        while True:
            parts = {} if issue is None else ENTRIES.wanted((issue,))
            reads = ReadSet(run_receipts=(request.key,), open_states=(0, ALL), usage=True, parts=parts, whole_meta=True)
            decide = partial(_decide, request=request, change=change, issue=issue)
            committed: Committed[RunAnswer | Refusal | More | _OtherIssue]
            committed = self._plane.transactions.on_run(workflow_id, reads, decide)
            answer = committed.answer
            if isinstance(answer, _OtherIssue):
                issue = answer.issue
                continue
            self._plane.follow_ups.after(workflow_id, committed)
            assert not isinstance(answer, More), "it knows what it reads"
            if isinstance(answer, RunAnswer) and (answer.repeated or _is_of_tree(before) or "tree" in change):
                self._shared.tree_changed(workflow_id, reason)
            return answer

    def set_project_budget(self, project: str, change: Mapping[str, Json], *, reason: str | None = None) -> None:
        """Change the budget of a project. Its runs that are blocked by it continue, if the new one is not used up."""
        limits = limits_of(self._plane)
        assert limits is not None, "made with the control plane"
        limits.put_budget(project, read_budget_change(change))
        self._shared.project_changed(project, reason)


@record(frozen=True, slots=True)
class _OtherIssue:
    """Meanwhile the budget has another issue than the one that was read, or none."""

    issue: str | None


def _decide(
    snapshot: Snapshot, request: RunRequest, change: Mapping[str, Json], issue: str | None
) -> Decision[RunAnswer | Refusal | More | _OtherIssue]:
    now = _issue_of(snapshot)
    if now != issue:
        return Decision(answer=_OtherIssue(now))
    return budgets.set_budget(snapshot, request, change, current_author() or AUTHOR)


def _issue_of(snapshot: Snapshot) -> str | None:
    """Return the issue that was opened when the run's budget was used up."""
    return None if snapshot.meta is None or snapshot.meta.budget is None else snapshot.meta.budget.issue


def _is_of_tree(snapshot: Snapshot) -> bool:
    return snapshot.meta is not None and snapshot.meta.budget is not None and snapshot.meta.budget.tree
