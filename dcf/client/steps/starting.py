"""How a client starts a run: of a flow, of a document or its file, or of a workflow that is kept, by its name."""

from collections.abc import Mapping, Sequence

from dcf.client.arguments import (
    Agents,
    Workflow,
    agents_of,
    agents_text,
    input_text,
    listed,
    request_id_for,
    rows,
    workflow_arguments,
)
from dcf.client.calls import call_tool
from dcf.client.exchange import Conversation
from dcf.values.json_paths import MISSING
from dcf.values.json_text import Json
from dcf.verbs.records.beginnings import StartedRun


def start(
    workflow: Workflow,
    input: Json = MISSING,  # noqa: A002 - the name that it has in the language
    *,
    agents: Agents | None = None,
    workflow_id: str | None = None,
    tags: Sequence[str] = (),
    project: str | None = None,
    definition_ref: str | None = None,
    planner_agent_id: str | None = None,
    expiry_secs: int | None = None,
    max_attempts: int | None = None,
    gates: Sequence[Mapping[str, Json]] = (),
    reason: str | None = None,
    request_id: str | None = None,
) -> Conversation[StartedRun]:
    """Start a run of a flow, of a document or its file, or of a workflow that was started before, by its name.

    The input of a flow is an object with its arguments, such as `flow.input(...)` makes. If it does not fit, the call
    raises InvalidArgument.
    `agents` says who does what: one agent for all Tasks, or `{"State": "agent"}`; no agent is notified of a Task
    without one. `workflow_id` is the id of the run; without it the run gets a new one. `project` is what it belongs to,
    `definition_ref` a definition of the catalogue that it is carried out by, whose hash it keeps. `gates` are
    those of every Task, as in the field Gates of one.
    """
    return call_tool(
        StartedRun,
        "start_run",
        **workflow_arguments(workflow),
        input_json=input_text(workflow, input),
        agents_map_json=agents_text(agents_of(workflow, agents)),
        workflow_id=workflow_id,
        tags_json=listed(tags),
        project=project,
        definition_ref=definition_ref,
        planner_agent_id=planner_agent_id,
        expiry_secs=expiry_secs,
        max_attempts=max_attempts,
        gates=rows(gates),
        reason=reason,
        request_id=request_id_for(request_id),
    )
