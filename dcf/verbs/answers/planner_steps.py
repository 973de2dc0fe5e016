"""The next tool calls of a planner, with their arguments: after a validation, a creation, a start. Pure.

Values in angle brackets are to be filled in by the caller.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from dcf.core.definitions.open_tasks import AGENT, agents_map_for
from dcf.values.json_text import Json
from dcf.workforce.steps import Step

_SAME: Final = "<the same workflow>"
_INPUT: Final = "<the input of the run, {} if it needs none>"
_NAMED: Final = 5
"""Tasks of which each gets a call of its own."""


def describe_language() -> Step:
    """Return the call that shows how a workflow is written."""
    return Step(
        tool="describe_workflow_language",
        arguments={},
        why="It shows how a workflow is written, with examples that are valid.",
    )


def after_validation(open_tasks: Collection[str], assigned: Mapping[str, Json], *, has_templates: bool) -> list[Step]:
    """Return the calls that run a valid workflow. Tasks that name templates get agents that are made from them."""
    arguments: dict[str, Json] = {"workflow_json": _SAME}
    agents = {**assigned, **agents_map_for(open_tasks)}
    arguments |= {"agents_map_json": agents} if agents else {}
    arguments["input_json"] = _INPUT
    begin = Step(tool="start_run", arguments=arguments, why="It creates the run and tells the first agents.")
    return [begin, make_agents("<workflow_id of the answer>")] if has_templates else [begin]


def start(workflow_id: str) -> Step:
    """Return the call that starts a run which was created."""
    return Step(
        tool="notify_next_worker_agent",
        arguments={"workflow_id": workflow_id},
        why="It starts the run: until then no agent is notified.",
    )


def assign(workflow_id: str, tasks: Sequence[str]) -> list[Step]:
    """Return the calls that assign Tasks of a run which exists."""
    return [
        Step(
            tool="resolve_state",
            arguments={"workflow_id": workflow_id, "state": name, "assign_json": [AGENT]},
            why="No agent is notified of this Task until it is assigned.",
        )
        for name in tasks[:_NAMED]
    ]


def make_agents(
    workflow_id: str, why: str = "It makes the agents that the Tasks ask for, assigns and tells them."
) -> Step:
    """Return the call that makes and assigns agents of Tasks."""
    return Step(
        tool="create_worker_agents",
        arguments={"workflow_id": workflow_id},
        why=why,
    )


def look(workflow_id: str) -> Step:
    """Return the call that shows a run in short."""
    return Step(
        tool="read_workflow_control_plane",
        arguments={"workflow_id": workflow_id, "summary": True},
        why="It shows where the run stands.",
    )


def work_as(agent_id: str) -> Step:
    """Return the call that brings an agent its Tasks: agents of dcf's own inbox are not woken."""
    return Step(
        tool="await_workflow_event",
        arguments={"agent_id": agent_id, "timeout_s": 50},
        why="The worker of this agent calls this, each worker with its own id: it brings the Task, leased.",
    )


def create_first(workflow_id: str, agents: Mapping[str, str]) -> Step:
    """Return the call that creates a run whose agents were made before it."""
    return Step(
        tool="start_run",
        arguments={"workflow_json": _SAME, "workflow_id": workflow_id, "agents_map_json": dict(agents)},
        why="There is no such run yet: this creates and starts it; `create_workflow_control_plane` only creates it.",
    )


def watch(workflow_id: str, planner: str | None) -> list[Step]:
    """Return the calls by which a planner learns the outcome of a run."""
    read = look(workflow_id)
    if planner is None:
        return [read]
    arguments: dict[str, Json] = {"agent_id": planner, "timeout_s": 50}
    wait = Step(tool="await_workflow_event", arguments=arguments, why="You are notified when the run ends.")
    return [wait, read]


def output(workflow_id: str) -> Step:
    """Return the call that reads the output of an ended run."""
    return Step(
        tool="read_workflow_control_plane",
        arguments={"workflow_id": workflow_id},
        why="The run has ended: meta has its output or error.",
    )


def inside(workflow_id: str, scope: str) -> Step:
    """Return the call that lists the iterations of a Map, or the branches of a Parallel."""
    return Step(
        tool="read_workflow_control_plane",
        arguments={"workflow_id": workflow_id, "inside": scope},
        why="It lists the states inside with attempts, errors and outputs, ended ones too.",
    )
