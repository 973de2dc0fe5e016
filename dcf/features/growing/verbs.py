"""The verbs on runs that grow: open one, add units, seal, take back, close. They call and describe."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from dcf.core.documents.codec import read_meta
from dcf.core.documents.model import RunStatus, Status
from dcf.core.lifecycle.creation import Create
from dcf.core.lifecycle.starting import check_tags
from dcf.errors import Forbidden, InvalidArgument
from dcf.features.growing.adding import AddUnits
from dcf.features.growing.closing import LONGEST_SUMMARY, MAX_METRICS, Close, Seal, check_points
from dcf.features.growing.definition import grown_definition
from dcf.features.growing.opening import LONGEST_TITLE, OpenRequest
from dcf.features.growing.records import AddedUnits, ClosedRun, ClosedStatusName, OpenedRun, ReopenedUnit, SealedGroup
from dcf.features.growing.syntax import read_units
from dcf.values.identifiers import check_id, check_name
from dcf.values.json_paths import MISSING
from dcf.values.json_text import Json
from dcf.values.refusal import Refusal
from dcf.verbs.answers.operated import operated, operated_on
from dcf.verbs.answers.work import work_shown
from dcf.verbs.callers import bound_to, current_caller, require_planner, whose_requests
from dcf.verbs.derived_tools import add_tools
from dcf.verbs.description.verb import Answered, Argument, Command, RefusedWith, verb
from dcf.verbs.description.words import (
    AgentId,
    DefinitionReference,
    JsonValue,
    LeaseToken,
    LeaseTtl,
    OptionalRunId,
    ProjectId,
    Reason,
    RequestId,
    RunId,
    StatePath,
)
from dcf.verbs.lease_tokens import new_token
from dcf.verbs.run_ids import id_for_opening

if TYPE_CHECKING:
    from dcf.application.application import Application

_YEAR_S: Final = 31_536_000
_LONGEST_TEXT: Final = 4 * 1024 * 1024
_HINT: Final = "Add units with `add_units`; `claim_ready_state` gives the next one; `close_run` ends the run."

_Points = Annotated[
    Sequence[str], Argument(means="List of texts.", form="texts", max_length=_LONGEST_TEXT, listed=False)
]
_Unit = Annotated[StatePath, Argument(means="Name of the unit.")]


def _run_around(arguments: Any) -> Iterable[str]:
    """Return the run that the new one is a part of; its own id names a run that need not be there."""
    return () if arguments.parent_run is None else (arguments.parent_run,)


@verb(
    toolset="growing",
    scope="plan",
    lists=("member",),
    says=lambda answer: f"Run '{answer['workflow_id']}' {'exists' if answer['existed'] else 'is open'}.",
    codes=("conflict", "unknown_run", "unknown_state", "run_over", "not_in_catalogue"),
    command=Command(
        name="runs open",
        example='dcf runs open release --id release-7 --title "Release 7"',
        show="dcf.cli.features.growing:show_opened",
    ),
    runs_named=_run_around,
)
def open_run(
    on: "Application",
    name: Annotated[str, Argument(means="The kind of work.", example="release", min_length=1, max_length=100)],
    workflow_id: Annotated[OptionalRunId, Argument(means="Id of the run; default: a new one.", option="--id")] = None,
    *,
    title: Annotated[str | None, Argument(means="A title.", min_length=1, max_length=LONGEST_TITLE)] = None,
    input: Annotated[  # noqa: A002 - the name that it has in the language
        JsonValue,
        Argument(
            means="Input of the run: any JSON value.",
            spelling="Run input: a JSON file, JSON itself, or - for standard input.",
            form="json",
            bytes_setting="max_output_bytes",
            tool="input_json",
            listed=False,
        ),
    ] = MISSING,
    planner_agent_id: Annotated[
        AgentId,
        Argument(
            means="Agent that plans it; default: that of your key.",
            spelling="Agent to notify when it ends.",
            option="--planner",
            listed=False,
        ),
    ] = None,
    tags: Annotated[
        Sequence[str],
        Argument(
            means="Short names to find the run by.",
            spelling="Name to find it by; may be repeated.",
            form="texts",
            tool="tags_json",
            option="--tag",
            listed=False,
        ),
    ] = (),
    project: Annotated[ProjectId | None, Argument(means="Project that it belongs to.")] = None,
    definition_ref: DefinitionReference = None,
    parent_run: Annotated[OptionalRunId, Argument(means="Run that this one is a part of.", option="--within")] = None,
    parent_unit: Annotated[StatePath | None, Argument(means="Unit of that run.", option="--unit")] = None,
    timeout_s: Annotated[
        int | None,
        Argument(means="Seconds after which it is paused.", ge=1, le=_YEAR_S, option="--timeout", listed=False),
    ] = None,
    expiry_secs: Annotated[
        int | None,
        Argument(
            means="Seconds that the run's keys outlive its finalization.",
            spelling="Seconds that it is kept once it is finalized.",
            ge=1,
            le=_YEAR_S,
            option="--expiry",
            listed=False,
        ),
    ] = None,
    max_attempts: Annotated[
        int, Argument(means="Leases of one unit before it fails.", ge=1, le=1000, listed=False)
    ] = 10,
    request_id: RequestId = None,
    reason: Reason = None,
) -> Answered[OpenedRun] | RefusedWith:
    """Open a run without a workflow: you add units of work to it while it is open (`add_units`), and close it at last.

    Repeating a call with the same `request_id` or `workflow_id` returns the same run.
    """
    caller = current_caller()
    if parent_unit is not None and parent_run is None:
        raise InvalidArgument("parent_unit is given without parent_run.", "Name the run of that unit as `parent_run`.")
    check_name(name, "name", 100)
    run = check_id(workflow_id or id_for_opening(name, request_id, whose_requests()), "workflow_id")
    wish = Create(
        workflow_id=run,
        definition=grown_definition(name),
        run_input={} if input is MISSING else input,
        agents={},
        planner_agent_id=planner_agent_id or caller.agent_id,
        retention_s=expiry_secs,
        max_attempts=max_attempts,
        created_by=caller.name,
        tags=check_tags(tags, name="tags_json"),
        project=project,
        definition_ref=on.catalogue.pin(definition_ref, project),
    )
    request = OpenRequest(
        wish=wish,
        title=title,
        timeout_s=timeout_s,
        nested_in=None if parent_run is None else (parent_run, parent_unit),
        reason=reason,
        asked_ref=definition_ref,
    )
    created = on.growing.open_run(request)
    if isinstance(created, Refusal):
        return RefusedWith(created, {"workflow_id": run})
    status = read_meta(dict(created.meta)).status
    members = {"workflow_id": run, "run_status": str(status), "existed": created.existed, "hint": _HINT}
    return Answered(OpenedRun, members)


@verb(
    toolset="growing",
    scope="plan",
    lists=("member",),
    says=lambda answer: f"{len(answer['added'])} units added.",
    codes=(
        *("unknown_run", "unknown_unit", "not_growing", "dependency_cycle", "sealed", "conflict"),
        *("invalid_definition", "not_ready", "parent_ended", "terminal"),
    ),
    command=Command(
        name="states add",
        example='dcf states add release-7 \'[{"name": "Build"}, {"name": "Test", "depends_on": ["Build"]}]\'',
        show="dcf.cli.features.growing:show_added",
    ),
    in_refusals={"added": (), "existing": (), "ready": (), "work": (), "problems": []},
)
def add_units(
    on: "Application",
    workflow_id: RunId,
    units: Annotated[
        Sequence[Json],
        Argument(
            means="The units.",
            example=[{"name": "Build"}, {"name": "Test"}],
            spelling="A JSON array of units: text, a file, or - for standard input.",
            form="array",
            max_length=_LONGEST_TEXT,
        ),
    ],
    *,
    agent_id: Annotated[AgentId, Argument(means="Your agent id, to take units with claim.")] = None,
    lease_ttl_s: Annotated[LeaseTtl, Argument(means="Seconds of the lease.", option="--lease", listed=False)] = 300,
    lease_token: Annotated[
        LeaseToken | None, Argument(means="Of your own, to repeat a call that claims.", option="--token", listed=False)
    ] = None,
    request_id: RequestId = None,
    reason: Reason = None,
) -> Answered[AddedUnits] | Refusal:
    """Add units of work, and groups of them, to a run that grows: all of them or, if something is wrong, none.

    A unit: {"name", "depends_on"?: [names], "group"?, "parent"?, "title"?, "instructions"?, "input"?,
    "output_schema"?, "skills"?, "gates"?, "agents"?, "areas"?, "claim"?: true to take it at once}. A group: {"name",
    "kind": "group", "depends_on"?, "agents"?: whose keys may add units, too}; what depends on it waits for all that is
    in it, once it is sealed.
    """
    _require_member(on, workflow_id)
    new = read_units(units)
    if any(unit.claim for unit in new) and agent_id is None:
        raise InvalidArgument("A unit is to be claimed, and agent_id is missing.", "Pass your agent id as `agent_id`.")
    wish = AddUnits(units=new, owner=agent_id or "", token=lease_token or new_token(), ttl_s=lease_ttl_s)
    done = on.growing.add_units(workflow_id, wish, reason=reason, request_id=request_id)
    if isinstance(done, Refusal):
        return done
    work = [work_shown(on, workflow_id, leased) for leased in done.leases]
    members = {"workflow_id": workflow_id, "repeated": done.outcome.repeated, **done.outcome.answer}
    return Answered(AddedUnits, {**members, "work": work})


def _require_member(on: "Application", workflow_id: str) -> None:
    """Raise Forbidden for a key bound to an agent that has no part in the run."""
    agent_id = bound_to()
    if agent_id is not None and not on.growing.is_member(workflow_id, agent_id):
        raise Forbidden(
            f"Agent '{agent_id}', which this key is bound to, has no part in run '{workflow_id}'.",
            "Its planner, agents that have a unit of it, and agents of its groups change its units; the planner can "
            "add one for you, or name you in a group.",
        )


@verb(
    toolset="growing",
    scope="plan",
    lists=("member",),
    says=lambda answer: f"{'The run' if answer['group'] is None else 'The group'} is sealed.",
    codes=("unknown_run", "unknown_unit", "not_growing", "run_over", "units_open", "unknown_state"),
    command=Command(name="runs seal", show="dcf.cli.features.growing:show_sealed"),
    in_refusals={"next_states": ()},
)
def seal_group(
    on: "Application",
    workflow_id: RunId,
    group: Annotated[StatePath | None, Argument(means="The group; default: the whole run.")] = None,
    *,
    only_if_done: Annotated[bool, Argument(means="Refuse while something in it is open.")] = False,
    force: Annotated[bool, Argument(means="Skip what has not ended well.", listed=False)] = False,
    ends: Annotated[
        Literal["succeeded", "failed"] | None,
        Argument(means="The group ends so although units in it failed; refused while one is open.", listed=False),
    ] = None,
    request_id: RequestId = None,
    reason: Reason = None,
) -> Answered[SealedGroup] | RefusedWith:
    """Say that nothing more comes into a group, or into the run: it ends once all that is in it has ended well."""
    _require_member(on, workflow_id)
    wish = Seal(group=group, only_if_done=only_if_done, force=force, ends=Status(ends) if ends else None)
    done = on.growing.seal_group(workflow_id, wish, reason=reason, request_id=request_id)
    return operated_on(SealedGroup, workflow_id, done, group=group)


@verb(
    toolset="growing",
    scope="plan",
    lists=("member", "operator"),
    says=lambda answer: f"Unit '{answer['unit']}' can be taken again.",
    codes=("unknown_run", "unknown_unit", "not_growing", "run_over", "invalid_transition", "unknown_state"),
    command=Command(name="states retry", show="dcf.cli.features.growing:show_retried"),
    in_refusals={"rewound": ()},
)
def retry_unit(
    on: "Application", workflow_id: RunId, unit: _Unit, *, request_id: RequestId = None, reason: Reason = None
) -> Answered[ReopenedUnit] | RefusedWith:
    """Let a failed unit of a run that grows be taken again, as a new attempt of the same unit."""
    _require_member(on, workflow_id)
    done = on.growing.retry_unit(workflow_id, unit, reason=reason, request_id=request_id)
    return operated_on(ReopenedUnit, workflow_id, done, unit=unit)


@verb(
    toolset="growing",
    scope="plan",
    lists=("member", "operator"),
    effect="destroys",
    says=lambda answer: f"Unit '{answer['unit']}' can be taken again.",
    codes=("unknown_run", "unknown_unit", "not_growing", "run_over", "invalid_transition", "unknown_state"),
    command=Command(
        name="states rewind",
        question=lambda call: f"Take back {call['unit']} of run {call['workflow_id']} and all that followed it?",
        show="dcf.cli.features.growing:show_rewound",
    ),
    in_refusals={"rewound": ()},
)
def rewind_unit(
    on: "Application", workflow_id: RunId, unit: _Unit, *, request_id: RequestId = None, reason: Reason = None
) -> Answered[ReopenedUnit] | RefusedWith:
    """Reopen a unit of a run that grows, and all that followed it: their holders must stop, and outputs are gone."""
    _require_member(on, workflow_id)
    done = on.growing.rewind_unit(workflow_id, unit, reason=reason, request_id=request_id)
    return operated_on(ReopenedUnit, workflow_id, done, unit=unit)


@verb(
    toolset="growing",
    scope="plan",
    lists=("member", "operator"),
    effect="destroys",
    says=lambda answer: f"Run '{answer['workflow_id']}' is closed.",
    codes=("unknown_run", "not_growing", "run_over", "units_open", "issues_open"),
    command=Command(
        name="runs close",
        question=lambda call: f"Close run {call['workflow_id']}?",
        show="dcf.cli.features.growing:show_closed",
    ),
)
def close_run(
    on: "Application",
    workflow_id: RunId,
    *,
    status: Annotated[
        ClosedStatusName,
        Argument(means="How it ended.", spelling="How it ended: succeeded, failed, partial, cancelled."),
    ] = "succeeded",
    summary: Annotated[str | None, Argument(means="Summary of the work.", max_length=LONGEST_SUMMARY)] = None,
    achievements: Annotated[
        _Points, Argument(means="", spelling="A result that was reached; may be repeated.", option="--achievement")
    ] = (),
    limitations: Annotated[
        _Points, Argument(means="", spelling="A result that was not reached; may be repeated.", option="--limitation")
    ] = (),
    metrics: Annotated[
        Mapping[str, Json] | None,
        Argument(
            means="Any numbers.",
            spelling="Any numbers: '{\"tests\": 12}', a JSON file, or -.",
            form="object",
            max_bytes=MAX_METRICS,
            tool="metrics_json",
            listed=False,
        ),
    ] = None,
    output: Annotated[
        Mapping[str, Json] | None,
        Argument(
            means="The output of the run.",
            spelling="The run's output: a JSON object, a JSON file, or -.",
            form="object",
            tool="output_json",
            listed=False,
        ),
    ] = None,
    force: Annotated[
        bool, Argument(means="Although units failed or, unless it succeeds, are open: those are cancelled.")
    ] = False,
    request_id: RequestId = None,
    reason: Reason = None,
) -> Answered[ClosedRun] | Refusal:
    """End a run that grows, with a summary. Refused while units have not ended well, unless forced.

    It never succeeds while a unit, a group or a blocking issue is open; it can be closed as failed.
    """
    require_planner(on, workflow_id)
    wish = Close(
        status=RunStatus(status),
        summary=summary,
        achievements=check_points(achievements, name="achievements"),
        limitations=check_points(limitations, name="limitations"),
        metrics=metrics,
        output=output,
        force=force,
    )
    done = on.growing.close_run(workflow_id, wish, reason=reason, request_id=request_id)
    return operated(ClosedRun, workflow_id, done)


add_tools(__name__)
