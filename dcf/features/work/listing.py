"""Decides which states of which runs are work for a caller: ready, held, or standing still. Pure.

Work is found across all live runs, the oldest run first, and in a run what needs attention first. The list of work is
kept nowhere: a page is made of the documents of runs and states (`features/work/storage.py`), so it is never stale.
"""

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from dcf.core.documents.model import StateDoc, Status
from dcf.core.listing.cursors import parts_of_cursor
from dcf.errors import InvalidArgument
from dcf.values.instants import from_text, to_text
from dcf.values.json_text import Json
from dcf.values.record_json.codec import json_method
from dcf.values.records import record

LONGEST_PAGE: Final = 200
"""Most items of one page."""

_CURSOR: Final = re.compile(r"([0-9]{1,16}):([A-Za-z0-9][A-Za-z0-9_.-]{0,63}):([0-9]{1,7})\Z", re.ASCII)


class WorkStatus(StrEnum):
    """How a piece of work stands.

    `ready`: it can be taken now. `running`: somebody holds it. `review`: a check of its result runs. `blocked`: it is
    open and cannot be taken, since it waits for other states or for a time, or its run is paused or blocked. `done`: it
    has ended, however.
    """

    READY = "ready"
    RUNNING = "running"
    REVIEW = "review"
    BLOCKED = "blocked"
    DONE = "done"


@record(frozen=True, slots=True, kw_only=True)
class WorkPlace:
    """A place in the list: a run, by its score in the lists of runs, and how many of its states come before."""

    score: int
    workflow_id: str
    skipped: int = 0

    def __str__(self) -> str:
        return f"{self.score}:{self.workflow_id}:{self.skipped}"


def read_work_place(text: str | None) -> WorkPlace | None:
    """Read the cursor of an earlier answer; raise InvalidArgument for anything else."""
    parts = parts_of_cursor(_CURSOR, text)
    return None if parts is None else WorkPlace(score=int(parts[1]), workflow_id=parts[2], skipped=int(parts[3]))


@record(frozen=True, slots=True, kw_only=True)
class WorkQuery:
    """Request for a page of work. Each filter that is given must be met.

    With an `agent`, its leased work, and work that is open to it: assigned to it, or unassigned. Without, everybody's.
    """

    limit: int
    agent: str | None = None
    status: WorkStatus | None = None
    project: str | None = None
    workflow: str | None = None
    run: str | None = None
    skill: str | None = None
    place: WorkPlace | None = None

    def __post_init__(self) -> None:
        if not 0 < self.limit <= LONGEST_PAGE:
            raise InvalidArgument(f"limit is not between 1 and {LONGEST_PAGE}.", "Page on with the cursor.")
        if self.status is WorkStatus.DONE and not any((self.agent, self.project, self.workflow, self.run)):
            raise InvalidArgument(
                "What is done can be listed only of an agent, a project, a workflow or a run.", "Name one of them."
            )

    def wants(self, item: "WorkItem") -> bool:
        """Return True if an item is wanted. Leased work is only for its lease holder."""
        return (
            (item.status is self.status if self.status is not None else item.status is not WorkStatus.DONE)
            and (self.project is None or item.project == self.project)
            and (self.workflow is None or item.workflow_name == self.workflow)
            and (self.run is None or item.workflow_id == self.run)
            and (self.skill is None or self.skill in item.skills)
            and (self.agent is None or self._is_for(self.agent, item))
        )

    def _is_for(self, agent: str, item: "WorkItem") -> bool:
        if item.holder is not None:
            return item.holder == agent
        return not item.agents or agent in item.agents


@record(frozen=True, slots=True, kw_only=True)
class WorkItem:
    """One piece of work: a state of a run. `since` is when it became so, in server microseconds, if that is known."""

    workflow_id: str
    state: str
    status: WorkStatus
    title: str
    attempt: int
    workflow_name: str | None = None
    project: str | None = None
    since: int | None = None
    holder: str | None = None
    expires_at: int | None = None
    agents: tuple[str, ...] = ()
    skills: tuple[str, ...] = ()
    outcome: str | None = None
    why: str | None = None

    as_json = json_method(
        "workflow_id state status own_title workflow_name project attempt since holder expires_at agents skills "
        "outcome why",
        named={"own_title": "title", "expires_at": "lease_expires_at"},
        times="since expires_at",
        left_out="empty",
    )

    @property
    def own_title(self) -> str | None:
        """Its title, if that says more than its name."""
        return self.title if self.title != self.state else None


@record(frozen=True, slots=True, kw_only=True)
class WorkPage:
    """A page of work, the oldest run first. It may be short, even empty: `next_place` says whether there are more."""

    now: int
    items: tuple[WorkItem, ...]
    next_place: WorkPlace | None


@record(frozen=True, slots=True, kw_only=True)
class RunFacts:
    """The facts about work in a run's meta document."""

    workflow_id: str
    workflow_name: str | None
    project: str | None
    created_at: int | None
    stands_still: str | None


def facts_of(workflow_id: str, meta: Mapping[str, Json]) -> RunFacts:
    """Read the fields of a meta document that the list of work needs."""
    blocked = meta.get("blocked_by")
    stands_still = "its run is paused" if meta.get("paused_at") else "its run is blocked" if blocked else None
    return RunFacts(
        workflow_id=workflow_id,
        workflow_name=_text(meta.get("workflow_name")),
        project=_text(meta.get("project")),
        created_at=from_text(meta.get("created_at")),
        stands_still=stands_still,
    )


def item_of(
    run: RunFacts, state: str, doc: StateDoc, agents: tuple[str, ...], skills: tuple[str, ...], now: int
) -> WorkItem | None:
    """Return a state as a piece of work; None if it is not for agents."""
    status, why = _standing(run, doc, now)
    if status is None:
        return None
    is_held = status in (WorkStatus.RUNNING, WorkStatus.REVIEW)
    return WorkItem(
        workflow_id=run.workflow_id,
        state=state,
        status=status,
        title=_text(doc.extra.get("title")) or state,
        attempt=doc.attempts if is_held or status is WorkStatus.DONE else doc.attempts + 1,
        workflow_name=run.workflow_name,
        project=run.project,
        since=_since(run, doc, status),
        holder=doc.lease.owner_agent_id if is_held else None,
        expires_at=doc.lease.expires_at if status is WorkStatus.RUNNING else None,  # while it is judged, no time runs
        agents=agents,
        skills=skills or _texts(doc.extra.get("skills")),
        outcome=doc.status.value if status is WorkStatus.DONE else None,
        why=why,
    )


def _standing(run: RunFacts, doc: StateDoc, now: int) -> tuple[WorkStatus | None, str | None]:
    if doc.status.is_terminal:
        return (None if doc.is_scope or doc.status is Status.SKIPPED else WorkStatus.DONE), None
    if doc.is_judged:
        return WorkStatus.REVIEW, None
    if doc.kind is not None:
        return None, None
    if doc.lease.is_live(now):
        return WorkStatus.RUNNING, None
    why = _obstacle(run, doc, now)
    return (WorkStatus.READY if why is None else WorkStatus.BLOCKED), why


def _obstacle(run: RunFacts, doc: StateDoc, now: int) -> str | None:
    if not doc.is_ready:
        return f"it waits for {', '.join(sorted(name for name, epoch in doc.waits_for.items() if not epoch)[:5])}"
    if run.stands_still is not None:
        return run.stands_still
    met = doc.limit(now)
    if met is not None:
        account = "a usage limit" if met.account is None else f"account {met.account}"
        return f"it waits for {account} until {to_text(met.until)[:19]}Z"
    return None if doc.is_claimable(now) else "it waits for the time of its next attempt"


def _since(run: RunFacts, doc: StateDoc, status: WorkStatus) -> int | None:
    if status is WorkStatus.DONE:
        return doc.finished_at
    if status in (WorkStatus.RUNNING, WorkStatus.REVIEW):
        return doc.started_at
    if status is WorkStatus.READY:
        return doc.not_before or doc.entry_epoch or run.created_at
    return None


def _texts(value: Json) -> tuple[str, ...]:
    return tuple(text for text in value if isinstance(text, str)) if isinstance(value, list) else ()


def _text(value: Json) -> str | None:
    return value if isinstance(value, str) else None
