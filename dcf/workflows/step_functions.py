"""Writes a machine for AWS Step Functions: what dcf's own Resources do is left to functions and queues there. Pure.

A Task of a Python function invokes the Lambda function `${name}`, which a template fills in. The Task of an
agent, a person, a signal or a callback sends a message with its task token to a queue (`${agents}`, `${people}`,
`${signals}`). It waits until a caller ends it with that token.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from dcf.asl.jsonata.writing import literal
from dcf.asl.resources import FOR_CALLBACK, FUNCTION, read_resource
from dcf.core.definitions.forms import as_workflow, asl_of
from dcf.values.json_text import Json

_INVOKE: Final = "arn:aws:states:::lambda:invoke"
_SEND: Final = f"arn:aws:states:::sqs:sendMessage{FOR_CALLBACK}"
_RESULT: Final = "$states.result"
_TOKEN: Final = "{% $states.context.Task.Token %}"  # noqa: S105 - where the token is, no token
_TOLERATED: Final = ("ToleratedFailureCount", "ToleratedFailurePercentage")
_TOO_MANY: Final = "States.ExceedToleratedFailureThreshold"
_OWN: Final = ("AgentBinding", "Instructions", "OutputSchema", "Errors", "Skills", "Gates", "Areas")
"""Fields of a Task that Step Functions does not know; a message has them, so that its receiver can do the work."""

_QUEUES: Final = {"human": "people", "signal": "signals"}
_OF_RUN: Final = {"$states.context.Execution.Input": "$run_input", "$states.context.Execution.Name": "$run_id"}
"""Places where an item of a distributed Map finds its own execution, and the variables that have those of the run."""

_TEXTS: Final = r"""("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')"""
_BEGIN: Final = "take what the run has"
"""The first state of an item of a distributed Map."""


def for_step_functions(document: Mapping[str, Json]) -> dict[str, Json]:
    """Return the machine of a document for Step Functions."""
    workflow: Any = as_workflow(dict(document))
    return _machine(asl_of(workflow), frozenset())


def _machine(machine: Mapping[str, Any], outer: frozenset[str]) -> dict[str, Any]:
    """Return a machine for Step Functions; `outer` are the variables of the machines around it."""
    known = outer | set(_assigned(machine["States"]))
    states = {name: _WRITERS.get(state.get("Type"), _same)(state, known) for name, state in machine["States"].items()}
    return {**machine, "States": {name: _with_expression(state) for name, state in states.items()}}


def _with_expression(state: dict[str, Any]) -> dict[str, Any]:
    """Write an Output that is no object as an expression, which every validator takes."""
    output = state.get("Output", {})
    if isinstance(output, dict | list) or (isinstance(output, str) and output.startswith("{%")):
        return state
    return {**state, "Output": f"{{% {literal(output)} %}}"}


def _assigned(states: Mapping[str, Any]) -> Iterator[str]:
    for state in states.values():
        for holder in [state, *state.get("Choices", ()), *state.get("Catch", ())]:
            yield from holder.get("Assign", ())


def _same(state: Mapping[str, Any], _: frozenset[str]) -> dict[str, Any]:
    return dict(state)


def _parallel(state: Mapping[str, Any], known: frozenset[str]) -> dict[str, Any]:
    return {**state, "Branches": [_machine(branch, known) for branch in state["Branches"]]}


def _map(state: Mapping[str, Any], known: frozenset[str]) -> dict[str, Any]:
    processor = _machine(state["ItemProcessor"], known)
    if not any(name in state for name in _TOLERATED):
        return {**state, "ItemProcessor": {"ProcessorConfig": {"Mode": "INLINE"}, **processor}}
    return _distributed({**state, "ItemProcessor": processor}, known)


def _distributed(state: dict[str, Any], known: frozenset[str]) -> dict[str, Any]:
    """Return a Map that tolerates failures: each item is an execution of its own, which gets what it reads as input."""
    names = {f"${name}": f"$run_{name}" for name in sorted(known)} | _OF_RUN
    read: set[str] = set()
    processor = _changed(state["ItemProcessor"], names, read)
    if read:
        item = state.get("ItemSelector", "{% $states.context.Map.Item.Value %}")
        own = {names[place][1:]: place for place in names if place in read}
        state["ItemSelector"] = {"item": item, "read": {name: f"{{% {place} %}}" for name, place in own.items()}}
        begin = {"Type": "Pass", "Assign": {name: f"{{% $states.input.read.{name} %}}" for name in own}}
        begin |= {"Output": "{% $states.input.item %}", "Next": processor["StartAt"]}
        processor |= {"StartAt": _BEGIN, "States": {_BEGIN: begin, **processor["States"]}}
    config = {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"}
    caught = {"Catch": [_catching_too_many(rule) for rule in state["Catch"]]} if "Catch" in state else {}
    return {**state, **caught, "ItemProcessor": {"ProcessorConfig": config, **processor}}


def _changed(value: Any, names: Mapping[str, str], result: set[str]) -> Any:
    """Return a field with other names in its expressions, but for their texts; `found` gets the names that it has."""
    if isinstance(value, dict):
        return {name: _changed(part, names, result) for name, part in value.items()}
    if isinstance(value, list):
        return [_changed(part, names, result) for part in value]
    if not isinstance(value, str) or not value.startswith("{%"):
        return value

    def change(match: re.Match[str]) -> str:
        if match[1] is None:
            result.add(match[2])
        return match[1] or names[match[2]]

    return re.sub(rf"{_TEXTS}|({'|'.join(map(re.escape, names))})\b", change, value)


def _catching_too_many(rule: Mapping[str, Any]) -> dict[str, Any]:
    """Let a catcher also take the name under which a distributed Map fails, which is not the error of an item there."""
    errors = rule["ErrorEquals"]
    return {**rule, "ErrorEquals": errors if errors == ["States.ALL"] else [*errors, _TOO_MANY]}


def _names() -> Iterator[str]:
    name = "variables"
    while True:
        yield name
        name += "_"


def _task(state: Mapping[str, Any], _: frozenset[str]) -> dict[str, Any]:
    resource = str(state.get("Resource", ""))
    kind = read_resource(resource or None).kind
    if kind == "child":
        called = state["Arguments"]
        machine = f"${{{_placeholder(called['StateMachineArn'])}}}"
        return {**state, "Arguments": {**called, "StateMachineArn": machine}}
    own = {name: value for name, value in state.items() if name not in {*_OWN, "Resource", "Arguments"}}
    if resource.startswith(FUNCTION) and kind == "work":
        name = resource.removeprefix(FUNCTION).rpartition(".")[2]
        arguments = {"FunctionName": f"${{{_placeholder(name)}}}", "Payload": state.get("Arguments", {})}
        return _with_payload({**own, "Resource": _INVOKE, "Arguments": arguments})
    queue = _placeholder(resource.removeprefix(FUNCTION).removesuffix(FOR_CALLBACK).rpartition(".")[2]) or "agents"
    body = {"token": _TOKEN, "arguments": state.get("Arguments", {}), **_briefing(state)}
    arguments = {"QueueUrl": f"${{{_QUEUES.get(kind, queue)}}}", "MessageBody": body}
    return {**own, "Resource": _SEND, "Arguments": arguments}


def _briefing(state: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a Task tells its agent; instructions read the input of the Task, which is in the message too."""
    briefing = {name: state[name] for name in _OWN if name in state}
    if "Instructions" in briefing:
        briefing["Instructions"] = briefing["Instructions"].replace("{%", "{").replace("%}", "}")
    return briefing


def _with_payload(state: dict[str, Any]) -> dict[str, Any]:
    """Let a state take the result of the function out of the answer of Lambda, which wraps it."""
    read = {"Output": f"{{% {_RESULT} %}}", **state} if state.get("End") else state
    wrapped = {_RESULT: f"{_RESULT}.Payload"}
    return {**read, **{name: _changed(read[name], wrapped, set()) for name in ("Output", "Assign") if name in read}}


def _placeholder(name: str) -> str:
    return "".join(character if character.isalnum() else "_" for character in name)


_WRITERS: Final[Mapping[str, Callable[[Mapping[str, Any], frozenset[str]], dict[str, Any]]]] = {
    "Task": _task,
    "Map": _map,
    "Parallel": _parallel,
}
