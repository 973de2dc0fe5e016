"""The verbs of a client for schedules, which start runs by the time; described as in `verbs.py`."""

from collections.abc import Sequence
from typing import Literal

from dcf.client.answers.schedules import (
    CatchUpName,
    CreatedSchedule,
    DeletedSchedule,
    OperatedSchedule,
    OverlapName,
    ScheduleDetails,
)
from dcf.client.arguments import (
    Agents,
    Workflow,
    agents_text,
    given,
    json_text,
    listed,
    request_id_for,
    workflow_arguments,
)
from dcf.client.exchange import Conversation, Item, Stream, ToolCall
from dcf.client.failures import accepted
from dcf.client.reading import read
from dcf.client.verbs import ask
from dcf.values.json_paths import MISSING
from dcf.values.json_text import Json


def create_schedule(
    name: str,
    workflow: Workflow,
    input: Json = MISSING,  # noqa: A002 - the name that it has in the language
    *,
    cron: str | None = None,
    timezone: str | None = None,
    every_s: int | None = None,
    agents: Agents | None = None,
    tags: Sequence[str] = (),
    project: str | None = None,
    planner_agent_id: str | None = None,
    expiry_secs: int | None = None,
    overlap: OverlapName = "skip",
    catch_up: CatchUpName = "none",
    jitter_s: int = 0,
    reason: str | None = None,
) -> Conversation[CreatedSchedule]:
    """Start a run of a workflow again and again: by a cron expression in a time zone, or every so many seconds.

    `overlap` is for a tick while a run goes on: none, after its end, or beside it; `catch_up` for ticks that were
    missed: no run, one for all, or one for each. Repeated with the same arguments it finds the schedule.
    """
    return ask(
        CreatedSchedule,
        "create_schedule",
        name=name,
        **workflow_arguments(workflow),
        input_json=None if input is MISSING else json_text(input, "input"),
        cron=cron,
        timezone=timezone,
        every_s=every_s,
        agents_map_json=agents_text(agents),
        tags_json=listed(tags),
        project=project,
        planner_agent_id=planner_agent_id,
        expiry_secs=expiry_secs,
        overlap=overlap,
        catch_up=catch_up,
        jitter_s=jitter_s,
        reason=reason,
    )


def list_schedules(*, name: str | None = None, project: str | None = None) -> Stream[ScheduleDetails]:
    """Yield the schedules, all or a project's, or the one of this name with its runs' input and its history."""
    cursor = None
    while True:
        page = accepted((yield ToolCall("list_schedules", given(name=name, project=project, cursor=cursor))))
        for one in page["schedules"]:
            yield Item(read(ScheduleDetails, one))
        cursor = page.get("next_cursor")
        if cursor is None:
            return


def operate_schedule(
    name: str,
    action: Literal["pause", "resume", "trigger"],
    *,
    reason: str | None = None,
    request_id: str | None = None,
) -> Conversation[OperatedSchedule]:
    """Pause a schedule, let it go on, or start a run of it now."""
    request = request_id_for(request_id)
    return ask(OperatedSchedule, "operate_schedule", name=name, action=action, reason=reason, request_id=request)


def delete_schedule(name: str, *, reason: str | None = None) -> Conversation[DeletedSchedule]:
    """Delete a schedule for good; the runs that it started stay."""
    return ask(DeletedSchedule, "delete_schedule", name=name, reason=reason)
