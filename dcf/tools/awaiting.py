"""The long poll of agents: it brings an event, and where the event says that a state is ready, the state as work.

The state is leased in the same call. An event of a state that somebody else took meanwhile is dropped, and the wait
goes on: no agent is told of work that it cannot have.
"""

import time
from contextlib import suppress
from functools import partial
from typing import Any

import anyio
import anyio.lowlevel
import anyio.to_thread
from pydantic import Field

from dcf.application import Application
from dcf.core import lease
from dcf.core.access import Scope
from dcf.core.answers import Leased
from dcf.core.notices import NoticeKind
from dcf.errors import DcfError, InvalidArgument, NotFound
from dcf.store.inbox import Message
from dcf.tools.leases import new_token
from dcf.tools.registry import AgentId, Answer, Arguments, Ttl, WholeInput, tool
from dcf.tools.work import steps_of, work_shown
from dcf.values.refusal import Refusal
from dcf.workforce.steps import wait_for_event

_STREAM_ID_LIMIT = 2**64


class AwaitWorkflowEvent(Arguments):
    """Wait for your next piece of work: it comes leased, with input and the `next` calls; or status 'timeout'.

    After a timeout call again. Other events (a run ended, a lease was lost) have no `work`; pass their message_id as
    ack_message_id, or they come again. With lease=false the event only says what is ready: acquire_state_lease decides.
    """

    agent_id: AgentId
    timeout_s: float = Field(default=20, ge=0, le=50, description="Longest wait in seconds (0 to 50).")
    ack_message_id: str | None = Field(
        default=None,
        pattern=r"^[0-9]{1,20}-[0-9]{1,20}$",
        description="The message_id of the event you have dealt with.",
    )
    lease: bool = Field(default=True, description="Lease the state that is ready; false: only tell me.")
    lease_ttl_s: Ttl = 300
    whole_input: WholeInput = False


class WorkflowEvent(Answer):
    """The event and its work, or a timeout. `acknowledged`: whether the event of ack_message_id was still there."""

    agent_id: str | None = None
    message_id: str | None = None
    acknowledged: bool | None = None
    event: dict[str, Any] | None = None
    work: dict[str, Any] | None = None

    only_when_set = ("acknowledged", "work")


@tool(
    toolset="notification",
    scope=Scope.WORK,
    profiles=("worker", "planner"),
    arguments=AwaitWorkflowEvent,
    answer=WorkflowEvent,
    idempotent=False,
)
async def await_workflow_event(app: Application, args: AwaitWorkflowEvent) -> WorkflowEvent:
    """Wait on an agent's inbox (long poll); drop events whose state was completed or taken, or whose run is over."""
    until, left = time.monotonic() + args.timeout_s, args.timeout_s
    acknowledged = None if args.ack_message_id is None else _message_id(args.ack_message_id)
    told: list[bool] = []
    heard = told.append
    while True:
        message = await app.reader.next(
            args.agent_id,
            left,
            acknowledged=acknowledged,
            are_wanted=lambda messages: app.notifications.are_current([found.event for found in messages]),
            heard=heard,
        )
        was_there = told[0] if told else None
        if message is None:
            return WorkflowEvent(
                status="timeout",
                agent_id=args.agent_id,
                acknowledged=was_there,
                hint="Call again to keep waiting.",
                next=[wait_for_event(args.agent_id).as_json()],
            )
        if not (args.lease and _is_of_ready_state(message)):
            return _told(args, message, was_there)
        leased = await _leased(app, args, message)
        if leased is not None:
            return _with_work(app, args, message, leased, was_there)
        acknowledged, heard, left = message.message_id, _nobody, max(0.0, until - time.monotonic())


def _nobody(_: bool) -> None:
    """Tell nobody: the event that is acknowledged is one that was dropped here."""


async def _leased(app: Application, args: AwaitWorkflowEvent, message: Message) -> Leased | None:
    """Lease the state of an event; None if somebody else has it, or it is not ready any more."""
    request = lease.Acquire(
        state=str(message.event["target_state"]), owner=args.agent_id, token=new_token(), ttl_s=args.lease_ttl_s
    )
    workflow_id = str(message.event["workflow_id"])
    acquire = partial(app.control_plane.acquire, workflow_id, request)
    try:
        found = await anyio.to_thread.run_sync(acquire)
        await anyio.lowlevel.checkpoint_if_cancelled()
    except anyio.get_cancelled_exc_class():  # nobody hears of the lease
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(partial(_give_back, app, workflow_id, request))
        raise
    except NotFound:  # the run was deleted meanwhile
        return None
    return None if isinstance(found, Refusal) else found


def _give_back(app: Application, workflow_id: str, request: lease.Acquire) -> None:
    """Release a lease that nobody heard of."""
    with suppress(DcfError):  # then it expires
        app.control_plane.release(workflow_id, lease.Release(state=request.state, token=request.token))


def _is_of_ready_state(message: Message) -> bool:
    """Return True for an event that says that a state can be taken."""
    event = message.event
    return (
        isinstance(event, dict)
        and event.get("type") == "workflow_event"
        and event.get("reason") != NoticeKind.CANCELLED.value
        and isinstance(event.get("target_state"), str)
        and isinstance(event.get("workflow_id"), str)
    )


def _told(args: AwaitWorkflowEvent, message: Message, acknowledged: bool | None) -> WorkflowEvent:
    return WorkflowEvent(
        status="event",
        agent_id=args.agent_id,
        message_id=message.message_id,
        acknowledged=acknowledged,
        event=message.event,
    )


def _with_work(
    app: Application, args: AwaitWorkflowEvent, message: Message, leased: Leased, acknowledged: bool | None
) -> WorkflowEvent:
    work = work_shown(app, str(message.event["workflow_id"]), leased, whole_input=args.whole_input)
    answer = _told(args, message, acknowledged)
    return answer.model_copy(update={"work": work, "next": steps_of(work, args.agent_id)})


def _message_id(text: str) -> str:
    if any(int(part) >= _STREAM_ID_LIMIT for part in text.split("-")):
        raise InvalidArgument("ack_message_id is not a message_id.", "Send the message_id of an event you received.")
    return text
