"""Answers "where am I, and what next" for an agent, a session or a run, from what is stored. Never writes.

It reads a bounded number of runs, states and entries, however many there are; `features/agent_context/rules.py` says
how much of it fits an answer.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from dcf.core.definitions.briefs import Brief, brief_of
from dcf.core.documents.model import RunStatus
from dcf.core.listing.runs import RunQuery
from dcf.errors import NotFound
from dcf.features.agent_context.rules import MOST_RUNS, ContextPiece, ContextQuery, entry_piece
from dcf.features.journal.model import EntryKind
from dcf.features.journal.operations import Journal
from dcf.features.journal.query import JournalQuery
from dcf.features.work.listing import WorkItem, WorkQuery, WorkStatus
from dcf.features.work.operations import WorkFinding
from dcf.runs.control_plane import ControlPlane
from dcf.runs.views.lists import RunList
from dcf.runs.views.reading import RunViews
from dcf.runs.views.status import RunView, known
from dcf.values.json_text import Json, without_nulls
from dcf.values.text_pieces import clip
from dcf.workforce.assignment import Desk
from dcf.workforce.steps import Step, ask_why_held, steps_for, wait_for_event

_ITEMS: Final = 50
"""Pieces of work that are looked at."""

_ISSUES: Final = 10
_DECISIONS: Final = 5
_HANDOFFS: Final = 3
_MOST_STEPS: Final = 5
_INSTRUCTIONS: Final = 4_000
"""Characters of the instructions of a state that a context shows."""


class Contexts:
    """The context that agents need to continue."""

    def __init__(
        self, plane: ControlPlane, views: RunViews, run_list: RunList, work: WorkFinding, journal: Journal, desk: Desk
    ) -> None:
        self._plane = plane
        self._views = views
        self._run_list = run_list
        self._work = work
        self._journal = journal
        self._desk = desk

    def get_context(self, query: ContextQuery) -> list[ContextPiece]:
        """Return the pieces, the most important first. Raise UnknownRun for a run that does not exist."""
        items = self._items(query)
        runs = self._runs(query, items)
        described = [
            described_run
            for run in runs[:MOST_RUNS]
            if (described_run := self._described(query, run, items)) is not None
        ]
        left = [ContextPiece(section="runs", item={"workflow_id": run}) for run in runs[MOST_RUNS:]]
        return [*_interleaved(described), *left]

    def _items(self, query: ContextQuery) -> list[WorkItem]:
        """Return what the agent holds and what is ready for it; of a run or session without one, all such work."""
        if query.agent is None and query.run is None:
            return []
        work_query = WorkQuery(limit=_ITEMS, agent=query.agent, run=query.run, project=query.project)
        items = self._work.find_work(work_query).items
        return [item for item in items if item.status in (WorkStatus.RUNNING, WorkStatus.REVIEW, WorkStatus.READY)]

    def _runs(self, query: ContextQuery, items: Sequence[WorkItem]) -> list[str]:
        """Return the runs that matter: where something is held, then those with other work, newest first."""
        if query.run is not None:
            return [query.run]
        listed: list[str] = []
        if query.session is not None:
            listed = self._listed(RunQuery(limit=2 * MOST_RUNS, tag=query.session, project=query.project))
            if query.agent is None:
                return listed
        held_runs = [item.workflow_id for item in items if item.status is not WorkStatus.READY]
        ready = [item.workflow_id for item in items if item.status is WorkStatus.READY]
        agent = query.agent or ""
        own = self._listed(RunQuery(limit=2 * MOST_RUNS, agent=agent, project=query.project))
        runs = [*held_runs, *self._desk.planned_by(agent, query.project), *own, *ready]
        near = runs if query.session is None else [run for run in runs if run in listed] + listed
        return list(dict.fromkeys(near))

    def _listed(self, query: RunQuery) -> list[str]:
        page = self._run_list.list_runs(replace(query, status=RunStatus.RUNNING))
        return [row.workflow_id for row in page.rows]

    def _described(self, query: ContextQuery, run: str, items: Sequence[WorkItem]) -> list[ContextPiece] | None:
        """Return the pieces of one run; None if it was deleted meanwhile."""
        own = [item for item in items if item.workflow_id == run]
        if query.agent is None and query.run is None:
            own = [*self._work.find_work(WorkQuery(limit=_ITEMS, run=run)).items]
        try:
            view = self._views.read(run, tuple(dict.fromkeys(work.state for work in own)))
            return [*self._pieces(query, run, view, own)]
        except NotFound:
            if query.run is not None:
                raise
            return None

    def _pieces(self, query: ContextQuery, run: str, view: RunView, own: Sequence[WorkItem]) -> Iterator[ContextPiece]:
        briefs = {item.state: self._brief(run, view, item.state) for item in own}
        held_items = [item for item in own if item.status in (WorkStatus.RUNNING, WorkStatus.REVIEW)]
        ready = [item for item in own if item.status is WorkStatus.READY]
        yield ContextPiece(section="runs", item=_run_item(run, view, query.agent))
        for step in _steps(query.agent, run, view, held_items, ready):
            yield ContextPiece(section="next", item=step.as_json())
        for work in held_items:
            yield ContextPiece(section="held", item=_work_item(work, briefs[work.state]))
        yield from self._told(run)
        for work in ready:
            yield ContextPiece(section="ready", item=_work_item(work, briefs[work.state]))
        for work in held_items:
            if work.state in view.states:
                state_input = known(view.states[work.state].given)
                yield ContextPiece(
                    section="inputs", item={"workflow_id": run, "state": work.state, "input": state_input}
                )

    def _told(self, run: str) -> Iterator[ContextPiece]:
        """Yield what the journal has: issues that are open, the latest handoffs, decisions and milestone."""
        issues = self._journal.read_journal(run, JournalQuery(limit=_ISSUES, open=True)).entries
        for issue in sorted(issues, key=lambda entry: not entry.blocks):
            yield entry_piece("issues", run, issue)
        for section, kind, most in (
            ("handoffs", EntryKind.HANDOFF, _HANDOFFS),
            ("decisions", EntryKind.DECISION, _DECISIONS),
            ("milestones", EntryKind.MILESTONE, 1),
        ):
            for issue in self._journal.read_journal(run, JournalQuery(limit=most, kind=kind)).entries:
                yield entry_piece(section, run, issue)

    def _brief(self, run: str, view: RunView, state: str) -> Brief:
        if state not in view.states:
            return Brief()
        state_view = view.states[state]
        return brief_of(self._plane.run(run).definition, state_view.path, state_view.given)


def _interleaved(runs: Sequence[Sequence[ContextPiece]]) -> Iterator[ContextPiece]:
    """Yield the pieces of all runs by importance: what is most important of each run before what is less."""
    order = ("runs", "next", "held", "issues", "handoffs", "decisions", "ready", "milestones", "inputs")
    steps = 0
    for section in order:
        for pieces in runs:
            for piece in pieces:
                if piece.section != section:
                    continue
                steps += section == "next"
                if section != "next" or steps <= _MOST_STEPS:
                    yield piece


def _run_item(run: str, view: RunView, agent: str | None) -> dict[str, Json]:
    document = view.document
    shown: dict[str, Json] = {
        "workflow_id": run,
        "workflow_name": document.get("workflow_name"),
        "status": view.word,
        "project": document.get("project"),
        "tags": document.get("tags") or None,
        "you_plan_it": True if agent is not None and view.meta.planner_agent_id == agent else None,
        "blocked_by": [blocker.as_json() for blocker in view.meta.blocked_by] or None,
    }
    return without_nulls(shown)


def _work_item(work_item: WorkItem, brief: Brief) -> dict[str, Json]:
    values = {name: value for name, value in brief.as_json().items() if name != "skills"}
    if brief.instructions is not None:
        values["instructions"] = clip(brief.instructions, _INSTRUCTIONS)
    return {**work_item.as_json(), **values}


def _steps(
    agent: str | None, run: str, view: RunView, work_items: Sequence[WorkItem], ready: Sequence[WorkItem]
) -> Iterator[Step]:
    """Yield the calls to make in this run: for what is held, for what blocks it, for what is ready."""
    where: dict[str, Json] = {"workflow_id": run}
    if agent is not None:
        yield from (
            _of_state(agent, run, view, work_item.state) for work_item in work_items if work_item.state in view.states
        )
    if view.meta.hold is not None:
        yield ask_why_held(where)
    elif view.meta.blocked_by:
        yield Step(tool="read_journal", arguments=where | {"open": True}, why="Issues block the run; it shows them.")
        if agent is not None and view.meta.planner_agent_id == agent:
            call = {"issue": view.meta.blocked_by[0].issue, "how": "<how it was resolved>", "agent_id": agent}
            yield Step(tool="resolve_issue", arguments=where | call, why="No lease is granted until it is resolved.")
    elif agent is not None and ready and not work_items:
        yield _of_state(agent, run, view, ready[0].state)
    if agent is None:
        yield Step(tool="explain_run", arguments=where, why="It says what the run waits for.")
    elif not work_items and not ready:
        yield wait_for_event(agent)


def _of_state(agent: str, run: str, view: RunView, state: str) -> Step:
    state_view = view.states[state]
    is_held = state_view.doc.lease.is_live(view.now) and state_view.doc.lease.owner_agent_id == agent
    ready, running = state_view.ready, view.status is RunStatus.RUNNING
    return steps_for(
        run, state_view.path, agent, state_view.doc, ready=ready, held=is_held, running=running, missing=(), loaded=()
    )[0]
