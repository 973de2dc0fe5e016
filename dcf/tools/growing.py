"""Tools for runs that grow: open one, add units to it. They only parse arguments, call and format."""

from typing import Any

from pydantic import Field

from dcf.application import Application
from dcf.core.access import Scope
from dcf.core.codec import read_meta
from dcf.core.creation import Create
from dcf.core.growing import AddUnits
from dcf.core.grown import grown_definition
from dcf.core.model import RunStatus
from dcf.core.opening import LONGEST_TITLE, OpenRequest
from dcf.core.starting import check_tags
from dcf.core.unit_syntax import read_units
from dcf.errors import InvalidArgument
from dcf.runs.growing import id_for_opening
from dcf.tools.callers import current_caller
from dcf.tools.leases import new_token
from dcf.tools.lifecycle import Reason, RequestId
from dcf.tools.registry import (
    AgentId,
    Answer,
    Arguments,
    JsonArray,
    LeaseToken,
    StateName,
    Ttl,
    WorkflowId,
    refused,
    tool,
)
from dcf.tools.unlisted import UNLISTED
from dcf.tools.work import work_shown
from dcf.values.identifiers import check_id, check_name
from dcf.values.json_text import parse
from dcf.values.refusal import Refusal


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


@tool(toolset="growing", scope=Scope.PLAN, profiles=("member", "operator"), arguments=OpenRun, answer=RunOpened)
def open_run(app: Application, args: OpenRun) -> RunOpened:
    """Open a run that grows."""
    caller, most = current_caller(), app.settings.max_output_bytes
    name = check_name(args.name, "name", 100)
    if args.parent_unit is not None and args.parent_run is None:
        raise InvalidArgument("parent_unit is given without parent_run.", "Name the run of that unit as parent_run.")
    workflow_id = args.workflow_id or id_for_opening(name, args.request_id, caller.agent_id or caller.name)
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
    )
    asked = OpenRequest(
        wish=wish,
        title=args.title,
        timeout_s=args.timeout_s,
        nested_in=None if args.parent_run is None else (args.parent_run, args.parent_unit),
        reason=args.reason,
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
    "output_schema"?, "skills"?, "agents"?, "areas"?, "claim"?: true to take it at once}. A group: {"name", "kind":
    "group", "depends_on"?}; what depends on it waits for all that is in it, once it is sealed.
    """

    workflow_id: WorkflowId
    units: JsonArray = Field(description="The units.", examples=[[{"name": "Build"}, {"name": "Test"}]])
    agent_id: AgentId | None = Field(default=None, description="Your agent id, to take units with claim.")
    lease_ttl_s: Ttl = Field(default=300, json_schema_extra=UNLISTED)
    lease_token: LeaseToken | None = Field(
        default=None, description="Of your own, to repeat a call that claims.", json_schema_extra=UNLISTED
    )
    request_id: RequestId = None
    reason: Reason = None


class UnitsAdded(Answer):
    """The units that are new (`added`), those that were there, and which can be taken; `work` of those you took."""

    workflow_id: str | None = None
    added: list[str] = Field(default_factory=list)
    existing: list[str] = Field(default_factory=list)
    ready: list[str] = Field(default_factory=list)
    units: int | None = None
    work: list[dict[str, Any]] = Field(default_factory=list)
    repeated: bool | None = None


@tool(toolset="growing", scope=Scope.PLAN, profiles=("member", "operator"), arguments=AddUnitsToRun, answer=UnitsAdded)
def add_units(app: Application, args: AddUnitsToRun) -> UnitsAdded:
    """Add units to a run that grows."""
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
