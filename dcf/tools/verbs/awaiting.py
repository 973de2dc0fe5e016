"""The long poll of agents: it brings an event, and where the event says that a state is ready, the state as work.

The state is leased in the same call. An event of a state that somebody else took meanwhile is dropped, and the wait
continues: no agent is notified of work that it cannot have.
"""

import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated, Final, TypeAlias

import anyio
import anyio.lowlevel
import anyio.to_thread
from pydantic import Field

from dcf.errors import InvalidArgument
from dcf.features.work.askers import Handed, asker_about
from dcf.runs.notifying.announcements import keys_of_state
from dcf.store.events.inbox import Message
from dcf.store.keys.table import RunKeys
from dcf.tools.verbs.awaited_leases import AT_LIMIT, Wait, asker_of, is_to_lease, leased, other_function, take
from dcf.values.json_text import Json
from dcf.values.records import replace
from dcf.verbs.answers.next_calls import calls_about, wait_again
from dcf.verbs.answers.suggestions import closest
from dcf.verbs.answers.work import steps_of
from dcf.verbs.callers import current_caller
from dcf.verbs.derived_tools import add_tools
from dcf.verbs.description.verb import Answered, Argument, verb
from dcf.verbs.description.words import STATE, LeaseToken, LeaseTtl, OwnAgentId, WholeInput
from dcf.verbs.records.notification import AwaitedEvent

if TYPE_CHECKING:
    from dcf.application.application import Application

_STREAM_ID_LIMIT = 2**64
_SHOWN_WITH_WORK: Final = ("type", "reason", "source_state", "control_plane", "payload", "provenance")
"""Fields of an event without its work; a payload only if there is one, and with it the mark of its author."""

_Name: TypeAlias = Annotated[str, Field(pattern=STATE, min_length=1, max_length=400)]
_Function: TypeAlias = Annotated[str, Field(min_length=1, max_length=1000)]
_Functions: TypeAlias = Annotated[Sequence[_Function], Field(max_length=200)]


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
    timeout_s: Annotated[float, Argument(means="Longest wait in seconds.", ge=0, le=50)] = 20,
    ack_message_id: Annotated[
        str | None,
        Argument(means="message_id of an event that is done.", pattern=r"^[0-9]{1,20}-[0-9]{1,20}$"),
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
    unassigned: Annotated[bool, Argument(means="Also bring work that no agent is assigned to.", plain=True)] = False,
) -> Answered[AwaitedEvent]:
    """Wait for ``work``: it comes leased, with its input and ``next`` calls; on 'timeout' call again.

    Renew within ``sign_within_s`` what takes longer. Events without ``work`` come again until you acknowledge them.
    """
    wait = Wait(
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
        unassigned=unassigned,
    )
    acknowledged = await _acknowledged(on, wait)
    again = await _given_before(on, wait, acknowledged)
    if again is not None:
        return again
    if not unassigned:
        return await _awaited(on, wait, acknowledged)
    from dcf.tools.verbs.unassigned_work import listed  # noqa: PLC0415 - few waits need it

    async with listed(on, wait):
        return await _unassigned(on, wait, acknowledged) or await _awaited(on, wait, acknowledged)


async def _awaited(app: "Application", wait: Wait, acknowledged: str | None) -> Answered[AwaitedEvent]:
    """Wait on the agent's inbox (long poll); drop events whose state was completed or taken, or whose run has ended."""
    until, left = time.monotonic() + wait.timeout_s, wait.timeout_s
    deliveries: list[bool] = []
    heard, are_wanted = deliveries.append, partial(_are_to_lease_or_current, app, wait)
    while True:
        message = await app.reader.next(
            wait.agent_id, left, acknowledged=acknowledged, are_wanted=are_wanted, heard=heard
        )
        was_there = deliveries[0] if deliveries else None
        if message is None:
            late = await _unassigned(app, wait, None, was_there) if wait.unassigned else None
            return late or await _timeout(app, wait, was_there)
        if await _is_elsewhere(app, message.event):  # it comes again, to a key that may see it
            acknowledged, heard, left = None, _nobody, max(0.0, until - time.monotonic())
            continue
        if await _is_unwanted(app, wait, message.event):
            acknowledged, heard, left = message.message_id, _nobody, max(0.0, until - time.monotonic())
            continue
        other = await other_function(app, wait, message.event)
        if other is not None:
            return _event(wait, replace(message, event=message.event | {"function": other}), was_there)
        if not is_to_lease(wait, message.event):
            await _note_end(app, wait, message)
            return _event(wait, message, was_there)
        work = await leased(app, wait, message.event, message.message_id)
        if work is not None and AT_LIMIT in work:
            if all(await anyio.to_thread.run_sync(_are_current, app, [message])):
                calls, hint = [wait_again(wait.agent_id)], str(work[AT_LIMIT])
                return _event(wait, message, was_there, calls=calls, hint=hint)
        elif work is not None:
            return _event_with(work, wait, message, was_there)
        acknowledged, heard, left = message.message_id, _nobody, max(0.0, until - time.monotonic())
        are_wanted = partial(_are_current, app)  # where one is outdated, others often are


def _are_to_lease_or_current(app: "Application", wait: Wait, messages: Sequence[Message]) -> Sequence[bool]:
    """Say which messages are wanted. Taking the lease shows whether a single one is, so nothing is read for it."""
    if len(messages) == 1 and is_to_lease(wait, messages[0].event):
        return [True]
    return _are_current(app, messages)


def _are_current(app: "Application", messages: Sequence[Message]) -> Sequence[bool]:
    return app.notifications.are_current([message.event for message in messages])


async def _note_end(app: "Application", wait: Wait, message: Message) -> None:
    """Note which event reports the end of a run: finalizing the run acknowledges it."""
    if isinstance(message.event, dict) and message.event.get("type") == "run_finished":
        run = str(message.event["workflow_id"])
        handed = Handed(workflow_id=run, state="", token="", message_id=message.message_id)
        asker = asker_about(wait.agent_id, current_caller().name, run)
        await anyio.to_thread.run_sync(app.work.handed.note, asker, handed)


async def _acknowledged(app: "Application", wait: Wait) -> str | None:
    """Return the message that the call acknowledges; one about a run of another project is left where it is."""
    if wait.ack_message_id is None:
        return None
    message_id = _message_id(wait.ack_message_id)
    if current_caller().project is not None:
        message = await anyio.to_thread.run_sync(app.inbox.read, wait.agent_id, message_id)
        if message is not None and await _is_elsewhere(app, message.event):
            return None
    return message_id


async def _is_elsewhere(app: "Application", event: dict[str, Json]) -> bool:
    """Return True for an event of a run outside the project that the caller is bound to."""
    project = current_caller().project
    return project is not None and project != await anyio.to_thread.run_sync(
        app.projects.of_run, str(event.get("workflow_id"))
    )


def _nobody(_: bool) -> None:
    """Report no event: the acknowledged event was dropped here."""


async def _given_before(app: "Application", wait: Wait, acknowledged: str | None) -> Answered[AwaitedEvent] | None:
    """Return the work that an earlier call with the same id got, if its lease still has the same token."""
    asker = asker_of(wait)
    handed = None if asker is None else await anyio.to_thread.run_sync(app.work.handed.find, asker)
    if handed is None or _has_arrived(handed, acknowledged):
        return None
    if await _is_elsewhere(app, {"workflow_id": handed.workflow_id}):
        return None
    work = await take(app, wait, handed, unless_signed=wait.request_id is None)
    if work is None or AT_LIMIT in work:
        return None
    was_there = None
    if acknowledged is not None:
        was_there = await anyio.to_thread.run_sync(app.inbox.acknowledge, wait.agent_id, acknowledged)
    event = {
        "type": "workflow_event",
        "workflow_id": handed.workflow_id,
        "target_state": handed.state,
        "control_plane": keys_of_state(RunKeys(handed.workflow_id), handed.state),
    }
    members = {"acknowledged": was_there, "repeated": True, "event": event, "work": work}
    return _answer("event", wait, steps_of(work, wait.agent_id), members)


def _has_arrived(handed: Handed, acknowledged: str | None) -> bool:
    """Return True if the caller acknowledges the very event that brought its work: it has the answer."""
    return acknowledged is not None and handed.message_id == acknowledged


async def _is_unwanted(app: "Application", wait: Wait, event: Json) -> bool:
    """Return True for an event of a state that no agent is assigned to, if this wait is not for such states."""
    if not isinstance(event, dict) or event.get("unassigned") is not True:
        return False
    from dcf.tools.verbs.unassigned_work import is_unwanted  # noqa: PLC0415 - few waits need it

    return await is_unwanted(app, wait, event)


async def _unassigned(
    app: "Application", wait: Wait, acknowledged: str | None, was_there: bool | None = None
) -> Answered[AwaitedEvent] | None:
    """Return work that no agent is assigned to, if there is some; acknowledge an event with it."""
    from dcf.tools.verbs.unassigned_work import look  # noqa: PLC0415 - few waits need it

    unassigned = await look(app, wait)
    if unassigned is None:
        return None
    if acknowledged is not None:
        was_there = await anyio.to_thread.run_sync(app.inbox.acknowledge, wait.agent_id, acknowledged)
    event, work = unassigned
    members = {"acknowledged": was_there, "event": event, "work": work}
    return _answer("event", wait, steps_of(work, wait.agent_id), members)


async def _timeout(app: "Application", wait: Wait, acknowledged: bool | None) -> Answered[AwaitedEvent]:
    """Return that nothing came; an id that no run names, but one almost like it, is probably misspelt."""
    caller = current_caller()
    may_be_misspelt = wait.lease and caller.agent_id is None and caller.project is None  # else it is the key's
    others = await anyio.to_thread.run_sync(app.desk.others_than, wait.agent_id) if may_be_misspelt else ()
    meant = closest(wait.agent_id, others)
    unknown = "" if meant is None else f" No run has anything for '{wait.agent_id}': did you mean '{meant}'?"
    members = {"acknowledged": acknowledged, "hint": f"Call again to keep waiting.{unknown}"}
    return _answer("timeout", wait, [wait_again(wait.agent_id, unassigned=wait.unassigned)], members)


def _event(
    wait: Wait,
    message: Message,
    acknowledged: bool | None,
    *,
    calls: Sequence[dict[str, Json]] | None = None,
    hint: str | None = None,
) -> Answered[AwaitedEvent]:
    """Return an event as it is, with what to do about it."""
    members = {"message_id": message.message_id, "acknowledged": acknowledged, "event": message.event, "hint": hint}
    return _answer("event", wait, calls or calls_about(message.event, wait.agent_id, message.message_id), members)


def _event_with(
    work: dict[str, Json], wait: Wait, message: Message, acknowledged: bool | None
) -> Answered[AwaitedEvent]:
    event = message.event
    shown = _SHOWN_WITH_WORK if event.get("payload") else _SHOWN_WITH_WORK[:4]
    about = {"workflow_id": event["workflow_id"], "target_state": event["target_state"]}
    about |= {name: event[name] for name in shown if event.get(name) is not None}
    members = {"message_id": message.message_id, "acknowledged": acknowledged, "event": about, "work": work}
    return _answer("event", wait, steps_of(work, wait.agent_id), members)


def _answer(
    says: str, wait: Wait, calls: Sequence[Mapping[str, Json]], document: Mapping[str, Json]
) -> Answered[AwaitedEvent]:
    return Answered(AwaitedEvent, {"agent_id": wait.agent_id, **document}, says=says, next=tuple(calls))


def _message_id(text: str) -> str:
    if any(int(part) >= _STREAM_ID_LIMIT for part in text.split("-")):
        raise InvalidArgument("ack_message_id is not a message_id.", "Send the message_id of an event you received.")
    return text


add_tools(__name__)
