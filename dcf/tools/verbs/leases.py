"""Tools that acquire, renew and release the lease on a state. They only parse, call, and format the answer."""

from dataclasses import replace
from typing import Any

from pydantic import Field

from dcf.application.application import Application
from dcf.core.access.model import Scope
from dcf.core.documents.answers import Leased, NothingReady, StateRefusal
from dcf.core.documents.codec import write_lease
from dcf.core.documents.operations import LONGEST_REASON
from dcf.core.documents.refusals import nothing_ready
from dcf.core.leasing import lease
from dcf.core.lifecycle.inspection import holder_state, public_state, short_state
from dcf.errors import InvalidArgument
from dcf.features.work.grant_storage import Asker, Handed
from dcf.runs.views.status import known
from dcf.values.json_text import Json
from dcf.values.refusal import Refusal
from dcf.verbs.answers.work import steps_of, work_shown
from dcf.verbs.callers import current_caller, require
from dcf.verbs.lease_tokens import new_token
from dcf.verbs.registry import (
    AgentId,
    Answer,
    Arguments,
    LeaseToken,
    StateName,
    Ttl,
    WholeInput,
    WorkflowId,
    refused,
    tool,
)
from dcf.verbs.unlisted import UNLISTED

MOST_CLAIMED = 100
"""Most states that are leased by one call."""


class AcquireStateLease(Arguments):
    """Take the lease on a state you were told of, before you work on it: only one agent gets it.

    `work` in the answer has its input, and the lease_token that every later write needs. Renew it while you work.
    """

    workflow_id: WorkflowId
    state: StateName
    owner_agent_id: AgentId
    lease_ttl_s: Ttl = 300
    lease_token: LeaseToken | None = Field(
        default=None, description="To repeat a call, or to read an input that was left out: its token."
    )
    require_ready: bool = Field(default=True, description="Must stay true.", json_schema_extra=UNLISTED)
    require_owner_match: bool = Field(
        default=True, description="False is an operator's right.", json_schema_extra=UNLISTED
    )
    allow_steal_if_expired: bool = Field(
        default=True, description="Take over from a holder whose lease expired.", json_schema_extra=UNLISTED
    )
    set_running_on_acquire: bool = Field(
        default=True, description="Set the state to running.", json_schema_extra=UNLISTED
    )
    attempts_increment: int = Field(
        default=1, ge=1, le=100, description="What this grant counts for.", json_schema_extra=UNLISTED
    )


class LeaseAnswer(Answer):
    """The lease and the state as they are now."""

    workflow_id: str | None = None
    state: str | None = None
    lease: dict[str, Any] | None = None
    updated_state: dict[str, Any] | None = None


class LeaseGranted(LeaseAnswer):
    """The lease and the state as they are now. `work` is what to do: token, input, instructions, who wrote them.

    If it has a `task_token`: hand that out and complete the state, which then waits for send_task_success with it.
    """

    ready: bool | None = None
    work: dict[str, Any] | None = None

    only_when_set = ("work",)


@tool(
    toolset="execution",
    scope=Scope.WORK,
    profiles=("worker",),
    arguments=AcquireStateLease,
    answer=LeaseGranted,
    idempotent=False,
)
def acquire_state_lease(app: Application, args: AcquireStateLease) -> LeaseGranted:
    """Acquire the lease on one state."""
    if not args.require_ready:
        raise InvalidArgument("require_ready=false is not possible: a state that is not ready has no input.")
    if not args.require_owner_match:
        require(Scope.OPERATE, "require_owner_match=false")
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
        ready = answer.doc.is_ready if isinstance(answer, StateRefusal) else None
        return _refused_grant(answer, args.workflow_id, args.state, ready=ready)
    return _granted(app, answer, args.workflow_id, args.owner_agent_id, whole_input=True)


class ClaimReadyState(Arguments):
    """Get the next piece of work without waiting: leases a ready state of the run that you may take.

    Code nothing_ready means: wait with await_workflow_event, or call again after retry_after_s.
    """

    workflow_id: WorkflowId
    owner_agent_id: AgentId
    lease_ttl_s: Ttl = Field(default=300, json_schema_extra=UNLISTED)
    lease_token: LeaseToken | None = Field(
        default=None, description="Only to repeat a call whose answer was lost: its token.", json_schema_extra=UNLISTED
    )
    claim_next: int = Field(
        default=1, ge=1, le=MOST_CLAIMED, description="Lease at most so many states.", json_schema_extra=UNLISTED
    )
    whole_input: WholeInput = False


class ReadyClaimed(LeaseGranted):
    """The lease and the state as they are now, and `work`. With claim_next, `more_work` has the others.

    Until a call has its lease_token, the same caller gets the same work again: the answer may have been lost.
    """

    more_work: list[dict[str, Any]] = Field(default_factory=list)


@tool(
    toolset="execution",
    scope=Scope.WORK,
    profiles=("worker", "member"),
    arguments=ClaimReadyState,
    answer=ReadyClaimed,
    idempotent=False,
)
def claim_ready_state(app: Application, args: ClaimReadyState) -> ReadyClaimed:
    """Acquire the leases on the next ready states."""
    wish = lease.Acquire(
        state="",
        owner=args.owner_agent_id,
        token=args.lease_token or new_token(),
        ttl_s=args.lease_ttl_s,
        most=args.claim_next,
    )
    answer = _claim(app, args, wish)
    if isinstance(answer, NothingReady):
        answer = nothing_ready(answer.examined)
    if isinstance(answer, Refusal):
        return refused(ReadyClaimed, answer, workflow_id=args.workflow_id, **_held(answer))
    first, *others = (_with_input(app, args.workflow_id, one) for one in (answer, *answer.others))
    more = [work_shown(app, args.workflow_id, one, whole_input=args.whole_input) for one in others]
    found = _granted(app, first, args.workflow_id, args.owner_agent_id, whole_input=args.whole_input)
    return ReadyClaimed(**found.model_dump(), more_work=more)


def _claim(app: Application, args: ClaimReadyState, wish: lease.Acquire) -> Leased | NothingReady | Refusal:
    """Claim; a call without a token gets again what its caller was given before, until there is a sign of that."""
    if args.lease_token is not None:
        return app.control_plane.claim(args.workflow_id, wish)
    wish = replace(wish, first_term_s=args.lease_ttl_s)
    asker = Asker(agent_id=args.owner_agent_id, caller=current_caller().name, workflow_id=args.workflow_id)
    before = app.work.handed.find(asker)
    if before is None:
        app.control_plane.run(args.workflow_id)  # raises where there is none: of that nothing is noted
    else:
        again = app.control_plane.claim(args.workflow_id, replace(wish, token=before.token, only_held=True))
        if isinstance(again, Leased):
            return again
    app.work.handed.note(asker, Handed(workflow_id=args.workflow_id, state="", token=wish.token))
    return app.control_plane.claim(args.workflow_id, wish)


def _with_input(app: Application, workflow_id: str, claimed: Leased) -> Leased:
    """Return a lease with the state's input, which is read again for a repeated call."""
    if claimed.given is not None:
        return claimed
    found = app.runs.read(workflow_id, (claimed.state,), whole_meta=False)
    return replace(claimed, given=known(found.states[claimed.state].given))


class RenewStateLease(Arguments):
    """Keep a lease you hold: call this every third of its length while you work.

    On code lease_lost stop at once; somebody else has the state.
    """

    workflow_id: WorkflowId
    state: StateName
    lease_token: LeaseToken
    owner_agent_id: AgentId | None = Field(
        default=None, description="Your agent id, to be checked as well.", json_schema_extra=UNLISTED
    )
    lease_ttl_s: Ttl | None = Field(
        default=None, description="New length in seconds; default: as it is.", json_schema_extra=UNLISTED
    )
    reject_if_expired: bool = Field(
        default=True,
        description="False revives an expired lease as long as nobody took the state over.",
        json_schema_extra=UNLISTED,
    )
    touch_only: bool = Field(
        default=False,
        description="Keep the length the lease has, whatever lease_ttl_s says.",
        json_schema_extra=UNLISTED,
    )


@tool(
    toolset="execution", scope=Scope.WORK, profiles=("worker", "member"), arguments=RenewStateLease, answer=LeaseAnswer
)
def renew_state_lease(app: Application, args: RenewStateLease) -> LeaseAnswer:
    """Extend the lease."""
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
    return LeaseAnswer(
        status=answer.outcome,
        workflow_id=args.workflow_id,
        state=args.state,
        lease=write_lease(answer.doc.lease),
        updated_state=short_state(holder_state(answer.doc)),
    )


class ReleaseStateLease(Arguments):
    """Give a state back unfinished, so that another agent can take it.

    It becomes pending again, and the attempt counts.
    """

    workflow_id: WorkflowId
    state: StateName
    lease_token: LeaseToken | None = Field(default=None, description="The lease_token you hold.")
    owner_agent_id: AgentId | None = Field(
        default=None, description="Your agent id, to be checked as well.", json_schema_extra=UNLISTED
    )
    force: bool = Field(
        default=False, description="Release whoever holds it; an operator's right.", json_schema_extra=UNLISTED
    )
    clear_owner: bool = Field(default=True, description="Forget the owner as well.", json_schema_extra=UNLISTED)
    epoch: int | None = Field(
        default=None,
        ge=10**15,
        le=2**53,
        description="Only if the lease still has this epoch; else conflict.",
        json_schema_extra=UNLISTED,
    )
    reason: str | None = Field(
        default=None, max_length=LONGEST_REASON, description="Why, for the run's history.", json_schema_extra=UNLISTED
    )


@tool(
    toolset="execution",
    scope=Scope.WORK,
    profiles=("worker", "member", "operator"),
    arguments=ReleaseStateLease,
    answer=LeaseAnswer,
)
def release_state_lease(app: Application, args: ReleaseStateLease) -> LeaseAnswer:
    """Release the lease."""
    if args.force:
        require(Scope.OPERATE, "force=true")
    request = lease.Release(
        state=args.state,
        token=args.lease_token,
        owner=args.owner_agent_id,
        force=args.force,
        clear_owner=args.clear_owner,
        epoch=args.epoch,
        reason=args.reason,
    )
    answer = app.control_plane.release(args.workflow_id, request)
    if isinstance(answer, Refusal):
        return _refused_lease(answer, args.workflow_id, args.state)
    shown = short_state(public_state(answer.doc))
    return LeaseAnswer(
        status=answer.outcome,
        workflow_id=args.workflow_id,
        state=args.state,
        lease=shown.get("lease"),
        updated_state=shown,
    )


def _granted(app: Application, answer: Leased, workflow_id: str, agent_id: str, *, whole_input: bool) -> LeaseGranted:
    work = work_shown(app, workflow_id, answer, whole_input=whole_input)
    return LeaseGranted(
        status=answer.outcome,
        workflow_id=workflow_id,
        state=answer.state,
        next=steps_of(work, agent_id),
        ready=True,
        lease=write_lease(answer.doc.lease),
        updated_state=short_state(holder_state(answer.doc)) | {"entry_epoch": answer.entry_epoch},
        work=work,
    )


def _refused_grant(refusal: Refusal, workflow_id: str, state: str | None, *, ready: bool | None = None) -> LeaseGranted:
    return refused(LeaseGranted, refusal, workflow_id=workflow_id, state=state, ready=ready, **_held(refusal))


def _refused_lease(refusal: Refusal, workflow_id: str, state: str) -> LeaseAnswer:
    return refused(LeaseAnswer, refusal, workflow_id=workflow_id, state=state, **_held(refusal))


def _held(refusal: Refusal) -> dict[str, Json]:
    """Return the state as it is, where the refusal has it."""
    shown = short_state(public_state(refusal.doc)) if isinstance(refusal, StateRefusal) else None
    return {"lease": None if shown is None else shown.get("lease"), "updated_state": shown}
