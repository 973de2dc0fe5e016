"""Tools of a worker: read, lease, write. Thin: parse, call, present."""

import secrets
from dataclasses import replace
from typing import Any

from pydantic import Field

from dcf.application import Application
from dcf.core import lease
from dcf.core.answers import Leased, NothingReady, Refusal, Updated
from dcf.core.codec import write_lease
from dcf.core.inspection import holder_state, is_ready, public_state
from dcf.core.json_text import Json, parse
from dcf.core.model import Status
from dcf.core.progress import Update
from dcf.errors import Forbidden, InvalidArgument
from dcf.tools.registry import (
    AgentId,
    Answer,
    Arguments,
    JsonArray,
    LeaseToken,
    StateName,
    Ttl,
    WorkflowId,
    read_names,
    refused,
    tool,
)

_STATUS_WORDS = {
    "pending": Status.PENDING,
    "running": Status.RUNNING,
    "succeeded": Status.SUCCEEDED,
    "success": Status.SUCCEEDED,
    "succeed": Status.SUCCEEDED,
    "done": Status.SUCCEEDED,
    "failed": Status.FAILED,
    "fail": Status.FAILED,
    "error": Status.FAILED,
    "skipped": Status.SKIPPED,
    "cancelled": Status.CANCELLED,
}


class ReadWorkflowControlPlane(Arguments):
    """Read where a run stands: call this to get your state's input, to check readiness, or to watch progress.

    Returns meta (status, output or error of the run), each state's document, input and output. Lease tokens are
    hidden.
    """

    workflow_id: WorkflowId
    states_json: JsonArray | None = Field(
        default=None, description='Only these states: ["A", "B"] (or JSON text); none or [] means all.'
    )
    include_meta: bool = Field(default=True, description="Include the run's meta document.")
    compute_readiness: bool = Field(default=False, description="Say of each state whether it can be leased now.")


class ControlPlaneRead(Answer):
    """Documents of the run as they are now."""

    workflow_id: str | None = None
    meta: dict[str, Any] | None = None
    states: dict[str, dict[str, Any]] = Field(default_factory=dict)
    inputs: dict[str, Any] = Field(default_factory=dict)
    outputs: dict[str, Any] = Field(default_factory=dict)
    readiness: dict[str, bool] | None = None


@tool(toolset="execution", arguments=ReadWorkflowControlPlane, answer=ControlPlaneRead, read_only=True)
def read_workflow_control_plane(app: Application, args: ReadWorkflowControlPlane) -> ControlPlaneRead:
    """Read documents of a run."""
    names = None if args.states_json is None else read_names(args.states_json, name="states_json") or None
    found = app.control_plane.read(args.workflow_id, names)
    assert found.meta is not None, "read() raises for a run that does not exist"
    readiness = {name: is_ready(found.meta, doc, found.now) for name, doc in found.states.items()}
    return ControlPlaneRead(
        status=f"Run '{args.workflow_id}' is {found.meta.status.value}.",
        workflow_id=args.workflow_id,
        meta=dict(found.meta_document or {}) if args.include_meta else None,
        states={name: public_state(doc) for name, doc in found.states.items()},
        inputs=dict(found.inputs),
        outputs=dict(found.outputs),
        readiness=readiness if args.compute_readiness else None,
    )


class AcquireStateLease(Arguments):
    """Take the lease on a state you were notified of, before you work on it: only one agent gets it.

    Granted when the state is ready, assigned to you and held by nobody (or the holder's lease expired). The answer
    has the lease token that every later write needs (lease.token), and the state's input. Renew it while you work.
    """

    workflow_id: WorkflowId
    state: StateName
    owner_agent_id: AgentId
    lease_ttl_s: Ttl = 300
    lease_token: LeaseToken | None = Field(
        default=None, description="Only to repeat a call whose answer was lost: the token you chose for it."
    )
    require_ready: bool = Field(default=True, description="Must stay true: a state that is not ready has no input.")
    require_owner_match: bool = Field(default=True, description="False is an operator's right.")
    allow_steal_if_expired: bool = Field(default=True, description="Take over from a holder whose lease expired.")
    set_running_on_acquire: bool = Field(default=True, description="Set the state to running.")
    attempts_increment: int = Field(default=1, ge=1, le=100, description="What this grant counts for.")


class LeaseAnswer(Answer):
    """The lease and the state as they are now. `input` is what the state is to work on."""

    workflow_id: str | None = None
    state: str | None = None
    ready: bool | None = None
    lease: dict[str, Any] | None = None
    updated_state: dict[str, Any] | None = None
    input: Any = None


@tool(toolset="execution", arguments=AcquireStateLease, answer=LeaseAnswer, idempotent=False)
def acquire_state_lease(app: Application, args: AcquireStateLease) -> LeaseAnswer:
    """Lease one state."""
    if not args.require_ready:
        raise InvalidArgument("require_ready=false is not possible: a state that is not ready has no input.")
    _operator_only(app, asked=not args.require_owner_match, what="require_owner_match=false")
    request = lease.Acquire(
        state=args.state,
        owner=args.owner_agent_id,
        token=args.lease_token or new_token(),
        ttl_s=args.lease_ttl_s,
        any_owner=not args.require_owner_match,
        may_take_over=args.allow_steal_if_expired,
        set_running=args.set_running_on_acquire,
        attempts=args.attempts_increment,
    )
    answer = app.control_plane.acquire(args.workflow_id, request)
    if isinstance(answer, Refusal):
        ready = None if answer.doc is None else answer.doc.is_ready
        return _refused_lease(answer, args.workflow_id, args.state, ready=ready)
    return _leased(answer, args.workflow_id, ready=True)


class ClaimReadyState(Arguments):
    """Get the next piece of work without waiting for a notification.

    Finds a ready state of the run that you may take and leases it, in one call. Code nothing_ready means: wait with
    await_workflow_event, or call again after retry_after_s.
    """

    workflow_id: WorkflowId
    owner_agent_id: AgentId
    lease_ttl_s: Ttl = 300
    lease_token: LeaseToken | None = Field(
        default=None, description="Only to repeat a call whose answer was lost: the token you chose for it."
    )


@tool(toolset="execution", arguments=ClaimReadyState, answer=LeaseAnswer, idempotent=False)
def claim_ready_state(app: Application, args: ClaimReadyState) -> LeaseAnswer:
    """Lease the next ready state."""
    wish = lease.Acquire(
        state="", owner=args.owner_agent_id, token=args.lease_token or new_token(), ttl_s=args.lease_ttl_s
    )
    answer = app.control_plane.claim(args.workflow_id, wish)
    if isinstance(answer, Refusal):
        return _refused_lease(answer, args.workflow_id, None)
    if isinstance(answer, NothingReady):
        return _refused_lease(_nothing_ready(answer), args.workflow_id, None)
    if answer.given is None:
        found = app.control_plane.read(args.workflow_id, (answer.state,))
        answer = replace(answer, given=found.inputs.get(answer.state))
    return _leased(answer, args.workflow_id, ready=True)


class RenewStateLease(Arguments):
    """Keep a lease you hold: call this every third of its length while you work.

    On code lease_lost stop at once; somebody else has the state.
    """

    workflow_id: WorkflowId
    state: StateName
    lease_token: LeaseToken
    owner_agent_id: AgentId | None = Field(default=None, description="Your agent id, to be checked as well.")
    lease_ttl_s: Ttl | None = Field(default=None, description="New length in seconds (1 to 3600); default: as it is.")
    reject_if_expired: bool = Field(
        default=True, description="False revives an expired lease as long as nobody took the state over."
    )
    touch_only: bool = Field(default=False, description="Keep the length the lease has, whatever lease_ttl_s says.")


@tool(toolset="execution", arguments=RenewStateLease, answer=LeaseAnswer)
def renew_state_lease(app: Application, args: RenewStateLease) -> LeaseAnswer:
    """Move the expiry on."""
    request = lease.Renew(
        state=args.state,
        token=args.lease_token,
        owner=args.owner_agent_id,
        ttl_s=None if args.touch_only else args.lease_ttl_s,
        reject_if_expired=args.reject_if_expired,
    )
    answer = app.control_plane.renew(args.workflow_id, request)
    if isinstance(answer, Refusal):
        return _refused_lease(answer, args.workflow_id, args.state)
    return _leased(answer, args.workflow_id)


class ReleaseStateLease(Arguments):
    """Give a state back unfinished so that another agent can take it.

    Or confirm that your lease is gone after you completed the state. A state given back becomes pending again; what
    you did is not undone.
    """

    workflow_id: WorkflowId
    state: StateName
    lease_token: LeaseToken | None = Field(default=None, description="The lease token you hold.")
    owner_agent_id: AgentId | None = Field(default=None, description="Your agent id, to be checked as well.")
    force: bool = Field(default=False, description="Release whoever holds it; an operator's right.")
    clear_owner: bool = Field(default=True, description="Forget the owner as well.")


@tool(toolset="execution", arguments=ReleaseStateLease, answer=LeaseAnswer)
def release_state_lease(app: Application, args: ReleaseStateLease) -> LeaseAnswer:
    """Free the lease."""
    _operator_only(app, asked=args.force, what="force=true")
    request = lease.Release(
        state=args.state,
        token=args.lease_token,
        owner=args.owner_agent_id,
        force=args.force,
        clear_owner=args.clear_owner,
    )
    answer = app.control_plane.release(args.workflow_id, request)
    if isinstance(answer, Refusal):
        return _refused_lease(answer, args.workflow_id, args.state)
    shown = public_state(answer.doc)
    return LeaseAnswer(
        status=answer.outcome,
        workflow_id=args.workflow_id,
        state=args.state,
        lease=shown["lease"],
        updated_state=shown,
    )


class UpdateWorkflowControlPlane(Arguments):
    """Write the result of a state you hold, when you are done with it or have partial output.

    new_status 'succeeded' with output_json completes it and makes what follows ready; 'failed' with error_name and
    error_message fails it; 'pending' gives it back. Without new_status it stores partial output. Repeating a
    completion is safe. With claim_next you also get the lease on the next state, if it is yours to do.
    """

    workflow_id: WorkflowId
    state: StateName
    lease_token: LeaseToken | None = Field(
        default=None, description="The lease_token you hold; required for every write."
    )
    new_status: str | None = Field(
        default=None, max_length=20, description="succeeded, failed, running or pending (give back)."
    )
    output_json: Any = Field(default=None, description="The state's output: any JSON value, or JSON text.")
    error_name: str | None = Field(
        default=None, max_length=200, description="Name of the failure, for example OrderRejected."
    )
    error_message: str | None = Field(default=None, max_length=20_000, description="What went wrong, in words.")
    claim_next: bool = Field(
        default=False, description="When completing: also lease the next state for me, if it is assigned to me."
    )
    owner_agent_id: AgentId | None = Field(default=None, description="Your agent id; default: the lease's owner.")
    lease_ttl_s: Ttl | None = Field(default=None, description="Seconds of the lease claimed by claim_next.")
    attempts_increment: int | None = Field(default=None, ge=0, le=100, description="Add to attempts.")
    set_started_at: bool = Field(default=False, description="Set started_at to now.")
    set_finished_at: bool = Field(default=False, description="Set finished_at to now; completing does it by itself.")
    request_id: str | None = Field(
        default=None, min_length=1, max_length=200, description="Makes a partial write repeatable: same id, once."
    )
    output_ttl_secs: int | None = Field(
        default=None, description="Refused: outputs live as long as their run (expiry_secs at creation)."
    )


class ControlPlaneUpdated(Answer):
    """The state after the write, and what it set in motion."""

    workflow_id: str | None = None
    state: str | None = None
    updated_state: dict[str, Any] | None = None
    output_written: bool = False
    run_status: str | None = None
    next_states: list[str] = Field(default_factory=list)
    claimed: dict[str, Any] | None = None
    repeated: bool = False


@tool(toolset="execution", arguments=UpdateWorkflowControlPlane, answer=ControlPlaneUpdated)
def update_workflow_control_plane(app: Application, args: UpdateWorkflowControlPlane) -> ControlPlaneUpdated:
    """Write as the holder of a lease."""
    if args.output_ttl_secs is not None:
        raise InvalidArgument(
            "output_ttl_secs is not possible: outputs live as long as their run.",
            "Set expiry_secs when the run is created.",
        )
    has_output = "output_json" in args.model_fields_set
    request = Update(
        state=args.state,
        token=args.lease_token,
        owner=args.owner_agent_id,
        status=_status(args.new_status),
        has_output=has_output,
        output=parse(args.output_json, name="output_json") if has_output else None,
        error=args.error_name,
        cause=args.error_message,
        attempts=args.attempts_increment or 0,
        set_started_at=args.set_started_at,
        set_finished_at=args.set_finished_at,
        claim_ttl_s=(args.lease_ttl_s or 300) if args.claim_next else None,
        request_id=args.request_id,
    )
    answer = app.control_plane.update(args.workflow_id, request)
    if isinstance(answer, Refusal):
        return refused(ControlPlaneUpdated, answer, workflow_id=args.workflow_id, state=args.state)
    return ControlPlaneUpdated(
        status=f"Updated state '{args.state}' of run '{args.workflow_id}'.",
        workflow_id=args.workflow_id,
        state=args.state,
        updated_state=public_state(answer.doc),
        output_written=answer.output_written,
        run_status=answer.run_status.value,
        next_states=list(answer.next_states),
        claimed=_claimed(app, args.workflow_id, answer),
        repeated=answer.repeated,
    )


def new_token() -> str:
    """Draw a lease token: 128 random bits."""
    return f"lease-{secrets.token_hex(16)}"


def _claimed(app: Application, workflow_id: str, answer: Updated) -> dict[str, Json] | None:
    """Show the lease that came with a completion; a repeated answer reads the state again for it."""
    claimed = answer.claimed
    if claimed is None:
        return None
    doc, given = claimed.doc, claimed.given
    if answer.repeated:
        found = app.control_plane.read(workflow_id, (claimed.state,))
        given = found.inputs.get(claimed.state)
        if found.states[claimed.state].lease.token == doc.lease.token:
            doc = found.states[claimed.state]
    return {"state": claimed.state, "lease": write_lease(doc.lease), "input": given}


def _leased(answer: Leased, workflow_id: str, *, ready: bool | None = None) -> LeaseAnswer:
    return LeaseAnswer(
        status=answer.outcome,
        workflow_id=workflow_id,
        state=answer.state,
        ready=ready,
        lease=write_lease(answer.doc.lease),
        updated_state=holder_state(answer.doc),
        input=answer.given,
    )


def _refused_lease(refusal: Refusal, workflow_id: str, state: str | None, *, ready: bool | None = None) -> LeaseAnswer:
    shown = None if refusal.doc is None else public_state(refusal.doc)
    return refused(
        LeaseAnswer,
        refusal,
        workflow_id=workflow_id,
        state=state,
        ready=ready,
        lease=None if shown is None else shown["lease"],
        updated_state=shown,
    )


def _nothing_ready(answer: NothingReady) -> Refusal:
    return Refusal(
        code="nothing_ready",
        message=f"None of the run's {answer.examined} open states can be taken by this agent now.",
        hint="Wait with await_workflow_event; you are told when a state of yours becomes ready.",
        retry_after_s=5,
    )


def _status(word: str | None) -> Status | None:
    if word is None:
        return None
    status = _STATUS_WORDS.get(word.strip().lower())
    if status is None:
        raise InvalidArgument("new_status must be succeeded, failed, running or pending.")
    return status


def _operator_only(app: Application, *, asked: bool, what: str) -> None:
    if asked and not app.settings.allow_operator:
        raise Forbidden(f"{what} is an operator's right, which this server does not grant.")
