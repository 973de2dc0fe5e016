"""Methods of the clients for the verbs of the toolset planning. Derived from their descriptions."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from dcf.client.arguments import Agents, agents_text, document_text, json_text, rows
from dcf.client.calls import call_tool
from dcf.client.exchange import Conversation
from dcf.values.json_paths import MISSING
from dcf.values.json_text import Json
from dcf.verbs.records.beginnings import CreatedControlPlane, FinalizedRun


def create_workflow_control_plane(
    workflow: Mapping[str, Json] | Path,
    input: Json = MISSING,
    *,
    workflow_id: str | None = None,
    agents: Agents | None = None,
    planner_agent_id: str | None = None,
    project: str | None = None,
    expiry_secs: int | None = None,
    max_attempts: int = 10,
    gates: Sequence[Mapping[str, Json]] | None = None,
) -> Conversation[CreatedControlPlane]:
    """Create a run without starting it: `notify_next_worker_agent` then does. `start` is both in one call.

    Validates the workflow, stores its documents, and makes the first state ready. Repeated with its `workflow_id` it
    finds the run; the same `workflow_id` with a different workflow or input is refused with code conflict.
    """
    return call_tool(
        CreatedControlPlane,
        "create_workflow_control_plane",
        workflow_json=document_text(workflow),
        input_json=None if input is MISSING else json_text(input, "input"),
        workflow_id=workflow_id,
        agents_map_json=agents_text(agents),
        planner_agent_id=planner_agent_id,
        project=project,
        expiry_secs=expiry_secs,
        max_attempts=max_attempts,
        gates=rows(gates),
    )


def finalize(
    workflow_id: str,
    *,
    close_open_states: bool = True,
    overall_status: Literal["succeeded", "failed", "partial", "cancelled"] | None = None,
    finalize_note: str | None = None,
    delete_worker_agents: bool = True,
    preserve_planner: bool = True,
) -> Conversation[FinalizedRun]:
    """Close a run and write its audit record: call this when the run has ended, or to cancel it.

    Open states become cancelled, unreached ones skipped; afterwards no worker can change anything. A second call
    returns the first result.
    """
    return call_tool(
        FinalizedRun,
        "finalize_workflow",
        workflow_id=workflow_id,
        close_open_states=close_open_states,
        overall_status=overall_status,
        finalize_note=finalize_note,
        delete_worker_agents=delete_worker_agents,
        preserve_planner=preserve_planner,
    )
