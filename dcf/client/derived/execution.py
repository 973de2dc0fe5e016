"""Methods of the clients for the verbs of the toolset execution. Derived from their descriptions."""

from collections.abc import Mapping, Sequence

from dcf.client.arguments import Askees, JsonObject, askees, json_text, listed, object_text, request_id_for, rows
from dcf.client.calls import call_tool
from dcf.client.exchange import Conversation
from dcf.features.questions.records import AskedQuestion, CorrectedResult, LeftNote
from dcf.features.task_log.records import WrittenLine
from dcf.values.json_paths import MISSING
from dcf.values.json_text import Json
from dcf.verbs.records.execution import CompletedStates, ReadControlPlane, UpdatedState
from dcf.verbs.records.leases import AcquiredLease, ClaimedState, RenewedLease


def leave_note(
    workflow_id: str, text: str, *, agent_id: str, state: str | None = None, request_id: str | None = None
) -> Conversation[LeftNote]:
    """Tell the run's planner what is no result, such as what you found odd. It needs no answer."""
    return call_tool(
        LeftNote,
        "leave_note",
        workflow_id=workflow_id,
        text=text,
        agent_id=agent_id,
        state=state,
        request_id=request_id_for(request_id),
    )


def ask_question(
    workflow_id: str,
    state: str,
    lease_token: str,
    question: str,
    *,
    choices: Sequence[str] = (),
    ask: Askees = "planner",
    give_back: bool = True,
    timeout_s: int = 86400,
    request_id: str | None = None,
) -> Conversation[AskedQuestion]:
    """Ask the planner or people what you cannot decide. The state is released until the answer comes.

    Then `await_workflow_event` brings it again, with `questions`.
    """
    return call_tool(
        AskedQuestion,
        "ask_question",
        workflow_id=workflow_id,
        state=state,
        lease_token=lease_token,
        question=question,
        choices_json=listed(choices),
        ask=askees(ask),
        give_back=give_back,
        timeout_s=timeout_s,
        request_id=request_id_for(request_id),
    )


def correct_result(
    workflow_id: str,
    state: str,
    output: Json,
    *,
    lease_token: str | None = None,
    reason: str | None = None,
    request_id: str | None = None,
) -> Conversation[CorrectedResult]:
    """Correct the result of a state you completed, until somebody has used it (code result_used)."""
    return call_tool(
        CorrectedResult,
        "correct_result",
        workflow_id=workflow_id,
        state=state,
        output_json=json_text(output, "output"),
        lease_token=lease_token,
        reason=reason,
        request_id=request_id_for(request_id),
    )


def log_event(
    workflow_id: str, state: str, lease_token: str, number: int, message: str, *, fields: Json = MISSING
) -> Conversation[WrittenLine]:
    """Write a line into the history of the run while you hold a state: for programs that tell how their work goes.

    Number the lines of a lease 1, 2, 3: a repeated call then writes its line once.
    """
    return call_tool(
        WrittenLine,
        "log_event",
        workflow_id=workflow_id,
        state=state,
        lease_token=lease_token,
        number=number,
        message=message,
        fields_json=None if fields is MISSING else json_text(fields, "fields"),
    )


def complete_states(
    workflow_id: str,
    results: Sequence[Mapping[str, Json]],
    *,
    claim_next: int = 0,
    agent_id: str | None = None,
    lease_ttl_s: int = 300,
) -> Conversation[CompletedStates]:
    """Complete several states of a run that you hold, in one call: for programs that work on many states at once.

    Each result is accepted or refused separately, as `update_workflow_control_plane` would do. With `claim_next` you
    also get as many next states as there are for you, as `work`. Repeating the call is safe.
    """
    return call_tool(
        CompletedStates,
        "complete_states",
        workflow_id=workflow_id,
        results=rows(results),
        claim_next=claim_next,
        agent_id=agent_id,
        lease_ttl_s=lease_ttl_s,
    )


def read_workflow_control_plane(
    workflow_id: str,
    *,
    states: Sequence[str] = (),
    include_meta: bool = True,
    include_inputs: bool = False,
    compute_readiness: bool = False,
    summary: bool = False,
    inside: str | None = None,
    cursor: str | None = None,
    limit: int = 1000,
    overview: int | None = None,
) -> Conversation[ReadControlPlane]:
    """Read where a run stands: call this to get your state's input, to check readiness, or to watch progress.

    Returns meta (status, output or error of the run), each state's document, input and output. Where next_cursor is set
    there are more states: call again with it as cursor.
    """
    return call_tool(
        ReadControlPlane,
        "read_workflow_control_plane",
        workflow_id=workflow_id,
        states_json=listed(states),
        include_meta=include_meta,
        include_inputs=include_inputs or None,
        compute_readiness=compute_readiness or None,
        summary=summary or None,
        inside=inside,
        cursor=cursor,
        limit=limit,
        overview=overview,
    )


def update_workflow_control_plane(
    workflow_id: str,
    state: str,
    *,
    lease_token: str | None = None,
    new_status: str | None = None,
    output: Json = MISSING,
    error_name: str | None = None,
    error_message: str | None = None,
    claim_next: bool = False,
    owner_agent_id: str | None = None,
    lease_ttl_s: int | None = None,
    usage: JsonObject | None = None,
    whole_input: bool = False,
    attempts_increment: int | None = None,
    set_started_at: bool = False,
    set_finished_at: bool = False,
    request_id: str | None = None,
    output_ttl_secs: int | None = None,
) -> Conversation[UpdatedState]:
    """Write the result of a state you hold: `new_status` succeeded with `output`, or failed with `error_name`.

    pending gives it back, and the attempt counts. Without `new_status` the output is partial. With `claim_next` the
    answer brings your next `work` in this run.
    """
    return call_tool(
        UpdatedState,
        "update_workflow_control_plane",
        workflow_id=workflow_id,
        state=state,
        lease_token=lease_token,
        new_status=new_status,
        output_json=None if output is MISSING else json_text(output, "output"),
        error_name=error_name,
        error_message=error_message,
        claim_next=claim_next or None,
        owner_agent_id=owner_agent_id,
        lease_ttl_s=lease_ttl_s,
        usage_json=object_text(usage, "usage"),
        whole_input=whole_input or None,
        attempts_increment=attempts_increment,
        set_started_at=set_started_at or None,
        set_finished_at=set_finished_at or None,
        request_id=request_id_for(request_id),
        output_ttl_secs=output_ttl_secs,
    )


def acquire_state_lease(
    workflow_id: str,
    state: str,
    owner_agent_id: str,
    *,
    lease_ttl_s: int = 300,
    lease_token: str | None = None,
    require_ready: bool = True,
    require_owner_match: bool = True,
    allow_steal_if_expired: bool = True,
    set_running_on_acquire: bool = True,
    attempts_increment: int = 1,
) -> Conversation[AcquiredLease]:
    """Take the lease on a state before you work on it: only one agent gets it.

    `work` in the answer has its input, and the lease_token that later writes need.
    """
    return call_tool(
        AcquiredLease,
        "acquire_state_lease",
        workflow_id=workflow_id,
        state=state,
        owner_agent_id=owner_agent_id,
        lease_ttl_s=lease_ttl_s,
        lease_token=lease_token,
        require_ready=require_ready,
        require_owner_match=require_owner_match,
        allow_steal_if_expired=allow_steal_if_expired,
        set_running_on_acquire=set_running_on_acquire,
        attempts_increment=attempts_increment,
    )


def claim_ready_state(
    workflow_id: str,
    owner_agent_id: str,
    *,
    lease_ttl_s: int = 300,
    lease_token: str | None = None,
    claim_next: int = 1,
    whole_input: bool = False,
) -> Conversation[ClaimedState]:
    """Get the next piece of work without waiting: leases a ready state of the run that you may take.

    Code nothing_ready means: wait with `await_workflow_event`, or call again after retry_after_s.
    """
    return call_tool(
        ClaimedState,
        "claim_ready_state",
        workflow_id=workflow_id,
        agent_id=owner_agent_id,
        lease_ttl_s=lease_ttl_s,
        lease_token=lease_token,
        claim_next=claim_next,
        whole_input=whole_input or None,
    )


def renew_state_lease(
    workflow_id: str,
    state: str,
    lease_token: str,
    *,
    owner_agent_id: str | None = None,
    lease_ttl_s: int | None = None,
    reject_if_expired: bool = True,
    touch_only: bool = False,
) -> Conversation[RenewedLease]:
    """Keep a lease you hold: call this every third of its length while you work.

    On code lease_lost stop at once.
    """
    return call_tool(
        RenewedLease,
        "renew_state_lease",
        workflow_id=workflow_id,
        state=state,
        lease_token=lease_token,
        owner_agent_id=owner_agent_id,
        lease_ttl_s=lease_ttl_s,
        reject_if_expired=reject_if_expired,
        touch_only=touch_only or None,
    )
