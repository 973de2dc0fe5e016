"""Finds the runs that concern an agent, without reading the documents of all runs.

It looks in three places, the cheap ones first: the runs that the agent was created for, the runs of its unread events,
and, only if neither has any, the newest live runs.
"""

from collections.abc import Iterable, Mapping
from dataclasses import field

from dcf.core.documents.codec import read_assignment
from dcf.store.connection.connections import Connections
from dcf.store.forms.form import Member
from dcf.store.keys import table as keys
from dcf.store.keys.table import RunKeys
from dcf.store.lists.shards import in_every_shard, newest, newest_commands
from dcf.values.json_text import Json, load
from dcf.values.records import record

_MOST = 50
_FIELDS = ("status", "agents", "project", "planner_agent_id")


@record(frozen=True, slots=True, kw_only=True)
class Assignments:
    """Assignments of one run; `status` is the run's. A state without an entry may be taken by any agent."""

    workflow_id: str
    status: str
    agents: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    project: str | None = None
    planner: str | None = None

    def of(self, agent_id: str) -> tuple[str, ...]:
        """Return the states that the agent is assigned to, alone or in a pool."""
        return tuple(state for state, pool in self.agents.items() if agent_id in pool)


class AssignmentIndex:
    """Runs by agent."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def runs_of(self, agent_id: str) -> list[str]:
        """Return the runs that the agent was created for or has unread events of, newest first."""
        made, inbox = self._connections.send(
            ("ZREVRANGE", keys.assigned(agent_id), 0, _MOST - 1),
            ("XREVRANGE", keys.inbox(agent_id), "+", "-", "COUNT", _MOST),
        )
        events = [load(dict(zip(fields[::2], fields[1::2], strict=True))[b"event"]) for _, fields in inbox]
        workflow_ids = [event["workflow_id"] for event in events if isinstance(event.get("workflow_id"), str)]
        return list(dict.fromkeys([*(agent.decode() for agent in made), *workflow_ids]))

    def is_named(self, agent_id: str) -> bool:
        """Return True if a run assigns, or assigned, a state to the agent."""
        lists = in_every_shard(keys.runs_by("agent", agent_id), self._connections.shards)
        return any(self._connections.send(*(("EXISTS", key) for key in lists)))

    def newest_live(self) -> list[str]:
        """Return the newest runs that have not ended."""
        return newest(self._connections.send(*newest_commands(keys.LIVE, self._connections.shards, _MOST)), _MOST)

    def read(self, workflow_ids: Iterable[str]) -> list[Assignments]:
        """Return the assignments of these runs, in one round trip. Runs that do not exist are left out."""
        ids = list(workflow_ids)
        if not ids:
            return []
        form = self._connections.form
        replies = self._connections.send(*(form.members(RunKeys(run).meta, _FIELDS) for run in ids))
        fields_by_run = [form.values(_FIELDS, reply) for reply in replies]
        return [_read(run, own) for run, own in zip(ids, fields_by_run, strict=True) if own is not None]


def _read(workflow_id: str, document: Mapping[Member, Json]) -> Assignments:
    status, agents, project, planner = map(document.get, _FIELDS)
    pools = agents if isinstance(agents, dict) else {}
    return Assignments(
        workflow_id=workflow_id,
        status=str(status),
        agents={state: read_assignment(value) for state, value in pools.items()},
        project=project if isinstance(project, str) else None,
        planner=planner if isinstance(planner, str) else None,
    )
