"""The kinds of refusals of well-formed requests by the control plane, and the choices between them.

They are in one place so that codes stay stable and texts consistent. Refusals about Tasks that wait for something
outside of dcf are in `waiting_refusals`, those of a paused or blocked run in `halt_refusals`, those of a closed account
in `limit_refusals`.
"""

from collections.abc import Mapping
from typing import Final

from dcf.core.access.quotas import Account
from dcf.core.documents.answers import AlreadyCompleted, StateRefusal
from dcf.core.documents.model import Meta, RunStatus, StateDoc
from dcf.values.instants import seconds
from dcf.values.refusal import Refusal

RUN_CLOSED: Final = Refusal.kind(
    "terminal",
    "The run has ended ({status.value}) and can no longer change.",
    "Stop working on this run; `await_workflow_event` brings other work. `rerun` does it again.",
)
RUN_OVER: Final = Refusal.kind(
    "run_over",
    "The run has ended: it is {status.value}.",
    "Read it with `read_workflow_control_plane`; `finalize_workflow` writes its audit record.",
)
STATE_TERMINAL: Final = StateRefusal.kind(
    "terminal",
    "State '{state}' is already {doc.status.value}.",
    "Drop this event; the work is done or closed. `get_my_assignment` says what is left for you, if anything.",
)
NOT_READY: Final = StateRefusal.kind(
    "not_ready",
    "State '{state}' waits for {doc.awaited:list}.",
    "Wait for the workflow event of this state (`await_workflow_event`) instead of polling.",
)
NOT_REACHED: Final = StateRefusal.kind(
    "not_ready",
    "The run has not reached state '{state}', which waits for {doc.awaited:list}.",
    "Resolve a state that is open; `read_workflow_control_plane` shows which are.",
)
MOVED_ON: Final = StateRefusal.kind(
    "conflict",
    "State '{state}' has moved on since you read it: you gave epoch {epoch}, it is at {doc.lease.epoch}.",
    "Read the state again, and resolve it if that is still wanted.",
)
IS_A_SCOPE: Final = StateRefusal.kind(
    "invalid_transition",
    "State '{state}' is a {doc.kind}, which ends when all states inside it have ended.",
    "Resolve the open states inside it, named by path, as in Each/0/Name.",
)
HAS_NO_WORKER: Final = StateRefusal.kind(
    "invalid_transition",
    "State '{state}' is a {doc.kind}: no agent can lease it, and its output is its input.",
    "End it early with skip, or fail it with error.",
)
GOES_BY_ITSELF: Final = StateRefusal.kind(
    "not_ready",
    "State '{state}' is a {doc.kind} and cannot be leased: it continues without an agent.",
    "Take a Task in `state`; inside a Parallel or Map it is named by path, as in Each/0/Name.",
)
NOT_DUE: Final = StateRefusal.kind(
    "not_ready",
    "State '{state}' may be taken in {retry_after_s:g} s.",
    "Call again after retry_after_s.",
)
OWNER_MISMATCH: Final = StateRefusal.kind(
    "owner_mismatch",
    "State '{state}' belongs to '{assigned}', not to '{caller}'.",
    "Use the agent id that the state is assigned to in meta.agents, or leave the state alone.",
)
LEASE_HELD: Final = StateRefusal.kind(
    "lease_held",
    "State '{state}' is leased to '{doc.lease.owner_agent_id}' for another {retry_after_s:g} s.",
    "Leave the state to its holder. If the holder dies, the lease expires and you are notified.",
)
LEASE_HELD_BUT_EXPIRED: Final = StateRefusal.kind(
    "lease_held",
    "State '{state}' is leased to '{doc.lease.owner_agent_id}' and this lease has expired.",
    "`allow_steal_if_expired=true`, the default, takes it over.",
)
LEASE_LOST: Final = StateRefusal.kind(
    "lease_lost",
    "This token does not hold state '{state}': no agent holds it; it is {doc.status.value}.",
    "Stop working on this state and discard the result.",
)
LEASE_LOST_TO_ANOTHER: Final = StateRefusal.kind(
    "lease_lost",
    "This token does not hold state '{state}': it is now leased to '{doc.lease.owner_agent_id}'.",
    "Stop working on this state and discard the result. With the key of '{doc.lease.owner_agent_id}', "
    "`acquire_state_lease` answers with the token.",
)
ALREADY_COMPLETED: Final = AlreadyCompleted.kind(
    "already_completed",
    "This lease_token completed state '{state}' as {receipt.status.value} at {receipt.at:time}.",
    "Nothing of this call was stored. `correct_result` replaces the result in `stored` until it is used.",
)
REQUEST_ID_USED: Final = Refusal.kind(
    "conflict",
    "This request_id was used for another write of state '{state}' with the same lease.",
    "Give every new write a `request_id` of its own; repeat one only with the same content.",
)
RUN_REQUEST_ID_USED: Final = Refusal.kind(
    "conflict",
    "This request_id was used for another request about this run.",
    "Give every new request a `request_id` of its own; repeat one only with the same arguments.",
)
TOKEN_USED: Final = StateRefusal.kind(
    "token_used",
    "This lease_token has held state '{state}' before, and released or completed it.",
    "Acquire without a `lease_token`, or with a new one, to hold the state again.",
)
LEASE_EXPIRED: Final = Refusal.kind(
    "lease_expired",
    "The lease on state '{state}' has expired.",
    (
        "Renew with `reject_if_expired=false` unless the state has a new lease. A finished result may still be "
        "delivered with this `lease_token` until then."
    ),
)
TOKEN_REQUIRED: Final = Refusal.kind(
    "token_required",
    "State '{state}' is written only with the lease_token of its current holder.",
    "Acquire the lease first (`acquire_state_lease` or `claim_ready_state`) and pass its `lease_token`.",
)
ATTEMPTS_EXHAUSTED: Final = StateRefusal.kind(
    "attempts_exhausted",
    "State '{state}' was leased {doc.attempts} times without finishing.",
    "Look at last_error and the run's events; the run fails with DCF.AttemptsExhausted.",
)
PARKED_TOO_LONG: Final = StateRefusal.kind(
    "parked_too_long",
    "State '{state}' would wait longer than {days} days for usage limits.",
    "Write the state as failed with `error_name` DCF.AccountLimit.",
)
OUTPUT_INVALID: Final = StateRefusal.kind(
    "output_invalid",
    "The output of '{state}' does not match its OutputSchema: {place}{text:clipped 200}{others}.",
    "{advice}",
)
INVALID_TRANSITION: Final = Refusal.kind(
    "invalid_transition",
    "State '{state}' cannot go from {current} to {wanted_status}.",
    "A holder may set succeeded or failed, or pending to give the state back.",
)
NOTHING_READY: Final = Refusal.kind(
    "nothing_ready",
    "None of the run's {examined} open states can be taken by this agent now.",
    "Wait with `await_workflow_event`; you are notified when a state of yours becomes ready.",
    retry_after_s=5,
)
_OTHER_RUN: Final = "Use a new `workflow_id` for a different workflow or input; a definition and a run are two things."
OTHER_DEFINITION: Final = Refusal.kind(
    "conflict",
    "Run '{workflow_id}' exists with another definition (stored {stored}, given {sent}).",
    _OTHER_RUN,
)
OTHER_INPUT: Final = Refusal.kind("conflict", "Run '{workflow_id}' exists with another input.", _OTHER_RUN)
OTHER_GATES: Final = Refusal.kind("conflict", "Run '{workflow_id}' exists with other gates.", _OTHER_RUN)
OTHER_OPENING: Final = Refusal.kind("conflict", "Run '{workflow_id}' exists, and was not opened like this.", _OTHER_RUN)
OTHER_PROJECT: Final = Refusal.kind("conflict", "The id '{workflow_id}' is taken by a run outside {runs}.", _OTHER_RUN)
DEFINITION_DIFFERS: Final = Refusal.kind(
    "conflict",
    "'{name:escaped}@{version:escaped}' is another document (kept {stored}, given {sent}).",
    "Give a changed workflow a new version, or start the kept one by its name and version.",
)
_CHOOSE: Final = (
    "Choose a Task, Wait, Parallel or Map of the workflow itself that the run has entered, or leave `from_state` out."
)
GREW: Final = Refusal.kind(
    "cannot_rerun",
    "The run grew unit by unit; nothing says how it would grow again.",
    "Open another run with `open_run`, and add the units again.",
)
INSIDE_A_SCOPE: Final = Refusal.kind(
    "cannot_rerun", "A run cannot be repeated from '{state}', which is inside a Parallel or Map.", _CHOOSE
)
NOT_FROM_THERE: Final = Refusal.kind("cannot_rerun", "The run cannot be repeated from '{state}': {why}.", _CHOOSE)
_RERUN: Final = "Repeat it as a new run with `rerun`, from a state before that one if you like."
WAS_OPEN_RUN: Final = Refusal.kind(
    "cannot_retry",
    "The run was an open run: once it has ended, it cannot be retried.",
    "In an open run `retry_unit` and `rewind_unit` reopen units; open another run with `open_run`.",
)
STILL_RUNNING: Final = Refusal.kind(
    "cannot_retry",
    "The run is running and has no end from which it could continue.",
    "Wait for its end with `await_workflow_event`; `explain_run` says what it waits for.",
)
HAS_SUCCEEDED: Final = Refusal.kind("cannot_retry", "The run has succeeded.", "Repeat it as a new run with `rerun`.")
WAS_FINALIZED: Final = Refusal.kind(
    "cannot_retry",
    "The run was finalized: its audit record is written and agents made for it may be deleted.",
    _RERUN,
)
NOWHERE_TO_CONTINUE: Final = Refusal.kind("cannot_retry", "The run has no state from which it could continue.", _RERUN)
WOULD_FAIL_AGAIN: Final = Refusal.kind("cannot_retry", "State '{state}' would only fail again: {why}.", _RERUN)
RUN_LIVE: Final = Refusal.kind(
    "run_live",
    "Run '{workflow_id}' is running; only ended runs are deleted.",
    "Cancel it first (`cancel_run`), or wait until it has ended.",
)
RUN_ON_HOLD: Final = Refusal.kind(
    "on_hold",
    "Run '{workflow_id}' is on hold and is kept.",
    "An operator releases the hold: `hold_run(hold=false)`.",
)
RUN_BEING_DELETED: Final = Refusal.kind(
    "run_over",
    "Run '{workflow_id}' is being deleted.",
    "It is gone in a moment; start another.",
)
QUOTA_EXCEEDED: Final = Refusal.kind(
    "quota_exceeded",
    "The quota {quota} of this key is used up: {used} of {limit} {counted}.",
    "{remedy}; or ask the operator for a key with more (`dcf keys add --quota {quota}=N`).",
)
_REMEDIES: Final[Mapping[str, tuple[str, str]]] = {
    "stored_bytes": ("bytes stored", "Delete documents (`json_delete(path=$)`), finalize runs that have `expiry_secs`"),
    "documents": ("documents", "Delete documents (`json_delete(path=$)`), or let them expire"),
    "live_runs": ("live runs", "Finish runs, or cancel them (`cancel_run`)"),
    "artifact_bytes": ("bytes of artifacts", "Delete ended runs that have artifacts (`delete_run`)"),
    "inbox_entries": ("entries in inboxes", "Wait until the agents acknowledge what they were sent"),
}
"""By quota: the counted things, and the way to free them."""
START_OVERDUE: Final = Refusal.kind(
    "start_overdue",
    "The time in which this process might start the run has passed.",
    "No action needed: the timer loop starts the run.",
)


def quota_exceeded(quota: str, used: int, limit: int) -> Refusal:
    """Refuse because the caller's key holds as much of something as it may."""
    counted, remedy = _REMEDIES[quota]
    return QUOTA_EXCEEDED.refuse(quota=quota, used=used, limit=limit, counted=counted, remedy=remedy)


def unless_full(account: Account | None) -> Refusal | None:
    """Return a refusal for a key that held more bytes than it may when its call began; None without a quota."""
    if account is None or account.stored_bytes < account.quotas.stored_bytes:
        return None
    return quota_exceeded("stored_bytes", account.stored_bytes, account.quotas.stored_bytes)


def unless_holder(doc: StateDoc, meta: Meta, state: str, token: str | None) -> Refusal | None:
    """Return a refusal for everybody but the current holder of an open state in a running run; None for the holder."""
    if token is None:
        return TOKEN_REQUIRED.refuse(state=state)
    if meta.status is not RunStatus.RUNNING:
        return RUN_CLOSED.refuse(status=meta.status)
    if doc.status.is_terminal:
        return STATE_TERMINAL.refuse(state=state, doc=doc)
    if not doc.lease.is_held_with(token):
        return lease_lost(state, doc)
    return None


def not_due(state: str, doc: StateDoc, now: int) -> StateRefusal:
    """Refuse because the state may not be taken before a point in time."""
    return NOT_DUE.refuse(state=state, doc=doc, retry_after_s=seconds((doc.not_before or now) - now))


def lease_held(state: str, doc: StateDoc, now: int) -> StateRefusal:
    """Refuse because another agent holds the lease."""
    left = max(0.0, seconds((doc.lease.expires_at or now) - now))
    return (LEASE_HELD if left else LEASE_HELD_BUT_EXPIRED).refuse(state=state, doc=doc, retry_after_s=left)


def lease_lost(state: str, doc: StateDoc) -> StateRefusal:
    """Refuse because the token is not that of the current lease."""
    return (LEASE_LOST_TO_ANOTHER if doc.lease.token else LEASE_LOST).refuse(state=state, doc=doc)
