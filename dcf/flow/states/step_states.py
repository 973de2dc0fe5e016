"""The state of each kind of step: a task function, an agent, a person, a signal, a child run, a wait."""

import ast
import inspect
import textwrap
import typing
from collections.abc import Callable, Collection, Mapping
from typing import Any, Final

from dcf.asl.jsonata.writing import INDEX, PATH
from dcf.asl.resources import FOR_CALLBACK, FUNCTION
from dcf.flow.folding import RESULT
from dcf.flow.jsonata_code import Code, defined, template
from dcf.flow.refusals import Refusal
from dcf.flow.scope import Scope
from dcf.flow.source import short_name
from dcf.steps import vocabulary as steps
from dcf.steps.answer_types import answer_type
from dcf.steps.limits import limits_of
from dcf.steps.schemas import schema_of
from dcf.steps.suggestions import near
from dcf.steps.value_types import ANY, NULL, STR, ValueType, fits, type_of
from dcf.steps.vocabulary import Flow, Task
from dcf.values.records import record

_CHILD: Final = "arn:aws:states:::states:startExecution.sync:2"
_LIMITS: Final = ("retry", "timeout", "heartbeat")
_OF_HUMAN: Final = ("details", "instructions", "choices", "default", "escalate", "not_by")


@record(frozen=True, slots=True, kw_only=True)
class StepState:
    """A state that is not yet in a machine. `result` is where its output is, `gives_value`: it has one.

    `task` is the task whose function does it.
    """

    state: dict[str, Any]
    name: str
    type: ValueType
    result: str = RESULT
    gives_value: bool = True
    task: Task[..., Any] | None = None

    @property
    def code(self) -> Code:
        """The code of the result."""
        return Code(self.result, self.type, INDEX if self.result.endswith("]") else PATH)


def options_of(call: ast.Call, known: Collection[str]) -> dict[str, ast.expr]:
    """Return the named arguments of a call; refuse those that it does not have."""
    for option in call.keywords:
        if option.arg is None or option.arg not in known:
            message = f"{short_name(call.func)}() has no '{option.arg}'.{near(option.arg or '', known)}"
            raise Refusal(option.value, message, f"It has {', '.join(known)}.")
    return {str(option.arg): option.value for option in call.keywords}


def first_argument(call: ast.Call, noun: str) -> ast.expr:
    """Return the first argument of a call."""
    if not call.args:
        name = short_name(call.func)
        raise Refusal(call, f"{name}() needs {noun} as its first argument.", f"Write {name}(...) with it.")
    return call.args[0]


def arguments_of(
    scope: Scope, call: ast.Call, function: Callable[..., Any], hints: Mapping[str, Any]
) -> dict[str, Code]:
    """Return the arguments of a call by parameter; refuse what Python would refuse, and other types."""
    signature = inspect.signature(function)
    parameters = {name: parameter for name, parameter in signature.parameters.items() if not _is_context(name, hints)}
    starred = next((value for value in call.args if isinstance(value, ast.Starred)), None)
    if starred is not None:
        raise Refusal(starred, "Arguments are written out here.", "Write each argument.")
    options = options_of(call, parameters)
    slots = signature.replace(parameters=list(parameters.values()))
    try:
        bound = slots.bind(*call.args, **options).arguments
    except TypeError as error:
        raise Refusal(call, f"{short_name(call.func)}(): {error}.", f"It is {function.__name__}{slots}.") from None
    return {name: _argument(scope, call, name, value, hints) for name, value in bound.items()}


def _argument(scope: Scope, call: ast.Call, name: str, node: Any, hints: Mapping[str, Any]) -> Code:
    if not isinstance(node, ast.expr):
        raise Refusal(call, f"'{name}' of {short_name(call.func)}() takes any number of values.", "Let it take a list.")
    code = scope.value(node)
    scope.guard(code, node)
    parameter_type = type_of(hints.get(name, Any))
    if not fits(code.type, parameter_type):
        message = f"'{name}' of {short_name(call.func)}() is {parameter_type}, this is {code.type}."
        raise Refusal(node, message, _advice_on(code.type, parameter_type, node))
    return code


def _advice_on(kind: ValueType, value_type: ValueType, node: ast.expr) -> str:
    if kind.optional and not value_type.optional:
        return f"Write `if {ast.unparse(node)} is not None:` around it, or give another value with `or`."
    return "Change the argument, or the annotation of the parameter."


def _is_context(name: str, hints: Mapping[str, Any]) -> bool:
    return name == "context" or getattr(hints.get(name), "__name__", "") == "TaskContext"


def _limits(scope: Scope, options: Mapping[str, ast.expr]) -> dict[str, Any]:
    return limits_of(**{name: scope.fixed(options[name]) for name in _LIMITS if name in options})


def task_state(scope: Scope, call: ast.Call, task: Task[..., Any]) -> StepState:
    """Return the state that calls a task function."""
    hints = typing.get_type_hints(task.function)
    returns = hints.get("return", Any)
    suffix = FOR_CALLBACK if task.callback else ""
    state: dict[str, Any] = {"Type": "Task", "Resource": f"{FUNCTION}{task.place}{suffix}"}
    outside, scope.has_token = scope.has_token, task.callback
    if task.is_whole:
        if len(call.args) != 1 or call.keywords:
            raise Refusal(call, f"{task.name} takes one input.", "Give it one value, such as a dict.")
        state["Arguments"] = scope.field(call.args[0])
    else:
        arguments = arguments_of(scope, call, task.function, hints)
        state["Arguments"] = {name: template(code) for name, code in arguments.items()}
    scope.has_token = outside
    state |= _schema(returns) | limits_of(retry=task.retry, timeout=task.timeout, heartbeat=task.heartbeat)
    return StepState(state=state, name=task.name, type=type_of(returns), task=task)


def _agent_state(scope: Scope, call: ast.Call) -> StepState:
    options = options_of(call, ("output", "data", "gates", "skills", "name", *_LIMITS))
    if len(call.args) < 2:  # noqa: PLR2004 - who, and what
        raise Refusal(call, "agent() needs an agent and its instructions.", 'Write agent("writer", "Write about ...").')
    fixed = {name: scope.fixed(options[name]) for name in ("output", "gates", "skills", "name") if name in options}
    agent_id, output = scope.fixed(call.args[0]), fixed.get("output", Any)
    arguments = _data_of(scope, call, options.get("data"))
    state: dict[str, Any] = {"Type": "Task", "AgentBinding": {"agent_ref": {"id": agent_id}}}
    state["Instructions"] = _instructions(scope, call.args[1], arguments)
    state |= {"Arguments": arguments, **_schema(output), **_limits(scope, options)}
    if "gates" in fixed:
        state["Gates"] = [dict(gate.fields) for gate in fixed["gates"]]
    if "skills" in fixed:
        state["Skills"] = list(fixed["skills"])
    return StepState(state=state, name=str(fixed.get("name", agent_id)), type=type_of(output))


def _schema(output: Any, field: str = "OutputSchema") -> dict[str, Any]:
    schema = schema_of(output)
    return {} if schema is None else {field: schema}


def _data_of(scope: Scope, call: ast.Call, data: ast.expr | None) -> dict[str, Any]:
    """Return what an agent gets as its input: values under their own names, and what `data` names."""
    arguments: dict[str, Any] = {}
    for value in call.args[2:]:
        name = _last_name(value)
        if name is None:
            raise Refusal(value, "The data of an agent needs a name.", 'Write data={"name": ...}.')
        arguments[name] = scope.field(value)
    pairs = zip(data.keys, data.values, strict=True) if isinstance(data, ast.Dict) else [(data, data)] if data else []
    for key, named in pairs:
        if not isinstance(key, ast.Constant) or not isinstance(key.value, str):
            raise Refusal(key or data, "data is a dict with names that are written out.", 'Write data={"name": value}.')
        arguments[key.value] = scope.field(named)
    return arguments


def _instructions(scope: Scope, text: ast.expr, arguments: dict[str, Any]) -> str:
    """Return the instructions; they may read the input of the Task alone, so each value shown becomes an argument."""
    parts: list[str] = []
    for part in text.values if isinstance(text, ast.JoinedStr) else [text]:
        if isinstance(part, ast.FormattedValue):
            parts.append(f"{{% $states.input.{_shown_argument(scope, part, arguments)} %}}")
            continue
        plain = str(part.value if isinstance(part, ast.Constant) else scope.fixed(part))
        parts.append(plain.replace("{%", "{ %").replace("%}", "% }"))
    return textwrap.dedent("".join(parts)).strip()


def _shown_argument(scope: Scope, part: ast.FormattedValue, arguments: dict[str, Any]) -> str:
    if part.format_spec is not None or part.conversion not in {-1, 115}:
        raise Refusal(part.value, "Instructions show values as they are.", "Assign the formatted text before.")
    code = defined(scope.value(part.value))
    value = scope.written(code, part.value)
    argument_name = _last_name(part.value) or "value"
    name, number = argument_name, 2
    while arguments.get(name, value) != value:
        name, number = f"{argument_name}_{number}", number + 1
    arguments[name] = value
    return name


def _last_name(node: ast.expr) -> str | None:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Subscript(slice=ast.Constant(value=str(key))) if key.isidentifier():
            return key
    return None


def _human_state(scope: Scope, call: ast.Call) -> StepState:
    options = options_of(call, ("to", *_OF_HUMAN, "output", "timeout", "name"))
    title = first_argument(call, "a title")
    if "to" not in options:
        raise Refusal(call, "human() needs to=, the people who answer.", 'Write to=["alice"].')
    arguments = {"to": scope.field(options["to"]), "title": scope.field(title)}
    arguments |= {name: scope.field(options[name]) for name in _OF_HUMAN if name in options}
    output = scope.fixed(options["output"]) if "output" in options else Any
    arguments |= _schema(output, "schema")
    state = {"Type": "Task", "Resource": "dcf:human", "Arguments": arguments, **_limits(scope, options)}
    name = scope.fixed(options["name"]) if "name" in options else _text_of(title, "human")
    return StepState(state=state, name=name, type=answer_type(output, has_default="default" in options))


def _text_of(node: ast.expr, otherwise: str) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else otherwise


def _signal_state(scope: Scope, call: ast.Call) -> StepState:
    options = options_of(call, ("output", "timeout"))
    name = first_argument(call, "a name")
    state: dict[str, Any] = {"Type": "Task", "Resource": "dcf:signal", "Arguments": {"name": scope.field(name)}}
    state |= _limits(scope, options)
    output = scope.fixed(options["output"]) if "output" in options else Any
    return StepState(state=state, name=f"signal {_text_of(name, ast.unparse(name))}", type=type_of(output))


def _child_state(scope: Scope, call: ast.Call) -> StepState:
    node = first_argument(call, "a flow")
    called = scope.resolve(node)
    if not isinstance(called, Flow):
        raise Refusal(node, "child() takes a flow.", "Put @flow above the function.")
    inner = ast.copy_location(ast.Call(node, call.args[1:], call.keywords), call)
    hints = typing.get_type_hints(called.function)
    values = {name: template(code) for name, code in arguments_of(scope, inner, called.function, hints).items()}
    state = {"Type": "Task", "Resource": _CHILD, "Arguments": {"StateMachineArn": called.name, "Input": values}}
    kind = type_of(hints.get("return", Any))
    return StepState(state=state, name=f"child {called.name}", type=kind, result=f"{RESULT}.Output")


def _sleep_state(scope: Scope, call: ast.Call) -> StepState:
    node, is_until = first_argument(call, "a time"), short_name(call.func) == "sleep_until"
    time = defined(scope.value(node))
    if not (time.type in {STR, ANY} if is_until else time.type.is_number):
        kind, example = ("a time as text", '"2026-12-24T18:00:00Z"') if is_until else ("seconds", "sleep(30)")
        raise Refusal(call, f"{short_name(call.func)}() takes {kind}; this is {time.type}.", f"Write {example}.")
    state = {"Type": "Wait", "Timestamp" if is_until else "Seconds": scope.written(time, node)}
    name = f"sleep {'until ' if is_until else ''}{ast.unparse(node)}"
    return StepState(state=state, name=name, type=NULL, gives_value=False)


def state_of(scope: Scope, call: ast.Call) -> StepState | None:
    """Return the state of an agent, a person, a signal, a child run or a wait; None for another call."""
    called = scope.resolve(call.func)
    kinds: tuple[tuple[Any, Callable[[Scope, ast.Call], StepState]], ...] = (
        (steps.agent, _agent_state),
        (steps.human, _human_state),
        (steps.signal, _signal_state),
        (steps.child, _child_state),
        (steps.sleep, _sleep_state),
        (steps.sleep_until, _sleep_state),
    )
    return next((make(scope, call) for step, make in kinds if step is called), None)
