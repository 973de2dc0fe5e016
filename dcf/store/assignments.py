"""Which runs an agent has to do with, found without looking through all runs' documents.

Three places, the cheap ones first: the runs that the agent was made for, the runs its unread events speak of, and,
only when neither says anything, the newest live runs.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from dcf.core.codec import read_assignment
from dcf.store import keys
from dcf.store.connection import Command, Connections
from dcf.store.keys import RunKeys
from dcf.values.json_text import Json, load

_LIFE_S = 30 * 24 * 3600
_MOST = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignments:
    """Who is assigned to what in one run; `status` is the run's. A state without an entry may be taken by any agent."""

    workflow_id: str
    status: str
    agents: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def of(self, agent_id: str) -> tuple[str, ...]:
        """List the states that the agent is assigned to, alone or in a pool."""
        return tuple(state for state, pool in self.agents.items() if agent_id in pool)


class AssignmentIndex:
    """Runs by agent."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def add(self, workflow_id: str, agent_ids: Iterable[str]) -> None:
        """Note that these agents were made for a run."""
        (clock,) = self._connections.send(("TIME",))
        commands = list[Command]()
        for key in map(keys.assigned, agent_ids):
            commands += [("ZADD", key, int(clock[0]), workflow_id), ("EXPIRE", key, _LIFE_S)]
        if commands:
            self._connections.send(*commands)

    def runs_of(self, agent_id: str) -> list[str]:
        """List the runs that the agent was made for or has unread events of, newest first."""
        made, inbox = self._connections.send(
            ("ZREVRANGE", keys.assigned(agent_id), 0, _MOST - 1),
            ("XREVRANGE", keys.inbox(agent_id), "+", "-", "COUNT", _MOST),
        )
        events = [load(dict(zip(fields[::2], fields[1::2], strict=True))[b"event"]) for _, fields in inbox]
        told = [event["workflow_id"] for event in events if isinstance(event.get("workflow_id"), str)]
        return list(dict.fromkeys([*(one.decode() for one in made), *told]))

    def newest_live(self) -> list[str]:
        """List the newest runs that are not over."""
        (found,) = self._connections.send(("ZREVRANGE", keys.LIVE, 0, _MOST - 1))
        return [one.decode() for one in found]

    def read(self, workflow_ids: Iterable[str]) -> list[Assignments]:
        """Read who is assigned in these runs, in one round trip; those that do not exist are left out."""
        ids = list(workflow_ids)
        if not ids:
            return []
        asked = (("JSON.GET", RunKeys(one).meta, "$.status", "$.agents") for one in ids)
        replies = self._connections.send(*asked)
        return [_read(one, load(reply)) for one, reply in zip(ids, replies, strict=True) if reply is not None]


def _read(workflow_id: str, found: Mapping[str, Json]) -> Assignments:
    status, agents = (values[0] if (values := found.get(path)) else None for path in ("$.status", "$.agents"))
    pools = agents if isinstance(agents, dict) else {}
    return Assignments(
        workflow_id=workflow_id,
        status=str(status),
        agents={state: read_assignment(value) for state, value in pools.items()},
    )
