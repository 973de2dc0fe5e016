"""Tools for runs that grow: open one, add units, seal, take back, close. They only parse arguments, call and format."""

from collections.abc import Iterable
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field

from dcf.application.application import Application
from dcf.core.access.model import Scope
from dcf.core.documents.codec import read_meta
from dcf.core.documents.model import RunStatus
from dcf.core.documents.operations import RunAnswer
from dcf.core.lifecycle.creation import Create
from dcf.core.lifecycle.starting import check_tags
from dcf.errors import Forbidden, InvalidArgument
from dcf.features.catalogue.references import DefinitionRef
from dcf.features.growing.adding import AddUnits
from dcf.features.growing.closing import LONGEST_SUMMARY, Close, Seal, read_metrics, read_points, read_run_output
from dcf.features.growing.definition import grown_definition
from dcf.features.growing.opening import LONGEST_TITLE, OpenRequest
from dcf.features.growing.operations import id_for_opening
from dcf.features.growing.syntax import read_units
from dcf.values.identifiers import check_id, check_name
from dcf.values.json_text import parse
from dcf.values.refusal import Refusal
from dcf.verbs.answers.work import work_shown
from dcf.verbs.callers import bound_to, current_caller, require_planner, whose_requests
from dcf.verbs.lease_tokens import new_token
from dcf.verbs.registry import (
    AgentId,
    Answer,
    Arguments,
    JsonArray,
    JsonObject,
    LeaseToken,
    ProjectId,
    StateName,
    Ttl,
    WorkflowId,
    refused,
    tool,
)
from dcf.verbs.run_requests import Reason, RequestId
from dcf.verbs.unlisted import UNLISTED

Texts: TypeAlias = Annotated[str, Field(max_length=4 * 1024 * 1024)] | list[Any]
"""A JSON array, as text or native."""


class OpenRun(Arguments):
    """Open a run without a workflow: you add units of work to it while it is open (add_units), and close it at last.

    Repeating a call with the same request_id or workflow_id returns the same run.
    """

    name: str = Field(min_length=1, max_length=100, description="What kind of work it is.", examples=["release"])
    workflow_id: WorkflowId | None = Field(default=None, description="Id of the run; default: a new one.")
    title: str | None = Field(default=None, min_length=1, max_length=LONGEST_TITLE, description="What it is for.")
    input_json: Any = Field(default=None, description="Input of the run: any JSON value.", json_schema_extra=UNLISTED)
    planner_agent_id: AgentId | None = Field(
        default=None, description="Agent that plans it; default: that of your key.", json_schema_extra=UNLISTED
    )
    tags_json: JsonArray | None = Field(
        default=None, description="Short names to find the run by.", json_schema_extra=UNLISTED
    )
    project: ProjectId | None = Field(default=None, description="Project that it belongs to.")
    definition_ref: DefinitionRef = None
    parent_run: WorkflowId | None = Field(default=None, description="Run that this one is a part of.")
    parent_unit: StateName | None = Field(default=None, description="Unit of that run.")
    timeout_s: int | None = Field(
        default=None, ge=1, le=31_536_000, description="Seconds after which it is paused.", json_schema_extra=UNLISTED
    )
    expiry_secs: int | None = Field(
        default=None,
        ge=1,
        le=31_536_000,
        description="Seconds that the run's keys outlive its finalization.",
        json_schema_extra=UNLISTED,
    )
    max_attempts: int = Field(
        default=10, ge=1, le=1000, description="Leases of one unit before it fails.", json_schema_extra=UNLISTED
    )
    request_id: RequestId = None
    reason: Reason = None


class RunOpened(Answer):
    """The run. `existed`: it was there before this call."""

    workflow_id: str | None = None
    run_status: RunStatus | None = None
    existed: bool | None = None


def _run_around(args: OpenRun) -> Iterable[str]:
    """Return the run that the new one is a part of; its own id names a run that need not be there."""
    return () if args.parent_run is None else (args.parent_run,)


@tool(
    toolset="growing",
    scope=Scope.PLAN,
    profiles=("member",),
    arguments=OpenRun,
    answer=RunOpened,
    runs_named=_run_around,
)
def open_run(app: Application, args: OpenRun) -> RunOpened:
    """Open a run that grows."""
    caller, most = current_caller(), app.settings.max_output_bytes
    name = check_name(args.name, "name", 100)
    if args.parent_unit is not None and args.parent_run is None:
        raise InvalidArgument("parent_unit is given without parent_run.", "Name the run of that unit as parent_run.")
    workflow_id = args.workflow_id or id_for_opening(name, args.request_id, whose_requests())
    wish = Create(
        workflow_id=check_id(workflow_id, "workflow_id"),
        definition=grown_definition(name),
        run_input={} if args.input_json is None else parse(args.input_json, name="input_json", max_bytes=most),
        agents={},
        planner_agent_id=args.planner_agent_id or caller.agent_id,
        retention_s=args.expiry_secs,
        max_attempts=args.max_attempts,
        created_by=caller.name,
        tags=() if args.tags_json is None else check_tags(parse(args.tags_json, name="tags_json"), name="tags_json"),
        project=args.project,
        definition_ref=app.catalogue.pin(args.definition_ref, args.project),
    )
    asked = OpenRequest(
        wish=wish,
        title=args.title,
        timeout_s=args.timeout_s,
        nested_in=None if args.parent_run is None else (args.parent_run, args.parent_unit),
        reason=args.reason,
        asked_ref=args.definition_ref,
    )
    answer = app.growing.open_run(asked)
    if isinstance(answer, Refusal):
        return refused(RunOpened, answer, workflow_id=workflow_id)
    verb = "exists" if answer.existed else "is open"
    return RunOpened(
        status=f"Run '{workflow_id}' {verb}.",
        workflow_id=workflow_id,
        run_status=read_meta(dict(answer.meta)).status,
        existed=answer.existed,
        hint="Add units with add_units; claim_ready_state gives the next one; close_run ends the run.",
    )


class AddUnitsToRun(Arguments):
    """Add units of work, and groups of them, to a run that grows: all of them or, if something is wrong, none.

    A unit: {"name", "depends_on"?: [names], "group"?, "parent"?, "title"?, "instructions"?, "input"?,
    "output_schema"?, "skills"?, "gates"?, "agents"?, "areas"?, "claim"?: true to take it at once}. A group: {"name",
    "kind": "group", "depends_on"?}; what depends on it waits for all that is in it, once it is sealed.
    """

    workflow_id: WorkflowId
    units: Texts = Field(description="The units.", examples=[[{"name": "Build"}, {"name": "Test"}]])
    agent_id: AgentId | None = Field(default=None, description="Your agent id, to take units with claim.")
    lease_ttl_s: Ttl = Field(default=300, json_schema_extra=UNLISTED)
    lease_token: LeaseToken | None = Field(
        default=None, description="Of your own, to repeat a call that claims.", json_schema_extra=UNLISTED
    )
    request_id: RequestId = None
    reason: Reason = None


def _require_member(app: Application, workflow_id: str) -> None:
    """Raise Forbidden for a key bound to an agent that has no part in the run."""
    agent_id = bound_to()
    if agent_id is not None and not app.growing.is_member(workflow_id, agent_id):
        raise Forbidden(
            f"Agent '{agent_id}', which this key is bound to, has no part in run '{workflow_id}'.",
            "Its planner, and agents that have a unit of it, change its units; the planner can add one for you.",
        )


class UnitsAdded(Answer):
    """The units that are new (`added`), those that were there, and which can be taken; `work` of those you took."""

    workflow_id: str | None = None
    added: list[str] = Field(default_factory=list)
    existing: list[str] = Field(default_factory=list)
    ready: list[str] = Field(default_factory=list)
    units: int | None = None
    work: list[dict[str, Any]] = Field(default_factory=list)
    problems: list[dict[str, str]] = Field(default_factory=list)
    repeated: bool | None = None


@tool(toolset="growing", scope=Scope.PLAN, profiles=("member",), arguments=AddUnitsToRun, answer=UnitsAdded)
def add_units(app: Application, args: AddUnitsToRun) -> UnitsAdded:
    """Add units to a run that grows."""
    _require_member(app, args.workflow_id)
    units = read_units(parse(args.units, name="units"))
    if any(one.claim for one in units) and args.agent_id is None:
        raise InvalidArgument("A unit is to be claimed, and agent_id is missing.", "Pass your agent id as agent_id.")
    wish = AddUnits(
        units=units, owner=args.agent_id or "", token=args.lease_token or new_token(), ttl_s=args.lease_ttl_s
    )
    answer = app.growing.add_units(args.workflow_id, wish, reason=args.reason, request_id=args.request_id)
    if isinstance(answer, Refusal):
        return refused(UnitsAdded, answer, workflow_id=args.workflow_id)
    return UnitsAdded(
        status=f"{len(answer.outcome.answer['added'])} units added.",
        workflow_id=args.workflow_id,
        work=[work_shown(app, args.workflow_id, one) for one in answer.leases],
        repeated=answer.outcome.repeated,
        **answer.outcome.answer,
    )


class SealGroup(Arguments):
    """Say that nothing more comes into a group, or into the run: it ends once all that is in it has ended well."""

    workflow_id: WorkflowId
    group: StateName | None = Field(default=None, description="The group; default: the whole run.")
    only_if_done: bool = Field(default=False, description="Refuse while something in it is open.")
    force: bool = Field(default=False, description="Skip what has not ended well.", json_schema_extra=UNLISTED)
    request_id: RequestId = None
    reason: Reason = None


class GroupSealed(Answer):
    """How many units of it are `open`; `next_states` can be taken now. `sealed` is false if it was sealed before."""

    workflow_id: str | None = None
    group: str | None = None
    sealed: bool | None = None
    open: int | None = None
    run_status: RunStatus | None = None
    next_states: list[str] = Field(default_factory=list)
    repeated: bool | None = None


@tool(toolset="growing", scope=Scope.PLAN, profiles=("member",), arguments=SealGroup, answer=GroupSealed)
def seal_group(app: Application, args: SealGroup) -> GroupSealed:
    """Seal a group or a run."""
    _require_member(app, args.workflow_id)
    wish = Seal(group=args.group, only_if_done=args.only_if_done, force=args.force)
    answer = app.growing.seal_group(args.workflow_id, wish, reason=args.reason, request_id=args.request_id)
    if isinstance(answer, Refusal):
        return refused(GroupSealed, answer, workflow_id=args.workflow_id, group=args.group)
    what = "The run" if args.group is None else "The group"
    return GroupSealed(
        status=f"{what} is sealed.", workflow_id=args.workflow_id, repeated=answer.repeated, **answer.answer
    )


class _OnUnit(Arguments):
    """What every operation on a unit is told."""

    workflow_id: WorkflowId
    unit: StateName
    request_id: RequestId = None
    reason: Reason = None


class UnitReopened(Answer):
    """The unit as it is now. `rewound` are those that were taken back with it."""

    workflow_id: str | None = None
    unit: str | None = None
    unit_status: str | None = None
    retries: int | None = None
    ready: bool | None = None
    rewound: list[str] = Field(default_factory=list)
    rewound_count: int | None = None
    repeated: bool | None = None


class RetryUnit(_OnUnit):
    """Let a failed unit of a run that grows be taken again, as a new attempt of the same unit."""


@tool(toolset="growing", scope=Scope.PLAN, profiles=("member", "operator"), arguments=RetryUnit, answer=UnitReopened)
def retry_unit(app: Application, args: RetryUnit) -> UnitReopened:
    """Try a unit again."""
    _require_member(app, args.workflow_id)
    answer = app.growing.retry_unit(args.workflow_id, args.unit, reason=args.reason, request_id=args.request_id)
    return _reopened(args, answer)


class RewindUnit(_OnUnit):
    """Reopen a unit of a run that grows, and all that followed it: their holders must stop, and outputs are gone."""


@tool(
    toolset="growing",
    scope=Scope.PLAN,
    profiles=("member", "operator"),
    arguments=RewindUnit,
    answer=UnitReopened,
    destructive=True,
)
def rewind_unit(app: Application, args: RewindUnit) -> UnitReopened:
    """Take a unit back."""
    _require_member(app, args.workflow_id)
    answer = app.growing.rewind_unit(args.workflow_id, args.unit, reason=args.reason, request_id=args.request_id)
    return _reopened(args, answer)


def _reopened(args: _OnUnit, answer: RunAnswer | Refusal) -> UnitReopened:
    if isinstance(answer, Refusal):
        return refused(UnitReopened, answer, workflow_id=args.workflow_id, unit=args.unit)
    return UnitReopened(
        status=f"Unit '{args.unit}' can be taken again.",
        workflow_id=args.workflow_id,
        repeated=answer.repeated,
        **answer.answer,
    )


class CloseRun(Arguments):
    """End a run that grows, with a summary. Refused while units have not ended well, unless forced.

    It never succeeds while a unit, a group or a blocking issue is open; it can be closed as failed.
    """

    workflow_id: WorkflowId
    status: Literal["succeeded", "failed", "partial", "cancelled"] = Field(
        default="succeeded", description="How it ended."
    )
    summary: str | None = Field(default=None, max_length=LONGEST_SUMMARY, description="What was done.")
    achievements: Texts | None = Field(default=None, description="List of texts.", json_schema_extra=UNLISTED)
    limitations: Texts | None = Field(default=None, description="List of texts.", json_schema_extra=UNLISTED)
    metrics_json: JsonObject | None = Field(default=None, description="Any numbers.", json_schema_extra=UNLISTED)
    output_json: JsonObject | None = Field(
        default=None, description="The output of the run.", json_schema_extra=UNLISTED
    )
    force: bool = Field(
        default=False, description="Although units failed or, unless it succeeds, are open: those are cancelled."
    )
    request_id: RequestId = None
    reason: Reason = None


class RunClosed(Answer):
    """How the run ended, how many units it has, and how many of them had not ended well (`left`)."""

    workflow_id: str | None = None
    run_status: RunStatus | None = None
    units: int | None = None
    left: int | None = None
    repeated: bool | None = None


@tool(
    toolset="growing",
    scope=Scope.PLAN,
    profiles=("member", "operator"),
    arguments=CloseRun,
    answer=RunClosed,
    destructive=True,
)
def close_run(app: Application, args: CloseRun) -> RunClosed:
    """Close a run that grows."""
    require_planner(app, args.workflow_id)
    wish = Close(
        status=RunStatus(args.status),
        summary=args.summary,
        achievements=read_points(args.achievements, name="achievements"),
        limitations=read_points(args.limitations, name="limitations"),
        metrics=read_metrics(args.metrics_json),
        output=read_run_output(args.output_json),
        force=args.force,
    )
    answer = app.growing.close_run(args.workflow_id, wish, reason=args.reason, request_id=args.request_id)
    if isinstance(answer, Refusal):
        return refused(RunClosed, answer, workflow_id=args.workflow_id)
    return RunClosed(
        status=f"Run '{args.workflow_id}' is closed.",
        workflow_id=args.workflow_id,
        repeated=answer.repeated,
        **answer.answer,
    )
