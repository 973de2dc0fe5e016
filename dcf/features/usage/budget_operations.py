"""Blocks runs whose shared budget is used up, and lets them continue once it is higher. This module must not decide.

A budget of a project, or of a run and all below it, spans runs, so that no transaction of a run compares it. It is
compared after the commit, when the reports are in the sums. Of a project each run is blocked at its next report. Of a
tree its head is blocked first, then the runs below it. A run that the walk does not reach, since its process dies or
the run is started later, is blocked at its next report.
"""

from collections.abc import Callable, Iterator
from typing import Final

from dcf.core.documents.decision import Decision, ReadSet, Snapshot, WriteSet
from dcf.core.documents.model import RunStatus
from dcf.core.documents.usage import Budget
from dcf.core.documents.usage_sums import has_tree
from dcf.core.listing.runs import LONGEST_PAGE, RunQuery, RunRow
from dcf.errors import NotFound
from dcf.features.journal.model import ENTRIES, TAIL
from dcf.features.usage import budgets
from dcf.features.usage.charging import AUTHOR, SharedBudget, block_head
from dcf.features.usage.storage import Moved, UsageBooks
from dcf.features.work.limit_operations import limits_of
from dcf.runs.clock.duties import Duty
from dcf.runs.control_plane import ControlPlane
from dcf.runs.views.lists import RunList
from dcf.store.access.authors import current_author
from dcf.store.connection.connections import Connections
from dcf.store.lists.pages import Catalog
from dcf.values.instants import SECOND
from dcf.values.records import replace

ALL: Final = 1_000_000
"""Open states that a transaction reads which lets a run continue."""

_SETTLED_EVERY: Final = 30 * SECOND
"""How often the timer loop moves usage that is owed to the books."""


class SharedBudgets:
    """The budgets of projects and of trees of runs."""

    def __init__(self, plane: ControlPlane, books: UsageBooks, runs: RunList) -> None:
        self._plane = plane
        self._books = books
        self._runs = runs

    def check(self, workflow_id: str, moved: Moved) -> None:
        """Block the run, after its reports were moved, where a budget that it shares is used up."""
        if moved.project is not None:
            self._check_project(workflow_id, moved.project)
        for head, used_up in self._used_up_heads(moved.trees).items():
            self._block_tree(workflow_id, head, *used_up)

    def project_changed(self, project: str, reason: str | None = None) -> None:
        """Let the runs continue that the budget of their project blocks, if it is not used up now."""
        if self._of_project(project) is None:
            query = RunQuery(limit=LONGEST_PAGE, project=project, blocked=True)
            for row in self._listed(query):
                self._unblock(row.workflow_id, SharedBudget(project=project), reason)

    def tree_changed(self, head: str, reason: str | None = None) -> None:
        """Let the runs below this one continue that its budget blocks, if it is not used up now."""
        if not self._used_up_heads([head]):
            for row in self._below(head):
                if row.blocked:
                    self._unblock(row.workflow_id, SharedBudget(head=head), reason)

    def _check_project(self, workflow_id: str, project: str) -> None:
        limits = limits_of(self._plane)
        budget = None if limits is None else limits.budget_of(project)
        if budget is None or budget.reached(self._books.book("project", project)[0]) is None:
            return
        used_up = self._of_project(project)  # as it is now, not as this process knew it
        if used_up is None:
            return
        shared = SharedBudget(project=project)
        is_new = self._block(workflow_id, lambda snapshot: shared.block(snapshot, *used_up))
        if is_new and self._of_project(project) is None:  # raised before the run could be found as blocked
            self._unblock(workflow_id, shared)

    def _block_tree(self, workflow_id: str, head: str, budget: Budget, reached: str) -> None:
        """Block the head. The first time block all runs below it, and later the run that reported."""
        shared = SharedBudget(head=head)
        is_first = self._block(head, block_head) or workflow_id == head
        running = (row.workflow_id for row in self._below(head) if row.status is RunStatus.RUNNING)
        for below in dict.fromkeys((*running, workflow_id)) if is_first else (workflow_id,):
            if below != head:
                self._block(below, lambda snapshot: shared.block(snapshot, budget, reached))
        self.tree_changed(head)  # raised before the runs could be found as blocked

    def _used_up_heads(self, runs: tuple[str, ...] | list[str]) -> dict[str, tuple[Budget, str]]:
        """Return the used up budgets of trees by run, each with the part that is used up."""
        known = self._books.budgets(runs) if runs else {}
        reached = {run: (budget, budget.reached(sums)) for run, (budget, sums) in known.items() if budget.tree}
        return {run: (budget, part) for run, (budget, part) in reached.items() if part is not None}

    def _of_project(self, project: str) -> tuple[Budget, str] | None:
        """Return the budget that a project has now, and which part of it is used up; None if none is."""
        limits = limits_of(self._plane)
        assert limits is not None, "made with the control plane"
        limits.refresh()
        budget = limits.budget_of(project)
        reached = None if budget is None else budget.reached(self._books.book("project", project)[0])
        return None if budget is None or reached is None else (budget, reached)

    def _below(self, run: str) -> Iterator[RunRow]:
        """Yield the runs below this one. Below a run whose tree has no usage, no run is blocked by a budget."""
        for row in self._listed(RunQuery(limit=LONGEST_PAGE, parent=run)):
            yield row
            if has_tree(row.usage):
                yield from self._below(row.workflow_id)

    def _listed(self, query: RunQuery) -> Iterator[RunRow]:
        rest: RunQuery | None = query
        while rest is not None:
            page = self._runs.list_runs(rest)
            yield from page.rows
            rest = None if page.next_cursor is None else replace(rest, cursor=page.next_cursor)

    def _block(self, workflow_id: str, changes_for: Callable[[Snapshot], WriteSet | None]) -> bool:
        """Return True if the run is blocked now and was not before."""

        def decide(snapshot: Snapshot) -> Decision[bool]:
            changes = changes_for(snapshot)
            return Decision(answer=changes is not None, changes=changes)

        reads = ReadSet(parts=ENTRIES.wanted((TAIL,)), usage=True)
        try:
            committed = self._plane.transactions.on_run(workflow_id, reads, decide)
        except NotFound:  # it was deleted since
            return False
        self._plane.follow_ups.after(workflow_id, committed)
        return committed.answer

    def _unblock(self, workflow_id: str, shared: SharedBudget, reason: str | None = None) -> None:
        """Resolve the issues by which this budget blocks a run, if there are some."""
        meta = self._plane.read(workflow_id, (), whole_meta=False).meta
        issues = () if meta is None else shared.issues(meta)
        if not issues:
            return

        def decide(snapshot: Snapshot) -> Decision[None]:
            return budgets.unblock(snapshot, issues, reason, current_author() or AUTHOR)

        reads = ReadSet(open_states=(0, ALL), parts=ENTRIES.wanted(issues), whole_meta=True)
        self._plane.follow_ups.after(workflow_id, self._plane.transactions.on_run(workflow_id, reads, decide))


def settling(plane: ControlPlane, connections: Connections) -> Duty:
    """Return the duty of the timer loop to move usage to the books that a process owed when it died."""
    books, settled_at = UsageBooks(connections), 0
    shared = SharedBudgets(plane, books, RunList(Catalog(connections)))

    def settle(now: int) -> None:
        nonlocal settled_at
        if now - settled_at > _SETTLED_EVERY:
            for workflow_id, moved in books.settle_owed(now).items():
                shared.check(workflow_id, moved)
            settled_at = now

    return settle
