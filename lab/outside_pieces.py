"""Pieces of workflows that wait for something outside: for a signal, or for a child run that ends, or never does."""

from typing import TYPE_CHECKING, Any

from lab.crews import AGENTS
from lab.expectation import BUSY, Expected, Piece, States, Value, answer_of, payload_of

if TYPE_CHECKING:
    from lab.pieces import Drawer

CHILD = "arn:aws:states:::states:startExecution.sync:2"
_LIMIT_S = 4


def signal(drawer: "Drawer") -> Piece:
    """Return a Task that waits for a signal; which of its name it gets does not matter."""
    name = drawer.name("Signal")
    parameters = {"name": name}
    state = {"Type": "Task", "Resource": "dcf:signal", "Parameters": parameters}

    def play(expected: Expected, scope: str, _: Value) -> Value:
        expected.done[scope + name] += 1
        expected.note(name, parameters, payload_of(name))
        return payload_of(name)

    return Piece(states={name: state}, first=name, last=name, play=play)


def callback(drawer: "Drawer") -> Piece:
    """Return a Task that waits for a callback, which fails a few times before it succeeds."""
    times = drawer.luck.choice((0, 0, 1, 2))
    name = drawer.name(f"Callback_{times}")
    state = {
        "Type": "Task",
        "Resource": "dcf:callback.waitForTaskToken",
        "Parameters": {"tries.$": "$$.State.RetryCount", "n.$": "$.n"},
        "Retry": [{"ErrorEquals": [BUSY], "IntervalSeconds": 1, "MaxAttempts": times + 1, "BackoffRate": 1.0}],
    }

    def play(expected: Expected, scope: str, value: Value) -> Value:
        for tries in range(times + 1):
            _saw(expected, scope + name, {"tries": tries, "n": value["n"]})
        expected.done[scope + name] += 1
        return answer_of(name, {"tries": times, "n": value["n"]})[1]

    return Piece(states={name: state}, first=name, last=name, play=play)


def mail(drawer: "Drawer") -> Piece:
    """Return a Task whose worker hands its task token out, and which waits for the callback."""
    name = drawer.name("Mail")
    state = {"Type": "Task", "Resource": "mail.waitForTaskToken"}

    def play(expected: Expected, scope: str, value: Value) -> Value:
        _saw(expected, scope + name, value)
        expected.done[scope + name] += 1
        return answer_of(name, value)[1]

    return Piece(states={name: state}, first=name, last=name, play=play)


def _saw(expected: Expected, path: str, document: Value) -> None:
    seen = expected.inputs.setdefault(path, [])
    if document not in seen:
        seen.append(document)


def child(drawer: "Drawer") -> Piece:
    """Return a Task that starts a run of one Task, and continues with its output."""
    name, work = drawer.name("Child"), drawer.name("Work")
    parameters = _parameters_of(drawer, work)
    state = {"Type": "Task", "Resource": CHILD, "Parameters": parameters, "ResultSelector": {"n.$": "$.Output.n"}}

    def play(expected: Expected, scope: str, value: Value) -> Value:
        output = answer_of(work, {"n": value["n"]})[1]
        expected.done[scope + name] += 1
        expected.note(name, _seen(parameters, value), {"Output": output})
        return {"n": output["n"]}

    return Piece(states={name: state}, first=name, last=name, play=play)


def forsaken(drawer: "Drawer") -> Piece:
    """Return a Task whose child never ends, so that it times out and is caught; the child is cancelled."""
    name, after, slow = drawer.name("Child"), drawer.name("Mend"), drawer.name("Slow")
    parameters, result = _parameters_of(drawer, slow), {"n": 4}
    caught = [{"ErrorEquals": ["States.Timeout"], "Next": after}]
    states: States = {
        name: {
            "Type": "Task",
            "Resource": CHILD,
            "Parameters": parameters,
            "Next": after,
            "TimeoutSeconds": _LIMIT_S,
            "Catch": caught,
        },
        after: {"Type": "Pass", "Result": result},
    }

    def play(expected: Expected, scope: str, value: Value) -> Value:
        expected.note(name, _seen(parameters, value), None)
        expected.done[scope + after] += 1
        return result

    return Piece(states=states, first=name, last=after, play=play)


def _parameters_of(drawer: "Drawer", task: str) -> dict[str, Any]:
    """Return what a state says that starts a run of this Task; its workflow is to be kept."""
    machine = {"StartAt": task, "States": {task: {"Type": "Task", "End": True}}}
    named = f"lab-{drawer.seed}-{task}"
    drawer.children.append({"workflow_name": named, "asl": machine})
    return {"StateMachineArn": named, "Input": {"n.$": "$.n"}, "Agents": {task: list(AGENTS)}}


def _seen(request: dict[str, Any], value: Value) -> Value:
    return {**request, "Input": {"n": value["n"]}}
