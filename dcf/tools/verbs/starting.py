"""The verbs that begin runs: start one, repeat one, continue one."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Final

from dcf.core.access.model import Scope
from dcf.core.definitions.model import Definition, read_given
from dcf.core.documents.answers import Created
from dcf.core.documents.codec import read_meta
from dcf.core.documents.model import RunStatus
from dcf.core.lifecycle.creation import Create
from dcf.core.lifecycle.repeating import Rerun
from dcf.core.lifecycle.starting import Start, check_tags, request_to_start
from dcf.errors import InvalidArgument
from dcf.tools.verbs.arguments import (
    EMPTY,
    Assigned,
    Expiry,
    PlannerId,
    RunGates,
    RunInput,
    Workflow,
    read_agents,
    read_gates,
    read_input,
)
from dcf.values.identifiers import MAX_STATE_PATH, check_agents, check_id
from dcf.values.json_paths import MISSING
from dcf.values.json_text import Json, parse_workflow
from dcf.values.refusal import Refusal
from dcf.verbs.answers.beginnings import defaulted, next_calls, unknown_agents, warnings_of
from dcf.verbs.answers.operated import operated
from dcf.verbs.callers import bound_to, current_caller, require_planner, whose_requests
from dcf.verbs.derived_tools import add_tools
from dcf.verbs.description.verb import Answered, Argument, Command, PageAction, RefusedWith, verb
from dcf.verbs.description.words import ID, DefinitionReference, OptionalRunId, ProjectId, Reason, RequestId, RunId
from dcf.verbs.records.beginnings import RetriedRun, StartedRun
from dcf.verbs.registry import no_run
from dcf.verbs.run_ids import id_for

if TYPE_CHECKING:
    from dcf.application.application import Application

_COMMANDS: Final = "dcf.cli.commands.starting"


def _begun(answer: Mapping[str, Any]) -> str:
    verb = "exists" if answer["existed"] else "started"
    return f"Run '{answer['workflow_id']}' of '{answer['definition']['name']}' {verb}."


@verb(
    toolset="operations",
    scope="plan",
    lists=("planner", "operator"),
    says=_begun,
    codes=("invalid_definition", "unknown_definition", "unknown_project", "conflict", "not_in_catalogue"),
    command=Command(name="start", function=f"{_COMMANDS}:start"),
    page=PageAction(
        title="Start a run",
        effect="A new run of this workflow begins.",
        form=("definition", "workflow_id", "input", "tags", "project", "reason"),
        needed=("definition",),
        returns_to="run",
    ),
    method="start",
    steps="dcf.client.steps.starting:start",
    runs_named=no_run,
    in_refusals=EMPTY,
)
def start_run(
    on: "Application",
    *,
    workflow: Workflow | None = None,
    definition: Annotated[
        str | None,
        Argument(
            means="Instead of a document: 'name@version', 'name' (newest) or its hash.",
            max_length=300,
            label="Workflow (name, or name@version)",
        ),
    ] = None,
    workflow_id: Annotated[
        OptionalRunId,
        Argument(
            means="Id of the run; default: a new one.",
            pattern=ID,
            option="--id",
            label="Id of the run (empty: a new one)",
        ),
    ] = None,
    input: RunInput = MISSING,  # noqa: A002 - the name that it has in the language
    agents: Assigned = None,
    planner_agent_id: Annotated[
        PlannerId,
        Argument(means="Agent to notify when the run ends; default: the agent of your key.", option="--planner"),
    ] = None,
    project: Annotated[
        ProjectId | None, Argument(means="Project that the run belongs to.", plain=True, label="Project (empty: none)")
    ] = None,
    definition_ref: DefinitionReference = None,
    tags: Annotated[
        list[Any] | None,
        Argument(
            means='Short names to find the run by: ["nightly"].',
            form="array",
            tool="tags_json",
            option="--tag",
            label='Tags, as JSON: ["nightly"]',
        ),
    ] = None,
    expiry_secs: Annotated[Expiry, Argument(means="", option="--expiry", listed=False)] = None,
    max_attempts: Annotated[
        int, Argument(means="Leases of one state before the run fails.", listed=False, ge=1, le=1000)
    ] = 10,
    gates: RunGates = None,
    keep: Annotated[
        bool,
        Argument(means="Keep the document, to be started again by its name.", listed=False, option="--keep/--no-keep"),
    ] = True,
    request_id: RequestId = None,
    reason: Reason = None,
) -> Answered[StartedRun] | RefusedWith:
    """Start a run in one call: validates the workflow, creates the run and tells the agents of its first states.

    Give a document (`workflow`) or the name of one that was started before (`definition`). Repeating a call with the
    same `request_id` or `workflow_id` returns the same run.
    """
    caller, kept_tags = current_caller(), check_tags(tags or (), name="tags_json")
    assigned, of_all = read_agents(agents), read_gates(gates)
    document = _document(on, workflow, definition)
    sent = None if document is None else read_given(document)
    entry = on.starting.resolve(str(definition), project, sent)
    run = workflow_id or id_for(entry.definition, request_id, whose_requests())
    wish = Create(
        workflow_id=check_id(run, "workflow_id"),
        definition=entry.definition,
        run_input=read_input(input),
        agents=check_agents(assigned, set(entry.definition.skills)),
        planner_agent_id=planner_agent_id or caller.agent_id,
        retention_s=expiry_secs,
        max_attempts=max_attempts,
        created_by=caller.name,
        tags=kept_tags,
        gates=of_all,
        project=project,
        definition_ref=on.catalogue.pin(definition_ref, project),
    )
    request = None if request_id is None else request_to_start(wish, request_id)
    start = Start(wish=wish, request=request, reason=reason, bound_to=bound_to())
    unknown = unknown_agents(on, wish.agents)
    answer = on.starting.start(start, to_keep=entry if sent is None or keep else None)
    if isinstance(answer, Refusal):
        return RefusedWith(answer, {"workflow_id": run})
    if answer.existed:
        require_planner(on, run)
    chosen = None if workflow_id is not None else run
    assumed = defaulted(document, entry.definition, wish.agents, chosen_id=chosen)
    return _started(answer, entry.definition, run, assumed, unknown)


@verb(
    toolset="operations",
    scope="plan",
    lists=("planner", "operator"),
    says=_begun,
    codes=("unknown_run", "unknown_state", "cannot_rerun", "conflict"),
    command=Command(
        name="runs rerun",
        example="dcf runs rerun order-42 --from CalculatePricing",
        summary=(
            "Repeat a run as a new one: from its beginning, or with --from STATE from there, with the input it had.\n\n"
            "STATE is a state of the workflow itself, not one inside a Parallel or Map. The run may be open or ended. "
            "Both runs name each other."
        ),
        show=f"{_COMMANDS}:show_started",
    ),
    page=PageAction(
        title="Run again",
        effect="A new run of the same workflow begins; from a state, with the results of those before it.",
        form=("from_state", "new_workflow_id", "input", "reason"),
        returns_to="run",
    ),
    in_refusals=EMPTY,
)
def rerun(
    on: "Application",
    workflow_id: RunId,
    *,
    from_state: Annotated[
        str | None,
        Argument(
            means="State of the workflow itself (not inside a Parallel or Map) to begin with.",
            spelling="Begin with this state; those before it are kept with their outputs.",
            min_length=1,
            max_length=MAX_STATE_PATH,
            option="--from",
            label="From this state (empty: from the beginning)",
        ),
    ] = None,
    input: Annotated[  # noqa: A002 - the name that it has in the language
        RunInput,
        Argument(
            means="Another input; not with from_state. Default: the same.",
            spelling="Another input: a JSON file, JSON itself, or -. Not with --from.",
            label="Another input, as JSON (empty: the same)",
        ),
    ] = MISSING,
    agents: Annotated[
        Assigned,
        Argument(
            means="Agents in place of those assigned before.",
            spelling="STATE=AGENT, or AGENT for all other Tasks, in place of those before.",
        ),
    ] = None,
    new_workflow_id: Annotated[
        OptionalRunId,
        Argument(
            means="Id of the new run; default: a new one.",
            pattern=ID,
            option="--id",
            label="Id of the new run (empty: a new one)",
        ),
    ] = None,
    reason: Reason = None,
    request_id: RequestId = None,
) -> Answered[StartedRun] | RefusedWith:
    """Repeat a run as a new one, of the same definition: from its beginning, or from a state (`from_state`).

    With `from_state` the states before it are kept with their outputs, and it gets the input that it had. Works for
    open and ended runs; both runs name each other.
    """
    if from_state is not None and input is not MISSING:
        raise InvalidArgument(
            "With from_state the state gets the input that it had.", "Leave out `input_json`, or `from_state`."
        )
    assigned = read_agents(agents)
    require_planner(on, workflow_id)
    definition = on.control_plane.run(workflow_id).definition
    new = new_workflow_id or id_for(definition, request_id, whose_requests(), workflow_id)
    rerun = Rerun(
        workflow_id=new,
        run_input=() if input is MISSING else (input,),
        from_state=from_state,
        agents=check_agents(assigned, set(definition.skills)),
        created_by=current_caller().name,
        reason=reason,
    )
    unknown = unknown_agents(on, rerun.agents)
    answer = on.starting.rerun(workflow_id, rerun, request_id)
    if isinstance(answer, Refusal):
        return RefusedWith(answer, {"workflow_id": new})
    return _started(answer, definition, new, [], unknown)


@verb(
    toolset="operations",
    scope="plan",
    lists=("planner", "operator"),
    says=lambda answer: f"Run '{answer['workflow_id']}' goes on.",
    codes=("unknown_run", "cannot_retry", "on_hold", "conflict"),
    command=Command(
        name="retry", example='dcf retry order-42 --reason "the rates are back"', show=f"{_COMMANDS}:show_retried"
    ),
    page=PageAction(
        title="Retry the run",
        effect="The failed states are entered again, with the same input. What has succeeded is kept.",
    ),
    method="retry",
    in_refusals={"states": []},
)
def retry_run(
    on: "Application", workflow_id: RunId, *, reason: Reason = None, request_id: RequestId = None
) -> Answered[RetriedRun] | Refusal:
    """Continue a run that failed, timed out, was cancelled or is on hold: call this once the cause is corrected.

    Only an operator releases a run that is on hold. All that succeeded is kept, iterations and branches too. The
    rest is entered again with the input it had, all its attempts and retries. A finalized run is not retried: repeat
    it with `rerun`.
    """
    require_planner(on, workflow_id)
    is_operator = Scope.OPERATE in current_caller().scopes
    done = on.retrying.retry(workflow_id, reason=reason, request_id=request_id, may_release=is_operator)
    return operated(RetriedRun, workflow_id, done)


def _document(on: "Application", workflow: Any, definition: str | None) -> Json:
    """Return the workflow that was sent; None where a kept one was named."""
    if (workflow is None) == (definition is None):
        raise InvalidArgument(
            "Either workflow_json or definition must be given, and not both.",
            "Pass the workflow document, or the name of a stored one.",
        )
    if workflow is None:
        return None
    return parse_workflow(workflow, name="workflow_json", max_bytes=on.settings.max_document_bytes)


def _started(
    answer: Created, definition: Definition, workflow_id: str, assumed: list[str], unknown: list[str]
) -> Answered[StartedRun]:
    status = read_meta(dict(answer.meta)).status
    return Answered(
        StartedRun,
        {
            "workflow_id": workflow_id,
            "run_status": status.value,
            "existed": answer.existed,
            "definition": {"name": definition.name, "version": definition.version, "sha256": definition.sha256},
            "problems": [],
            "warnings": warnings_of(definition, answer.meta, unknown),
            "defaulted": assumed,
            "hint": _hint(status),
            "next": next_calls(workflow_id, definition, answer.meta),
        },
    )


def _hint(status: RunStatus) -> str:
    if status is RunStatus.RUNNING:
        return "Its agents are told by themselves; `await_workflow_event` tells its planner when it is over."
    return f"It is {status.value} already: `read_workflow_control_plane` shows its output."


add_tools(__name__)
