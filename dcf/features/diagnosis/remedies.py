"""The remedies for each cause that a diagnosis finds: a sentence, and one call. This module must not decide.

Words in angle brackets are to be filled in by the caller. Each interface words the call its own way.
"""

import shlex

from dcf.asl.state_paths import name_of
from dcf.features.diagnosis.model import Remedy
from dcf.features.people.model import Asking
from dcf.values.json_text import Json

_AGENT = "<agent>"


def _visit(run: str, state: str, epoch: int) -> dict[str, Json]:
    """Return the state as it was seen, so that the call is refused once it has moved on."""
    return {"workflow_id": run, "state": state, **({"epoch": epoch} if epoch else {})}


def start(run: str) -> Remedy:
    """Start a run that was created."""
    return Remedy(sentence="Start the run.", tool="notify_next_worker_agent", arguments={"workflow_id": run})


def assign(run: str, state: str, epoch: int) -> Remedy:
    """Assign an agent; until then any agent may claim the state."""
    return Remedy(
        sentence="Assign an agent, or have one claim it (`claim_ready_state`).",
        tool="resolve_state",
        arguments={**_visit(run, state, epoch), "assign_json": [_AGENT]},
    )


def notify(run: str, state: str) -> Remedy:
    """Tell the agents of a state."""
    return Remedy(sentence="Tell its agents.", tool="notify_if_ready", arguments={"workflow_id": run, "state": state})


def set_timer(run: str, state: str) -> Remedy:
    """Have the timer of a state set again that Redis has lost."""
    return Remedy(
        sentence="Tell its agents: this sets the timer too. `dcf doctor --repair` does so in all runs, as a clock does"
        " once an hour. Have the log of Redis checked: docs/operating/disaster-recovery.md says how.",
        tool="notify_if_ready",
        arguments={"workflow_id": run, "state": state},
    )


def run_worker(run: str, state: str, agent_id: str) -> Remedy:
    """Start the agent that was notified; notify it again."""
    worker = shlex.join(("dcf", "worker", "FUNCTIONS.py", "--agent-id", agent_id, "--state", name_of(state)))
    return Remedy(
        sentence=f"Start the agent, or look at why it does not work; it finds the event when it asks. `{worker}` does"
        " its work with Python functions.",
        tool="notify_if_ready",
        arguments={"workflow_id": run, "state": state},
    )


def assign_another(run: str, state: str, epoch: int) -> Remedy:
    """Assign an agent that exists."""
    return Remedy(
        sentence="The agent does not exist: assign another.",
        tool="resolve_state",
        arguments={**_visit(run, state, epoch), "assign_json": [_AGENT]},
    )


def repair_delivery(run: str, state: str) -> Remedy:
    """Make the agent's platform take the event."""
    return Remedy(
        sentence="Look at the platform of the agent (`read_health`); notifications are delivered when it answers.",
        tool="notify_if_ready",
        arguments={"workflow_id": run, "state": state},
    )


def take_away(run: str, state: str, epoch: int) -> Remedy:
    """Take the lease from its holder."""
    return Remedy(
        sentence="Nothing is to be done while its holder works; to take the state away from it, release the lease.",
        tool="release_state_lease",
        arguments={**_visit(run, state, epoch), "force": True},
    )


def look_at_errors(run: str, state: str) -> Remedy:
    """Look at the failures, correct the worker."""
    return Remedy(
        sentence="Look at the errors and correct the worker; the next attempt then succeeds.",
        tool="read_run_events",
        arguments={"workflow_id": run, "states_json": [state]},
    )


def wait(run: str, state: str) -> Remedy:
    """Wait until the time has come."""
    return Remedy(
        sentence="No action is needed: it continues automatically at that time.",
        tool="read_run_events",
        arguments={"workflow_id": run, "states_json": [state]},
    )


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


def answer(run: str, state: str, epoch: int, asking: Asking) -> Remedy:
    """Answer a human task, in the visit that was seen."""
    person = next(iter(asking.to.people), "<name>")
    group: dict[str, Json] = {} if asking.to.people else {"group": next(iter(asking.to.groups), "<group>")}
    choice = next(iter(asking.choices), "approve")
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


def run_clock() -> Remedy:
    """Start a clock."""
    return Remedy(sentence="Start `dcf serve` or `dcf store pulse`: each of them is a clock.", tool="read_health")


def relieve_timer_loop() -> Remedy:
    """Help a timer loop that has too much to do."""
    return Remedy(
        sentence="Look at the log of the timer loop (`dcf serve`, `dcf store pulse`), or run another one as well.",
        tool="read_health",
    )


def repair_store(advice: str | None) -> Remedy:
    """Make Redis take writes."""
    return Remedy(sentence=advice or "See what `read_health` says about Redis.", tool="read_health")


def resume(run: str) -> Remedy:
    """Continue a paused run."""
    return Remedy(sentence="Resume the run.", tool="resume_run", arguments={"workflow_id": run})


def release(run: str) -> Remedy:
    """Release a run that is on hold."""
    return Remedy(
        sentence="Find out what its expressions need so much for: then release the run as an operator, or cancel it.",
        tool="retry_run",
        arguments={"workflow_id": run},
    )


def resolve_issue(run: str, issue: str) -> Remedy:
    """Resolve an issue that blocks a run."""
    return Remedy(
        sentence="Do what the issue asks for, then resolve it and say how.",
        tool="resolve_issue",
        arguments={"workflow_id": run, "issue": issue, "how": "<what was done>"},
    )


def cancel(run: str) -> Remedy:
    """Cancel a run that cannot continue."""
    return Remedy(
        sentence="Cancel the run, and run the workflow again.", tool="cancel_run", arguments={"workflow_id": run}
    )


def replace_definition() -> Remedy:
    """Restore the stored workflow."""
    return Remedy(
        sentence="Restore the key of its definition from a backup; if there is none, start the workflow again.",
        tool="read_health",
    )


def finalize(run: str) -> Remedy:
    """Finalize an ended run."""
    return Remedy(
        sentence="Finalize the run: its audit record is written, and its documents expire if that was asked for.",
        tool="finalize_workflow",
        arguments={"workflow_id": run},
    )


def judge(run: str, state: str, gate: str) -> Remedy:
    """Give the verdict that an output waits for."""
    return Remedy(
        sentence=f"A reviewer judges it (`decide_gate`); `override_gate` lets it pass '{gate}', with a reason.",
        tool="list_gates",
        arguments={"workflow_id": run, "state": state},
    )
