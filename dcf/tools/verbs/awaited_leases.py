"""The lease of a waiting agent: a ready state, with a token that a repetition of the call finds again."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final

import anyio
import anyio.lowlevel
import anyio.to_thread

from dcf.asl.machine import Task
from dcf.asl.resources import is_same_function
from dcf.asl.state_paths import name_of
from dcf.core.leasing import lease
from dcf.core.leasing.first_terms import first_term_of
from dcf.errors import DcfError, NotFound
from dcf.features.work.askers import Asker, Handed
from dcf.values.json_text import Json
from dcf.values.records import record
from dcf.values.refusal import Refusal
from dcf.verbs.answers.next_calls import is_of_ready_state
from dcf.verbs.answers.work import work_shown
from dcf.verbs.callers import calling_key, current_caller
from dcf.verbs.lease_tokens import new_token

if TYPE_CHECKING:
    from dcf.application.application import Application

AT_LIMIT: Final = "at_limit"
"""Replaces work that its agent may not take yet; the event is delivered, and comes again."""


@record(frozen=True, slots=True, kw_only=True)
class Wait:
    """The events that an agent waits for, and how its work is to be leased: the arguments of the call."""

    agent_id: str
    timeout_s: float
    ack_message_id: str | None
    lease: bool
    lease_ttl_s: int
    lease_token: str | None
    lease_states: Sequence[str] | None
    lease_functions: Mapping[str, Sequence[str]] | None
    request_id: str | None
    whole_input: bool
    unassigned: bool = False


def is_to_lease(wait: Wait, event: Json) -> bool:
    """Return True for an event of a ready state that the caller wants leased."""
    if not (wait.lease and is_of_ready_state(event)):
        return False
    return wait.lease_states is None or name_of(event["target_state"]) in wait.lease_states


async def other_function(app: "Application", wait: Wait, event: Json) -> str | None:
    """Return the function that a ready state means, if the caller has only others for states of its name."""
    if not (wait.lease_functions and is_of_ready_state(event)):
        return None
    own = wait.lease_functions.get(name_of(event["target_state"]))
    if own is None:
        return None
    meant = await anyio.to_thread.run_sync(_function_of, app, event["workflow_id"], event["target_state"])
    return None if meant is None or any(is_same_function(name, meant) for name in own) else meant


def _function_of(app: "Application", workflow_id: str, path: str) -> str | None:
    """Return the function that a state means, which may have to be read: not on the event loop."""
    try:
        state = app.control_plane.place(workflow_id, path).state
    except NotFound:  # the run was deleted meanwhile
        return None
    return state.served_by.function if isinstance(state, Task) else None


async def leased(
    app: "Application", wait: Wait, event: Mapping[str, Json], message_id: str | None = None
) -> dict[str, Json] | None:
    """Lease the state of an event and return its work; None if another agent has it, or it is no longer ready."""
    asker = asker_of(wait)
    handed = Handed(
        workflow_id=event["workflow_id"],
        state=event["target_state"],
        token=wait.lease_token or new_token(),
        message_id=message_id,
    )
    if asker is not None:
        await anyio.to_thread.run_sync(app.work.handed.note, asker, handed)
    try:
        work = await take(app, wait, handed)
        await anyio.lowlevel.checkpoint_if_cancelled()
    except anyio.get_cancelled_exc_class():  # no caller gets the lease
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(partial(_give_back, app, handed))
        raise
    return work


async def take(
    app: "Application", wait: Wait, handed: Handed, *, unless_signed: bool = False
) -> dict[str, Json] | None:
    """Lease a state with the token that was noted for it, which also finds a lease that was granted before.

    `unless_signed`: return None if there was a sign of its holder, which now asks for more.
    """
    return await anyio.to_thread.run_sync(partial(_work_of, app, wait, handed, unless_signed=unless_signed))


def _work_of(app: "Application", wait: Wait, handed: Handed, *, unless_signed: bool) -> dict[str, Json] | None:
    """Lease a state and return its work, which may have to be read: not on the event loop."""
    request = lease.Acquire(
        state=handed.state,
        owner=wait.agent_id,
        token=handed.token,
        ttl_s=wait.lease_ttl_s,
        first_term_s=first_term_of(wait.lease_ttl_s),
        key=None if wait.lease_token else calling_key(),
        takes_back=False,  # the event may be an earlier one, and another process of this agent may be correcting it
    )
    try:
        leased = app.control_plane.acquire(handed.workflow_id, request)
    except NotFound:  # the run was deleted meanwhile
        return None
    if isinstance(leased, Refusal):
        return {AT_LIMIT: leased.message} if leased.code == "work_limit_reached" else None
    if unless_signed and not leased.doc.lease.awaits_sign:
        return None
    return work_shown(app, handed.workflow_id, leased, whole_input=wait.whole_input)


def _give_back(app: "Application", handed: Handed) -> None:
    """Release a lease that no agent received, and have the state announced again."""
    with suppress(DcfError):  # then it expires
        app.control_plane.release(handed.workflow_id, lease.Release(state=handed.state, token=handed.token))
        app.control_plane.hasten(handed.workflow_id, handed.state)


def asker_of(wait: Wait) -> Asker | None:
    """Return the key of a repetition of this call; None for a call without a lease, or with a token that finds it.

    The token alone finds the lease with the event, which comes again. Unassigned work may have come without an event.
    """
    request_id = wait.request_id or (wait.lease_token if wait.unassigned else None)
    if not wait.lease or (request_id is None and wait.lease_token is not None):
        return None
    return Asker(agent_id=wait.agent_id, request_id=request_id, caller=current_caller().name)
