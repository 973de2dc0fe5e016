"""Methods of the clients for the verbs of the toolset growing. Derived from their descriptions."""

from collections.abc import Sequence
from typing import Literal

from dcf.client.arguments import JsonObject, array_text, json_text, listed, object_text, request_id_for
from dcf.client.calls import call_tool
from dcf.client.exchange import Conversation
from dcf.features.growing.records import AddedUnits, ClosedRun, ClosedStatusName, OpenedRun, ReopenedUnit, SealedGroup
from dcf.values.json_paths import MISSING
from dcf.values.json_text import Json


def open_run(
    name: str,
    workflow_id: str | None = None,
    *,
    title: str | None = None,
    input: Json = MISSING,
    planner_agent_id: str | None = None,
    tags: Sequence[str] = (),
    project: str | None = None,
    definition_ref: str | None = None,
    parent_run: str | None = None,
    parent_unit: str | None = None,
    timeout_s: int | None = None,
    expiry_secs: int | None = None,
    max_attempts: int = 10,
    request_id: str | None = None,
    reason: str | None = None,
) -> Conversation[OpenedRun]:
    """Open a run without a workflow: you add units of work to it while it is open (`add_units`), and close it at last.

    Repeating a call with the same `request_id` or `workflow_id` returns the same run.
    """
    return call_tool(
        OpenedRun,
        "open_run",
        name=name,
        workflow_id=workflow_id,
        title=title,
        input_json=None if input is MISSING else json_text(input, "input"),
        planner_agent_id=planner_agent_id,
        tags_json=listed(tags),
        project=project,
        definition_ref=definition_ref,
        parent_run=parent_run,
        parent_unit=parent_unit,
        timeout_s=timeout_s,
        expiry_secs=expiry_secs,
        max_attempts=max_attempts,
        request_id=request_id_for(request_id),
        reason=reason,
    )


def add_units(
    workflow_id: str,
    units: Sequence[Json],
    *,
    agent_id: str | None = None,
    lease_ttl_s: int = 300,
    lease_token: str | None = None,
    request_id: str | None = None,
    reason: str | None = None,
) -> Conversation[AddedUnits]:
    """Add units of work, and groups of them, to a run that grows: all of them or, if something is wrong, none.

    A unit: {"name", "depends_on"?: [names], "group"?, "parent"?, "title"?, "instructions"?, "input"?, "output_schema"?,
    "skills"?, "gates"?, "agents"?, "areas"?, "claim"?: true to take it at once}. A group: {"name", "kind": "group",
    "depends_on"?, "agents"?: whose keys may add units, too}; what depends on it waits for all that is in it, once it is
    sealed.
    """
    return call_tool(
        AddedUnits,
        "add_units",
        workflow_id=workflow_id,
        units=array_text(units, "units"),
        agent_id=agent_id,
        lease_ttl_s=lease_ttl_s,
        lease_token=lease_token,
        request_id=request_id_for(request_id),
        reason=reason,
    )


def seal_group(
    workflow_id: str,
    group: str | None = None,
    *,
    only_if_done: bool = False,
    force: bool = False,
    ends: Literal["succeeded", "failed"] | None = None,
    request_id: str | None = None,
    reason: str | None = None,
) -> Conversation[SealedGroup]:
    """Say that nothing more comes into a group, or into the run: it ends once all that is in it has ended well."""
    return call_tool(
        SealedGroup,
        "seal_group",
        workflow_id=workflow_id,
        group=group,
        only_if_done=only_if_done or None,
        force=force or None,
        ends=ends,
        request_id=request_id_for(request_id),
        reason=reason,
    )


def retry_unit(
    workflow_id: str, unit: str, *, request_id: str | None = None, reason: str | None = None
) -> Conversation[ReopenedUnit]:
    """Let a failed unit of a run that grows be taken again, as a new attempt of the same unit."""
    return call_tool(
        ReopenedUnit,
        "retry_unit",
        workflow_id=workflow_id,
        unit=unit,
        request_id=request_id_for(request_id),
        reason=reason,
    )


def rewind_unit(
    workflow_id: str, unit: str, *, request_id: str | None = None, reason: str | None = None
) -> Conversation[ReopenedUnit]:
    """Reopen a unit of a run that grows, and all that followed it: their holders must stop, and outputs are gone."""
    return call_tool(
        ReopenedUnit,
        "rewind_unit",
        workflow_id=workflow_id,
        unit=unit,
        request_id=request_id_for(request_id),
        reason=reason,
    )


def close_run(
    workflow_id: str,
    *,
    status: ClosedStatusName = "succeeded",
    summary: str | None = None,
    achievements: Sequence[str] = (),
    limitations: Sequence[str] = (),
    metrics: JsonObject | None = None,
    output: JsonObject | None = None,
    force: bool = False,
    request_id: str | None = None,
    reason: str | None = None,
) -> Conversation[ClosedRun]:
    """End a run that grows, with a summary. Refused while units have not ended well, unless forced.

    It never succeeds while a unit, a group or a blocking issue is open; it can be closed as failed.
    """
    return call_tool(
        ClosedRun,
        "close_run",
        workflow_id=workflow_id,
        status=status,
        summary=summary,
        achievements=listed(achievements),
        limitations=listed(limitations),
        metrics_json=object_text(metrics, "metrics"),
        output_json=object_text(output, "output"),
        force=force or None,
        request_id=request_id_for(request_id),
        reason=reason,
    )
