"""The long poll of agents: it brings an event, and where the event says that a state is ready, the state as work.

The state is leased in the same call. An event of a state that somebody else took meanwhile is dropped, and the wait
goes on: no agent is told of work that it cannot have.
"""

import time
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Final

import anyio
import anyio.lowlevel
import anyio.to_thread
from pydantic import Field

from dcf.application.application import Application
from dcf.asl.state_paths import name_of
from dcf.core.access.model import Scope
from dcf.core.leasing import lease
from dcf.core.leasing.first_terms import first_term_of
from dcf.errors import DcfError, InvalidArgument, NotFound
from dcf.features.work.grant_storage import Asker, Handed
from dcf.store.events.inbox import Message
from dcf.values.json_text import Json
from dcf.values.refusal import Refusal
from dcf.verbs.answers.next_calls import calls_about, is_of_ready_state, wait_again
from dcf.verbs.answers.suggestions import closest
from dcf.verbs.answers.work import steps_of, work_shown
from dcf.verbs.callers import current_caller
from dcf.verbs.lease_tokens import new_token
from dcf.verbs.registry import AgentId, Answer, Arguments, StateName, Ttl, WholeInput, tool
from dcf.verbs.unlisted import UNLISTED

_STREAM_ID_LIMIT = 2**64
_SHOWN_WITH_WORK: Final = ("type", "reason", "source_state", "payload", "provenance")
"""Fields of an event beside its work; a payload only if there is one, and with it the mark of whose words it has."""

_AT_LIMIT: Final = "at_limit"
"""Stands in place of work that its agent may not take yet; the event is told, and comes again."""


class AwaitWorkflowEvent(Arguments):
    """Wait for your next piece of work, which comes leased, with its input and `next` calls; on 'timeout' call again.

    Renew within `sign_within_s` what takes longer. Other events (a run ended, a lease was lost) have no `work`;
    acknowledge them, or they come again.
    """

    agent_id: AgentId
    timeout_s: float = Field(default=20, ge=0, le=50, description="Longest wait in seconds (0 to 50).")
    ack_message_id: str | None = Field(
        default=None,
        pattern=r"^[0-9]{1,20}-[0-9]{1,20}$",
        description="message_id of the event you have dealt with.",
    )
    lease: bool = Field(
        default=True, description="Lease the state that is ready; false: only tell me.", json_schema_extra=UNLISTED
    )
    lease_ttl_s: Ttl = 300
    lease_token: str | None = Field(
        default=None,
        min_length=1,
        max_length=200,
        description="Token of the lease; with the same one a repetition finds the lease again.",
        json_schema_extra=UNLISTED,
    )
    lease_states: list[StateName] | None = Field(
        default=None,
        min_length=1,
        max_length=200,
        description="Names of the states to lease; of others you are only told.",
        json_schema_extra=UNLISTED,
    )
    request_id: str | None = Field(
        default=None,
        min_length=1,
        max_length=200,
        description="New for each wait; the same again if its answer was lost.",
    )
    whole_input: WholeInput = False


class WorkflowEvent(Answer):
    """The event and its work, or a timeout. `acknowledged`: whether the event of ack_message_id was still there.

    `repeated`: the work is what an earlier call with this request_id was given; without one, an earlier call of the
    same caller, until a call has the lease_token: its answer may have been lost.
    """

    agent_id: str | None = None
    message_id: str | None = None
    acknowledged: bool | None = None
    repeated: bool | None = None
    event: dict[str, Any] | None = None
    work: dict[str, Any] | None = None

    only_when_set = ("acknowledged", "repeated", "work")


@tool(
    toolset="notification",
    scope=Scope.WORK,
    profiles=("worker", "planner", "member"),
    arguments=AwaitWorkflowEvent,
    answer=WorkflowEvent,
    idempotent=False,
    of_no_run=True,
)
async def await_workflow_event(app: Application, args: AwaitWorkflowEvent) -> WorkflowEvent:
    """Wait on an agent's inbox (long poll); drop events whose state was completed or taken, or whose run is over."""
    until, left = time.monotonic() + args.timeout_s, args.timeout_s
    acknowledged = await _acknowledged(app, args)
    again = await _given_before(app, args, acknowledged)
    if again is not None:
        return again
    told: list[bool] = []
    heard, are_wanted = told.append, partial(_are_to_lease_or_current, app, args)
    while True:
        message = await app.reader.next(
            args.agent_id, left, acknowledged=acknowledged, are_wanted=are_wanted, heard=heard
        )
        was_there = told[0] if told else None
        if message is None:
            return await _timeout(app, args, was_there)
        if await _is_elsewhere(app, message.event):  # it comes again, to a key that may see it
            acknowledged, heard, left = None, _nobody, max(0.0, until - time.monotonic())
            continue
        if not _is_to_lease(args, message):
            return _event(args, message, was_there)
        work = await _leased(app, args, message)
        if work is not None and _AT_LIMIT in work:
            if all(await anyio.to_thread.run_sync(_are_current, app, [message])):
                more = {"hint": str(work[_AT_LIMIT]), "next": [wait_again(args.agent_id)]}
                return _event(args, message, was_there).model_copy(update=more)
        elif work is not None:
            return _event_with(work, args, message, was_there)
        acknowledged, heard, left = message.message_id, _nobody, max(0.0, until - time.monotonic())
        are_wanted = partial(_are_current, app)  # where one is outdated, others often are


def _is_to_lease(args: AwaitWorkflowEvent, message: Message) -> bool:
    """Return True for an event of a ready state that the caller wants leased."""
    if not (args.lease and is_of_ready_state(message.event)):
        return False
    return args.lease_states is None or name_of(message.event["target_state"]) in args.lease_states


def _are_to_lease_or_current(app: Application, args: AwaitWorkflowEvent, messages: Sequence[Message]) -> Sequence[bool]:
    """Say which messages are wanted. Taking the lease shows whether a single one is, so nothing is read for it."""
    if len(messages) == 1 and _is_to_lease(args, messages[0]):
        return [True]
    return _are_current(app, messages)


def _are_current(app: Application, messages: Sequence[Message]) -> Sequence[bool]:
    return app.notifications.are_current([found.event for found in messages])


async def _acknowledged(app: Application, args: AwaitWorkflowEvent) -> str | None:
    """Return the message that the call acknowledges; one about a run of another project is left where it is."""
    if args.ack_message_id is None:
        return None
    found = _message_id(args.ack_message_id)
    if current_caller().project is not None:
        message = await anyio.to_thread.run_sync(app.inbox.read, args.agent_id, found)
        if message is not None and await _is_elsewhere(app, message.event):
            return None
    return found


async def _is_elsewhere(app: Application, event: dict[str, Json]) -> bool:
    """Return True for an event of a run outside the project that the caller is bound to."""
    project = current_caller().project
    return project is not None and project != await anyio.to_thread.run_sync(
        app.projects.of_run, str(event.get("workflow_id"))
    )


def _nobody(_: bool) -> None:
    """Tell nobody: the event that is acknowledged is one that was dropped here."""


async def _given_before(app: Application, args: AwaitWorkflowEvent, acknowledged: str | None) -> WorkflowEvent | None:
    """Return the work that an earlier call with the same id got, if its lease still has the same token."""
    asker = _asker(args)
    handed = None if asker is None else await anyio.to_thread.run_sync(app.work.handed.find, asker)
    if handed is None or _has_arrived(handed, acknowledged):
        return None
    if await _is_elsewhere(app, {"workflow_id": handed.workflow_id}):
        return None
    work = await _take(app, args, handed, unless_signed=args.request_id is None)
    if work is None or _AT_LIMIT in work:
        return None
    was_there = None
    if acknowledged is not None:
        was_there = await anyio.to_thread.run_sync(app.inbox.acknowledge, args.agent_id, acknowledged)
    return WorkflowEvent(
        status="event",
        agent_id=args.agent_id,
        acknowledged=was_there,
        repeated=True,
        event={"type": "workflow_event", "workflow_id": handed.workflow_id, "target_state": handed.state},
        work=work,
        next=steps_of(work, args.agent_id),
    )


def _has_arrived(handed: Handed, acknowledged: str | None) -> bool:
    """Return True if the caller acknowledges the very event that brought its work: it has the answer."""
    return acknowledged is not None and handed.message_id == acknowledged


async def _leased(app: Application, args: AwaitWorkflowEvent, message: Message) -> dict[str, Json] | None:
    """Lease the state of an event and return its work; None if another agent has it, or it is no longer ready."""
    asker, event = _asker(args), message.event
    handed = Handed(
        workflow_id=event["workflow_id"],
        state=event["target_state"],
        token=args.lease_token or new_token(),
        message_id=message.message_id,
    )
    if asker is not None:
        await anyio.to_thread.run_sync(app.work.handed.note, asker, handed)
    try:
        work = await _take(app, args, handed)
        await anyio.lowlevel.checkpoint_if_cancelled()
    except anyio.get_cancelled_exc_class():  # no caller gets the lease
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(partial(_give_back, app, handed))
        raise
    return work


async def _take(
    app: Application, args: AwaitWorkflowEvent, handed: Handed, *, unless_signed: bool = False
) -> dict[str, Json] | None:
    """Lease a state with the token that was noted for it, which also finds a lease that was granted before.

    `unless_signed`: return None if there was a sign of its holder, which now asks for more.
    """
    return await anyio.to_thread.run_sync(partial(_work_of, app, args, handed, unless_signed=unless_signed))


def _work_of(
    app: Application, args: AwaitWorkflowEvent, handed: Handed, *, unless_signed: bool
) -> dict[str, Json] | None:
    """Lease a state and return its work, which may have to be read: not on the event loop."""
    request = lease.Acquire(
        state=handed.state,
        owner=args.agent_id,
        token=handed.token,
        ttl_s=args.lease_ttl_s,
        first_term_s=first_term_of(args.lease_ttl_s),
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
    return work_shown(app, handed.workflow_id, leased, whole_input=args.whole_input)


def _give_back(app: Application, given: Handed) -> None:
    """Release a lease that nobody heard of, and have the state announced again."""
    with suppress(DcfError):  # then it expires
        app.control_plane.release(given.workflow_id, lease.Release(state=given.state, token=given.token))
        app.control_plane.hasten(given.workflow_id, given.state)


def _asker(args: AwaitWorkflowEvent) -> Asker | None:
    """Return the key of a repetition of this call; None for a call without a lease, or with a token that finds it."""
    if not args.lease or (args.request_id is None and args.lease_token is not None):
        return None
    return Asker(agent_id=args.agent_id, request_id=args.request_id, caller=current_caller().name)


async def _timeout(app: Application, args: AwaitWorkflowEvent, acknowledged: bool | None) -> WorkflowEvent:
    """Return that nothing came; an id that no run names, but one almost like it, is probably misspelt."""
    caller = current_caller()
    may_be_misspelt = args.lease and caller.agent_id is None and caller.project is None  # else it is the key's
    others = await anyio.to_thread.run_sync(app.desk.others_than, args.agent_id) if may_be_misspelt else ()
    meant = closest(args.agent_id, others)
    unknown = "" if meant is None else f" No run has anything for '{args.agent_id}': did you mean '{meant}'?"
    return WorkflowEvent(
        status="timeout",
        agent_id=args.agent_id,
        acknowledged=acknowledged,
        hint=f"Call again to keep waiting.{unknown}",
        next=[wait_again(args.agent_id)],
    )


def _event(args: AwaitWorkflowEvent, message: Message, acknowledged: bool | None) -> WorkflowEvent:
    """Return an event as it is, with what to do about it."""
    return WorkflowEvent(
        status="event",
        agent_id=args.agent_id,
        message_id=message.message_id,
        acknowledged=acknowledged,
        event=message.event,
        next=calls_about(message.event, args.agent_id, message.message_id),
    )


def _event_with(
    work: dict[str, Json], args: AwaitWorkflowEvent, message: Message, acknowledged: bool | None
) -> WorkflowEvent:
    event = message.event
    shown = _SHOWN_WITH_WORK if event.get("payload") else _SHOWN_WITH_WORK[:3]
    return WorkflowEvent(
        status="event",
        agent_id=args.agent_id,
        message_id=message.message_id,
        acknowledged=acknowledged,
        event={"workflow_id": event["workflow_id"], "target_state": event["target_state"]}
        | {name: event[name] for name in shown if event.get(name) is not None},
        work=work,
        next=steps_of(work, args.agent_id),
    )


def _message_id(text: str) -> str:
    if any(int(part) >= _STREAM_ID_LIMIT for part in text.split("-")):
        raise InvalidArgument("ack_message_id is not a message_id.", "Send the message_id of an event you received.")
    return text
