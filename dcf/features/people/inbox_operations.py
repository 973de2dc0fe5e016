"""Everything that waits for people, as one list: tasks and questions, then verdicts, then issues that block runs.

Each of the three is a list of its own (`features/people/storage.py`, `features/gates/storage.py`, the list of runs), so
they follow each other, and a cursor names the list in which a page begins. A verdict that people are asked for by name
is among the tasks. The second list has the verdicts that anybody may give, and those of a person in the role of an
agent.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from dcf.core.leasing.blockers import Blocker
from dcf.core.listing.runs import RunQuery, read_cursor
from dcf.features.gates.consequences import GateCase
from dcf.features.gates.listing import GateQuery, read_gate_place
from dcf.features.gates.model import OpenGate, submission_of
from dcf.features.people.listing import HumanTaskQuery, InboxPlace, Source, gate_row, read_place
from dcf.values.instants import to_text
from dcf.values.json_text import Json
from dcf.values.records import record, replace

if TYPE_CHECKING:
    from dcf.features.gates.operations import Gates
    from dcf.features.people.operations import People
    from dcf.runs.views.lists import RunList
    from dcf.runs.views.reading import RunViews

_MOST_PAGES: Final = 10
"""Pages of the three lists that one answer looks at; then the answer ends."""

Row = dict[str, Json]


@record(frozen=True, slots=True, kw_only=True)
class InboxPage:
    """A page of open items: each row with the place after it, and the place for the next page."""

    rows: tuple[tuple[Row, InboxPlace], ...] = ()
    next_place: InboxPlace | None = None


class WaitingForPeople:
    """All items that wait for people, of all kinds."""

    def __init__(self, people: "People", gates: "Gates", runs: "RunViews", run_list: "RunList") -> None:
        self._people = people
        self._gates = gates
        self._runs = runs
        self._run_list = run_list

    def page(self, query: HumanTaskQuery, place: InboxPlace, *, whole: bool) -> InboxPage:
        """Return a page of what waits. Of one state only the tasks are looked for."""
        rows: list[tuple[Row, InboxPlace]] = []
        following: InboxPlace | None = place
        for _ in range(_MOST_PAGES):
            if following is None or len(rows) == query.limit:
                break
            page = self._of_list(replace(query, limit=query.limit - len(rows)), following, whole=whole)
            rows += page.rows
            following = page.next_place
        return InboxPage(rows=tuple(rows), next_place=following)

    def _of_list(self, query: HumanTaskQuery, place: InboxPlace, *, whole: bool) -> InboxPage:
        if place.source is Source.TASKS:
            return self._tasks(query, place, whole=whole)
        return self._verdicts(query, place) if place.source is Source.VERDICTS else self._issues(query, place)

    def _tasks(self, query: HumanTaskQuery, place: InboxPlace, *, whole: bool) -> InboxPage:
        page = self._people.list_human_tasks(replace(query, place=read_place(place.after)))
        rows = tuple((row.as_json(whole=whole), replace(place, after=str(row.place))) for row in page.rows)
        if page.next_place is not None:
            return InboxPage(rows=rows, next_place=replace(place, after=str(page.next_place)))
        return InboxPage(rows=rows, next_place=None if query.state is not None else InboxPlace(source=Source.VERDICTS))

    def _verdicts(self, query: HumanTaskQuery, place: InboxPlace) -> InboxPage:
        after = read_gate_place(place.after)
        if query.run is not None:
            page = self._gates.of_run(query.run, query.limit, after, contents=False)
        else:
            gates_asked = GateQuery(
                limit=query.limit, name=query.person, groups=query.groups, project=query.project, place=after
            )
            page = self._gates.waiting_for(gates_asked, contents=False)
        rows = tuple(
            (gate_row(run, case.state, case.doc, gate), replace(place, after=str(at)))
            for (run, case), at in zip(page.rows, page.places, strict=True)
            for gate in _open(case, query)
        )
        if page.next_place is not None:
            return InboxPage(rows=rows, next_place=replace(place, after=str(page.next_place)))
        is_for_groups = query.person is None and bool(query.groups)
        return InboxPage(rows=rows, next_place=None if is_for_groups else InboxPlace(source=Source.ISSUES))

    def _issues(self, query: HumanTaskQuery, place: InboxPlace) -> InboxPage:
        if query.run is not None:
            return InboxPage(rows=tuple((row, place) for row in self._blocking(query.run)))
        cursor = read_cursor(place.after)
        issues_asked = RunQuery(limit=query.limit, blocked=True, project=query.project, cursor=cursor)
        page = self._run_list.list_runs(issues_asked)
        further = None if page.next_cursor is None else replace(place, after=str(page.next_cursor))
        rows = tuple((row, place) for listed in page.rows for row in self._blocking(listed.workflow_id))
        return InboxPage(rows=rows, next_place=further)

    def _blocking(self, workflow_id: str) -> list[Row]:
        """Return the issues that block a run; its hold is for operators."""
        blockers = self._runs.read(workflow_id).meta.blocked_by
        return [_issue(workflow_id, blocker) for blocker in blockers if not blocker.is_hold]


def _open(case: GateCase, query: HumanTaskQuery) -> Iterator[OpenGate]:
    """Yield the gates of an output that a person may judge, and that are not among the tasks."""
    submission = submission_of(case.doc)
    if submission is None or (query.person is not None and query.person == case.kept.author):
        return
    for open_gate in submission.open:
        if open_gate.by_people:
            is_wanted = query.person is not None and open_gate.people.is_empty  # else it is on the list of tasks
        else:
            is_wanted = open_gate.kind != "command" and (not open_gate.to or query.person in open_gate.to)
        if is_wanted:
            yield open_gate


def _issue(workflow_id: str, blocker: Blocker) -> Row:
    return {
        "workflow_id": workflow_id,
        "title": blocker.text,
        "issue": blocker.issue,
        "to": [],
        "since": to_text(blocker.since),
    }
