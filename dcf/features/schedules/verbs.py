"""Tools on schedules, which start runs by the time. They only parse arguments, call and format."""

from contextlib import suppress
from itertools import takewhile
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from dcf.application.application import Application
from dcf.core.access.model import Scope
from dcf.core.definitions.model import Definition, read_given, reference_of
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
from dcf.features.schedules.timing import LEAST_EVERY_S, MOST_EVERY_S
from dcf.values.json_text import Json, parse, parse_workflow
from dcf.values.open_tasks import open_tasks_warning, pass_agents
from dcf.values.refusal import Refusal
from dcf.verbs.answers.beginnings import AGENTS_MAP
from dcf.verbs.answers.paging import Limit, Room
from dcf.verbs.callers import bound_to, current_caller
from dcf.verbs.registry import AgentId, Answer, Arguments, JsonArray, JsonObject, ProjectId, refused, tool
from dcf.verbs.run_requests import Reason, RequestId

ScheduleName = Annotated[
    str, Field(pattern=NAME_PATTERN, description="Name of the schedule.", examples=["nightly-report"])
]

_AUDITED: Final = ("name", "reason")


class CreateSchedule(Arguments):
    """Start a run of a workflow again and again: by a cron expression, or every so many seconds.

    Each tick starts one run, with the tag schedule:NAME. Repeated with the same arguments it finds the schedule.
    """

    name: ScheduleName
    cron: str | None = Field(
        default=None, max_length=200, description="Minute, hour, day, month, day of week: '0 7 * * 1-5'."
    )
    timezone: str | None = Field(default=None, max_length=100, description="Of cron: 'Europe/Vienna'; default UTC.")
    every_s: int | None = Field(
        default=None,
        ge=LEAST_EVERY_S,
        le=MOST_EVERY_S,
        description=f"Or seconds between two ticks, {LEAST_EVERY_S} at least.",
    )
    definition: str | None = Field(
        default=None,
        max_length=300,
        description="Started before: 'name@version', its hash, or 'name' (the newest at each tick).",
    )
    workflow_json: JsonObject | None = Field(default=None, description="Or the workflow itself, in any form.")
    input_json: Any = Field(default=None, description="Input of each run, 64 KiB at most; default {}.")
    agents_map_json: JsonObject | None = Field(default=None, description=AGENTS_MAP)
    planner_agent_id: AgentId | None = Field(default=None, description="Agent that is told when a run ends.")
    tags_json: JsonArray | None = Field(default=None, description="More tags of its runs.")
    expiry_secs: int | None = Field(
        default=None, ge=1, le=31_536_000, description="Seconds that a run outlives its finalization."
    )
    project: ProjectId | None = Field(default=None, description="Project that its runs belong to.")
    overlap: Literal["skip", "queue", "allow"] = Field(
        default="skip", description="A tick while a run goes on: none, after its end, or beside it."
    )
    catch_up: Literal["none", "one", "all"] = Field(
        default="none", description="Ticks that were missed: no run, one for all, one for each (100 at most)."
    )
    jitter_s: int = Field(default=0, ge=0, le=MOST_JITTER_S, description="Starts are spread over so many seconds.")
    reason: Reason = None


class ScheduleShown(Answer):
    """A schedule with its next tick, what became of its latest ones (`history`), and why it does not start (`trouble`).

    `existed`: create_schedule found it.
    """

    schedule: dict[str, Any] | None = None
    existed: bool | None = None
    warnings: list[str] = Field(default_factory=list)


@tool(
    toolset="schedules",
    scope=Scope.PLAN,
    profiles=("operator",),
    arguments=CreateSchedule,
    answer=ScheduleShown,
    audit=(*_AUDITED, "cron", "every_s", "definition"),
)
def create_schedule(app: Application, args: CreateSchedule) -> ScheduleShown:
    """Create the schedule."""
    caller, definition = current_caller(), _definition(app, args)
    most = app.settings.max_output_bytes
    tags = () if args.tags_json is None else check_tags(parse(args.tags_json, name="tags_json"), name="tags_json")
    wish = ScheduleWish(
        name=args.name,
        workflow=reference_of(definition) if args.definition is None and definition else args.definition or "",
        cron=args.cron,
        timezone=args.timezone,
        every_s=args.every_s,
        run_input={} if args.input_json is None else parse(args.input_json, name="input_json", max_bytes=most),
        tags=tags,
        planner_agent_id=args.planner_agent_id or caller.agent_id,
        retention_s=args.expiry_secs,
        overlap=Overlap(args.overlap),
        catch_up=CatchUp(args.catch_up),
        jitter_s=args.jitter_s,
        created_by=caller.name,
        project=args.project,
    )
    agents = {} if args.agents_map_json is None else parse(args.agents_map_json, name="agents_map_json")
    made = app.schedules.create(wish, agents, definition)
    if isinstance(made, Refusal):
        return refused(ScheduleShown, made)
    told, done = shown(made.schedule), f"Schedule '{args.name}' {'exists' if made.existed else 'is created'}."
    warning = open_tasks_warning(made.unassigned, pass_agents(made.unassigned))
    warnings = [] if warning is None else [warning]
    return ScheduleShown(status=done, schedule=told, existed=made.existed, warnings=warnings, hint=_hint(told))


def _definition(app: Application, args: CreateSchedule) -> Definition | None:
    if (args.workflow_json is None) == (args.definition is None):
        raise InvalidArgument(
            "Either definition or workflow_json must be given, and not both.",
            "Pass the name of a workflow that was started before, or its document.",
        )
    if args.workflow_json is None:
        return None
    most = app.settings.max_document_bytes
    return read_given(parse_workflow(args.workflow_json, name="workflow_json", max_bytes=most))


class ListSchedules(Arguments):
    """List schedules, or show one (name): the next tick, what became of the latest, what keeps it from starting."""

    name: str | None = Field(default=None, max_length=54, description="Show this one, with its history.")
    project: ProjectId | None = Field(default=None, description="Only those of this project.")
    limit: Limit = 50
    cursor: str | None = Field(default=None, max_length=54, description="next_cursor of the answer before.")


class SchedulesListed(Answer):
    """A page of schedules, or the one that was asked for; `next_cursor` is null at the end."""

    schedules: list[dict[str, Any]] = Field(default_factory=list)
    next_cursor: str | None = None


@tool(
    toolset="schedules",
    scope=Scope.READ,
    profiles=("operator",),
    arguments=ListSchedules,
    answer=SchedulesListed,
    read_only=True,
)
def list_schedules(app: Application, args: ListSchedules) -> SchedulesListed:
    """List the schedules, or read one."""
    if args.name is not None:
        return SchedulesListed(
            status="1 schedule.", schedules=[shown(_of_project(app.schedules.read(args.name), args.project))]
        )
    names = app.schedules.names() if args.project is None else _names_in(app, args.project)
    found = [name for name in names if args.cursor is None or name > args.cursor]
    room, asked = Room(app.settings.max_result_bytes), found[: args.limit]
    there = app.schedules.those(asked)
    page = list(takewhile(room.takes, map(summary, there)))
    last = page[-1]["name"] if len(page) < len(there) else asked[-1] if asked else None
    return SchedulesListed(
        status=f"{len(page)} of {len(found)} schedules.",
        schedules=page,
        next_cursor=None if not found or last == found[-1] else last,
    )


class OperateSchedule(Arguments):
    """Pause a schedule, let it go on, or start a run of it now (trigger: out of turn, whatever runs, paused or not).

    A paused one starts nothing; what it missed is caught up as its catch_up says. One that stopped, since the API key
    of its creator is gone, is resumed too: its runs are then yours.
    """

    name: ScheduleName
    action: Literal["pause", "resume", "trigger"] = Field(description="What to do.", examples=["pause"])
    reason: Reason = None
    request_id: RequestId = Field(
        default=None, description="Of a trigger: repeated with it, the call finds the run that it started."
    )


class ScheduleOperated(ScheduleShown):
    """The schedule, and for trigger the run; `existed`: an earlier call with this request_id started it."""

    workflow_id: str | None = None


@tool(
    toolset="schedules",
    scope=Scope.PLAN,
    profiles=("operator",),
    arguments=OperateSchedule,
    answer=ScheduleOperated,
    audit=(*_AUDITED, "action", "workflow_id"),
    of_no_run=True,
)
def operate_schedule(app: Application, args: OperateSchedule) -> ScheduleOperated:
    """Pause, resume or trigger the schedule."""
    _own(app, args.name)
    by = current_caller().name
    if args.action == "trigger":
        answer = app.schedules.trigger(args.name, by, reason=args.reason, request_id=args.request_id)
        if isinstance(answer, Refusal):
            return refused(ScheduleOperated, answer)
        return ScheduleOperated(
            status=f"Run '{answer.workflow_id}' {'exists' if answer.created.existed else 'started'}.",
            schedule=shown(answer.schedule),
            workflow_id=answer.workflow_id,
            existed=answer.created.existed,
            hint="read_workflow_control_plane shows the run; its agents are told by themselves.",
        )
    if args.action == "pause":
        found = app.schedules.pause(args.name, reason=args.reason)
    else:
        found = app.schedules.resume(args.name, by, reason=args.reason)
    told = shown(found)
    return ScheduleOperated(status=f"Schedule '{args.name}' is {found.status}.", schedule=told, hint=_hint(told))


class DeleteSchedule(Arguments):
    """Delete a schedule for good; the runs that it started stay. Repeated, it finds that it is gone."""

    name: ScheduleName
    reason: Reason = None


class ScheduleDeleted(Answer):
    """The schedule is gone; `existed` is false if it was gone before."""

    existed: bool | None = None


@tool(
    toolset="schedules",
    scope=Scope.PLAN,
    profiles=("operator",),
    arguments=DeleteSchedule,
    answer=ScheduleDeleted,
    destructive=True,
    audit=_AUDITED,
    of_no_run=True,
)
def delete_schedule(app: Application, args: DeleteSchedule) -> ScheduleDeleted:
    """Delete the schedule; one that is gone already is no error, and one of another project is not there."""
    existed = _may_delete(app, args.name) and app.schedules.delete(args.name)
    return ScheduleDeleted(
        status="deleted" if existed else "was gone already",
        existed=existed,
        hint=f"Its runs stay: list_runs with tag 'schedule:{args.name}' shows them.",
    )


def _names_in(app: Application, project: str) -> list[str]:
    """Return the names of the schedules of a project; there are at most a thousand in all."""
    return [one.name for one in app.schedules.all() if one.project == project]


def _of_project(found: Schedule, project: str | None) -> Schedule:
    """Return the schedule; raise UnknownSchedule if a project is meant and it is of another."""
    if project is not None and found.project != project:
        raise UnknownSchedule(found.name)
    return found


def _may_delete(app: Application, name: str) -> bool:
    """Return False for a schedule that is not there for the caller; raise Forbidden as `_own` does."""
    if bound_to() is None and current_caller().project is None:
        return True  # a damaged one too, which cannot be read
    with suppress(UnknownSchedule):
        _own(app, name)
        return True
    return False


def _own(app: Application, name: str) -> None:
    """Raise Forbidden for a key bound to an agent that does not plan the runs of the schedule.

    Raise UnknownSchedule for a key bound to a project that it is not of.
    """
    found = _of_project(app.schedules.read(name), current_caller().project)
    agent_id, planner = bound_to(), found.planner_agent_id
    if agent_id is not None and planner != agent_id:
        raise Forbidden(
            f"Schedule '{name}' has another planner than '{agent_id}', which this key is bound to.",
            "Use the key of its planner (planner_agent_id), or one with the scope 'operate'.",
        )


def _hint(told: dict[str, Json]) -> str:
    if told["trouble"] is not None:
        return str(told["trouble"]["hint"])
    if told["status"] == "paused":
        return "operate_schedule lets it go on (resume), or starts a run now (trigger)."
    return f"The next tick is at {told['next_at']}; list_runs with tag 'schedule:{told['name']}' shows its runs."
