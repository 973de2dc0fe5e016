"""The verbs on schedules, which start runs by the time. They call and describe."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import takewhile
from typing import TYPE_CHECKING, Annotated, Any, Final

from dcf.core.definitions.model import Definition, read_given, reference_of
from dcf.core.definitions.open_tasks import open_tasks_warning, pass_agents
from dcf.core.lifecycle.starting import check_tags
from dcf.errors import Forbidden, InvalidArgument, UnknownSchedule
from dcf.features.schedules.model import (
    MOST_JITTER_S,
    NAME_PATTERN,
    CatchUp,
    Overlap,
    Schedule,
    ScheduleWish,
    shown,
    summary,
)
from dcf.features.schedules.records import (
    CatchUpName,
    CreatedSchedule,
    DeletedSchedule,
    ListedSchedules,
    OperatedSchedule,
    OverlapName,
    ScheduleActionName,
)
from dcf.features.schedules.timing import LEAST_EVERY_S, MOST_EVERY_S
from dcf.values.json_paths import MISSING
from dcf.values.json_text import Json, parse, parse_workflow
from dcf.values.refusal import Refusal
from dcf.verbs.answers.beginnings import AGENTS_MAP
from dcf.verbs.answers.paging import Room
from dcf.verbs.callers import bound_to, current_caller
from dcf.verbs.derived_tools import add_tools
from dcf.verbs.description.verb import Answered, Argument, Command, PageAction, verb
from dcf.verbs.description.words import JsonValue, Limit, OtherAgentId, PrintedCursor, ProjectId, Reason, RequestId

if TYPE_CHECKING:
    from dcf.application.application import Application

_SHOW: Final = "dcf.cli.features.schedules"
_AUDITED: Final = ("name", "reason")

ScheduleName = Annotated[str, Argument(means="Name of the schedule.", example="nightly-report", pattern=NAME_PATTERN)]


@verb(
    toolset="schedules",
    scope="plan",
    lists=("planner", "operator"),
    says=lambda answer: f"Schedule '{answer['schedule']['name']}' {'exists' if answer['existed'] else 'is created'}.",
    codes=("schedule_exists", "quota_exceeded", "invalid_definition", "unknown_definition"),
    command=Command(
        name="schedules add",
        example='dcf schedules add report --cron "0 7 * * 1-5" --timezone Europe/Vienna --workflow report.json',
        function=f"{_SHOW}:create",
    ),
    steps="dcf.client.steps.schedules:create_schedule",
    audit=(*_AUDITED, "cron", "every_s", "definition"),
    in_refusals={"warnings": ()},
)
def create_schedule(
    on: "Application",
    name: ScheduleName,
    *,
    cron: Annotated[
        str | None, Argument(means="Minute, hour, day, month, day of week: '0 7 * * 1-5'.", max_length=200)
    ] = None,
    timezone: Annotated[str | None, Argument(means="Of cron: 'Europe/Vienna'; default UTC.", max_length=100)] = None,
    every_s: Annotated[
        int | None,
        Argument(
            means=f"Or seconds between two ticks, {LEAST_EVERY_S} at least.",
            ge=LEAST_EVERY_S,
            le=MOST_EVERY_S,
            form="span",
            option="--every",
        ),
    ] = None,
    definition: Annotated[
        str | None,
        Argument(
            means="Started before: 'name@version', its hash, or 'name' (the newest at each tick).", max_length=300
        ),
    ] = None,
    workflow: Annotated[
        Mapping[str, Any] | str | None,
        Argument(means="Or the workflow itself, in any form.", form="workflow", tool="workflow_json"),
    ] = None,
    input: Annotated[  # noqa: A002 - the name that it has in the language
        JsonValue,
        Argument(
            means="Input of each run, 64 KiB at most; default {}.",
            form="json",
            bytes_setting="max_output_bytes",
            tool="input_json",
        ),
    ] = MISSING,
    agents: Annotated[
        Mapping[str, Any] | str | None,
        Argument(means=AGENTS_MAP, plain=True, form="assignment", tool="agents_map_json"),
    ] = None,
    planner_agent_id: Annotated[
        OtherAgentId | None, Argument(means="Agent to notify when a run ends.", plain=True, option="--planner")
    ] = None,
    tags: Annotated[
        Sequence[str], Argument(means="More tags of its runs.", plain=True, form="texts", tool="tags_json")
    ] = (),
    expiry_secs: Annotated[
        int | None, Argument(means="Seconds that a run outlives its finalization.", listed=False, ge=1, le=31_536_000)
    ] = None,
    project: Annotated[ProjectId | None, Argument(means="Project that its runs belong to.", plain=True)] = None,
    overlap: Annotated[
        OverlapName,
        Argument(means="If a run is still open at a scheduled time: start none, one after its end, or one at once."),
    ] = "skip",
    catch_up: Annotated[
        CatchUpName, Argument(means="Ticks that were missed: no run, one for all, one for each (100 at most).")
    ] = "none",
    jitter_s: Annotated[
        int,
        Argument(
            means="Maximum random delay of a start, in seconds.", listed=False, ge=0, le=MOST_JITTER_S, form="span"
        ),
    ] = 0,
    reason: Reason = None,  # noqa: ARG001 - the audit trail has it
) -> Answered[CreatedSchedule] | Refusal:
    """Start a run of a workflow again and again: by a cron expression, or every so many seconds.

    Each tick starts one run, with the tag schedule:NAME. Repeated with the same arguments it finds the schedule.
    """
    caller, document = current_caller(), _definition(on, workflow, definition)
    wish = ScheduleWish(
        name=name,
        workflow=definition or "" if document is None else reference_of(document),
        cron=cron,
        timezone=timezone,
        every_s=every_s,
        run_input={} if input is MISSING else input,
        tags=check_tags(list(tags), name="tags_json"),
        planner_agent_id=planner_agent_id or caller.agent_id,
        retention_s=expiry_secs,
        overlap=Overlap(overlap),
        catch_up=CatchUp(catch_up),
        jitter_s=jitter_s,
        created_by=caller.name,
        project=project,
    )
    made = on.schedules.create(wish, {} if agents is None else parse(agents, name="agents_map_json"), document)
    if isinstance(made, Refusal):
        return made
    schedule = shown(made.schedule)
    warning = open_tasks_warning(made.unassigned, pass_agents(made.unassigned))
    members = {"schedule": schedule, "existed": made.existed, "warnings": [] if warning is None else [warning]}
    return Answered(CreatedSchedule, {**members, "hint": _hint(schedule)})


def _definition(
    on: "Application", workflow: Mapping[str, Any] | str | None, definition: str | None
) -> Definition | None:
    """Return the workflow that was sent; None where a kept one was named."""
    if (workflow is None) == (definition is None):
        raise InvalidArgument(
            "Either definition or workflow_json must be given, and not both.",
            "Pass the name of a workflow that was started before, or its document.",
        )
    if workflow is None:
        return None
    return read_given(parse_workflow(workflow, name="workflow_json", max_bytes=on.settings.max_document_bytes))


@verb(
    toolset="schedules",
    scope="read",
    lists=("planner", "operator"),
    effect="reads",
    says=lambda answer: f"{len(answer['schedules'])} schedule.",
    codes=("unknown_schedule",),
    command=Command(
        name="schedules ls",
        summary="List the schedules by name: when each ticks next, and what keeps it from starting its runs.",
        fixed={"name": None},
        show=f"{_SHOW}:show_schedules",
    ),
    also=(
        Command(
            name="schedules show",
            summary="Show a schedule: its next time, and the outcome of the latest ones, with their runs.",
            positional=("name",),
            fixed={"limit": 1, "cursor": None},
            show=f"{_SHOW}:show_schedule",
        ),
    ),
    pages="schedules",
    in_refusals={"schedules": []},
)
def list_schedules(
    on: "Application",
    *,
    name: Annotated[
        str | None, Argument(means="Show this one, with its history.", spelling="Name of the schedule.", max_length=54)
    ] = None,
    project: Annotated[ProjectId | None, Argument(means="Only those of this project.")] = None,
    limit: Annotated[Limit, Argument(means="Items of one page; fewer come if they are large.", plain=True)] = 50,
    cursor: Annotated[
        PrintedCursor, Argument(means="next_cursor of the answer before.", plain=True, max_length=54)
    ] = None,
) -> Answered[ListedSchedules]:
    """List schedules, or show one (name): the next time, the outcome of the latest, the reason for not starting."""
    if name is not None:
        schedule = shown(_of_project(on.schedules.read(name), project))
        return Answered(ListedSchedules, {"schedules": [schedule], "next_cursor": None})
    names = on.schedules.names() if project is None else _names_in(on, project)
    after = [name for name in names if cursor is None or name > cursor]
    room, request = Room(on.settings.max_result_bytes), after[:limit]
    there = on.schedules.those(request)
    page = list(takewhile(room.takes, map(summary, there)))
    last = page[-1]["name"] if len(page) < len(there) else request[-1] if request else None
    members = {"schedules": page, "next_cursor": None if not after or last == after[-1] else last}
    return Answered(ListedSchedules, members, says=f"{len(page)} of {len(after)} schedules.")


@verb(
    toolset="schedules",
    scope="plan",
    lists=("planner", "operator"),
    says=lambda answer: f"Schedule '{answer['schedule']['name']}' is {answer['schedule']['status']}.",
    codes=("unknown_schedule",),
    command=Command(
        name="schedules resume",
        summary="Resume a schedule that was paused or has stopped. Its catch-up decides about missed ticks.",
        fixed={"action": "resume", "request_id": None},
        show=f"{_SHOW}:show_operated",
    ),
    also=(
        Command(
            name="schedules pause",
            summary="Let a schedule start nothing until `dcf schedules resume`. Running runs are left alone.",
            fixed={"action": "pause", "request_id": None},
            show=f"{_SHOW}:show_operated",
        ),
        Command(
            name="schedules trigger",
            summary="Start a run of a schedule now, out of turn, whatever runs and even if paused. Prints its id.",
            fixed={"action": "trigger"},
            show=f"{_SHOW}:show_triggered",
        ),
    ),
    page=PageAction(
        title="Operate the schedule",
        effect="Pausing keeps the schedule from starting runs; resuming lets it; triggering starts one now.",
    ),
    audit=("name", "action", "reason", "workflow_id"),
    of_no_run=True,
    in_refusals={"warnings": ()},
)
def operate_schedule(
    on: "Application",
    name: ScheduleName,
    action: Annotated[
        ScheduleActionName, Argument(means="What to do.", example="pause", label="pause, resume or trigger")
    ],
    *,
    reason: Reason = None,
    request_id: Annotated[
        RequestId, Argument(means="Of a trigger: repeated with it, the call finds the run that it started.")
    ] = None,
) -> Answered[OperatedSchedule] | Refusal:
    """Pause or resume a schedule, or start a run of it now (trigger: out of turn, whatever runs, paused or not).

    A resumed schedule catches up missed runs by its catch_up. If it stopped, since the API key of its creator is
    gone, its runs are then yours.
    """
    _own(on, name)
    by = current_caller().name
    if action == "trigger":
        return _triggered(on, name, by, reason, request_id)
    if action == "pause":
        schedule = shown(on.schedules.pause(name, reason=reason))
    else:
        schedule = shown(on.schedules.resume(name, by, reason=reason))
    return Answered(OperatedSchedule, {"schedule": schedule, "warnings": [], "hint": _hint(schedule)})


def _triggered(
    on: "Application", name: str, by: str, reason: str | None, request_id: str | None
) -> Answered[OperatedSchedule] | Refusal:
    done = on.schedules.trigger(name, by, reason=reason, request_id=request_id)
    if isinstance(done, Refusal):
        return done
    members = {
        "schedule": shown(done.schedule),
        "workflow_id": done.workflow_id,
        "existed": done.created.existed,
        "warnings": [],
        "hint": "`read_workflow_control_plane` shows the run; its agents are told by themselves.",
    }
    says = f"Run '{done.workflow_id}' {'exists' if done.created.existed else 'started'}."
    return Answered(OperatedSchedule, members, says=says)


@verb(
    toolset="schedules",
    scope="plan",
    lists=("operator",),
    effect="destroys",
    says=lambda answer: "deleted" if answer["existed"] else "was gone already",
    command=Command(
        name="schedules delete", question=lambda call: f"Delete schedule {call['name']}?", show=f"{_SHOW}:show_deleted"
    ),
    audit=_AUDITED,
    of_no_run=True,
)
def delete_schedule(
    on: "Application",
    name: ScheduleName,
    *,
    reason: Reason = None,  # noqa: ARG001 - the audit trail has it
) -> DeletedSchedule:
    """Delete a schedule permanently; the runs that it started stay. Repeated, it finds that it is gone."""
    existed = _may_delete(on, name) and on.schedules.delete(name)
    return DeletedSchedule(existed=existed, hint=f"Its runs stay: `list_runs(tag=schedule:{name})` shows them.")


def _names_in(on: "Application", project: str) -> list[str]:
    """Return the names of the schedules of a project; there are at most a thousand in all."""
    return [schedule.name for schedule in on.schedules.all() if schedule.project == project]


def _of_project(schedule: Schedule, project: str | None) -> Schedule:
    """Return the schedule; raise UnknownSchedule if a project is meant and it is of another."""
    if project is not None and schedule.project != project:
        raise UnknownSchedule(schedule.name)
    return schedule


def _may_delete(on: "Application", name: str) -> bool:
    """Return False for a schedule that is not there for the caller; raise Forbidden as `_own` does."""
    if bound_to() is None and current_caller().project is None:
        return True  # a damaged one too, which cannot be read
    with suppress(UnknownSchedule):
        _own(on, name)
        return True
    return False


def _own(on: "Application", name: str) -> None:
    """Raise Forbidden for a key bound to an agent that does not plan the runs of the schedule.

    Raise UnknownSchedule for a key bound to a project that it is not of.
    """
    schedule = _of_project(on.schedules.read(name), current_caller().project)
    agent_id, planner = bound_to(), schedule.planner_agent_id
    if agent_id is not None and planner != agent_id:
        raise Forbidden(
            f"Schedule '{name}' has another planner than '{agent_id}', which this key is bound to.",
            "Use the key of its planner (`planner_agent_id`), or one with the scope 'operate'.",
        )


def _hint(schedule: Mapping[str, Json]) -> str:
    if schedule["trouble"] is not None:
        return str(schedule["trouble"]["hint"])
    if schedule["status"] == "paused":
        return "`operate_schedule(action=resume)` lets it go on, `operate_schedule(action=trigger)` starts a run now."
    return f"The next tick is at {schedule['next_at']}; `list_runs(tag=schedule:{schedule['name']})` shows its runs."


add_tools(__name__)
