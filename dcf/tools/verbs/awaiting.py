"""The long poll of agents: it brings an event, and where the event says that a state is ready, the state as work.

The state is leased in the same call. An event of a state that somebody else took meanwhile is dropped, and the wait
goes on: no agent is told of work that it cannot have.
"""

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Annotated, Final, TypeAlias

import anyio
import anyio.lowlevel
import anyio.to_thread
from pydantic import Field

from dcf.asl.machine import Task
from dcf.asl.resources import is_same_function
from dcf.asl.state_paths import name_of
from dcf.core.leasing import lease
from dcf.core.leasing.first_terms import first_term_of
from dcf.errors import DcfError, InvalidArgument, NotFound
from dcf.features.work.askers import Asker, Handed
from dcf.store.events.inbox import Message
from dcf.values.json_text import Json
from dcf.values.records import record, replace
from dcf.values.refusal import Refusal
from dcf.verbs.answers.next_calls import calls_about, is_of_ready_state, wait_again
from dcf.verbs.answers.suggestions import closest
from dcf.verbs.answers.work import steps_of, work_shown
from dcf.verbs.callers import calling_key, current_caller
from dcf.verbs.derived_tools import add_tools
from dcf.verbs.description.verb import Answered, Argument, verb
from dcf.verbs.description.words import STATE, LeaseToken, LeaseTtl, OwnAgentId, WholeInput
from dcf.verbs.lease_tokens import new_token
from dcf.verbs.records.notification import AwaitedEvent

if TYPE_CHECKING:
    from dcf.application.application import Application

_STREAM_ID_LIMIT = 2**64
_SHOWN_WITH_WORK: Final = ("type", "reason", "source_state", "payload", "provenance")
"""Fields of an event beside its work; a payload only if there is one, and with it the mark of whose words it has."""

_AT_LIMIT: Final = "at_limit"
"""Stands in place of work that its agent may not take yet; the event is told, and comes again."""

_Name: TypeAlias = Annotated[str, Field(pattern=STATE, min_length=1, max_length=400)]
_Function: TypeAlias = Annotated[str, Field(min_length=1, max_length=1000)]
_Functions: TypeAlias = Annotated[Sequence[_Function], Field(max_length=200)]


@record(frozen=True, slots=True, kw_only=True)
class _Wait:
    """What an agent waits for, and how its work is to be leased: the arguments of the call."""

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


@verb(
    toolset="notification",
    scope="work",
    lists=("worker", "planner", "member"),
    is_repeatable=False,
    of_no_run=True,
    only_when_set=("acknowledged", "repeated", "work"),
    codes=("unknown_agent",),
)
async def await_workflow_event(
    on: "Application",
    agent_id: OwnAgentId,
    *,
    timeout_s: Annotated[float, Argument(means="Longest wait in seconds (0 to 50).", ge=0, le=50)] = 20,
    ack_message_id: Annotated[
        str | None, Argument(means="message_id of the event you have dealt with.", pattern=r"^[0-9]{1,20}-[0-9]{1,20}$")
    ] = None,
    lease: Annotated[bool, Argument(means="Lease the state that is ready; false: only tell me.", listed=False)] = True,
    lease_ttl_s: Annotated[LeaseTtl, Argument(means="Seconds of the lease.", listed=False)] = 300,
    lease_token: Annotated[
        LeaseToken | None,
        Argument(means="Token of the lease; with the same one a repetition finds the lease again.", listed=False),
    ] = None,
    lease_states: Annotated[
        Sequence[_Name] | None,
        Argument(
            means="Names of the states to lease; of others you are only told.",
            min_length=1,
            max_length=200,
            listed=False,
        ),
    ] = None,
    lease_functions: Annotated[
        Mapping[_Name, _Functions] | None,
        Argument(
            means="Your functions for states of these names; of a state that means another you are only told.",
            max_length=200,
            listed=False,
        ),
    ] = None,
    request_id: Annotated[
        str | None,
        Argument(
            means="New for each wait; the same again if its answer was lost.",
            min_length=1,
            max_length=200,
            form="request",
        ),
    ] = None,
    whole_input: WholeInput = False,
) -> Answered[AwaitedEvent]:
    """Wait for your next ``work``: it comes leased, with its input and ``next`` calls; on 'timeout' call again.

    Renew within ``sign_within_s`` what takes longer. Events without ``work`` come again until you acknowledge them.
    """
    wait = _Wait(
        agent_id=agent_id,
        timeout_s=timeout_s,
        ack_message_id=ack_message_id,
        lease=lease,
        lease_ttl_s=lease_ttl_s,
        lease_token=lease_token,
        lease_states=lease_states,
        lease_functions=lease_functions,
        request_id=request_id,
        whole_input=whole_input,
    )
    return await _awaited(on, wait)


async def _awaited(app: "Application", wait: _Wait) -> Answered[AwaitedEvent]:
    """Wait on the agent's inbox (long poll); drop events whose state was completed or taken, or whose run is over."""
    until, left = time.monotonic() + wait.timeout_s, wait.timeout_s
    acknowledged = await _acknowledged(app, wait)
    again = await _given_before(app, wait, acknowledged)
    if again is not None:
        return again
    told: list[bool] = []
    heard, are_wanted = told.append, partial(_are_to_lease_or_current, app, wait)
    while True:
        message = await app.reader.next(
            wait.agent_id, left, acknowledged=acknowledged, are_wanted=are_wanted, heard=heard
        )
        was_there = told[0] if told else None
        if message is None:
            return await _timeout(app, wait, was_there)
        if await _is_elsewhere(app, message.event):  # it comes again, to a key that may see it
            acknowledged, heard, left = None, _nobody, max(0.0, until - time.monotonic())
            continue
        other = await _other_function(app, wait, message.event)
        if other is not None:
            return _event(wait, replace(message, event=message.event | {"function": other}), was_there)
        if not _is_to_lease(wait, message):
            return _event(wait, message, was_there)
        work = await _leased(app, wait, message)
        if work is not None and _AT_LIMIT in work:
            if all(await anyio.to_thread.run_sync(_are_current, app, [message])):
                calls, hint = [wait_again(wait.agent_id)], str(work[_AT_LIMIT])
                return _event(wait, message, was_there, calls=calls, hint=hint)
        elif work is not None:
            return _event_with(work, wait, message, was_there)
        acknowledged, heard, left = message.message_id, _nobody, max(0.0, until - time.monotonic())
        are_wanted = partial(_are_current, app)  # where one is outdated, others often are


def _is_to_lease(wait: _Wait, message: Message) -> bool:
    """Return True for an event of a ready state that the caller wants leased."""
    if not (wait.lease and is_of_ready_state(message.event)):
        return False
    return wait.lease_states is None or name_of(message.event["target_state"]) in wait.lease_states


async def _other_function(app: "Application", wait: _Wait, event: Json) -> str | None:
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


def _are_to_lease_or_current(app: "Application", wait: _Wait, messages: Sequence[Message]) -> Sequence[bool]:
    """Say which messages are wanted. Taking the lease shows whether a single one is, so nothing is read for it."""
    if len(messages) == 1 and _is_to_lease(wait, messages[0]):
        return [True]
    return _are_current(app, messages)


def _are_current(app: "Application", messages: Sequence[Message]) -> Sequence[bool]:
    return app.notifications.are_current([found.event for found in messages])


async def _acknowledged(app: "Application", wait: _Wait) -> str | None:
    """Return the message that the call acknowledges; one about a run of another project is left where it is."""
    if wait.ack_message_id is None:
        return None
    found = _message_id(wait.ack_message_id)
    if current_caller().project is not None:
        message = await anyio.to_thread.run_sync(app.inbox.read, wait.agent_id, found)
        if message is not None and await _is_elsewhere(app, message.event):
            return None
    return found


async def _is_elsewhere(app: "Application", event: dict[str, Json]) -> bool:
    """Return True for an event of a run outside the project that the caller is bound to."""
    project = current_caller().project
    return project is not None and project != await anyio.to_thread.run_sync(
        app.projects.of_run, str(event.get("workflow_id"))
    )


def _nobody(_: bool) -> None:
    """Tell nobody: the event that is acknowledged is one that was dropped here."""


async def _given_before(app: "Application", wait: _Wait, acknowledged: str | None) -> Answered[AwaitedEvent] | None:
    """Return the work that an earlier call with the same id got, if its lease still has the same token."""
    asker = _asker(wait)
    handed = None if asker is None else await anyio.to_thread.run_sync(app.work.handed.find, asker)
    if handed is None or _has_arrived(handed, acknowledged):
        return None
    if await _is_elsewhere(app, {"workflow_id": handed.workflow_id}):
        return None
    work = await _take(app, wait, handed, unless_signed=wait.request_id is None)
    if work is None or _AT_LIMIT in work:
        return None
    was_there = None
    if acknowledged is not None:
        was_there = await anyio.to_thread.run_sync(app.inbox.acknowledge, wait.agent_id, acknowledged)
    event = {"type": "workflow_event", "workflow_id": handed.workflow_id, "target_state": handed.state}
    found = {"acknowledged": was_there, "repeated": True, "event": event, "work": work}
    return _answer("event", wait, steps_of(work, wait.agent_id), found)


def _has_arrived(handed: Handed, acknowledged: str | None) -> bool:
    """Return True if the caller acknowledges the very event that brought its work: it has the answer."""
    return acknowledged is not None and handed.message_id == acknowledged


async def _leased(app: "Application", wait: _Wait, message: Message) -> dict[str, Json] | None:
    """Lease the state of an event and return its work; None if another agent has it, or it is no longer ready."""
    asker, event = _asker(wait), message.event
    handed = Handed(
        workflow_id=event["workflow_id"],
        state=event["target_state"],
        token=wait.lease_token or new_token(),
        message_id=message.message_id,
    )
    if asker is not None:
        await anyio.to_thread.run_sync(app.work.handed.note, asker, handed)
    try:
        work = await _take(app, wait, handed)
        await anyio.lowlevel.checkpoint_if_cancelled()
    except anyio.get_cancelled_exc_class():  # no caller gets the lease
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(partial(_give_back, app, handed))
        raise
    return work


async def _take(
    app: "Application", wait: _Wait, handed: Handed, *, unless_signed: bool = False
) -> dict[str, Json] | None:
    """Lease a state with the token that was noted for it, which also finds a lease that was granted before.

    `unless_signed`: return None if there was a sign of its holder, which now asks for more.
    """
    return await anyio.to_thread.run_sync(partial(_work_of, app, wait, handed, unless_signed=unless_signed))


def _work_of(app: "Application", wait: _Wait, handed: Handed, *, unless_signed: bool) -> dict[str, Json] | None:
    """Lease a state and return its work, which may have to be read: not on the event loop."""
    request = lease.Acquire(
        state=handed.state,
        owner=wait.agent_id,
        token=handed.token,
        ttl_s=wait.lease_ttl_s,
        first_term_s=first_term_of(wait.lease_ttl_s),
        key=None if wait.lease_token else calling_key(),
        takes_back=False,  # the event may be one from before, and another process of this agent may be mending it
    )
    try:
        leased = app.control_plane.acquire(handed.workflow_id, request)
    except NotFound:  # the run was deleted meanwhile
        return None
    if isinstance(leased, Refusal):
        return {_AT_LIMIT: leased.message} if leased.code == "work_limit_reached" else None
    if unless_signed and not leased.doc.lease.awaits_sign:
        return None
    return work_shown(app, handed.workflow_id, leased, whole_input=wait.whole_input)


def _give_back(app: "Application", given: Handed) -> None:
    """Release a lease that nobody heard of, and have the state announced again."""
    with suppress(DcfError):  # then it expires
        app.control_plane.release(given.workflow_id, lease.Release(state=given.state, token=given.token))
        app.control_plane.hasten(given.workflow_id, given.state)


def _asker(wait: _Wait) -> Asker | None:
    """Return the key of a repetition of this call; None for a call without a lease, or with a token that finds it."""
    if not wait.lease or (wait.request_id is None and wait.lease_token is not None):
        return None
    return Asker(agent_id=wait.agent_id, request_id=wait.request_id, caller=current_caller().name)


async def _timeout(app: "Application", wait: _Wait, acknowledged: bool | None) -> Answered[AwaitedEvent]:
    """Return that nothing came; an id that no run names, but one almost like it, is probably misspelt."""
    caller = current_caller()
    may_be_misspelt = wait.lease and caller.agent_id is None and caller.project is None  # else it is the key's
    others = await anyio.to_thread.run_sync(app.desk.others_than, wait.agent_id) if may_be_misspelt else ()
    meant = closest(wait.agent_id, others)
    unknown = "" if meant is None else f" No run has anything for '{wait.agent_id}': did you mean '{meant}'?"
    found = {"acknowledged": acknowledged, "hint": f"Call again to keep waiting.{unknown}"}
    return _answer("timeout", wait, [wait_again(wait.agent_id)], found)


def _event(
    wait: _Wait,
    message: Message,
    acknowledged: bool | None,
    *,
    calls: Sequence[dict[str, Json]] | None = None,
    hint: str | None = None,
) -> Answered[AwaitedEvent]:
    """Return an event as it is, with what to do about it."""
    found = {"message_id": message.message_id, "acknowledged": acknowledged, "event": message.event, "hint": hint}
    return _answer("event", wait, calls or calls_about(message.event, wait.agent_id, message.message_id), found)


def _event_with(
    work: dict[str, Json], wait: _Wait, message: Message, acknowledged: bool | None
) -> Answered[AwaitedEvent]:
    event = message.event
    shown = _SHOWN_WITH_WORK if event.get("payload") else _SHOWN_WITH_WORK[:3]
    about = {"workflow_id": event["workflow_id"], "target_state": event["target_state"]}
    about |= {name: event[name] for name in shown if event.get(name) is not None}
    found = {"message_id": message.message_id, "acknowledged": acknowledged, "event": about, "work": work}
    return _answer("event", wait, steps_of(work, wait.agent_id), found)


def _answer(
    says: str, wait: _Wait, calls: Sequence[Mapping[str, Json]], found: Mapping[str, Json]
) -> Answered[AwaitedEvent]:
    return Answered(AwaitedEvent, {"agent_id": wait.agent_id, **found}, says=says, next=tuple(calls))


def _message_id(text: str) -> str:
    if any(int(part) >= _STREAM_ID_LIMIT for part in text.split("-")):
        raise InvalidArgument("ack_message_id is not a message_id.", "Send the message_id of an event you received.")
    return text


add_tools(__name__)
