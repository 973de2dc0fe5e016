"""The verbs of a client for runs that grow; described as in `verbs.py`."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from dcf.client.answers.growing import AddedUnits, ClosedRun, OpenedRun, ReopenedUnit, SealedGroup
from dcf.client.arguments import json_text, listed, request_id_for
from dcf.client.exchange import Conversation
from dcf.client.verbs import ask as call
from dcf.values.json_paths import MISSING
from dcf.values.json_text import Json


def open_run(
    name: str,
    workflow_id: str | None = None,
    *,
    title: str | None = None,
    input: Json = MISSING,  # noqa: A002 - the name that it has in the language
    planner_agent_id: str | None = None,
    tags: Sequence[str] = (),
    project: str | None = None,
    definition_ref: str | None = None,
    parent_run: str | None = None,
    parent_unit: str | None = None,
    timeout_s: int | None = None,
    expiry_secs: int | None = None,
    max_attempts: int | None = None,
    reason: str | None = None,
    request_id: str | None = None,
) -> Conversation[OpenedRun]:
    """Open a run without a workflow, to which units are added while it is open."""
    return call(
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
        reason=reason,
        request_id=request_id_for(request_id),
    )


def add_units(
    workflow_id: str,
    units: Sequence[Mapping[str, Any]],
    *,
    agent_id: str | None = None,
    lease_ttl_s: int | None = None,
    lease_token: str | None = None,
    reason: str | None = None,
    request_id: str | None = None,
) -> Conversation[AddedUnits]:
    """Add units and groups to a run that grows: all of them, or none."""
    return call(
        AddedUnits,
        "add_units",
        workflow_id=workflow_id,
        units=json_text([dict(one) for one in units], "units"),
        agent_id=agent_id,
        lease_ttl_s=lease_ttl_s,
        lease_token=lease_token,
        reason=reason,
        request_id=request_id_for(request_id),
    )


def seal_group(
    workflow_id: str,
    group: str | None = None,
    *,
    only_if_done: bool = False,
    force: bool = False,
    reason: str | None = None,
    request_id: str | None = None,
) -> Conversation[SealedGroup]:
    """Let nothing be added to a group any more, or to the whole run."""
    return call(
        SealedGroup,
        "seal_group",
        workflow_id=workflow_id,
        group=group,
        only_if_done=only_if_done,
        force=force,
        reason=reason,
        request_id=request_id_for(request_id),
    )


def retry_unit(
    workflow_id: str, unit: str, *, reason: str | None = None, request_id: str | None = None
) -> Conversation[ReopenedUnit]:
    """Let a unit that failed be taken again."""
    asked = request_id_for(request_id)
    return call(ReopenedUnit, "retry_unit", workflow_id=workflow_id, unit=unit, reason=reason, request_id=asked)


def rewind_unit(
    workflow_id: str, unit: str, *, reason: str | None = None, request_id: str | None = None
) -> Conversation[ReopenedUnit]:
    """Reopen a unit, and everything that followed it."""
    asked = request_id_for(request_id)
    return call(ReopenedUnit, "rewind_unit", workflow_id=workflow_id, unit=unit, reason=reason, request_id=asked)


def close_run(
    workflow_id: str,
    *,
    status: Literal["succeeded", "failed", "partial", "cancelled"] = "succeeded",
    summary: str | None = None,
    achievements: Sequence[str] = (),
    limitations: Sequence[str] = (),
    metrics: Mapping[str, Any] | None = None,
    output: Mapping[str, Any] | None = None,
    force: bool = False,
    reason: str | None = None,
    request_id: str | None = None,
) -> Conversation[ClosedRun]:
    """End a run that grows, with what is to be kept of it. It never succeeds over what is open."""
    return call(
        ClosedRun,
        "close_run",
        workflow_id=workflow_id,
        status=status,
        summary=summary,
        achievements=listed(achievements),
        limitations=listed(limitations),
        metrics_json=None if metrics is None else json_text(dict(metrics), "metrics"),
        output_json=None if output is None else json_text(dict(output), "output"),
        force=force,
        reason=reason,
        request_id=request_id_for(request_id),
    )
