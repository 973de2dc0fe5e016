"""What helps against each cause that a diagnosis finds: a sentence, one command and one tool call. Decides nothing.

The commands name a run and a state as they are; `findings.command` quotes them for a shell.
"""

from dcf.asl.state_paths import name_of
from dcf.features.diagnosis.model import Remedy, command
from dcf.features.people.model import Asking
from dcf.values.json_text import Json


def _visit(run: str, state: str, epoch: int) -> dict[str, Json]:
    """Return the state as it was seen, so that the call is refused once it has moved on."""
    return {"workflow_id": run, "state": state, **({"epoch": epoch} if epoch else {})}


def start(run: str) -> Remedy:
    """Start a run that was created."""
    return Remedy(
        sentence="Start the run.",
        command=command("notify", run),
        tool="notify_next_worker_agent",
        arguments={"workflow_id": run},
    )


def assign(run: str, state: str, epoch: int) -> Remedy:
    """Assign an agent; until then any agent may take the state by itself."""
    return Remedy(
        sentence="Assign an agent, or have one take it by itself (claim_ready_state).",
        command=command("resolve", run, state, "--assign", "AGENT"),
        tool="resolve_state",
        arguments={**_visit(run, state, epoch), "assign_json": ["AGENT"]},
    )


def notify(run: str, state: str) -> Remedy:
    """Tell the agents of a state."""
    return Remedy(
        sentence="Tell its agents.",
        command=command("notify", run, state),
        tool="notify_if_ready",
        arguments={"workflow_id": run, "state": state},
    )


def set_timer(run: str, state: str) -> Remedy:
    """Have the timer of a state set again that Redis has lost."""
    return Remedy(
        sentence="Tell its agents: this sets the timer too. dcf doctor --repair does so in all runs, as a clock does"
        " once an hour. Have the log of Redis checked: docs/deployment.md says how.",
        command=command("notify", run, state),
        tool="notify_if_ready",
        arguments={"workflow_id": run, "state": state},
    )


def run_worker(run: str, state: str, agent_id: str) -> Remedy:
    """Start the agent that was told; tell it again."""
    return Remedy(
        sentence="Start the agent, or look at why it does not work; it finds the event when it asks.",
        command=command("worker", "FUNCTIONS.py", "--agent-id", agent_id, "--state", name_of(state)),
        tool="notify_if_ready",
        arguments={"workflow_id": run, "state": state},
    )


def assign_another(run: str, state: str, epoch: int) -> Remedy:
    """Assign an agent that exists."""
    return Remedy(
        sentence="The agent does not exist: assign another.",
        command=command("resolve", run, state, "--assign", "AGENT"),
        tool="resolve_state",
        arguments={**_visit(run, state, epoch), "assign_json": ["AGENT"]},
    )


def mend_delivery(run: str, state: str) -> Remedy:
    """Make the agent's platform take the event."""
    return Remedy(
        sentence="Look at the platform of the agent; what is owed is delivered when it answers.",
        command=command("doctor"),
        tool="notify_if_ready",
        arguments={"workflow_id": run, "state": state},
    )


def take_away(run: str, state: str, epoch: int) -> Remedy:
    """Take the lease from its holder."""
    return Remedy(
        sentence="Nothing is to be done while its holder works; to take the state away from it, release the lease.",
        command=command("release", run, state),
        tool="release_state_lease",
        arguments={**_visit(run, state, epoch), "force": True},
    )


def look_at_errors(run: str, state: str) -> Remedy:
    """Look at the failures, mend the worker."""
    return Remedy(
        sentence="Look at the errors and mend the worker; the next try then succeeds.",
        command=command("events", run, "--state", state),
        tool="read_run_events",
        arguments={"workflow_id": run, "states_json": [state]},
    )


def wait(run: str, state: str) -> Remedy:
    """Wait until the time has come."""
    return Remedy(
        sentence="Nothing is to be done: it goes on by itself at that time.",
        command=command("events", run, "--state", state, "--follow"),
        tool="read_run_events",
        arguments={"workflow_id": run, "states_json": [state]},
    )


def await_outside(run: str, state: str, epoch: int, *, by_token: bool) -> Remedy:
    """Wait for whoever is outside (`by_token`: who has the task token), or end the state by hand."""
    who = (
        "Whoever has the task token ends it with `dcf task success TOKEN`"
        if by_token
        else "Nothing is to be done while that may come"
    )
    return Remedy(
        sentence=f"{who}; end the state by hand if it never comes.",
        command=command("resolve", run, state, "--error", "Lost", "--cause", "it never came"),
        tool="resolve_state",
        arguments={**_visit(run, state, epoch), "error": "Lost", "cause": "it never came"},
    )


def send(run: str, signal: str) -> Remedy:
    """Wait for a signal, or send it."""
    return Remedy(
        sentence="Nothing is to be done while the signal may come; send it yourself if its sender never will.",
        command=command("signal", run, signal),
        tool="send_signal",
        arguments={"workflow_id": run, "name": signal},
    )


def answer(run: str, state: str, epoch: int, asking: Asking) -> Remedy:
    """Answer a human task, in the visit that was seen."""
    person = next(iter(asking.to.people), "NAME")
    groups = () if asking.to.people else ("--group", next(iter(asking.to.groups), "GROUP"))
    choice = next(iter(asking.choices), "approve")
    words = ("approve", run, state) if choice == "approve" else ("answer", run, state, choice)
    return Remedy(
        sentence="One of them answers; `dcf inbox` with the run and the state shows what is asked, and the choices.",
        command=command(*words, "--as", person, *groups, "--epoch", str(epoch)),
        tool="answer_human_task",
        arguments={**_visit(run, state, epoch), "choice": choice, "agent_id": person},
    )


def reply(run: str, question_id: str) -> Remedy:
    """Answer the question of a holder."""
    return Remedy(
        sentence="Answer the question; `dcf inbox` with the run shows it whole.",
        command=command("reply", run, question_id, "ANSWER"),
        tool="answer_question",
        arguments={"workflow_id": run, "question_id": question_id, "answer": "ANSWER"},
    )


def run_clock() -> Remedy:
    """Start a clock."""
    return Remedy(
        sentence="Start dcf serve or dcf pulse: each of them is a clock.", command=command("pulse"), tool="read_health"
    )


def mend_clock() -> Remedy:
    """Help a clock that has too much to do."""
    return Remedy(
        sentence="Look at the log of the clock (dcf serve, dcf pulse), or run another one beside it.",
        command=command("pulse", "--once"),
        tool="read_health",
    )


def mend_store(advice: str | None) -> Remedy:
    """Make Redis take writes."""
    return Remedy(
        sentence=advice or "See what dcf doctor says about Redis.", command=command("doctor"), tool="read_health"
    )


def resume(run: str) -> Remedy:
    """Go on with a paused run."""
    return Remedy(
        sentence="Resume the run.",
        command=command("resume", run),
        tool="resume_run",
        arguments={"workflow_id": run},
    )


def release(run: str) -> Remedy:
    """Release a run that is on hold."""
    return Remedy(
        sentence="Find out what its expressions need so much for: then release the run as an operator, or cancel it.",
        command=command("retry", run),
        tool="retry_run",
        arguments={"workflow_id": run},
    )


def resolve_issue(run: str, issue: str) -> Remedy:
    """Resolve an issue that blocks a run."""
    return Remedy(
        sentence="Do what the issue asks for, then resolve it and say how.",
        command=command("journal", "resolve", run, issue, "--how", "WHAT WAS DONE"),
        tool="resolve_issue",
        arguments={"workflow_id": run, "issue": issue, "how": "WHAT WAS DONE"},
    )


def cancel(run: str) -> Remedy:
    """Cancel a run that cannot go on."""
    return Remedy(
        sentence="Cancel the run, and run the workflow again.",
        command=command("cancel", run),
        tool="cancel_run",
        arguments={"workflow_id": run},
    )


def replace_definition() -> Remedy:
    """Restore the stored workflow."""
    return Remedy(
        sentence="Restore the key of its definition from a backup; if there is none, start the workflow again.",
        command=command("doctor"),
        tool="read_health",
    )


def finalize(run: str) -> Remedy:
    """Close a run that is over."""
    return Remedy(
        sentence="Finalize the run: its audit record is written, and its documents expire if that was asked for.",
        command=command("finalize", run),
        tool="finalize_workflow",
        arguments={"workflow_id": run},
    )


def judge(run: str, state: str, gate: str) -> Remedy:
    """Give the verdict that an output waits for."""
    return Remedy(
        sentence=f"Whoever is asked judges it (decide_gate); override_gate lets it pass '{gate}', with a reason.",
        command=command("gates", run),
        tool="list_gates",
        arguments={"workflow_id": run, "state": state},
    )
