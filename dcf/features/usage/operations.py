"""The usage of work: read by run, agent or project; and the budgets of runs. This module must not decide."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Final

from dcf.core.documents.decision import Decision, More, ReadSet, Snapshot
from dcf.core.documents.operations import RunAnswer, RunRequest
from dcf.core.documents.usage import BilledTurn, Budget, read_budget_change
from dcf.core.listing.runs import LONGEST_PAGE, RunQuery
from dcf.errors import InvalidArgument
from dcf.features.journal.model import ENTRIES, TAIL
from dcf.features.usage import budgets
from dcf.features.usage.charging import AUTHOR, block_by_project, blocked_by_project
from dcf.features.usage.storage import Kind, UsageBooks
from dcf.features.work.limit_operations import limits_of
from dcf.runs.control_plane import ControlPlane
from dcf.runs.requests import run_request
from dcf.runs.views.lists import RunList
from dcf.store.access.authors import current_author
from dcf.values.json_text import Json
from dcf.values.records import record, replace
from dcf.values.refusal import Refusal

if TYPE_CHECKING:
    from dcf.store.transaction.runs import Committed

MOST_DAYS: Final = 366
"""Most days of one answer."""

_ALL: Final = 1_000_000


@record(frozen=True, slots=True, kw_only=True)
class RunUsage:
    """The usage of a run: in all, by state, by agent and by model; and its budget."""

    total: Mapping[str, int]
    states: Mapping[str, Mapping[str, int]]
    agents: Mapping[str, Mapping[str, int]]
    models: Mapping[str, Mapping[str, int]]
    budget: Budget | None


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
        plane.after_usage = self.settle

    def settle(self, workflow_id: str, turns: Sequence[BilledTurn] = ()) -> None:
        """Move what a commit owes to the books. Block the run if the budget of its project is used up."""
        project, limits = self._books.settle(workflow_id, turns), limits_of(self._plane)
        budget = None if project is None or limits is None else limits.budget_of(project)
        if project is None or budget is None:
            return
        if budget.reached(self._books.book("project", project)[0]) is None:
            return
        issues = self._used_up(project)  # as it is now, not as this process knew it
        if issues is None:
            return

        def decide(snapshot: Snapshot) -> Decision[bool]:
            changes = block_by_project(snapshot, project, *issues)
            return Decision(answer=changes is not None, changes=changes)

        committed = self._plane.transactions.on_run(workflow_id, ReadSet(parts=ENTRIES.wanted((TAIL,))), decide)
        self._plane.follow_ups.after(workflow_id, committed)
        if committed.answer and self._used_up(project) is None:  # raised before the run could be found as blocked
            self._unblock(workflow_id, project)

    def of_run(self, workflow_id: str) -> RunUsage:
        """Return what a run used up. Raise UnknownRun if there is none."""
        meta = self._plane.read(workflow_id, (), whole_meta=False).meta
        parts = self._books.parts(workflow_id)
        (total,) = self._books.of_runs([workflow_id])
        return RunUsage(
            total=total,
            states=parts["states"],
            agents=parts["agents"],
            models=parts["models"],
            budget=None if meta is None else meta.budget,
        )

    def of_runs(self, workflow_ids: Sequence[str]) -> list[dict[str, int]]:
        """Return the sums of each of these runs."""
        return self._books.of_runs(workflow_ids)

    def of(self, kind: Kind, name: str, first: str, last: str) -> BookUsage:
        """Return what an agent or a project used up, by day from `first` to `last`."""
        total, days = self._books.book(kind, name, days_between(first, last))
        return BookUsage(total=total, days=days)

    def set_budget(
        self, workflow_id: str, change: Mapping[str, Json], *, reason: str | None = None, request_id: str | None = None
    ) -> RunAnswer | Refusal:
        """Change the budget of a run. A run that is blocked by its budget continues, if the new one is not used up."""
        change = read_budget_change(change)
        request = run_request("set_budget", reason, request_id, {"budget": dict(change)})
        issue = _issue_of(self._plane.read(workflow_id, (), whole_meta=False))
        while True:
            parts = {} if issue is None else ENTRIES.wanted((issue,))
            reads = ReadSet(
                run_receipts=(request.key,), open_states=(0, _ALL), usage=True, parts=parts, whole_meta=True
            )
            decide = partial(_decide, request=request, change=change, issue=issue)
            committed: Committed[RunAnswer | Refusal | More | _OtherIssue]
            committed = self._plane.transactions.on_run(workflow_id, reads, decide)
            answer = committed.answer
            if isinstance(answer, _OtherIssue):
                issue = answer.issue
                continue
            self._plane.follow_ups.after(workflow_id, committed)
            assert not isinstance(answer, More), "it knows what it reads"
            return answer

    def set_project_budget(self, project: str, change: Mapping[str, Json], *, reason: str | None = None) -> None:
        """Change the budget of a project. Its runs that are blocked by it continue, if the new one is not used up."""
        limits = limits_of(self._plane)
        assert limits is not None, "made with the control plane"
        limits.put_budget(project, read_budget_change(change))
        if self._used_up(project) is None:
            for workflow_id in self._blocked(project):
                self._unblock(workflow_id, project, reason)

    def _blocked(self, project: str) -> Iterator[str]:
        """Yield the running runs of a project that an issue blocks."""
        query: RunQuery | None = RunQuery(limit=LONGEST_PAGE, project=project, blocked=True)
        while query is not None:
            page = self._runs.list_runs(query)
            yield from (row.workflow_id for row in page.rows)
            query = None if page.next_cursor is None else replace(query, cursor=page.next_cursor)

    def _used_up(self, project: str) -> tuple[Budget, str] | None:
        """Return the budget that a project has now, and which part of it is used up; None if none is."""
        limits = limits_of(self._plane)
        assert limits is not None, "made with the control plane"
        limits.refresh()
        budget = limits.budget_of(project)
        reached = None if budget is None else budget.reached(self._books.book("project", project)[0])
        return None if budget is None or reached is None else (budget, reached)

    def _unblock(self, workflow_id: str, project: str, reason: str | None = None) -> None:
        """Resolve the issue by which the budget of its project blocks a run, if it does."""
        meta = self._plane.read(workflow_id, (), whole_meta=False).meta
        issues = () if meta is None else blocked_by_project(meta, project)
        if not issues:
            return

        def decide(snapshot: Snapshot) -> Decision[None]:
            by = current_author() or AUTHOR
            return budgets.unblock_for_project(snapshot, issues, reason, by)

        reads = ReadSet(open_states=(0, _ALL), parts=ENTRIES.wanted(issues) if issues else {}, whole_meta=True)
        self._plane.follow_ups.after(workflow_id, self._plane.transactions.on_run(workflow_id, reads, decide))


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


def days_between(first: str, last: str) -> list[str]:
    """Return the days from one to the other, both included, as 2026-11-23; raise InvalidArgument for no period."""
    begin, end = _day(first), _day(last)
    count = (end - begin).days + 1
    if not 0 < count <= MOST_DAYS:
        raise InvalidArgument(
            f"The period has {max(count, 0)} days; it may have 1 to {MOST_DAYS}.",
            "Give a later since, or another until.",
        )
    return [(begin + timedelta(days=number)).date().isoformat() for number in range(count)]


def _day(text: str) -> datetime:
    try:
        return datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC)
    except ValueError:
        raise InvalidArgument(f"'{text[:40]}' is not a day.", "Write days as 2026-11-23.") from None
