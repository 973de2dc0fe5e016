"""The request for the agents of a run, and its result. Data: the description of a verb needs no store for it."""

from collections.abc import Mapping, Sequence
from dataclasses import field

from dcf.errors import DcfError
from dcf.values.records import record
from dcf.workforce.crew.templates import Staffing


@record(frozen=True, slots=True, kw_only=True)
class CrewWish:
    """Request for the agents of a run. `reuse` False refuses if it has some; `tags` are added to new ones."""

    workflow_id: str
    staffing: Sequence[Staffing]
    prefix: str | None = None
    tags: tuple[str, ...] = ()
    reuse: bool = True


@record(frozen=True, slots=True, kw_only=True)
class Staffed:
    """One state and its agent."""

    state: str
    agent_id: str
    agent_name: str


@record(frozen=True, slots=True, kw_only=True)
class MadeWorkers:
    """Result of a request for agents. After a `failure`, the new agents are deleted again (`undone`).

    `agents` has the agent of each state, the first of several. `assigned` are the states whose agents changed.
    """

    agents: Mapping[str, str] = field(default_factory=dict)
    created: tuple[Staffed, ...] = ()
    existing: tuple[Staffed, ...] = ()
    undone: tuple[Staffed, ...] = ()
    assigned: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    failure: DcfError | None = None
