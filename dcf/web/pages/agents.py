"""The page of agents and their leases: who holds what and until when, who was seen, and how their platforms are.

Leases are read from the runs under way, a page of runs at a time, as no index has them. Facts across projects
(registered agents, when they were seen, their skills) are shown to operators only.
"""

import math
from collections.abc import Iterator, Mapping
from typing import Any, Final

from dcf.core.access.model import Scope
from dcf.errors import UnknownRun
from dcf.runs.views.overview import Glance, glance
from dcf.values.instants import SECOND, to_text
from dcf.values.json_text import Json
from dcf.values.records import record
from dcf.web.durations import span
from dcf.web.moments import this_moment
from dcf.web.templating import html, query
from dcf.web.visit import Visit

_RUNS: Final = 25
"""Runs whose states are read for one page."""
_AGENTS: Final = 50


@record(frozen=True, slots=True, kw_only=True)
class LeaseRow:
    """A state that an agent holds. `left_s` is negative once the lease has expired and no agent took over.

    While its output is judged, no time runs: then `left_s` is None.
    """

    agent_id: str
    run: str
    state: str
    left_s: float | None
    until: str
    attempts: int

    @property
    def is_over(self) -> bool:
        """True once the lease has expired and no agent took over."""
        return self.left_s is not None and self.left_s <= 0

    @property
    def left(self) -> str:
        """The time that is left, in words."""
        if self.left_s is None:
            return "while its output is judged"
        return span(self.left_s) if self.left_s > 0 else f"over for {span(-self.left_s)}"


def agents_page(visit: Visit, parameters: Mapping[str, str]) -> str:
    """Return the page. Raise ToolRefused for who may not read runs."""
    cursor, first_agent = parameters.get("cursor") or None, _number(parameters.get("from"))
    at = this_moment()
    listed = visit.ask("list_runs", status="running", limit=_RUNS, cursor=cursor)
    leases = sorted(_leases(visit, [row["workflow_id"] for row in listed["runs"]]), key=_soonest)
    sees_all = visit.may("read_health") and visit.caller.project is None
    health = visit.ask("read_health")["facts"] if sees_all else {}
    registered = visit.ask("list_registered_agents")["agents"] if sees_all else []
    agents = _agents(leases, health.get("agents", ()), registered)
    shown = agents[first_agent : first_agent + _AGENTS]
    further = listed["next_cursor"]
    return html(
        "agents.html",
        title="Agents and leases",
        visit=visit,
        at=at,
        here=_link(cursor, first_agent).partition("#")[0],
        leases=leases,
        over=sum(lease.is_over for lease in leases),
        agents=[agent | {"skills": _skills(visit, agent["agent_id"])} for agent in shown] if sees_all else shown,
        sees_all=sees_all,
        platforms=health.get("platforms", ()),
        count=len(agents),
        more_agents=_link(cursor, first_agent + _AGENTS) if len(agents) > first_agent + _AGENTS else None,
        fewer_agents=_link(cursor, max(0, first_agent - _AGENTS)) if first_agent else None,
        runs_read=len(listed["runs"]),
        further=None if further is None else f"/ui/agents{query(cursor=further)}",
        first=None if cursor is None else "/ui/agents",
    )


def _leases(visit: Visit, runs: list[str]) -> Iterator[LeaseRow]:
    """Yield the leases in runs of a list, which had only those that the caller may see."""
    for workflow_id in runs:
        try:
            yield from _leases_of(glance(visit.application.control_plane, workflow_id))
        except UnknownRun:  # it was deleted since
            continue


def _leases_of(run: Glance) -> Iterator[LeaseRow]:
    for path, state in run.states.items():
        lease = state.doc.lease
        if state.doc.status.is_terminal or lease.token is None or lease.expires_at is None:
            continue
        yield LeaseRow(
            agent_id=lease.owner_agent_id or "",
            run=run.workflow_id,
            state=path,
            left_s=None if state.doc.is_judged else (lease.expires_at - run.now) / SECOND,
            until=to_text(lease.expires_at),
            attempts=state.doc.attempts,
        )


def _soonest(lease: LeaseRow) -> float:
    """Return what sorts the lease that ends first before the others."""
    return math.inf if lease.left_s is None else lease.left_s


def _agents(
    leases: list[LeaseRow], seen: list[Mapping[str, Json]], registered: list[Mapping[str, Json]]
) -> list[dict[str, Any]]:
    """Return all known agents: holders first (whose lease ends before others), then those that were seen last."""
    ago = {agent["agent_id"]: agent["ago_s"] for agent in seen}
    known = {agent["agent_id"]: agent for agent in registered}
    agents = []
    for agent_id in dict.fromkeys((*(lease.agent_id for lease in leases), *ago, *known)):
        there = known.get(agent_id, {})
        agents.append(
            {
                "agent_id": agent_id,
                "seen": None if agent_id not in ago else f"{span(ago[agent_id])} ago",
                "platform": there.get("platform") or "inbox",
                "url": there.get("url"),
                "rest": there.get("rest"),
                "is_registered": bool(there),
                "holds": [lease for lease in leases if lease.agent_id == agent_id],
            }
        )
    return agents


def _skills(visit: Visit, agent_id: str) -> list[str]:
    """Return the skills that were loaded into an agent; no tool tells those of any agent, so operators only."""
    assert Scope.OPERATE in visit.caller.scopes, "asked before"
    return [f"{holding.name}@{holding.version}" for holding in visit.application.equipment.loaded(agent_id)]


def _link(cursor: str | None, first_agent: int) -> str:
    return f"/ui/agents{query(cursor=cursor, **({'from': str(first_agent)} if first_agent else {}))}#agents"


def _number(text: str | None) -> int:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) <= 6 else 0  # noqa: PLR2004 - digits
