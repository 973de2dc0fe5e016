"""Every refusal of a well-formed request by the control plane, with its code and a hint what to do next.

    terminal             run_closed, state_terminal    the run or the state has ended
    run_over             run_over, run_being_deleted   the run has ended, so it cannot be operated
    not_ready            goes_by_itself, not_due, not_ready, not_reached  too early, or no work for an agent
    owner_mismatch       owner_mismatch                the state is assigned to another agent
    lease_held           lease_held                    another agent holds the lease
    lease_lost           lease_lost                    the token is not that of the current lease
    already_completed    already_completed             the token completed the state with other content
    lease_expired        lease_expired                 too late for a strict renewal
    output_invalid       output_invalid                an output that does not match its Task's OutputSchema
    token_used           token_used                    the token held the state before
    token_required       token_required                a write without a token
    attempts_exhausted   attempts_exhausted            leased as often as the run allows
    parked_too_long      parked_too_long               usage limits would last longer than a visit may wait
    invalid_transition   invalid_transition, is_a_scope, has_no_worker  what cannot be done to such a state
    nothing_ready        nothing_ready                 no state that this agent can take now
    conflict             conflict, request_id_used, run_request_id_used, definition_differs, moved_on  not so any more
    cannot_rerun         cannot_rerun                  what the run recorded is not enough to go on from there
    cannot_retry         cannot_retry                  the run did not fail, or cannot go on
    run_live             run_live                      only a run that is over is deleted
    on_hold              run_on_hold                   the run must be kept
    quota_exceeded       quota_exceeded                the caller's key holds as much as it may
    start_overdue        start_overdue                 the time in which a process might start the run has passed

They are in one place so that codes stay stable and texts consistent. Refusals about Tasks that wait for something
outside of dcf are in `waiting_refusals`, those of a paused or blocked run in `halt_refusals`.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from dcf.asl.json_schema.check import MAX_MISFITS, Misfit
from dcf.core.access.quotas import Account
from dcf.core.documents.answers import AlreadyCompleted, StateRefusal
from dcf.core.documents.model import Meta, Receipt, RunStatus, StateDoc
from dcf.values.instants import seconds, to_text
from dcf.values.names import escaped
from dcf.values.refusal import Refusal
from dcf.values.text_pieces import clip


def run_closed(status: RunStatus) -> Refusal:
    """Refuse because the run has ended."""
    return Refusal(
        code="terminal",
        message=f"The run has ended ({status.value}) and can no longer change.",
        hint="Stop working on this run; `await_workflow_event` brings other work. `rerun` does it again.",
    )


def run_over(status: RunStatus) -> Refusal:
    """Refuse to operate a run that has ended."""
    return Refusal(
        code="run_over",
        message=f"The run has ended: it is {status.value}.",
        hint="Read it with `read_workflow_control_plane`; `finalize_workflow` writes its audit record.",
    )


def state_terminal(state: str, doc: StateDoc) -> StateRefusal:
    """Refuse because the state has ended."""
    return StateRefusal(
        code="terminal",
        message=f"State '{state}' is already {doc.status.value}.",
        hint="Drop this event; the work is done or closed. `get_my_assignment` says what is left for you, if anything.",
        doc=doc,
    )


def not_ready(state: str, doc: StateDoc) -> StateRefusal:
    """Refuse because states it depends on have not ended."""
    waiting = ", ".join(sorted(name for name, epoch in doc.waits_for.items() if not epoch)[:5])
    return StateRefusal(
        code="not_ready",
        message=f"State '{state}' waits for {waiting}.",
        hint="Wait for the workflow event of this state (`await_workflow_event`) instead of polling.",
        doc=doc,
    )


def not_reached(state: str, doc: StateDoc) -> StateRefusal:
    """Refuse to end a state by hand that control has not reached."""
    waiting = ", ".join(sorted(name for name, epoch in doc.waits_for.items() if not epoch)[:5])
    return StateRefusal(
        code="not_ready",
        message=f"The run has not reached state '{state}', which waits for {waiting}.",
        hint="Resolve a state that is open; `read_workflow_control_plane` shows which are.",
        doc=doc,
    )


def moved_on(state: str, doc: StateDoc, epoch: int) -> StateRefusal:
    """Refuse because the state is not as the caller saw it."""
    return StateRefusal(
        code="conflict",
        message=f"State '{state}' has moved on since you read it: you gave epoch {epoch}, it is at {doc.lease.epoch}.",
        hint="Read the state again, and resolve it if that is still wanted.",
        doc=doc,
    )


def is_a_scope(state: str, doc: StateDoc) -> StateRefusal:
    """Refuse to end a whole Parallel or Map by hand."""
    return StateRefusal(
        code="invalid_transition",
        message=f"State '{state}' is a {doc.kind}, which ends when all states inside it have ended.",
        hint="Resolve the open states inside it, named by path, as in Each/0/Name.",
        doc=doc,
    )


def has_no_worker(state: str, doc: StateDoc) -> StateRefusal:
    """Refuse to assign a state that no agent can lease, or to give it an output."""
    return StateRefusal(
        code="invalid_transition",
        message=f"State '{state}' is a {doc.kind}: no agent can lease it, and its output is its input.",
        hint="End it early with skip, or fail it with error.",
        doc=doc,
    )


def goes_by_itself(state: str, doc: StateDoc) -> StateRefusal:
    """Refuse because no agent works on a state of this kind."""
    return StateRefusal(
        code="not_ready",
        message=f"State '{state}' is a {doc.kind} and cannot be leased: it continues without an agent.",
        hint="Take a Task in `state`; inside a Parallel or Map it is named by path, as in Each/0/Name.",
        doc=doc,
    )


def not_due(state: str, doc: StateDoc, now: int) -> StateRefusal:
    """Refuse because the state may not be taken before a point in time."""
    wait = seconds((doc.not_before or now) - now)
    return StateRefusal(
        code="not_ready",
        message=f"State '{state}' may be taken in {wait:g} s.",
        hint="Call again after retry_after_s.",
        retry_after_s=wait,
        doc=doc,
    )


def owner_mismatch(state: str, assigned: str, caller: str, doc: StateDoc) -> StateRefusal:
    """Refuse because the state is assigned to another agent."""
    return StateRefusal(
        code="owner_mismatch",
        message=f"State '{state}' belongs to '{assigned}', not to '{caller}'.",
        hint="Use the agent id that the state is assigned to in meta.agents, or leave the state alone.",
        doc=doc,
    )


def lease_held(state: str, doc: StateDoc, now: int) -> StateRefusal:
    """Refuse because another agent holds the lease."""
    left = max(0.0, seconds((doc.lease.expires_at or now) - now))
    term = f"for another {left:g} s" if left else "and this lease has expired"
    hint = "Leave the state to its holder. If the holder dies, the lease expires and you are notified."
    return StateRefusal(
        code="lease_held",
        message=f"State '{state}' is leased to '{doc.lease.owner_agent_id}' {term}.",
        hint=hint if left else "`allow_steal_if_expired=true`, the default, takes it over.",
        retry_after_s=left,
        doc=doc,
    )


def lease_lost(state: str, doc: StateDoc) -> StateRefusal:
    """Refuse because the token is not that of the current lease."""
    holder = doc.lease.owner_agent_id
    now_held = f"it is now leased to '{holder}'" if doc.lease.token else f"no agent holds it; it is {doc.status.value}"
    own = f" With the key of '{holder}', `acquire_state_lease` answers with the token." if doc.lease.token else ""
    return StateRefusal(
        code="lease_lost",
        message=f"This token does not hold state '{state}': {now_held}.",
        hint=f"Stop working on this state and discard the result.{own}",
        doc=doc,
    )


def already_completed(state: str, doc: StateDoc, receipt: Receipt, *, is_latest: bool) -> AlreadyCompleted:
    """Refuse because this token completed the state before, with another status or output."""
    return AlreadyCompleted(
        code="already_completed",
        message=f"This lease_token completed state '{state}' as {receipt.status.value} at {to_text(receipt.at)}.",
        hint="Nothing of this call was stored. `correct_result` replaces the result in `stored` until it is used.",
        doc=doc,
        receipt=receipt,
        is_latest=is_latest,
    )


def request_id_used(state: str) -> Refusal:
    """Refuse because the request id was used for another partial write."""
    return Refusal(
        code="conflict",
        message=f"This request_id was used for another write of state '{state}' with the same lease.",
        hint="Give every new write a `request_id` of its own; repeat one only with the same content.",
    )


def run_request_id_used() -> Refusal:
    """Refuse because the request id was used for another request about the run."""
    return Refusal(
        code="conflict",
        message="This request_id was used for another request about this run.",
        hint="Give every new request a `request_id` of its own; repeat one only with the same arguments.",
    )


def token_used(state: str, doc: StateDoc) -> StateRefusal:
    """Refuse because the token held the state before: a late request with it would act on the new lease."""
    return StateRefusal(
        code="token_used",
        message=f"This lease_token has held state '{state}' before, and released or completed it.",
        hint="Acquire without a `lease_token`, or with a new one, to hold the state again.",
        doc=doc,
    )


def lease_expired(state: str) -> Refusal:
    """Refuse a strict renewal because the lease has expired."""
    return Refusal(
        code="lease_expired",
        message=f"The lease on state '{state}' has expired.",
        hint=(
            "Renew with `reject_if_expired=false` unless the state has a new lease. A finished result may still be "
            "delivered with this `lease_token` until then."
        ),
    )


def token_required(state: str) -> Refusal:
    """Refuse a write without a token."""
    return Refusal(
        code="token_required",
        message=f"State '{state}' is written only with the lease_token of its current holder.",
        hint="Acquire the lease first (`acquire_state_lease` or `claim_ready_state`) and pass its `lease_token`.",
    )


def attempts_exhausted(state: str, doc: StateDoc) -> StateRefusal:
    """Refuse because the state was leased as often as the run allows."""
    return StateRefusal(
        code="attempts_exhausted",
        message=f"State '{state}' was leased {doc.attempts} times without finishing.",
        hint="Look at last_error and the run's events; the run fails with DCF.AttemptsExhausted.",
        doc=doc,
    )


def parked_too_long(state: str, doc: StateDoc, days: int) -> StateRefusal:
    """Refuse to park a state once more; the verb writes the failure instead."""
    return StateRefusal(
        code="parked_too_long",
        message=f"State '{state}' would wait longer than {days} days for usage limits.",
        hint="Write the state as failed with `error_name` DCF.AccountLimit.",
        doc=doc,
    )


def output_invalid(state: str, doc: StateDoc, misfits: Sequence[Misfit], hint: str) -> StateRefusal:
    """Refuse an output that does not match the OutputSchema of its Task."""
    first, more = misfits[0], len(misfits) - 1
    place = f"at {first.pointer} " if first.pointer else ""
    others = "" if not more else f" ({more}{' or more' if len(misfits) == MAX_MISFITS else ' more'})"
    return StateRefusal(
        code="output_invalid",
        message=f"The output of '{state}' does not match its OutputSchema: {place}{clip(first.message, 200)}{others}.",
        hint=hint,
        doc=doc,
        problems=tuple(misfit.as_json() for misfit in misfits),
    )


def invalid_transition(state: str, current: str, wanted_status: str) -> Refusal:
    """Refuse because the requested status cannot follow the current one."""
    return Refusal(
        code="invalid_transition",
        message=f"State '{state}' cannot go from {current} to {wanted_status}.",
        hint="A holder may set succeeded or failed, or pending to give the state back.",
    )


def nothing_ready(examined: int) -> Refusal:
    """Refuse a claim because there is no state that this agent can take now."""
    return Refusal(
        code="nothing_ready",
        message=f"None of the run's {examined} open states can be taken by this agent now.",
        hint="Wait with `await_workflow_event`; you are notified when a state of yours becomes ready.",
        retry_after_s=5,
    )


def conflict(message: str) -> Refusal:
    """Refuse because a different run with this id exists."""
    return Refusal(
        code="conflict",
        message=message,
        hint="Use a new `workflow_id` for a different workflow or input; a definition and a run are two things.",
    )


def definition_differs(name: str, version: str, stored: str, sent: str) -> Refusal:
    """Refuse because another document is kept under this name and version."""
    return Refusal(
        code="conflict",
        message=f"'{escaped(name)}@{escaped(version)}' is another document (kept {stored}, given {sent}).",
        hint="Give a changed workflow a new version, or start the kept one by its name and version.",
    )


def cannot_rerun(message: str, hint: str) -> Refusal:
    """Refuse because the run cannot be repeated from that state."""
    return Refusal(code="cannot_rerun", message=message, hint=hint)


def cannot_retry(message: str, hint: str) -> Refusal:
    """Refuse because there is nothing in the run that could be tried again."""
    return Refusal(code="cannot_retry", message=message, hint=hint)


def run_live(workflow_id: str) -> Refusal:
    """Refuse to delete a run that has not ended."""
    return Refusal(
        code="run_live",
        message=f"Run '{workflow_id}' is running; only ended runs are deleted.",
        hint="Cancel it first (`cancel_run`), or wait until it has ended.",
    )


def run_on_hold(workflow_id: str) -> Refusal:
    """Refuse to delete a run that must be kept."""
    return Refusal(
        code="on_hold",
        message=f"Run '{workflow_id}' is on hold and is kept.",
        hint="An operator releases the hold: `hold_run(hold=false)`.",
    )


def run_being_deleted(workflow_id: str) -> Refusal:
    """Refuse because the run's keys are being removed."""
    return Refusal(
        code="run_over",
        message=f"Run '{workflow_id}' is being deleted.",
        hint="It is gone in a moment; start another.",
    )


_REMEDIES: Final[Mapping[str, tuple[str, str]]] = {
    "stored_bytes": ("bytes stored", "Delete documents (`json_delete(path=$)`), finalize runs that have `expiry_secs`"),
    "documents": ("documents", "Delete documents (`json_delete(path=$)`), or let them expire"),
    "live_runs": ("live runs", "Finish runs, or cancel them (`cancel_run`)"),
    "artifact_bytes": ("bytes of artifacts", "Delete ended runs that have artifacts (`delete_run`)"),
    "inbox_entries": ("entries in inboxes", "Wait until the agents acknowledge what they were sent"),
}
"""By quota: the counted things, and the way to free them."""


def quota_exceeded(quota: str, used: int, limit: int) -> Refusal:
    """Refuse because the caller's key holds as much of something as it may."""
    counted, remedy = _REMEDIES[quota]
    return Refusal(
        code="quota_exceeded",
        message=f"The quota {quota} of this key is used up: {used} of {limit} {counted}.",
        hint=f"{remedy}; or ask the operator for a key with more (`dcf keys add --quota {quota}=N`).",
    )


def unless_full(account: Account | None) -> Refusal | None:
    """Return a refusal for a key that held more bytes than it may when its call began; None without a quota."""
    if account is None or account.stored_bytes < account.quotas.stored_bytes:
        return None
    return quota_exceeded("stored_bytes", account.stored_bytes, account.quotas.stored_bytes)


def unless_holder(doc: StateDoc, meta: Meta, state: str, token: str | None) -> Refusal | None:
    """Return a refusal for everybody but the current holder of an open state in a running run; None for the holder."""
    if token is None:
        return token_required(state)
    if meta.status is not RunStatus.RUNNING:
        return run_closed(meta.status)
    if doc.status.is_terminal:
        return state_terminal(state, doc)
    if not doc.lease.is_held_with(token):
        return lease_lost(state, doc)
    return None


def start_overdue() -> Refusal:
    """Refuse to create a run of a schedule because its process was too slow."""
    return Refusal(
        code="start_overdue",
        message="The time in which this process might start the run has passed.",
        hint="No action needed: the timer loop starts the run.",
    )
