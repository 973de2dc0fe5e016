"""The remedies for each cause that a diagnosis finds: a sentence, and one call. This module must not decide.

Words in angle brackets are to be filled in by the caller. Each interface words the call its own way.
"""

import shlex
from collections.abc import Callable, Sequence
from typing import Final

from dcf.asl.state_paths import name_of
from dcf.asl.tasks.askees import Askees
from dcf.features.diagnosis.model import Remedy
from dcf.values.json_text import Json

_AGENT = "<agent>"


def _visit(run: str, state: str, epoch: int) -> dict[str, Json]:
    """Return the state as it was seen, so that the call is refused once it has moved on."""
    return {"workflow_id": run, "state": state, **({"epoch": epoch} if epoch else {})}


def _of_call(sentence: str, tool: str) -> Callable[[], Remedy]:
    """Return a remedy by a call without arguments."""
    return lambda: Remedy(sentence=sentence, tool=tool)


def _of_run(sentence: str, tool: str, **more: Json) -> Callable[[str], Remedy]:
    """Return what makes a remedy by a call about a run."""
    return lambda run: Remedy(sentence=sentence, tool=tool, arguments={"workflow_id": run, **more})


def _of_state(sentence: str, tool: str) -> Callable[[str, str], Remedy]:
    """Return what makes a remedy by a call about a state of a run."""
    return lambda run, state: Remedy(sentence=sentence, tool=tool, arguments={"workflow_id": run, "state": state})


def _of_visit(sentence: str, tool: str, **more: Json) -> Callable[[str, str, int], Remedy]:
    """Return what makes a remedy by a call about a visit of a state, as it was seen."""
    return lambda run, state, epoch: Remedy(
        sentence=sentence, tool=tool, arguments={**_visit(run, state, epoch), **more}
    )


def _of_history(sentence: str) -> Callable[[str, str], Remedy]:
    """Return what makes a remedy by a look at the history of a state."""
    return lambda run, state: Remedy(
        sentence=sentence, tool="read_run_events", arguments={"workflow_id": run, "states_json": [state]}
    )


start: Final = _of_run("Start the run.", "notify_next_worker_agent")
"""Start a run that was created."""
assign: Final = _of_visit(
    "Assign an agent, or have one claim it (`claim_ready_state`).", "resolve_state", assign_json=[_AGENT]
)
"""Assign an agent; until then any agent may claim the state."""
assign_another: Final = _of_visit("The agent does not exist: assign another.", "resolve_state", assign_json=[_AGENT])
"""Assign an agent that exists."""
notify: Final = _of_state("Tell its agents.", "notify_if_ready")
"""Tell the agents of a state."""
set_timer: Final = _of_state(
    "Tell its agents: this sets the timer too. `dcf doctor --repair` does so in all runs, as a clock does"
    " once an hour. Have the log of Redis checked: docs/operating/disaster-recovery.md says how.",
    "notify_if_ready",
)
"""Have the timer of a state set again that Redis has lost."""
repair_delivery: Final = _of_state(
    "Look at the platform of the agent (`read_health`); notifications are delivered when it answers.",
    "notify_if_ready",
)
"""Make the agent's platform take the event."""
take_away: Final = _of_visit(
    "Nothing is to be done while its holder works; to take the state away from it, release the lease.",
    "release_state_lease",
    force=True,
)
"""Take the lease from its holder."""
look_at_errors: Final = _of_history("Look at the errors and correct the worker; the next attempt then succeeds.")
"""Look at the failures, correct the worker."""
wait: Final = _of_history("No action is needed: it continues automatically at that time.")
"""Wait until the time has come."""
run_clock: Final = _of_call("Start `dcf serve` or `dcf store pulse`: each of them is a clock.", "read_health")
"""Start a clock."""
relieve_timer_loop: Final = _of_call(
    "Look at the log of the timer loop (`dcf serve`, `dcf store pulse`), or run another one as well.", "read_health"
)
"""Help a timer loop that has too much to do."""
replace_definition: Final = _of_call(
    "Restore the key of its definition from a backup; if there is none, start the workflow again.", "read_health"
)
"""Restore the stored workflow."""
resume: Final = _of_run("Resume the run.", "resume_run")
"""Continue a paused run."""
release: Final = _of_run(
    "Find out what its expressions need so much for: then release the run as an operator, or cancel it.", "retry_run"
)
"""Release a run that is on hold."""
cancel: Final = _of_run("Cancel the run, and run the workflow again.", "cancel_run")
"""Cancel a run that cannot continue."""
finalize: Final = _of_run(
    "Finalize the run: its audit record is written, and its documents expire if that was asked for.",
    "finalize_workflow",
)
"""Finalize an ended run."""


def run_worker(run: str, state: str, agent_id: str) -> Remedy:
    """Start the agent that was notified; notify it again."""
    worker = shlex.join(("dcf", "worker", "FUNCTIONS.py", "--agent-id", agent_id, "--state", name_of(state)))
    return Remedy(
        sentence=f"Start the agent, or look at why it does not work; it finds the event when it asks. `{worker}` does"
        " its work with Python functions.",
        tool="notify_if_ready",
        arguments={"workflow_id": run, "state": state},
    )


def open_account(account: str, *, is_spent: bool) -> Remedy:
    """Open an account before the time that is known of its limit."""
    first = "Pay at the provider, then" if is_spent else "If the provider accepts turns again,"
    return Remedy(sentence=f"{first} open the account.", tool="open_account", arguments={"account": account})


def await_outside(run: str, state: str, epoch: int, *, by_token: bool) -> Remedy:
    """Wait for the outside system (`by_token`: the holder of the task token), or end the state by hand."""
    outside = (
        "The holder of the task token ends it with `send_task_success`"
        if by_token
        else "No action is needed while that may come"
    )
    return Remedy(
        sentence=f"{outside}; end the state by hand if it never comes.",
        tool="resolve_state",
        arguments={**_visit(run, state, epoch), "error": "Lost", "cause": "it never came"},
    )


def send(run: str, signal: str) -> Remedy:
    """Wait for a signal, or send it."""
    return Remedy(
        sentence="Nothing is to be done while the signal may come; send it yourself if its sender never will.",
        tool="send_signal",
        arguments={"workflow_id": run, "name": signal},
    )


def answer(run: str, state: str, epoch: int, to: Askees, choices: Sequence[str]) -> Remedy:
    """Answer a human task, in the visit that was seen."""
    person = next(iter(to.people), "<name>")
    group: dict[str, Json] = {} if to.people else {"group": next(iter(to.groups), "<group>")}
    choice = next(iter(choices), "approve")
    return Remedy(
        sentence="One of them answers; `list_human_tasks` shows what is asked, and the choices.",
        tool="answer_human_task",
        arguments={**_visit(run, state, epoch), "choice": choice, "agent_id": person, **group},
    )


def reply(run: str, question_id: str) -> Remedy:
    """Answer the question of a holder."""
    return Remedy(
        sentence="Answer the question; `list_human_tasks` shows it whole.",
        tool="answer_question",
        arguments={"workflow_id": run, "question_id": question_id, "answer": "<answer>"},
    )


def repair_store(advice: str | None) -> Remedy:
    """Make Redis take writes."""
    return Remedy(sentence=advice or "See what `read_health` says about Redis.", tool="read_health")


def resolve_issue(run: str, issue: str) -> Remedy:
    """Resolve an issue that blocks a run."""
    return Remedy(
        sentence="Do what the issue asks for, then resolve it and say how.",
        tool="resolve_issue",
        arguments={"workflow_id": run, "issue": issue, "how": "<what was done>"},
    )


def judge(run: str, state: str, gate: str) -> Remedy:
    """Give the verdict that an output waits for."""
    return Remedy(
        sentence=f"A reviewer judges it (`decide_gate`); `override_gate` lets it pass '{gate}', with a reason.",
        tool="list_gates",
        arguments={"workflow_id": run, "state": state},
    )
