"""The verbs of a planner around a run: create it without starting it, and finalize it."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from dcf.core.definitions.model import Definition, read_given
from dcf.core.documents.answers import Created
from dcf.core.documents.codec import read_meta
from dcf.core.documents.model import Meta, RunStatus
from dcf.core.documents.stored_values import object_of
from dcf.core.lifecycle.creation import Create
from dcf.core.lifecycle.dismissals import NONE_TO_DELETE
from dcf.core.lifecycle.finalization import Finalize
from dcf.features.work.askers import asker_about
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
from dcf.values.identifiers import check_agents, check_id
from dcf.values.json_paths import MISSING
from dcf.values.json_text import Json, parse_workflow
from dcf.values.refusal import Refusal
from dcf.verbs.answers.beginnings import defaulted, next_calls, unknown_agents, warnings_of
from dcf.verbs.callers import current_caller, require_planner
from dcf.verbs.derived_tools import add_tools
from dcf.verbs.description.verb import Answered, Argument, Command, PageAction, RefusedWith, verb
from dcf.verbs.description.words import ID, OptionalRunId, ProjectId, RunId
from dcf.verbs.records.beginnings import CreatedControlPlane, FinalizedRun
from dcf.verbs.registry import no_run
from dcf.verbs.run_ids import id_for

if TYPE_CHECKING:
    from dcf.application.application import Application

_ABOUT_RUNS: Final = frozenset({"run_finished", "run_stalled"})
_MOST_WAITING: Final = 100
"""Events of an inbox that are looked through."""


@verb(
    toolset="planning",
    scope="plan",
    lists=("operator",),
    says=lambda answer: f"Control plane created for run '{answer['workflow_id']}'.",
    codes=("invalid_definition", "unknown_project", "conflict"),
    runs_named=no_run,
    in_refusals=EMPTY,
)
def create_workflow_control_plane(
    on: "Application",
    workflow: Workflow,
    input: RunInput = MISSING,  # noqa: A002 - the name that it has in the language
    *,
    workflow_id: Annotated[
        OptionalRunId,
        Argument(means="Id of this run; default: the document's workflow_id, or else a new one.", pattern=ID),
    ] = None,
    agents: Assigned = None,
    planner_agent_id: Annotated[
        PlannerId, Argument(means="Agent to notify when the run ends; usually your own id.", example="pricing-1")
    ] = None,
    project: Annotated[ProjectId | None, Argument(means="Project that the run belongs to.")] = None,
    expiry_secs: Expiry = None,
    max_attempts: Annotated[
        int, Argument(means="How often one state may be leased before the run fails.", ge=1, le=1000)
    ] = 10,
    gates: RunGates = None,
) -> Answered[CreatedControlPlane] | RefusedWith:
    """Create a run without starting it: `notify_next_worker_agent` then does. `start_run` is both in one call.

    Validates the workflow, stores its documents, and makes the first state ready. Repeated with its `workflow_id` it
    finds the run; the same `workflow_id` with a different workflow or input is refused with code conflict.
    """
    document: Any = parse_workflow(workflow, name="workflow_json", max_bytes=on.settings.max_document_bytes)
    definition = read_given(document)
    caller = current_caller()
    named = workflow_id or definition.workflow_id
    run = named or id_for(definition, None, caller.name)
    request = Create(
        workflow_id=check_id(run, "workflow_id"),
        definition=definition,
        run_input=read_input(input),
        agents=check_agents(read_agents(agents), set(definition.skills)),
        planner_agent_id=planner_agent_id,
        retention_s=expiry_secs,
        max_attempts=max_attempts,
        created_by=caller.name,
        gates=read_gates(gates),
        project=project,
    )
    unknown = unknown_agents(on, request.agents)
    answer = on.control_plane.create(request)
    if isinstance(answer, Refusal):
        return RefusedWith(answer, {"workflow_id": run})
    if answer.existed:
        require_planner(on, run)
    keys = on.runs.key_names(run, definition.machine.states)
    meta = read_meta(dict(answer.meta))
    members: dict[str, Json] = {
        "workflow_id": run,
        "run_status": meta.status.value,
        "started": meta.is_started or meta.status is not RunStatus.RUNNING,
        "created_keys": [] if answer.existed else keys,
        "existing_keys": keys if answer.existed else [],
        "meta_sample": dict(answer.meta),
        "warnings": [*warnings_of(definition, answer.meta, unknown), *_unresolved(on, document, definition)],
        "defaulted": defaulted(document, definition, request.agents, chosen_id=None if named else run),
        "problems": [],
        "next": next_calls(run, definition, answer.meta),
    }
    return Answered(CreatedControlPlane, members, f"{_done(answer, definition, run)}{_standing(meta)}")


def _unresolved(on: "Application", document: Json, definition: Definition) -> list[str]:
    """Return a warning about templates and skills that `validate_workflow` does not find; a run may begin without."""
    from dcf.tools.verbs.validation import judged  # noqa: PLC0415 - most workflows name neither
    from dcf.workflows.validation.document import has_binding  # noqa: PLC0415 - likewise

    if not has_binding(definition.document.get("asl")) and not any(definition.skills.values()):
        return []
    problems = [
        problem for problem in judged(on, document, None, None).problems if problem.stage in ("imports", "references")
    ]
    if not problems:
        return []
    more = f" There are {len(problems) - 1} more." if len(problems) > 1 else ""
    return [f"`validate_workflow` rejects this workflow: {problems[0].message}{more} {problems[0].hint}"]


def _done(answer: Created, definition: Definition, workflow_id: str) -> str:
    verb = "exists" if answer.existed else "created"
    return f"Control plane {verb} for run '{workflow_id}' with {len(definition.machine.states)} states."


def _standing(meta: Meta) -> str:
    """Return the sentence about a run that was not started; an empty text for others."""
    if meta.is_started or meta.status is not RunStatus.RUNNING:
        return ""
    return " It is not started: `notify_next_worker_agent` starts it."


@verb(
    toolset="planning",
    scope="plan",
    lists=("planner", "operator"),
    effect="destroys",
    says=lambda _: "finalized",
    codes=("unknown_run", "states_open", "issues_open"),
    command=Command(
        name="runs finalize",
        question=lambda call: f"Close run {call['workflow_id']} for good? What is open in it is cancelled.",
        show="dcf.cli.commands.lifecycle:show_finalized",
        summary=(
            "Close a run permanently: write its audit record, cancel what is open, delete the agents that were made "
            "for "
            "it.\n\n"
            "An ended run is finalized automatically after a time (DCF_FINALIZE_AFTER_S). It asks before; --yes "
            "skips the question. A repetition answers with the first result."
        ),
    ),
    page=PageAction(
        title="Finalize the run",
        effect="The run is closed for good: its summary is written, and its retention begins.",
        form=("finalize_note", "delete_worker_agents"),
    ),
    method="finalize",
    audit=("workflow_id",),
    in_refusals={"agents": [], "warnings": []},
)
def finalize_workflow(
    on: "Application",
    workflow_id: RunId,
    *,
    close_open_states: Annotated[
        bool, Argument(means="Cancel states that are still open.", option="--close-open/--keep-open", listed=False)
    ] = True,
    overall_status: Annotated[
        Literal["succeeded", "failed", "partial", "cancelled"] | None,
        Argument(means="Final status instead of the computed one.", option="--status"),
    ] = None,
    finalize_note: Annotated[
        str | None,
        Argument(
            means="Why, for the audit record and the history.",
            max_length=2000,
            option="--reason",
            label="Note, for the record",
        ),
    ] = None,
    delete_worker_agents: Annotated[
        bool,
        Argument(
            means="Delete the agents that create_worker_agents made for this run, and no others.",
            spelling="Delete the agents that were made for the run, and no others.",
            option="--delete-agents/--keep-agents",
            label="Delete the agents made for it",
        ),
    ] = True,
    preserve_planner: Annotated[
        bool, Argument(means="Never delete the planner.", option="--preserve-planner/--delete-planner", listed=False)
    ] = True,
) -> Answered[FinalizedRun] | Refusal:
    """Close a run and write its audit record: call this when the run has ended, or to cancel it.

    Open states become cancelled, unreached ones skipped; afterwards no worker can change anything. A second call
    returns the first result.
    """
    require_planner(on, workflow_id)
    request = Finalize(
        workflow_id=workflow_id,
        close_open_states=close_open_states,
        status=None if overall_status is None else RunStatus(overall_status),
        note=finalize_note,
    )
    closed = on.closing.close(request, delete_agents=delete_worker_agents, preserve_planner=preserve_planner)
    if isinstance(closed, Refusal):
        return closed
    _put_away(on, workflow_id)
    audit = dict(closed.audit)
    members = {
        "workflow_id": workflow_id,
        "summary": _summary(audit),
        "agents": [agent.as_json() for agent in closed.agents],
        "warnings": list(closed.warnings),
        "audit": audit,
    }
    return Answered(FinalizedRun, members)


def _put_away(on: "Application", workflow_id: str) -> None:
    """Take out of the caller's inbox that the run has ended or stood: it has closed the run.

    A caller without an agent is known by its event. Undelivered entries stay.
    """
    caller = current_caller()
    planner = caller.agent_id or on.runs.read(workflow_id).planner_agent_id
    if planner is None:
        return
    handed = on.work.handed.find(asker_about(planner, caller.name, workflow_id))
    about = [] if handed is None or handed.message_id is None else [handed.message_id]
    if caller.agent_id is not None:
        about += [
            message.message_id
            for message in on.inbox.waiting(planner, _MOST_WAITING)
            if message.event.get("type") in _ABOUT_RUNS and message.event.get("workflow_id") == workflow_id
        ]
    on.inbox.remove(planner, about)


def _summary(audit: Mapping[str, Json]) -> dict[str, Json]:
    agents = object_of(audit.get("agents"))
    return {
        "states": audit.get("counts"),
        "agents": {name: agents.get(name) for name in NONE_TO_DELETE},
        "final_status": audit.get("final_status"),
        "amsp": None,
    }


add_tools(__name__)
