"""Writes a machine for AWS Step Functions: what dcf's own Resources do is left to functions and queues there. Pure.

A Task of a Python function invokes the Lambda function `${name}`, which a template fills in. The Task of an
agent, a person, a signal or a callback sends a message with its task token to a queue (`${agents}`, `${people}`,
`${signals}`). It waits until a caller ends it with that token.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from dcf.asl.resources import FOR_CALLBACK, FUNCTION, read_resource
from dcf.core.definitions.forms import as_workflow, asl_of
from dcf.errors import InvalidDefinition, Problem
from dcf.values.json_text import Json

_INVOKE: Final = "arn:aws:states:::lambda:invoke"
_SEND: Final = f"arn:aws:states:::sqs:sendMessage{FOR_CALLBACK}"
_RESULT: Final = "$states.result"
_TOKEN: Final = "{% $states.context.Task.Token %}"  # noqa: S105 - where the token is, no token
_TOLERATED: Final = ("ToleratedFailureCount", "ToleratedFailurePercentage")
_OWN: Final = ("AgentBinding", "Instructions", "OutputSchema", "Errors", "Skills", "Gates", "Areas")
"""Fields of a Task that Step Functions does not know; a message has them, so that its receiver can do the work."""

_QUEUES: Final = {"human": "people", "signal": "signals"}


def for_step_functions(document: Mapping[str, Json]) -> dict[str, Json]:
    """Return the machine of a document for Step Functions; raise InvalidDefinition for what it cannot do."""
    workflow: Any = as_workflow(dict(document))
    problems: list[Problem] = []
    machine = _machine(asl_of(workflow), "", problems)
    if problems:
        raise InvalidDefinition(problems)
    return machine


def _machine(machine: Mapping[str, Any], path: str, problems: list[Problem]) -> dict[str, Any]:
    states = {
        name: _WRITERS.get(state.get("Type"), _same)(state, f"{path}/States/{_token(name)}", problems)
        for name, state in machine["States"].items()
    }
    return {**machine, "States": states}


def _token(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")


def _same(state: Mapping[str, Any], _: str, __: list[Problem]) -> dict[str, Any]:
    return dict(state)


def _parallel(state: Mapping[str, Any], path: str, problems: list[Problem]) -> dict[str, Any]:
    branches = [_machine(branch, f"{path}/Branches/{at}", problems) for at, branch in enumerate(state["Branches"])]
    return {**state, "Branches": branches}


def _map(state: Mapping[str, Any], path: str, problems: list[Problem]) -> dict[str, Any]:
    for name in _TOLERATED:
        if name in state:
            message = (
                "Step Functions tolerates failures in a distributed Map only, which knows no variable of the flow."
            )
            hint = "Catch the failures inside the loop, with try and except."
            problems.append(Problem(path=f"{path}/{name}", code="no_aws_equivalent", message=message, hint=hint))
    processor = _machine(state["ItemProcessor"], f"{path}/ItemProcessor", problems)
    return {**state, "ItemProcessor": {"ProcessorConfig": {"Mode": "INLINE"}, **processor}}


def _task(state: Mapping[str, Any], _: str, __: list[Problem]) -> dict[str, Any]:
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
        return _with_result({**own, "Resource": _INVOKE, "Arguments": arguments}, f"{_RESULT}.Payload")
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


def _with_result(state: dict[str, Any], result: str) -> dict[str, Any]:
    """Let a state that ends, or assigns, take the function's own result out of the answer of Lambda."""
    if state.get("End"):
        state["Output"] = f"{{% {result} %}}"
    if "Assign" in state:
        state["Assign"] = {name: str(text).replace(_RESULT, result) for name, text in state["Assign"].items()}
    return state


def _placeholder(name: str) -> str:
    return "".join(character if character.isalnum() else "_" for character in name)


_WRITERS: Final[Mapping[str, Callable[[Mapping[str, Any], str, list[Problem]], dict[str, Any]]]] = {
    "Task": _task,
    "Map": _map,
    "Parallel": _parallel,
}
