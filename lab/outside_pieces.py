"""Pieces of workflows that wait for something outside: for a signal, or for a child run that ends, or never does."""

from typing import TYPE_CHECKING, Any

from lab.crews import AGENTS
from lab.expectation import Expected, Piece, States, Value, answer_of, payload_of

if TYPE_CHECKING:
    from lab.pieces import Drawer

CHILD = "arn:aws:states:::states:startExecution.sync:2"
_LIMIT_S = 4


def signal(drawer: "Drawer") -> Piece:
    """Return a Task that waits for a signal; which of its name it gets does not matter."""
    name = drawer.name("Signal")
    given = {"name": name}
    state = {"Type": "Task", "Resource": "dcf:signal", "Parameters": given}

    def play(expected: Expected, scope: str, _: Value) -> Value:
        expected.done[scope + name] += 1
        expected.note(name, given, payload_of(name))
        return payload_of(name)

    return Piece(states={name: state}, first=name, last=name, play=play)


def child(drawer: "Drawer") -> Piece:
    """Return a Task that starts a run of one Task, and goes on with its output."""
    name, work = drawer.name("Child"), drawer.name("Work")
    asked = _asked(drawer, work)
    state = {"Type": "Task", "Resource": CHILD, "Parameters": asked, "ResultSelector": {"n.$": "$.Output.n"}}

    def play(expected: Expected, scope: str, given: Value) -> Value:
        output = answer_of(work, {"n": given["n"]})[1]
        expected.done[scope + name] += 1
        expected.note(name, _seen(asked, given), {"Output": output})
        return {"n": output["n"]}

    return Piece(states={name: state}, first=name, last=name, play=play)


def forsaken(drawer: "Drawer") -> Piece:
    """Return a Task whose child never ends, so that it times out and is caught; the child is cancelled."""
    name, after, slow = drawer.name("Child"), drawer.name("Mend"), drawer.name("Slow")
    asked, result = _asked(drawer, slow), {"n": 4}
    caught = [{"ErrorEquals": ["States.Timeout"], "Next": after}]
    states: States = {
        name: {
            "Type": "Task",
            "Resource": CHILD,
            "Parameters": asked,
            "Next": after,
            "TimeoutSeconds": _LIMIT_S,
            "Catch": caught,
        },
        after: {"Type": "Pass", "Result": result},
    }

    def play(expected: Expected, scope: str, given: Value) -> Value:
        expected.note(name, _seen(asked, given), None)
        expected.done[scope + after] += 1
        return result

    return Piece(states=states, first=name, last=after, play=play)


def _asked(drawer: "Drawer", task: str) -> dict[str, Any]:
    """Return what a state says that starts a run of this Task; its workflow is to be kept."""
    machine = {"StartAt": task, "States": {task: {"Type": "Task", "End": True}}}
    named = f"lab-{drawer.seed}-{task}"
    drawer.children.append({"workflow_name": named, "asl": machine})
    return {"StateMachineArn": named, "Input": {"n.$": "$.n"}, "Agents": {task: list(AGENTS)}}


def _seen(asked: dict[str, Any], given: Value) -> Value:
    return {**asked, "Input": {"n": given["n"]}}
