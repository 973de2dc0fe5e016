"""The verbs of a client, each described once: which tools it calls with what, and what it makes of the answers.

Both clients (`clients.py`) have every function here as a method, without and with `await`. So the signatures and the
docstrings are those that users see. Nothing here waits, sends or knows a transport.

A verb that changes something takes a `reason` for the history and a `request_id`: repeated with the same id, the call
is applied once. Without one it draws its own, so that a call whose connection broke is repeated safely.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from dcf.client.arguments import (
    Agents,
    Workflow,
    agents_of,
    agents_text,
    document_text,
    given,
    input_text,
    json_text,
    listed,
    request_id_for,
    workflow_arguments,
)
from dcf.client.exchange import Conversation, ToolCall
from dcf.client.failures import accepted
from dcf.client.reading import read
from dcf.client.records import (
    DeletedRun,
    ExplainedRun,
    FinalizedRun,
    HeldRun,
    NotifiedAgent,
    NotifiedAgents,
    OperatedRun,
    ReleasedState,
    ResolvedState,
    RetriedRun,
    RunExport,
    RunStatusName,
    StartedRun,
    ValidatedWorkflow,
)
from dcf.errors import InvalidArgument
from dcf.values.json_paths import MISSING
from dcf.values.json_text import Json

R = TypeVar("R")


def ask(kind: type[R], tool: str, /, **arguments: Json) -> Conversation[R]:
    """Call one tool, leaving out arguments that are None, and return its answer as a record."""
    answer = yield ToolCall(tool, given(**arguments))
    return read(kind, accepted(answer))


def start(
    workflow: Workflow,
    input: Json = MISSING,  # noqa: A002 - the name that it has in the language
    *,
    agents: Agents | None = None,
    workflow_id: str | None = None,
    tags: Sequence[str] = (),
    project: str | None = None,
    definition_ref: str | None = None,
    planner_agent_id: str | None = None,
    expiry_secs: int | None = None,
    max_attempts: int | None = None,
    gates: Sequence[Mapping[str, Any]] = (),
    reason: str | None = None,
    request_id: str | None = None,
) -> Conversation[StartedRun]:
    """Start a run of a flow, of a document or its file, or of a workflow that was started before, by its name.

    The input of a flow is an object with its arguments, such as `flow.input(...)` makes. If it does not fit, the call
    raises InvalidArgument.
    `agents` says who does what: one agent for all Tasks, or `{"State": "agent"}`; nobody is told of a Task without one.
    `workflow_id` is the id of the run; without it the run gets a new one. `project` is what it belongs to,
    `definition_ref` a definition of the catalogue that it is carried out by, whose hash it keeps. `gates` are
    those of every Task, as in the field Gates of one.
    """
    return ask(
        StartedRun,
        "start_run",
        **workflow_arguments(workflow),
        input_json=input_text(workflow, input),
        agents_map_json=agents_text(agents_of(workflow, agents)),
        workflow_id=workflow_id,
        tags_json=listed(tags),
        project=project,
        definition_ref=definition_ref,
        planner_agent_id=planner_agent_id,
        expiry_secs=expiry_secs,
        max_attempts=max_attempts,
        gates=[dict(one) for one in gates] or None,
        reason=reason,
        request_id=request_id_for(request_id),
    )


def rerun(
    workflow_id: str,
    *,
    from_state: str | None = None,
    input: Json = MISSING,  # noqa: A002 - the name that it has in the language
    agents: Agents | None = None,
    new_workflow_id: str | None = None,
    reason: str | None = None,
    request_id: str | None = None,
) -> Conversation[StartedRun]:
    """Repeat a run as a new one, from its beginning or from a state; what was done before that state is kept."""
    return ask(
        StartedRun,
        "rerun",
        workflow_id=workflow_id,
        from_state=from_state,
        input_json=None if input is MISSING else json_text(input, "input"),
        agents_map_json=agents_text(agents),
        new_workflow_id=new_workflow_id,
        reason=reason,
        request_id=request_id_for(request_id),
    )


def retry(workflow_id: str, *, reason: str | None = None, request_id: str | None = None) -> Conversation[RetriedRun]:
    """Continue a run that failed, timed out, was cancelled or is on hold; what succeeded is kept."""
    request = request_id_for(request_id)
    return ask(RetriedRun, "retry_run", workflow_id=workflow_id, reason=reason, request_id=request)


def cancel(workflow_id: str, *, reason: str | None = None, request_id: str | None = None) -> Conversation[OperatedRun]:
    """End a run at once: holders are told to stop, and late results are refused."""
    request = request_id_for(request_id)
    return ask(OperatedRun, "cancel_run", workflow_id=workflow_id, reason=reason, request_id=request)


def pause(workflow_id: str, *, reason: str | None = None, request_id: str | None = None) -> Conversation[OperatedRun]:
    """Hold a run: nobody gets new work in it until `resume`; those who work may finish."""
    request = request_id_for(request_id)
    return ask(OperatedRun, "pause_run", workflow_id=workflow_id, reason=reason, request_id=request)


def resume(workflow_id: str, *, reason: str | None = None, request_id: str | None = None) -> Conversation[OperatedRun]:
    """Let a paused run go on, and tell the agents of all states that can be taken."""
    request = request_id_for(request_id)
    return ask(OperatedRun, "resume_run", workflow_id=workflow_id, reason=reason, request_id=request)


def resolve(
    workflow_id: str,
    state: str,
    *,
    output: Json = MISSING,
    error: str | None = None,
    cause: str | None = None,
    handled: bool = False,
    skip: bool = False,
    assign: Sequence[str] = (),
    epoch: int | None = None,
    force: bool = False,
    reason: str | None = None,
    request_id: str | None = None,
) -> Conversation[ResolvedState]:
    """End one open state by hand, or give it to other agents, where its agent cannot finish it.

    It succeeds with `output`, or with its own input (`skip`), or fails with `error`; `handled` applies its Retry and
    Catch to that. `assign` names the agents that may take it from now on. With `epoch` only if its lease still has it.
    `force` takes an output that does not match the state's OutputSchema.
    """
    return ask(
        ResolvedState,
        "resolve_state",
        workflow_id=workflow_id,
        state=state,
        output_json=None if output is MISSING else json_text(output, "output"),
        error=error,
        cause=cause,
        handled=handled or None,
        skip=skip or None,
        assign_json=listed(assign),
        epoch=epoch,
        force=force or None,
        reason=reason,
        request_id=request_id_for(request_id),
    )


def why(workflow_id: str, state: str | None = None) -> Conversation[ExplainedRun]:
    """Explain why a run, or one state of it, does not move, and what helps."""
    return ask(ExplainedRun, "explain_run", workflow_id=workflow_id, state=state)


def release(workflow_id: str, state: str) -> Conversation[ReleasedState]:
    """End the lease on a state, whoever holds it, so that another agent can take it. A right of operators."""
    answer = yield ToolCall("release_state_lease", {"workflow_id": workflow_id, "state": state, "force": True})
    found = accepted(answer)
    return read(ReleasedState, {**found, "outcome": found.get("status")})


def notify(workflow_id: str, state: str | None = None) -> Conversation[NotifiedAgents]:
    """Tell agents of work: of those states that come first, or again of one state that can be taken."""
    if state is None:
        return (yield from ask(NotifiedAgents, "notify_next_worker_agent", workflow_id=workflow_id))
    answer = yield ToolCall("notify_if_ready", {"workflow_id": workflow_id, "state": state})
    found = accepted(answer)
    told = NotifiedAgent(
        state=state, agent_id=found["agent_id"], sent=found["skipped"] is False, reason=found["skip_reason"]
    )
    return NotifiedAgents(workflow_id=workflow_id, targets=(told,))


def delete(workflow_id: str, *, reason: str | None = None) -> Conversation[DeletedRun]:
    """Delete a run that is over, with its documents, outputs and history, for good."""
    return ask(DeletedRun, "delete_run", workflow_id=workflow_id, reason=reason)


def hold(
    workflow_id: str, *, hold: bool = True, reason: str | None = None, request_id: str | None = None
) -> Conversation[HeldRun]:
    """Keep a run from being deleted and from expiring; `hold=False` releases it. A right of operators."""
    request = request_id_for(request_id)
    return ask(HeldRun, "hold_run", workflow_id=workflow_id, hold=hold, reason=reason, request_id=request)


def finalize(
    workflow_id: str,
    *,
    overall_status: RunStatusName | None = None,
    finalize_note: str | None = None,
    close_open_states: bool = True,
    delete_worker_agents: bool = True,
    preserve_planner: bool = True,
) -> Conversation[FinalizedRun]:
    """Close a run and write its audit record; a second call returns the first result."""
    if overall_status == "running":
        raise InvalidArgument("A run is not closed as running.", "Leave overall_status out.")
    return ask(
        FinalizedRun,
        "finalize_workflow",
        workflow_id=workflow_id,
        overall_status=overall_status,
        finalize_note=finalize_note,
        close_open_states=close_open_states,
        delete_worker_agents=delete_worker_agents,
        preserve_planner=preserve_planner,
    )


def export(workflow_id: str) -> Conversation[RunExport]:
    """Return all of a run, its workflow, documents and history, for reading elsewhere. Lease tokens are hidden."""
    head: dict[str, Json] = {}
    states: dict[str, Json] = {}
    lists: dict[str, list[Mapping[str, Json]]] = {"events": [], "journal": [], "artifacts": []}
    cursor = None
    while True:
        page = accepted((yield ToolCall("export_run", given(workflow_id=workflow_id, cursor=cursor))))
        head |= page.get("head") or {}
        states |= page["states"]
        for name in lists:
            lists[name] += page.get(name) or ()
        cursor = page.get("next_cursor")
        if cursor is None:
            return RunExport(head=head, states=states, **{name: tuple(parts) for name, parts in lists.items()})


def validate(workflow: Mapping[str, Any] | Path, *, agents: Agents | None = None) -> Conversation[ValidatedWorkflow]:
    """Check a workflow in any form, with all that it imports and names on the server; a faulty one is no error."""
    asked = given(workflow_json=document_text(workflow), agents_map_json=agents_text(agents))
    answer = yield ToolCall("validate_workflow", asked)
    return read(ValidatedWorkflow, answer)


def language() -> Conversation[str]:
    """Return the page on how a workflow is written, as Markdown."""
    answer = yield ToolCall("describe_workflow_language", {})
    return str(accepted(answer)["language"])
