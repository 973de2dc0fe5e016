"""The `next` of answers that are not about a piece of work: what to do about an event, and after a refusal."""

import secrets
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias, TypeGuard

from dcf.core.leasing.blockers import KILLED_PROCESS
from dcf.values.json_text import Json
from dcf.workforce.question_steps import TOO_LATE, to_answer, to_correct, to_go_on, to_judge, to_tell
from dcf.workforce.steps import Step, ask_why_held, to_complete, wait_for_event

Call: TypeAlias = dict[str, Json]
Named: TypeAlias = Callable[[str], Json]
"""Returns an argument of a call; None for an argument that it did not have."""


def is_of_ready_state(event: Json) -> TypeGuard[dict[str, Any]]:
    """Return True for an event that says that a state can be taken."""
    if not isinstance(event, dict) or event.get("type") != "workflow_event":
        return False
    return isinstance(event.get("target_state"), str) and isinstance(event.get("workflow_id"), str)


def wait_again(
    agent_id: str, acknowledged: str | None = None, why: str | None = None, *, unassigned: bool = False
) -> Call:
    """Return the call that waits for the next event; its id is new, so that a repetition of it finds its work again."""
    step = wait_for_event(agent_id)
    more: dict[str, Json] = {} if acknowledged is None else {"ack_message_id": acknowledged}
    more |= {"unassigned": True} if unassigned else {}
    arguments = step.arguments | more | {"request_id": secrets.token_hex(4)}
    return Step(tool=step.tool, arguments=arguments, why=why or step.why).as_json()


def calls_about(event: Json, agent_id: str, message_id: str) -> list[Call]:
    """Return the calls to make about an event that brought no work, the acknowledgement last."""
    about = event if isinstance(event, dict) else {}
    made = _ABOUT.get(str(about.get("type")), _nothing)
    done = "This acknowledges the event, and waits for the next." if made is _nothing else "Then wait for what comes."
    return [*(step.as_json() for step in made(about, agent_id)), wait_again(agent_id, message_id, done)]


def calls_after_refusal(code: str, named: Named, agent_id: str | None) -> list[Call] | None:
    """Return the next legal calls of a worker whose call was refused; None where the hint says all there is to say."""
    where: Call = {"workflow_id": named("workflow_id"), "state": named("state")}
    if code == "lease_expired":
        lease = where | {"lease_token": named("lease_token")}
        why = "A finished result may still be delivered with this token, unless another agent has it."
        return [
            to_complete(lease, agent_id, why).as_json(),
            _to_lease(where, agent_id, "Or lease it again, to continue."),
        ]
    if code in _TO_BE_LEASED and where["state"] is not None:
        return [_to_lease(where, agent_id, "Its answer brings the `lease_token` and the input.")]
    if code in TOO_LATE:
        return [to_tell(where, agent_id).as_json()]
    if code in _TO_BE_WAITED_FOR and agent_id is not None:
        return [wait_again(agent_id, why="There is nothing to do about that now; your next work comes here.")]
    return None


def _to_lease(where: Call, agent_id: str | None, why: str) -> Call:
    owner: Call = {"owner_agent_id": agent_id or "<your agent id>"}
    return Step(tool="acquire_state_lease", arguments=where | owner, why=why).as_json()


def _ready(event: Mapping[str, Json], agent_id: str) -> list[Step]:
    arguments = {"workflow_id": event["workflow_id"], "state": event["target_state"], "owner_agent_id": agent_id}
    return [Step(tool="acquire_state_lease", arguments=arguments, why="The state is ready: take it.")]


def _finished(event: Mapping[str, Json], _: str) -> list[Step]:
    run: dict[str, Json] = {"workflow_id": event.get("workflow_id")}
    return [
        Step(
            tool="read_workflow_control_plane",
            arguments=run | {"summary": True},
            why="meta has a short output; all of it without summary.",
        ),
        Step(tool="finalize_workflow", arguments=run, why="Closes the run and deletes the agents made for it."),
    ]


def _stalled(event: Mapping[str, Json], _: str) -> list[Step]:
    run: dict[str, Json] = {"workflow_id": event.get("workflow_id")}
    if event.get("reason") == "not_started":
        return [Step(tool="notify_next_worker_agent", arguments=run, why="The run was created and never started.")]
    return [Step(tool="explain_run", arguments=run, why="It says why the run stands, and what to do about it.")]


def _blocked(event: Mapping[str, Json], agent_id: str) -> list[Step]:
    run: dict[str, Json] = {"workflow_id": event.get("workflow_id")}
    if event.get("issue") == KILLED_PROCESS:
        return [ask_why_held(run)]
    resolved = run | {"issue": event.get("issue"), "how": "<how it was resolved>", "agent_id": agent_id}
    return [
        Step(tool="read_journal", arguments=run | {"open": True}, why="It shows the issue whole."),
        Step(tool="resolve_issue", arguments=resolved, why="No lease is granted until it is resolved."),
    ]


def _asked(event: Mapping[str, Json], agent_id: str) -> list[Step]:
    where: dict[str, Json] = {"workflow_id": event.get("workflow_id"), "state": event.get("target_state")}
    answer = where | {"choice": "<one of its choices>", "epoch": event.get("epoch"), "agent_id": agent_id}
    return [
        Step(tool="list_human_tasks", arguments=where, why="It shows the task whole: details and choices."),
        Step(tool="answer_human_task", arguments=answer, why="This answers it; a comment may go with it."),
    ]


def _nothing(_: Mapping[str, Json], __: str) -> list[Step]:
    return []


_ABOUT: Final[Mapping[str, Callable[[Mapping[str, Json], str], list[Step]]]] = {
    "workflow_event": _ready,
    "run_finished": _finished,
    "run_stalled": _stalled,
    "human_task": _asked,
    "run_blocked": _blocked,
    "question": to_answer,
    "question_answered": to_go_on,
    "gate_opened": to_judge,
    "needs_work": to_correct,
}

_TO_BE_LEASED: Final = frozenset({"token_required", "token_used"})
_TO_BE_WAITED_FOR: Final = frozenset(
    {
        *(
            "terminal",
            "run_over",
            "run_paused",
            "run_blocked",
            "not_ready",
            "owner_mismatch",
            "lease_held",
            "lease_lost",
        ),
        *("already_completed", "attempts_exhausted", "nothing_ready"),
    }
)
