"""Methods of the clients for the verbs of the toolset operations. Derived from their descriptions."""

from collections.abc import Sequence

from dcf.client.arguments import (
    Agents,
    JsonObject,
    Moment,
    agents_text,
    json_text,
    listed,
    moment_text,
    object_text,
    request_id_for,
)
from dcf.client.calls import call_pages, call_tool
from dcf.client.exchange import Conversation, Stream
from dcf.features.diagnosis.records import ExplainedRun
from dcf.features.health.records import ReadHealth
from dcf.features.retention.records import DeletedRun, HeldRun
from dcf.features.usage.records import GivenBudget, ReadSums
from dcf.values.json_paths import MISSING
from dcf.values.json_text import Json
from dcf.verbs.records.beginnings import RetriedRun, StartedRun
from dcf.verbs.records.runs import ListedRun, OperatedRun, ResolvedState, RunStatusName


def why(workflow_id: str, state: str | None = None) -> Conversation[ExplainedRun]:
    """Explain why a run does not move: call this when it takes longer than expected.

    Each finding has a cause, a sentence, the facts behind it, since when, and what helps, as a command and as a call.
    With no finding nothing holds it up. With `state` it explains that state, also if it waits for others.
    """
    return call_tool(ExplainedRun, "explain_run", workflow_id=workflow_id, state=state)


def read_health() -> Conversation[ReadHealth]:
    """Read how dcf is, when runs do not move or calls fail: the report of `dcf doctor`.

    Each check has a level (ok, warning, failing), a sentence and a remedy: whether Redis takes writes (a small key is
    written), memory, durability, replicas, clock, agents seen, the agent platform, lists of runs.
    """
    return call_tool(ReadHealth, "read_health")


def delete(workflow_id: str, *, reason: str | None = None, request_id: str | None = None) -> Conversation[DeletedRun]:
    """Delete an ended run permanently, with its documents, outputs and history.

    A running run is refused (run_live): cancel it first. A run on hold is refused (on_hold). Repeated, with or without
    a request_id, it finds that the run is gone.
    """
    return call_tool(
        DeletedRun, "delete_run", workflow_id=workflow_id, reason=reason, request_id=request_id_for(request_id)
    )


def hold(
    workflow_id: str, *, hold: bool = True, reason: str | None = None, request_id: str | None = None
) -> Conversation[HeldRun]:
    """Put a run on hold, so that it is not deleted and does not expire, or release it with `hold=False`.

    For records that must be kept, whatever the retention says. It does not stop the run.
    """
    return call_tool(
        HeldRun, "hold_run", workflow_id=workflow_id, hold=hold, reason=reason, request_id=request_id_for(request_id)
    )


def read_usage(
    workflow_id: str | None = None,
    *,
    agent_id: str | None = None,
    project: str | None = None,
    since: Moment | None = None,
    until: Moment | None = None,
    cursor: str | None = None,
) -> Conversation[ReadSums]:
    """Read what work used up, of one run, agent or project: tokens, money by currency, seconds, as far as reported.

    Of a run also by state, agent and model, and its budget; of others by day, for 30 days.
    """
    return call_tool(
        ReadSums,
        "read_usage",
        workflow_id=workflow_id,
        agent_id=agent_id,
        project=project,
        since=moment_text(since),
        until=moment_text(until),
        cursor=cursor,
    )


def set_budget(
    workflow_id: str, budget: JsonObject | None, *, reason: str | None = None, request_id: str | None = None
) -> Conversation[GivenBudget]:
    """Say what a run may use up: tokens (in and out), money, seconds. Limits left out stay; {} takes all away.

    The completion that reaches it blocks the run: no lease is granted until a higher budget is set, or the run is
    cancelled.
    """
    return call_tool(
        GivenBudget,
        "set_budget",
        workflow_id=workflow_id,
        budget_json=object_text(budget or {}, "budget"),
        reason=reason,
        request_id=request_id_for(request_id),
    )


def cancel(workflow_id: str, *, reason: str | None = None, request_id: str | None = None) -> Conversation[OperatedRun]:
    """End a run at once: call this when its work is no longer wanted.

    Open states become cancelled, unreached ones skipped; holders are told to stop and their late writes are refused.
    `finalize` still closes it afterwards.
    """
    return call_tool(
        OperatedRun, "cancel_run", workflow_id=workflow_id, reason=reason, request_id=request_id_for(request_id)
    )


def pause(workflow_id: str, *, reason: str | None = None, request_id: str | None = None) -> Conversation[OperatedRun]:
    """Pause a run: no lease is granted until `resume`; lease holders may renew, finish and release.

    What follows a completed state waits. Timeouts, retry times and Waits continue.
    """
    return call_tool(
        OperatedRun, "pause_run", workflow_id=workflow_id, reason=reason, request_id=request_id_for(request_id)
    )


def resume(workflow_id: str, *, reason: str | None = None, request_id: str | None = None) -> Conversation[OperatedRun]:
    """Resume a paused run: the agents of all ready states are notified."""
    return call_tool(
        OperatedRun, "resume_run", workflow_id=workflow_id, reason=reason, request_id=request_id_for(request_id)
    )


def resolve(
    workflow_id: str,
    state: str,
    *,
    output: Json = MISSING,
    error: str | None = None,
    cause: str | None = None,
    handled: bool = False,
    force: bool = False,
    skip: bool = False,
    assign: Sequence[str] = (),
    epoch: int | None = None,
    reason: str | None = None,
    request_id: str | None = None,
) -> Conversation[ResolvedState]:
    """End one open state by hand, or give it to other agents: use it where its agent cannot finish it.

    One of `output`, `error` and `skip` ends it, as a holder's write would, or ends a Wait. `assign` may stand alone or
    be added. In a Parallel or Map name the state by path; to assign all iterations, by its name.
    """
    return call_tool(
        ResolvedState,
        "resolve_state",
        workflow_id=workflow_id,
        state=state,
        output_json=None if output is MISSING else json_text(output, "output"),
        error=error,
        cause=cause,
        handled=handled or None,
        force=force or None,
        skip=skip or None,
        assign_json=listed(assign),
        epoch=epoch,
        reason=reason,
        request_id=request_id_for(request_id),
    )


def list(
    *,
    status: RunStatusName | None = None,
    workflow: str | None = None,
    version: str | None = None,
    agent: str | None = None,
    tag: str | None = None,
    parent: str | None = None,
    project: str | None = None,
    since: Moment | None = None,
    until: Moment | None = None,
    stuck: bool = False,
    blocked: bool = False,
) -> Stream[ListedRun]:
    """Find runs, newest first, that meet all filters; begin with `stuck=True` to see what needs help.

    `counts` has all runs by status. Pages are read as they are needed.
    """
    return call_pages(
        ListedRun,
        "list_runs",
        "runs",
        limit=100,
        status=status,
        workflow=workflow,
        version=version,
        agent_id=agent,
        tag=tag,
        parent=parent,
        project=project,
        since=moment_text(since),
        until=moment_text(until),
        stuck=stuck or None,
        blocked=blocked or None,
    )


def rerun(
    workflow_id: str,
    *,
    from_state: str | None = None,
    input: Json = MISSING,
    agents: Agents | None = None,
    new_workflow_id: str | None = None,
    reason: str | None = None,
    request_id: str | None = None,
) -> Conversation[StartedRun]:
    """Repeat a run as a new one, of the same definition: from its beginning, or from a state (`from_state`).

    With `from_state` the states before it are kept with their outputs, and it gets the input that it had. Works for
    open and ended runs; both runs name each other.
    """
    return call_tool(
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
    """Continue a run that failed, timed out, was cancelled or is on hold: call this once the cause is corrected.

    Only an operator releases a run that is on hold. All that succeeded is kept, iterations and branches too. The rest
    is entered again with the input it had, all its attempts and retries. A finalized run is not retried: repeat it with
    `rerun`.
    """
    return call_tool(
        RetriedRun, "retry_run", workflow_id=workflow_id, reason=reason, request_id=request_id_for(request_id)
    )
