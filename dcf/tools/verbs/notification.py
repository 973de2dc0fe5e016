"""Tools that notify agents. They only parse, call, and format the answer."""

from collections.abc import Mapping
from typing import Any, Final, Literal

from pydantic import Field

from dcf.application.application import Application
from dcf.asl.state_paths import name_of
from dcf.core.access.model import Scope
from dcf.core.documents.model import Status
from dcf.errors import InvalidArgument
from dcf.ports import Undelivered
from dcf.runs.notifying.delivery_records import Target
from dcf.runs.views.status import StateView
from dcf.values.json_text import Json, parse
from dcf.values.refusal import Refusal
from dcf.verbs.answers import planner_steps
from dcf.verbs.callers import current_caller, require, require_part, require_planner
from dcf.verbs.registry import Answer, Arguments, JsonArray, StateName, WorkflowId, read_names, refused, tool
from dcf.verbs.unlisted import UNLISTED
from dcf.workforce.steps import Step

MAX_PAYLOAD = 4 * 1024

_OWED: Final = "Nothing is to be done: what is owed is delivered by itself."
_HINTS: Final[Mapping[Undelivered | None, str]] = {
    None: "Assign an agent as `next` says; what is owed is delivered by itself afterwards.",
    Undelivered.UNKNOWN_AGENT: "Call create_worker_agents again: it makes agents that are gone again, and tells them.",
}

Role = Literal["system", "user", "assistant"]


class _AwaitedEvent(Arguments):
    """How the event is handed over; only agent platforms that run the agent look at these."""

    reason: str | None = Field(default=None, max_length=200, description="Why, in a word; default: what happened.")
    payload_json: Any = Field(
        default=None, description="Extra JSON for the receiver, at most 4 KiB; it is marked as untrusted data."
    )
    message_role: Role = Field(
        default="system", description="Role of the message, where the platform has roles.", json_schema_extra=UNLISTED
    )
    async_message: bool = Field(
        default=True, description="Delivery never waits for the receiver's work.", json_schema_extra=UNLISTED
    )
    max_steps: int | None = Field(
        default=None, ge=1, le=1000, description="Step limit, where the platform has one.", json_schema_extra=UNLISTED
    )


class NotifyNextWorkerAgent(_AwaitedEvent):
    """Wake whoever comes next: call it without source_state to start a run, with it after completing a state.

    Without source_state it kicks the run off (planner, once after creating it); with source_state it tells the agents
    of the states that follow. Safe to repeat: receivers drop the same event_id.
    """

    workflow_id: WorkflowId
    source_state: StateName | None = Field(
        default=None, description="The state you completed; leave out to start the run."
    )
    include_only_ready: bool = Field(
        default=True, description="Must stay true: nobody is woken in vain.", json_schema_extra=UNLISTED
    )


class WorkersNotified(Answer):
    """What became of each follower."""

    workflow_id: str | None = None
    source_state: str | None = None
    targets: list[dict[str, Any]] = Field(default_factory=list)


@tool(
    toolset="notification",
    scope=Scope.WORK,
    profiles=("planner", "operator"),
    arguments=NotifyNextWorkerAgent,
    answer=WorkersNotified,
)
def notify_next_worker_agent(app: Application, args: NotifyNextWorkerAgent) -> WorkersNotified:
    """Deliver the notifications of a state's followers from the outbox, or start the run."""
    payload = _payload(args.payload_json)
    if not args.include_only_ready:
        raise InvalidArgument("include_only_ready=false is not possible: only ready states are announced.")
    account = current_caller().account
    full = app.usage.may_notify(account)
    if full is not None:
        return refused(WorkersNotified, full, workflow_id=args.workflow_id, source_state=args.source_state)
    if args.source_state is None:
        require(Scope.PLAN, "Starting a run")
        require_planner(app, args.workflow_id)
        started = app.control_plane.kick_off(args.workflow_id, args.reason or "initial")
        if isinstance(started, Refusal):
            return refused(WorkersNotified, started, workflow_id=args.workflow_id)
    else:
        require_part(app, args.workflow_id, args.source_state)
    targets = app.notifications.notify_next(args.workflow_id, args.source_state, reason=args.reason, payload=payload)
    app.usage.notified(account, [(one.agent_id, one.delivery.message_id) for one in targets if one.sent])
    failed = [target for target in targets if not target.sent and not target.skipped_not_ready]
    sent = sum(target.sent for target in targets)
    answer = WorkersNotified(
        workflow_id=args.workflow_id,
        source_state=args.source_state,
        targets=[_shown(target) for target in targets],
    )
    if failed:
        return answer.model_copy(update=_not_delivered(args.workflow_id, failed))
    told = f"Notified {sent} target(s) for run '{args.workflow_id}'."
    planner = current_caller().agent_id
    watched = [] if args.source_state else [one.as_json() for one in planner_steps.watch(args.workflow_id, planner)]
    return answer.model_copy(update={"status": told, "next": watched or None})


class NotifyIfReady(_AwaitedEvent):
    """Wake the agent of one state again, if the state can be taken: use it when a run does not move.

    Does nothing when the state waits, is held or is over; skip_reason says which.
    """

    workflow_id: WorkflowId
    state: StateName
    require_ready: bool = Field(
        default=True, description="Must stay true: nobody is woken in vain.", json_schema_extra=UNLISTED
    )
    skip_if_status_in_json: JsonArray | None = Field(
        default=None,
        description='Do nothing when the status is one of these: ["failed", "skipped"] (or JSON text).',
        json_schema_extra=UNLISTED,
    )


class ReadyNotified(Answer):
    """Whether the agent was woken, and why not."""

    workflow_id: str | None = None
    state: str | None = None
    ready: bool | None = None
    skipped: bool | None = None
    skip_reason: str | None = None
    agent_id: str | None = None
    message_id: str | None = None
    run_id: str | None = None


@tool(
    toolset="notification",
    scope=Scope.PLAN,
    profiles=("operator",),
    arguments=NotifyIfReady,
    answer=ReadyNotified,
    idempotent=False,
)
def notify_if_ready(app: Application, args: NotifyIfReady) -> ReadyNotified:
    """Send one more notification for a state that can be claimed."""
    require_planner(app, args.workflow_id)
    payload = _payload(args.payload_json)
    if not args.require_ready:
        raise InvalidArgument("require_ready=false is not possible: only ready states are announced.")
    listed = [] if args.skip_if_status_in_json is None else args.skip_if_status_in_json
    skip = frozenset(read_names(listed, name="skip_if_status_in_json"))
    found = app.runs.read(args.workflow_id, (args.state,), whole_meta=False).states.get(args.state)
    answer = ReadyNotified(workflow_id=args.workflow_id, state=args.state, ready=found is not None and found.ready)
    if found is None or found.doc.status.value in skip or not found.ready:
        word, why = _why_skipped(found, skip)
        return answer.model_copy(update={"status": word, "skipped": True, "skip_reason": why})
    account = current_caller().account
    full = app.usage.may_notify(account)
    if full is not None:
        return refused(ReadyNotified, full, workflow_id=args.workflow_id, state=args.state)
    target = app.notifications.notify(
        args.workflow_id, args.state, reason=args.reason or "notify_if_ready", payload=payload
    )
    app.usage.notified(account, [(target.agent_id, target.delivery.message_id)] if target.sent else [])
    if not target.sent:
        reason = "no_agent_assigned" if target.agent_id is None else "send_failed"
        told = _not_delivered(args.workflow_id, [target])
        return answer.model_copy(update=told | {"skipped": True, "skip_reason": reason})
    return answer.model_copy(
        update={
            "status": "notified",
            "skipped": False,
            "agent_id": target.agent_id,
            "message_id": target.delivery.message_id,
            "run_id": target.delivery.run_id,
        }
    )


def _payload(value: Json) -> Json:
    return None if value is None else parse(value, name="payload_json", max_bytes=MAX_PAYLOAD)


def _shown(target: Target) -> dict[str, Json]:
    return {
        "state": target.state,
        "agent_id": target.agent_id,
        "sent": target.sent,
        "skipped_not_ready": target.skipped_not_ready,
        "reason": target.reason,
        "message_id": target.delivery.message_id,
        "run_id": target.delivery.run_id,
        "error": _target_error(target),
    }


def _target_error(target: Target) -> str | None:
    if target.sent or target.skipped_not_ready:
        return None
    return target.delivery.error or f"No agent_id in meta.agents for state '{name_of(target.state or '')}'."


def _not_delivered(workflow_id: str, failed: list[Target]) -> dict[str, Any]:
    first = failed[0]
    return {
        "code": "not_delivered",
        "error": f"not_delivered: {len(failed)} notification(s) could not be delivered: {_target_error(first)}",
        "hint": _HINTS.get(first.delivery.failure, _OWED),
        "next": [one.as_json() for one in _mending(workflow_id, failed)] or None,
    }


def _mending(workflow_id: str, failed: list[Target]) -> list[Step]:
    """Return the calls after which the agents can be told."""
    if any(one.delivery.failure is Undelivered.UNKNOWN_AGENT for one in failed):
        return [planner_steps.make_agents(workflow_id)]
    missing = dict.fromkeys(name_of(one.state) for one in failed if one.agent_id is None and one.state is not None)
    return planner_steps.assign(workflow_id, list(missing))


def _why_skipped(found: StateView | None, skip: frozenset[str]) -> tuple[Literal["skipped", "not_ready"], str]:
    """Return why nobody is notified; a state in a Parallel or Map that is not open yet counts as waiting."""
    if found is None:
        return "not_ready", "upstream_incomplete"
    status = found.doc.status
    if found.is_paused and status.value not in skip:
        return "not_ready", "run_paused"
    if found.is_blocked and status.value not in skip:
        return "not_ready", "run_blocked"
    if status.value in skip or status is not Status.PENDING:
        return "skipped", f"status_in_skip_list:{status.value}"
    return "not_ready", "upstream_incomplete"
