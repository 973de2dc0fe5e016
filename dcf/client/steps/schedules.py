"""Creates a schedule: the workflow is a document, a flow or a name, and a flow decides about input and agents."""

from collections.abc import Sequence

from dcf.client.arguments import (
    Agents,
    Span,
    Workflow,
    agents_of,
    agents_text,
    input_text,
    listed,
    seconds,
    workflow_arguments,
)
from dcf.client.calls import call_tool
from dcf.client.exchange import Conversation
from dcf.features.schedules.records import CatchUpName, CreatedSchedule, OverlapName
from dcf.values.json_paths import MISSING
from dcf.values.json_text import Json


def create_schedule(
    name: str,
    workflow: Workflow,
    input: Json = MISSING,  # noqa: A002 - the name that it has in the language
    *,
    cron: str | None = None,
    timezone: str | None = None,
    every_s: Span | None = None,
    agents: Agents | None = None,
    tags: Sequence[str] = (),
    project: str | None = None,
    planner_agent_id: str | None = None,
    expiry_secs: int | None = None,
    overlap: OverlapName = "skip",
    catch_up: CatchUpName = "none",
    jitter_s: Span = 0,
    reason: str | None = None,
) -> Conversation[CreatedSchedule]:
    """Start a run of a workflow again and again: by a cron expression in a time zone, or every so many seconds.

    `overlap` says what a scheduled time starts while a run is open: no run, a run after its end, or a run at once;
    `catch_up` for ticks that were missed: no run, one for all, or one for each. Repeated with the same arguments it
    finds the schedule.
    """
    return call_tool(
        CreatedSchedule,
        "create_schedule",
        name=name,
        **workflow_arguments(workflow),
        input_json=input_text(workflow, input),
        cron=cron,
        timezone=timezone,
        every_s=seconds(every_s),
        agents_map_json=agents_text(agents_of(workflow, agents)),
        tags_json=listed(tags),
        project=project,
        planner_agent_id=planner_agent_id,
        expiry_secs=expiry_secs,
        overlap=overlap,
        catch_up=catch_up,
        jitter_s=seconds(jitter_s),
        reason=reason,
    )
