"""What work used up: read by run, agent or project, and what a run may use up. Decides nothing."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from dcf.core import budgets
from dcf.core.charging import AUTHOR, block_by_project
from dcf.core.decision import Decision, More, Reads, Snapshot
from dcf.core.journal import TAIL
from dcf.core.operations import RunAnswer
from dcf.core.usage import Budget
from dcf.errors import InvalidArgument
from dcf.runs.control_plane import ControlPlane
from dcf.runs.requests import run_request
from dcf.store.authors import current_author
from dcf.store.usage import Kind, UsageBooks
from dcf.values.records import record
from dcf.values.refusal import Refusal

MOST_DAYS: Final = 366
"""Most days of one answer."""

_ALL: Final = 1_000_000


@record(frozen=True, slots=True, kw_only=True)
class RunUsage:
    """What a run used up: in all, by state, by agent and by model, and what it may."""

    total: Mapping[str, int]
    states: Mapping[str, Mapping[str, int]]
    agents: Mapping[str, Mapping[str, int]]
    models: Mapping[str, Mapping[str, int]]
    budget: Budget | None


@record(frozen=True, slots=True, kw_only=True)
class BookUsage:
    """What an agent or a project used up: of all time, and of the days of the period that have any."""

    total: Mapping[str, int]
    days: Mapping[str, Mapping[str, int]]


class Usages:
    """Sums of usage, and budgets of runs. From now on `plane` has what its commits owe moved to the books."""

    def __init__(self, plane: ControlPlane, books: UsageBooks) -> None:
        self._plane = plane
        self._books = books
        plane.after_usage = self.settle

    def settle(self, workflow_id: str) -> None:
        """Move what a commit owes to the books. Block the run if the budget of its project is used up."""
        project, limits = self._books.settle(workflow_id), self._plane.limits
        budget = None if project is None or limits is None else limits.budget_of(project)
        if project is None or budget is None:
            return
        reached = budget.reached(self._books.book("project", project)[0])
        if reached is None:
            return

        def decide(snapshot: Snapshot) -> Decision[None]:
            return Decision(answer=None, changes=block_by_project(snapshot, project, budget, reached))

        self._plane.follow_ups.after(
            workflow_id, self._plane.transactions.on_run(workflow_id, Reads(journal=(TAIL,)), decide)
        )

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
        self, workflow_id: str, budget: Budget | None, *, reason: str | None = None, request_id: str | None = None
    ) -> RunAnswer | Refusal:
        """Say what a run may use up. One that is blocked by its budget goes on, if the new one is not used up."""
        told = None if budget is None else budget.as_json()
        request = run_request("set_budget", reason, request_id, {"budget": told})
        meta = self._plane.read(workflow_id, (), whole_meta=False).meta
        issue = None if meta is None or meta.budget is None else meta.budget.issue
        journal = () if issue is None else (issue,)
        reads = Reads(run_receipts=(request.key,), open_states=(0, _ALL), usage=True, journal=journal)

        committed = self._plane.transactions.on_run(
            workflow_id,
            reads,
            lambda snapshot: budgets.set_budget(snapshot, request, budget, current_author() or AUTHOR),
        )
        self._plane.follow_ups.after(workflow_id, committed)
        assert not isinstance(committed.answer, More), "it knows what it reads"
        return committed.answer


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
