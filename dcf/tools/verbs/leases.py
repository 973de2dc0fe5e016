"""The verbs that acquire, renew and release the lease on a state."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from dcf.core.access.model import Scope
from dcf.core.documents.answers import Leased, NothingReady, StateRefusal, Updated
from dcf.core.documents.codec import write_lease
from dcf.core.documents.parking import ACCOUNT_NAME
from dcf.core.documents.refusals import NOTHING_READY
from dcf.core.leasing import lease
from dcf.core.leasing.parking import excuse_of
from dcf.core.lifecycle.inspection import holder_state, public_state, short_state
from dcf.errors import InvalidArgument
from dcf.features.work.askers import Asker, Handed
from dcf.values.json_paths import MISSING
from dcf.values.json_text import Json
from dcf.values.refusal import Refusal
from dcf.verbs.answers.regaining import may_regain, regaining
from dcf.verbs.answers.work import steps_of, work_shown
from dcf.verbs.callers import calling_key, current_caller, require
from dcf.verbs.derived_tools import add_tools
from dcf.verbs.description.verb import Answered, Argument, Command, PageAction, RefusedWith, verb
from dcf.verbs.description.words import (
    ID,
    Epoch,
    LeaseToken,
    LeaseTtl,
    OwnAgentId,
    Reason,
    RunId,
    StateName,
    WholeInput,
)
from dcf.verbs.lease_tokens import new_token
from dcf.verbs.records.leases import AcquiredLease, ClaimedState, ReleasedState, RenewedLease
from dcf.workforce.steps import to_complete, wait_for_event

if TYPE_CHECKING:
    from dcf.application.application import Application

MOST_CLAIMED: Final = 100
"""Most states that are leased by one call."""

_Checked = Annotated[OwnAgentId | None, Argument(means="Your agent id, to be checked as well.", listed=False)]


@verb(
    toolset="execution",
    scope="work",
    lists=("worker",),
    is_repeatable=False,
    codes=(
        "unknown_run",
        "unknown_state",
        "not_ready",
        "lease_held",
        "run_over",
        "owner_mismatch",
        "run_blocked",
        "run_paused",
        "terminal",
        "work_limit_reached",
        "account_closed",
    ),
    only_when_set=("work",),
)
def acquire_state_lease(
    on: "Application",
    workflow_id: RunId,
    state: StateName,
    owner_agent_id: OwnAgentId,
    *,
    lease_ttl_s: Annotated[LeaseTtl, Argument(means="Seconds of the lease.", listed=False)] = 300,
    lease_token: Annotated[
        LeaseToken | None, Argument(means="To repeat a call, or to read an input that was left out: its token.")
    ] = None,
    require_ready: Annotated[bool, Argument(means="Must stay true.", listed=False)] = True,
    require_owner_match: Annotated[bool, Argument(means="False is an operator's right.", listed=False)] = True,
    allow_steal_if_expired: Annotated[
        bool, Argument(means="Take over from a holder whose lease expired.", listed=False)
    ] = True,
    set_running_on_acquire: Annotated[bool, Argument(means="Set the state to running.", listed=False)] = True,
    attempts_increment: Annotated[
        int, Argument(means="Attempts that this grant counts as.", ge=1, le=100, listed=False)
    ] = 1,
) -> Answered[AcquiredLease] | RefusedWith:
    """Take the lease on a state before you work on it: only one agent gets it.

    ``work`` in the answer has its input, and the lease_token that later writes need.
    """
    if not require_ready:
        raise InvalidArgument("require_ready=false is not possible: a state that is not ready has no input.")
    if not require_owner_match:
        require(Scope.OPERATE, "require_owner_match=false")
    request = lease.Acquire(
        state=state,
        owner=owner_agent_id,
        token=lease_token or new_token(),
        ttl_s=lease_ttl_s,
        any_owner=not require_owner_match,
        may_take_over=allow_steal_if_expired,
        set_running=set_running_on_acquire,
        attempts=attempts_increment,
        key=None if lease_token else calling_key(),
        regains=lease_token is None,
    )
    answer = on.control_plane.acquire(workflow_id, request)
    if isinstance(answer, StateRefusal) and lease_token is None and _is_held_by(owner_agent_id, answer):
        return _held_by_caller(answer, workflow_id, state, owner_agent_id)
    if isinstance(answer, Refusal):
        ready = answer.doc.is_ready if isinstance(answer, StateRefusal) else None
        return RefusedWith(answer, {"ready": ready, **_held(answer)})
    members = _granted(on, answer, workflow_id, owner_agent_id, whole_input=True)
    return Answered(AcquiredLease, members, says=answer.outcome)


@verb(
    toolset="execution",
    scope="work",
    lists=("worker", "member"),
    is_repeatable=False,
    codes=("unknown_run", "nothing_ready", "run_over", "run_blocked", "run_paused", "terminal", "account_closed"),
    only_when_set=("work",),
    in_refusals={"more_work": []},
)
def claim_ready_state(
    on: "Application",
    workflow_id: RunId,
    owner_agent_id: Annotated[OwnAgentId, Argument(means="Your agent id.", tool="agent_id", was="owner_agent_id")],
    *,
    lease_ttl_s: Annotated[LeaseTtl, Argument(means="Seconds of the lease.", listed=False)] = 300,
    lease_token: Annotated[
        LeaseToken | None, Argument(means="Only to repeat a call whose answer was lost: its token.", listed=False)
    ] = None,
    claim_next: Annotated[
        int, Argument(means="Lease at most so many states.", ge=1, le=MOST_CLAIMED, listed=False)
    ] = 1,
    whole_input: WholeInput = False,
) -> Answered[ClaimedState] | RefusedWith:
    """Get the next piece of work without waiting: leases a ready state of the run that you may take.

    Code nothing_ready means: wait with `await_workflow_event`, or call again after retry_after_s.
    """
    wish = lease.Acquire(
        state="", owner=owner_agent_id, token=lease_token or new_token(), ttl_s=lease_ttl_s, most=claim_next
    )
    answer = _claim(on, workflow_id, wish, has_token=lease_token is not None)
    if isinstance(answer, NothingReady):
        answer = NOTHING_READY.refuse(examined=answer.examined)
    if isinstance(answer, Refusal):
        return RefusedWith(answer, _held(answer))
    first, *others = (_with_input(on, workflow_id, leased) for leased in (answer, *answer.others))
    members = _granted(on, first, workflow_id, owner_agent_id, whole_input=whole_input)
    more = [work_shown(on, workflow_id, leased, whole_input=whole_input) for leased in others]
    return Answered(ClaimedState, {**members, "more_work": more}, says=first.outcome)


def _claim(
    on: "Application", workflow_id: str, wish: lease.Acquire, *, has_token: bool
) -> Leased | NothingReady | Refusal:
    """Claim; a call without a token gets again what its caller was given before, until there is a sign of that."""
    if has_token:
        return on.control_plane.claim(workflow_id, wish)
    wish = replace(wish, first_term_s=wish.ttl_s, key=calling_key())
    asker = Asker(agent_id=wish.owner, caller=current_caller().name, workflow_id=workflow_id)
    before = on.work.handed.find(asker)
    if before is None:
        on.control_plane.run(workflow_id)  # raises where there is none: of that nothing is noted
    else:
        again = on.control_plane.claim(workflow_id, replace(wish, token=before.token, only_held=True))
        if isinstance(again, Leased):
            return again
    on.work.handed.note(asker, Handed(workflow_id=workflow_id, state="", token=wish.token))
    return on.control_plane.claim(workflow_id, wish)


def _with_input(on: "Application", workflow_id: str, claimed: Leased) -> Leased:
    """Return a lease with the state's input, which is read again for a repeated call."""
    if claimed.given is not None:
        return claimed
    view = on.runs.read(workflow_id, (claimed.state,), whole_meta=False)
    state_input = view.states[claimed.state].given
    return replace(claimed, given=None if state_input is MISSING else state_input)


@verb(
    toolset="execution",
    scope="work",
    lists=("worker", "member"),
    codes=("unknown_run", "unknown_state", "lease_lost", "lease_expired", "owner_mismatch"),
)
def renew_state_lease(
    on: "Application",
    workflow_id: RunId,
    state: StateName,
    lease_token: LeaseToken,
    *,
    owner_agent_id: _Checked = None,
    lease_ttl_s: Annotated[
        LeaseTtl | None, Argument(means="New length in seconds; default: as it is.", listed=False)
    ] = None,
    reject_if_expired: Annotated[
        bool, Argument(means="False revives an expired lease if no other agent took the state over.", listed=False)
    ] = True,
    touch_only: Annotated[
        bool, Argument(means="Keep the length the lease has, whatever lease_ttl_s says.", listed=False)
    ] = False,
) -> Answered[RenewedLease] | RefusedWith:
    """Keep a lease you hold: call this every third of its length while you work.

    On code lease_lost stop at once.
    """
    request = lease.Renew(
        state=state,
        token=lease_token,
        owner=owner_agent_id,
        ttl_s=None if touch_only else lease_ttl_s,
        reject_if_expired=reject_if_expired,
    )
    answer = on.control_plane.renew(workflow_id, request)
    if isinstance(answer, Refusal):
        return _not_held(answer, workflow_id, request)
    members = {
        "workflow_id": workflow_id,
        "state": state,
        "lease": write_lease(answer.doc.lease),
        "updated_state": short_state(holder_state(answer.doc)),
    }
    return Answered(RenewedLease, members, says=answer.outcome)


def _taking(call: Mapping[str, Any]) -> str:
    return f"Take {call['state']} of run {call['workflow_id']} from whoever holds it?"


@verb(
    toolset="execution",
    scope="work",
    lists=("worker", "member", "operator"),
    codes=("unknown_run", "unknown_state", "lease_lost", "conflict", "owner_mismatch", "token_required"),
    command=Command(
        name="states release",
        question=_taking,
        show="dcf.cli.commands.lifecycle:show_released",
        fixed={"force": True, "lease_token": None, "owner_agent_id": None, "clear_owner": True, "epoch": None}
        | {
            "limited_until": None,
            "limit_kind": "limit",
            "limit_account": None,
            "limit_reported_by": None,
            "attempt_counts": True,
        },
        summary="End another agent's lease on a state so that others can acquire it; its late result is "
        "refused.\n\nIt asks before; --yes skips the question.",
    ),
    page=PageAction(
        title="Release the lease",
        effect="The holder loses the state, which is pending again for any agent that may take it.",
        form=("epoch", "reason"),
        scopes=("operate",),
        always={"force": True},
    ),
    method="release",
    steps="dcf.client.steps.leases:release",
)
def release_state_lease(
    on: "Application",
    workflow_id: RunId,
    state: StateName,
    *,
    lease_token: Annotated[LeaseToken | None, Argument(means="The lease_token you hold.", plain=True)] = None,
    owner_agent_id: _Checked = None,
    force: Annotated[bool, Argument(means="End another agent's lease; needs scope operate.", listed=False)] = False,
    clear_owner: Annotated[bool, Argument(means="Forget the owner as well.", listed=False)] = True,
    epoch: Annotated[
        Epoch, Argument(means="Only if the lease still has this epoch; else conflict.", listed=False)
    ] = None,
    reason: Annotated[Reason, Argument(means="Why, for the run's history.", listed=False)] = None,
    limited_until: Annotated[
        str | None,
        Argument(
            means="The provider's usage limit ends then: a time, or seconds from now (90s). No attempt counts.",
            max_length=40,
            listed=False,
        ),
    ] = None,
    limit_kind: Annotated[
        Literal["limit", "guess", "busy", "spent", "day", "wait", "models"],
        Argument(means="The kind of the limit.", listed=False),
    ] = "limit",
    limit_account: Annotated[
        str | None,
        Argument(
            means="The account that is closed, if that was reported; else the account of the lease holder is closed.",
            pattern=f"^{ACCOUNT_NAME}$",
            listed=False,
        ),
    ] = None,
    limit_reported_by: Annotated[
        str | None, Argument(means="The agent that reported it, if it is not you.", pattern=ID, listed=False)
    ] = None,
    attempt_counts: Annotated[bool, Argument(means="False: the worker shuts down.", listed=False)] = True,
) -> Answered[ReleasedState] | RefusedWith:
    """Give a state back unfinished, so that another agent can take it; the attempt counts."""
    if force:
        require(Scope.OPERATE, "force=true")
    request = lease.Release(
        state=state,
        token=lease_token,
        owner=owner_agent_id,
        force=force,
        clear_owner=clear_owner,
        epoch=epoch,
        reason=reason,
        excuse=excuse_of(limited_until, limit_kind, counts=attempt_counts, account=limit_account, by=limit_reported_by),
    )
    answer = on.accounts.release(workflow_id, request)
    if isinstance(answer, Refusal):
        return _not_held(answer, workflow_id, request)
    shown = short_state(public_state(answer.doc))
    members = {"workflow_id": workflow_id, "state": state, "lease": shown.get("lease"), "updated_state": shown}
    return Answered(ReleasedState, members, says="failed" if isinstance(answer, Updated) else answer.outcome)


def _granted(
    on: "Application", leased: Leased, workflow_id: str, agent_id: str, *, whole_input: bool
) -> dict[str, Any]:
    """Return the members of an answer that grants a lease."""
    work = work_shown(on, workflow_id, leased, whole_input=whole_input)
    return {
        "workflow_id": workflow_id,
        "state": leased.state,
        "next": steps_of(work, agent_id),
        "ready": True,
        "lease": write_lease(leased.doc.lease),
        "updated_state": short_state(holder_state(leased.doc)) | {"entry_epoch": leased.entry_epoch},
        "work": work,
    }


def _not_held(refusal: Refusal, workflow_id: str, request: lease.Renew | lease.Release) -> RefusedWith:
    """Return the refusal of a token, with the way back to the lease for the agent that has it."""
    members = _held(refusal)
    if not may_regain(refusal, request.owner):
        return RefusedWith(refusal, members)
    refusal, calls = regaining(refusal, workflow_id, request.state)
    return RefusedWith(refusal, {**members, "next": calls})


def _is_held_by(agent_id: str, refusal: StateRefusal) -> bool:
    return refusal.code == "lease_held" and refusal.doc.lease.owner_agent_id == agent_id


def _held_by_caller(refusal: StateRefusal, workflow_id: str, state: str, agent_id: str) -> RefusedWith:
    """Say how an agent continues with a lease of its own: by the token, as another process may use its id."""
    left = refusal.retry_after_s or 0.0
    mine = replace(
        refusal,
        message=f"State '{state}' is leased to '{agent_id}', which is you, for another {left:g} s.",
        hint="Your lease_token was in `work` of the answer that leased it, as of `await_workflow_event`: use it. "
        "`get_my_assignment` shows it again to a key bound to this agent. Otherwise wait until the lease expires: "
        "another process may work under your id.",
    )
    place = {"workflow_id": workflow_id, "state": state, "lease_token": "<lease_token of the answer that leased it>"}
    steps = [to_complete(place, agent_id, "If you have the token."), wait_for_event(agent_id)]
    return RefusedWith(mine, {"ready": False, **_held(mine), "next": [step.as_json() for step in steps]})


def _held(refusal: Refusal) -> dict[str, Json]:
    """Return the state as it is, where the refusal has it."""
    shown = short_state(public_state(refusal.doc)) if isinstance(refusal, StateRefusal) else None
    return {"lease": None if shown is None else shown.get("lease"), "updated_state": shown}


add_tools(__name__)
