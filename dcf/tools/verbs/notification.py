"""The verbs that notify agents of work: start a run, notify the next agents, notify the agent of a state again."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final

from dcf.asl.state_paths import ancestors, name_of
from dcf.core.access.model import Scope
from dcf.core.documents.model import Status
from dcf.errors import InvalidArgument
from dcf.ports import MAILBOX, Undelivered
from dcf.values.json_paths import MISSING
from dcf.values.json_text import Json
from dcf.values.refusal import Refusal
from dcf.verbs.answers import planner_steps
from dcf.verbs.callers import current_caller, require, require_part, require_planner
from dcf.verbs.derived_tools import add_tools
from dcf.verbs.description.verb import Answered, Argument, Command, PageAction, RefusedWith, verb
from dcf.verbs.description.words import JsonValue, RunId, StateName
from dcf.verbs.records.notification import NotifiedAgents, NotifiedIfReady, RoleName
from dcf.workforce.steps import Step

if TYPE_CHECKING:
    from dcf.application.application import Application
    from dcf.runs.notifying.delivery_records import Target
    from dcf.runs.views.status import StateView

MAX_PAYLOAD = 4 * 1024

_OWED: Final = "Nothing is to be done: what is owed is delivered by itself."
_HINTS: Final[Mapping[Undelivered | None, str]] = {
    None: "Assign an agent as `next` says; what is owed is delivered by itself afterwards.",
    Undelivered.UNKNOWN_AGENT: "`create_worker_agents` makes agents again that are gone, and tells them.",
}

_Word = Annotated[
    str | None,
    Argument(means="Why, in a word; default: what happened.", plain=True, max_length=200, label="Reason, in a word"),
]
_Payload = Annotated[
    JsonValue,
    Argument(
        means="Extra JSON for the receiver, at most 4 KiB; it is marked as untrusted data.",
        listed=False,
        form="json",
        max_bytes=MAX_PAYLOAD,
        tool="payload_json",
    ),
]
_MessageRole = Annotated[RoleName, Argument(means="Role of the message, where the platform has roles.", listed=False)]
_IsAsync = Annotated[bool, Argument(means="Delivery never waits for the receiver's work.", listed=False)]
_MaxSteps = Annotated[
    int | None, Argument(means="Step limit, where the platform has one.", ge=1, le=1000, listed=False)
]
_OnlyReady = Annotated[bool, Argument(means="Must be true: only ready states notify.", listed=False)]
"""Arguments for platforms that run the agent, which callers of the seed's contract may still send."""


@verb(
    toolset="notification",
    scope="work",
    lists=("planner", "operator"),
    says=lambda answer: (
        f"Notified {sum(target['sent'] for target in answer['targets'])} target(s) for run '{answer['workflow_id']}'."
    ),
    codes=("unknown_run", "unknown_state", "run_over", "not_delivered", "run_blocked", "run_paused", "terminal"),
    in_refusals={"targets": []},
    command=Command(name="runs notify", function="dcf.cli.commands.lifecycle:notify"),
    page=PageAction(
        title="Start the run", effect="The run starts, and the agents of its first states are told.", scopes=("plan",)
    ),
)
def notify_next_worker_agent(
    on: "Application",
    workflow_id: RunId,
    *,
    source_state: Annotated[
        StateName | None, Argument(means="The state you completed; leave out to start the run.")
    ] = None,
    reason: _Word = None,
    payload: _Payload = MISSING,
    message_role: _MessageRole = "system",  # noqa: ARG001 - of the contract; platforms look at it
    async_message: _IsAsync = True,  # noqa: ARG001 - likewise
    max_steps: _MaxSteps = None,  # noqa: ARG001 - likewise
    include_only_ready: _OnlyReady = True,
) -> Answered[NotifiedAgents] | Refusal | RefusedWith:
    """Wake the next agents: call it without `source_state` to start a run, with it after completing a state.

    Safe to repeat: receivers drop the same event_id.
    """
    if not include_only_ready:
        raise InvalidArgument("include_only_ready=false is not possible: only ready states are announced.")
    account = current_caller().account
    full = on.usage.may_notify(account)
    if full is not None:
        return RefusedWith(full, {"source_state": source_state})
    if source_state is None:
        require(Scope.PLAN, "Starting a run")
        require_planner(on, workflow_id)
        started = on.control_plane.kick_off(workflow_id, reason or "initial")
        if isinstance(started, Refusal):
            return started
    else:
        require_part(on, workflow_id, source_state)
    targets = on.notifications.notify_next(workflow_id, source_state, reason=reason, payload=_value(payload))
    on.usage.notified(account, _inboxes(targets))
    failed = [target for target in targets if not target.sent and not target.skipped_not_ready]
    members = {"workflow_id": workflow_id, "source_state": source_state, "targets": list(map(_shown, targets))}
    if failed:
        return _not_delivered(workflow_id, failed, members)
    says = None if any(target.sent for target in targets) else _no_targets(on, workflow_id, source_state, targets)
    following = [] if source_state else _watched(on, workflow_id, targets)
    return Answered(NotifiedAgents, {**members, "next": following or None}, says=says)


def _no_targets(
    on: "Application", workflow_id: str, source_state: str | None, targets: "Sequence[Target]"
) -> str | None:
    """Return the sentence about a state, or a start of the run, after which no agent is to be notified."""
    state = source_state or next((target.state for target in targets if target.state is not None), None)
    view = None if state is None else on.runs.read(workflow_id, (state,), whole_meta=False).states.get(state)
    if view is None:
        return None
    status = view.doc.status
    begin = f"Notified 0 target(s) for run '{workflow_id}'"
    if source_state is None:
        return f"{begin}: '{state}' is {status.value}, and cannot be leased now."
    if not status.is_terminal:
        return f"{begin}: '{state}' is {status.value}, and who comes next is notified when it has ended."
    around = ancestors(source_state)
    if around:
        return f"{begin}: no state after '{state}' in its part of '{around[-1]}'; dcf notifies who comes after that."
    return f"{begin}: no state after '{state}' can be leased now."


def _watched(on: "Application", workflow_id: str, targets: "Sequence[Target]") -> list[dict[str, Json]]:
    """Return the calls after the start of a run: how its planner sees it, and how a worker gets its Task."""
    steps = planner_steps.watch(workflow_id, current_caller().agent_id)
    agents = [agent for target in targets for agent, _ in target.told]
    agent = next((agent for agent in agents if on.platforms.kind_of(agent) == MAILBOX), None)
    return [step.as_json() for step in (steps if agent is None else [*steps, planner_steps.work_as(agent)])]


def _word_of(answer: Mapping[str, Any]) -> str:
    """Return whether the agent was notified, in a word."""
    if not answer["skipped"]:
        return "notified"
    return "skipped" if answer["skip_reason"].startswith(_IN_SKIP_LIST) else "not_ready"


@verb(
    toolset="notification",
    scope="plan",
    lists=("operator",),
    is_repeatable=False,
    says=_word_of,
    codes=("unknown_run", "unknown_state", "not_delivered"),
    page=PageAction(title="Notify its agents", effect="If the state can be taken, its agents are told so again."),
    method="notify",
    steps="dcf.client.steps.notification:notify",
    command_by_hand="runs notify",
)
def notify_if_ready(
    on: "Application",
    workflow_id: RunId,
    state: StateName,
    *,
    reason: _Word = None,
    payload: _Payload = MISSING,
    message_role: _MessageRole = "system",  # noqa: ARG001 - of the contract; platforms look at it
    async_message: _IsAsync = True,  # noqa: ARG001 - likewise
    max_steps: _MaxSteps = None,  # noqa: ARG001 - likewise
    require_ready: _OnlyReady = True,
    skip_if_status_in: Annotated[
        Sequence[str],
        Argument(
            means='Do nothing when the status is one of these: ["failed", "skipped"] (or JSON text).',
            form="names",
            tool="skip_if_status_in_json",
            listed=False,
        ),
    ] = (),
) -> Answered[NotifiedIfReady] | Refusal | RefusedWith:
    """Wake the agent of one state again, if the state can be taken: use it when a run does not move.

    No effect when the state waits, is leased or has ended; skip_reason says which.
    """
    require_planner(on, workflow_id)
    if not require_ready:
        raise InvalidArgument("require_ready=false is not possible: only ready states are announced.")
    skip = frozenset(skip_if_status_in)
    view = on.runs.read(workflow_id, (state,), whole_meta=False).states.get(state)
    members = {"workflow_id": workflow_id, "state": state, "ready": view is not None and view.ready}
    if view is None or view.doc.status.value in skip or not view.ready:
        return Answered(NotifiedIfReady, {**members, "skipped": True, "skip_reason": _why_skipped(view, skip)})
    account = current_caller().account
    full = on.usage.may_notify(account)
    if full is not None:
        return full
    target = on.notifications.notify(workflow_id, state, reason=reason or "notify_if_ready", payload=_value(payload))
    on.usage.notified(account, _inboxes([target]))
    if not target.sent:
        why = "no_agent_assigned" if target.agent_id is None else "send_failed"
        outcome = {"skipped": True, "skip_reason": why, "agent_id": target.agent_id}
        return _not_delivered(workflow_id, [target], members | outcome)
    outcome = {"agent_id": target.agent_id, "message_id": target.delivery.message_id, "run_id": target.delivery.run_id}
    following = [planner_steps.start(workflow_id).as_json()] if view.awaits_start else None
    return Answered(NotifiedIfReady, {**members, "skipped": False, **outcome, "next": following})


def _value(payload: Json) -> Json:
    return None if payload is MISSING else payload


def _inboxes(targets: "Sequence[Target]") -> list[tuple[str, str | None]]:
    """Return the agents with a message, each with its id: of a pool all that were notified."""
    return [(agent, delivery.message_id) for target in targets for agent, delivery in target.told]


def _shown(target: "Target") -> dict[str, Json]:
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


def _target_error(target: "Target") -> str | None:
    if target.sent or target.skipped_not_ready:
        return None
    return target.delivery.error or f"No agent_id in meta.agents for state '{name_of(target.state or '')}'."


def _not_delivered(workflow_id: str, failed: "list[Target]", members: Mapping[str, Json]) -> RefusedWith:
    first = failed[0]
    refusal = Refusal(
        code="not_delivered",
        message=f"{len(failed)} notification(s) could not be delivered: {_target_error(first)}",
        hint=_HINTS.get(first.delivery.failure, _OWED),
    )
    return RefusedWith(refusal, {**members, "next": [step.as_json() for step in _mending(workflow_id, failed)] or None})


def _mending(workflow_id: str, failed: "list[Target]") -> list[Step]:
    """Return the calls after which the agents can be notified."""
    if any(delivery.delivery.failure is Undelivered.UNKNOWN_AGENT for delivery in failed):
        return [planner_steps.make_agents(workflow_id)]
    missing = dict.fromkeys(
        name_of(delivery.state) for delivery in failed if delivery.agent_id is None and delivery.state is not None
    )
    return planner_steps.assign(workflow_id, list(missing))


_IN_SKIP_LIST: Final = "status_in_skip_list:"


def _why_skipped(view: "StateView | None", skip: frozenset[str]) -> str:
    """Return why no agent is notified; a state in a Parallel or Map that is not open yet counts as waiting."""
    if view is None:
        return "upstream_incomplete"
    status = view.doc.status
    if view.is_paused and status.value not in skip:
        return "run_paused"
    if view.is_blocked and status.value not in skip:
        return "run_blocked"
    if status.value in skip or status is not Status.PENDING:
        return f"{_IN_SKIP_LIST}{status.value}"
    return "upstream_incomplete"


add_tools(__name__)
