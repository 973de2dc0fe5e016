"""Decides under what a run is listed, and which runs belong on a page of the list. Pure.

The facets of a run (status, workflow, version, agents, tags, parent, project) follow from its meta document. For each
there is an index of runs by creation time (`store/lists/pages.py`). An entry may be stale, so a page is made from the
meta documents of the runs that an index names, and `RunQuery.matches` leaves out those that are not wanted.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import field
from enum import StrEnum
from typing import Final, Literal

from dcf.core.documents.codec import read_assignment
from dcf.core.documents.model import RunStatus
from dcf.core.documents.parents import read_parent
from dcf.core.documents.usage_sums import run_sums_shown
from dcf.core.leasing.blockers import is_blocked
from dcf.core.listing.cursors import read_time_and_id
from dcf.values.instants import from_text
from dcf.values.json_text import Json
from dcf.values.record_json.codec import json_method
from dcf.values.records import record

LONGEST_PAGE: Final = 1000
"""Most runs of one page."""

SHORT_SHA: Final = 8
"""Characters of a definition's SHA-256 that tell versions of a workflow apart: shown, and used as a version."""

BY_ISSUE: Final = "issue"
"""The value under which runs that an issue blocks are listed."""

_SHA = re.compile(r"[0-9a-f]{8,64}\Z")
FOR_ANYBODY: Final = "*"
"""The entry in the lists by agent for a Task that any agent may take. It is no valid id of an agent."""


class Facet(StrEnum):
    """The facets of a run in lists: one status, one workflow, at most one parent and project, any number of others."""

    STATUS = "status"
    WORKFLOW = "workflow"
    VERSION = "version"
    AGENT = "agent"
    TAG = "tag"
    PARENT = "parent"
    PROJECT = "project"
    BLOCKED = "blocked"


@record(frozen=True, slots=True, kw_only=True)
class Cursor:
    """A place in the list: the creation time by the index, in server microseconds, and the id of the run before it."""

    score: int
    workflow_id: str

    def is_before(self, score: int, workflow_id: str) -> bool:
        """Return True if this entry comes after the place, newest first."""
        return (score, workflow_id) < (self.score, self.workflow_id)

    def __str__(self) -> str:
        return f"{self.score}:{self.workflow_id}"


def read_cursor(text: str | None) -> Cursor | None:
    """Read the cursor of an earlier answer; raise InvalidArgument for anything else."""
    place = read_time_and_id(text)
    return None if place is None else Cursor(score=place[0], workflow_id=place[1])


@record(frozen=True, slots=True, kw_only=True)
class RunQuery:
    """Request for a page of the list of runs, newest first. Each filter that is given must be met.

    `version` is the version in the workflow document, or the first 8 or more characters of the definition's SHA-256.
    `since` and `until` bound the creation time, in server microseconds; `until` is excluded. `stuck`: only runs
    that are stuck (`core/leasing/stuck.py`). `parent`: only the child runs of this run.
    `blocked`: only running runs that an issue blocks.
    """

    limit: int
    status: RunStatus | None = None
    workflow: str | None = None
    version: str | None = None
    agent: str | None = None
    tag: str | None = None
    parent: str | None = None
    project: str | None = None
    since: int | None = None
    until: int | None = None
    stuck: bool = False
    blocked: bool = False
    cursor: Cursor | None = None

    @property
    def facets(self) -> dict[Facet, str]:
        """The facets that it names, with the value by which the index is found."""
        named = {
            Facet.STATUS: self.status,
            Facet.WORKFLOW: self.workflow,
            Facet.VERSION: None if self.version is None else _version_key(self.version),
            Facet.AGENT: self.agent,
            Facet.TAG: self.tag,
            Facet.PARENT: self.parent,
            Facet.PROJECT: self.project,
            Facet.BLOCKED: BY_ISSUE if self.blocked else None,
        }
        return {facet: value for facet, value in named.items() if value is not None}

    def matches(self, row: "RunRow") -> bool:
        """Return True if a run that an index names is wanted."""
        return (
            (self.status is None or row.status == self.status)
            and (self.workflow is None or row.workflow_name == self.workflow)
            and (self.version is None or row.is_of_version(self.version))
            and (self.agent is None or self.agent in row.agents)
            and (self.tag is None or self.tag in row.tags)
            and (self.parent is None or row.parent == self.parent)
            and (self.project is None or row.project == self.project)
            and (not self.stuck or row.stuck)
            and (not self.blocked or row.blocked)
        )


@record(frozen=True, slots=True, kw_only=True)
class RunRow:
    """One line of the list of runs. `unreadable` is a run whose documents are damaged.

    Only the workflow's own states are counted; `states` is None where there are too many to count for a list.
    `agents` are filled in only where the list was asked for the runs of an agent.
    """

    workflow_id: str
    status: RunStatus | Literal["unreadable"]
    workflow_name: str | None = None
    workflow_version: str | None = None
    definition_sha256: str = ""
    tags: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    names: tuple[str, ...] | None = ()
    states_done: int | None = 0
    created_at: str | None = None
    finished_at: str | None = None
    finalized_at: str | None = None
    paused_at: str | None = None
    hold: bool = False
    stuck: bool = False
    blocked: bool = False
    parent: str | None = None
    project: str | None = None
    usage: Mapping[str, int] = field(default_factory=dict)

    def is_of_version(self, version: str) -> bool:
        """Return True if the run is of this version of its workflow."""
        is_sha = _SHA.match(version) is not None and self.definition_sha256.startswith(version)
        return is_sha or self.workflow_version == version

    @property
    def states(self) -> int | None:
        """Number of states of the workflow."""
        return None if self.names is None else len(self.names)

    def as_json(self) -> dict[str, Json]:
        """Return it as JSON."""
        return {
            "workflow_id": self.workflow_id,
            "workflow_name": self.workflow_name,
            "version": self.workflow_version,
            "definition": self.definition_sha256[:SHORT_SHA],
            "status": str(self.status),
            "paused": self.paused_at is not None,
            "blocked": self.blocked,
            "stuck": self.stuck,
            "states_done": self.states_done,
            "states": self.states,
            "tags": list(self.tags),
            "created_at": self.created_at,
            "finished_at": self.finished_at,
            "finalized": self.finalized_at is not None,
            "hold": self.hold,
            "parent": self.parent,
            "project": self.project,
        } | ({"usage": run_sums_shown(self.usage)} if self.usage else {})


@record(frozen=True, slots=True, kw_only=True)
class Counts:
    """How many runs the indexes have: in all, by status, and stuck. They are near: an entry may be stale."""

    runs: int = 0
    stuck: int = 0
    by_status: Mapping[str, int] = field(default_factory=dict)

    as_json = json_method("runs stuck **by_status")


@record(frozen=True, slots=True, kw_only=True)
class RunPage:
    """A page of the list, newest first, at the server's time `now`.

    `matching` is about how many runs the whole list has, None where several filters were given. A page may be short or
    even empty although further pages exist: `next_cursor` is None only on the last page.
    """

    now: int
    rows: tuple[RunRow, ...]
    counts: Counts
    matching: int | None
    next_cursor: Cursor | None

    def as_json(self) -> dict[str, Json]:
        """Return it as JSON."""
        return {
            "runs": [row.as_json() for row in self.rows],
            "counts": self.counts.as_json(),
            "matching": self.matching,
            "next_cursor": None if self.next_cursor is None else str(self.next_cursor),
        }


def facets_of(meta: Mapping[str, Json]) -> Iterator[tuple[Facet, str]]:
    """Yield what a run is listed under, from its meta document or from the fields of it that change."""
    for field_name, facet in (("status", Facet.STATUS), ("workflow_name", Facet.WORKFLOW)):
        yield from ((facet, value) for value in _texts([meta.get(field_name)]))
    sha, version = meta.get("definition_sha256"), meta.get("workflow_version")
    yield from ((Facet.VERSION, _version_key(value)) for value in dict.fromkeys(_texts([sha, version])))
    yield from ((Facet.AGENT, agent) for agent in agents_in(meta.get("agents")))
    if meta.get("for_anybody") is True:
        yield Facet.AGENT, FOR_ANYBODY
    if meta.get("blocked_by"):
        yield Facet.BLOCKED, BY_ISSUE
    tags = meta.get("tags")
    above = read_parent(meta.get("parent"))
    if above is not None:
        yield Facet.PARENT, above.run
    yield from ((Facet.PROJECT, project) for project in _texts([meta.get("project")]))
    yield from ((Facet.TAG, tag) for tag in dict.fromkeys(_texts(tags if isinstance(tags, list) else [])))


def agents_in(assignments: Json) -> tuple[str, ...]:
    """Return the agents that `meta.agents` names, each once."""
    agents = assignments.values() if isinstance(assignments, dict) else ()
    return tuple(dict.fromkeys(agent for value in agents for agent in read_assignment(value)))


def reassigned(meta: Mapping[str, Json], agents: Mapping[str, Json]) -> dict[str, Json]:
    """Return the fields of meta for other assignments.

    Agents that have no state any more stay named as `former_agents`: the lists of runs by agent still have the run.
    """
    now = set(agents_in(agents))
    former = [agent for agent in agents_ever(meta) if agent not in now]
    assigned = meta.get("agents")
    freed = isinstance(assigned, dict) and any(not read_assignment(agents.get(name)) for name in assigned)
    return (
        {"agents": dict(agents)}
        | ({"former_agents": former} if former else {})
        | ({"for_anybody": True} if freed else {})
    )


def agents_ever(meta: Mapping[str, Json]) -> tuple[str, ...]:
    """Return the agents that are assigned now, or were before, each once."""
    return tuple(dict.fromkeys((*agents_in(meta.get("agents")), *agents_in({"": meta.get("former_agents")}))))


def read_row(document: Mapping[str, Json], workflow_id: str, most_states: int) -> RunRow:
    """Read the fields of a meta document that the list shows; `states` are at most one more than `most_states`."""
    status, states, tags = document.get("status"), document.get("states"), document.get("tags")
    names = tuple(_texts(states)) if isinstance(states, list) else ()
    above = read_parent(document.get("parent"))
    return RunRow(
        workflow_id=workflow_id,
        status=RunStatus(status) if isinstance(status, str) and status in _STATUSES else "unreadable",
        workflow_name=_text(document.get("workflow_name")),
        workflow_version=_text(document.get("workflow_version")),
        definition_sha256=_text(document.get("definition_sha256")) or "",
        tags=tuple(_texts(tags)) if isinstance(tags, list) else (),
        agents=agents_in(document.get("agents")),
        names=names if states != [] and len(names) <= most_states else None,  # an open run has none there
        created_at=_text(document.get("created_at")),
        finished_at=_text(document.get("finished_at")),
        finalized_at=_text(document.get("finalized_at")),
        paused_at=_text(document.get("paused_at")),
        hold=document.get("hold") is True,
        blocked=is_blocked(document),
        parent=None if above is None else above.run,
        project=_text(document.get("project")),
    )


def listed_at(created_at: object, now: int) -> int:
    """Return a run's score in the indexes: when it was created, or `now` where that cannot be read."""
    at = from_text(created_at)
    return now if at is None else at


_STATUSES: Final = frozenset(RunStatus)


def _version_key(version: str) -> str:
    """Return the value by which a version is found: a SHA-256 is cut, so that its beginning finds it."""
    return version[:SHORT_SHA] if _SHA.match(version) else version


def _texts(values: list[Json]) -> Iterator[str]:
    return (value for value in values if isinstance(value, str) and value)


def _text(value: Json) -> str | None:
    return value if isinstance(value, str) else None
