"""The state of each kind of step: a task function, an agent, a person, a signal, a child run, a wait."""

import ast
import inspect
import textwrap
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from dcf.asl.resources import FOR_CALLBACK, FUNCTION
from dcf.flow.jsonata_code import Code, defined, template
from dcf.flow.refusals import Refusal
from dcf.flow.scope import Scope
from dcf.flow.source import short_name
from dcf.steps import vocabulary as steps
from dcf.steps.error_names import error_names
from dcf.steps.schemas import schema_of
from dcf.steps.suggestions import near
from dcf.steps.value_types import ANY, NULL, STR, ValueType, fits, type_of
from dcf.steps.vocabulary import Flow, Retry, Task
from dcf.values.records import record

RESULT: Final = "$states.result"
_CHILD: Final = "arn:aws:states:::states:startExecution.sync:2"
_FAILURES: Final = ("States.TaskFailed", "States.Timeout")
_OF_HUMAN: Final = ("details", "instructions", "choices", "default", "escalate", "not_by")


@record(frozen=True, slots=True, kw_only=True)
class StepState:
    """A state that is not yet in a machine. `result` is where its output is, `gives_value`: it has one."""

    state: dict[str, Any]
    name: str
    type: ValueType
    result: str = RESULT
    gives_value: bool = True


def options_of(call: ast.Call, known: Sequence[str]) -> dict[str, ast.expr]:
    """Return the named arguments of a call; refuse those that it does not have."""
    options: dict[str, ast.expr] = {}
    for option in call.keywords:
        if option.arg is None or option.arg not in known:
            hint = near(option.arg or "", known)
            message = f"{short_name(call.func)}() has no '{option.arg}'.{hint}"
            raise Refusal(option.value, message, f"It has {', '.join(sorted(known))}.")
        options[option.arg] = option.value
    return options


def first_argument(call: ast.Call, what: str) -> ast.expr:
    """Return the first argument of a call."""
    if not call.args:
        raise Refusal(call, f"{short_name(call.func)}() needs {what} as its first argument.", "")
    return call.args[0]


def arguments_of(
    scope: Scope, call: ast.Call, function: Callable[..., Any], hints: Mapping[str, Any]
) -> dict[str, Code]:
    """Return the arguments of a call by parameter; refuse what Python would refuse, and other types."""
    signature = inspect.signature(function)
    parameters = {name: one for name, one in signature.parameters.items() if not _is_context(name, hints)}
    starred = next((value for value in call.args if isinstance(value, ast.Starred)), None)
    if starred is not None:
        raise Refusal(starred, "Arguments are written out here.", "Write each argument.")
    for option in call.keywords:
        if option.arg not in parameters:
            message = f"{short_name(call.func)}() has no '{option.arg}'.{near(option.arg or '', parameters)}"
            raise Refusal(option.value, message, f"It has {', '.join(parameters)}.")
    slots = signature.replace(parameters=list(parameters.values()))
    try:
        bound = slots.bind(*call.args, **{str(option.arg): option.value for option in call.keywords}).arguments
    except TypeError as error:
        message = f"{short_name(call.func)}(): {error}."
        raise Refusal(call, message, f"It is {function.__name__}{slots}.") from None
    return {name: _argument(scope, call, name, value, hints) for name, value in bound.items()}


def _argument(scope: Scope, call: ast.Call, name: str, node: Any, hints: Mapping[str, Any]) -> Code:
    if not isinstance(node, ast.expr):
        raise Refusal(call, f"'{name}' of {short_name(call.func)}() takes any number of values.", "Let it take a list.")
    code = scope.value(node)
    scope.guard(code, node)
    wanted = type_of(hints.get(name, Any))
    if not fits(code.type, wanted):
        message = f"'{name}' of {short_name(call.func)}() is {wanted}, this is {code.type}."
        raise Refusal(node, message, _advice_on(code.type, wanted, node))
    return code


def _advice_on(kind: ValueType, wanted: ValueType, node: ast.expr) -> str:
    if kind.optional and not wanted.optional:
        return f"Write `if {ast.unparse(node)} is not None:` around it, or give another value with `or`."
    return "Change the argument, or the annotation of the parameter."


def _is_context(name: str, hints: Mapping[str, Any]) -> bool:
    return name == "context" or getattr(hints.get(name), "__name__", "") == "TaskContext"


def _limits(scope: Scope, options: Mapping[str, ast.expr]) -> dict[str, Any]:
    return {name: scope.fixed(options[name]) for name in ("name", "retry", "timeout", "heartbeat") if options.get(name)}


def set_limits(
    state: dict[str, Any], *, retry: Any = None, timeout: int | None = None, heartbeat: int | None = None
) -> None:
    """Write timeout, heartbeat and retries into a state."""
    if timeout is not None:
        state["TimeoutSeconds"] = timeout
    if heartbeat is not None:
        state["HeartbeatSeconds"] = heartbeat
    retries = (
        [Retry(times=retry)] if isinstance(retry, int) and retry else [retry] if isinstance(retry, Retry) else retry
    )
    if retries:
        state["Retry"] = [_retrier(one) for one in retries]


def _retrier(retry: Retry) -> dict[str, Any]:
    names = [name for kind in retry.on for name in error_names(kind)] or list(_FAILURES)
    rule: dict[str, Any] = {"ErrorEquals": list(dict.fromkeys(names)), "MaxAttempts": retry.times}
    rule |= {"IntervalSeconds": retry.delay, "BackoffRate": retry.backoff}
    if retry.max_delay:
        rule["MaxDelaySeconds"] = retry.max_delay
    if retry.jitter:
        rule["JitterStrategy"] = "FULL"
    return rule


def task_state(scope: Scope, call: ast.Call, task: Task[..., Any]) -> StepState:
    """Return the state that calls a task function."""
    hints = typing.get_type_hints(task.function)
    returns = hints.get("return", Any)
    suffix = FOR_CALLBACK if task.callback else ""
    state: dict[str, Any] = {"Type": "Task", "Resource": f"{FUNCTION}{task.place}{suffix}"}
    if task.is_whole:
        if len(call.args) != 1 or call.keywords:
            raise Refusal(call, f"{task.name} takes one input.", "Give it one value, such as a dict.")
        state["Arguments"] = scope.guarded(call.args[0])
    else:
        arguments = arguments_of(scope, call, task.function, hints)
        state["Arguments"] = {name: template(code) for name, code in arguments.items()}
    schema = schema_of(returns)
    if schema is not None:
        state["OutputSchema"] = schema
    set_limits(state, retry=task.retry, timeout=task.timeout, heartbeat=task.heartbeat)
    return StepState(state=state, name=task.name, type=type_of(returns))


def _agent_state(scope: Scope, call: ast.Call) -> StepState:
    known = ("output", "data", "gates", "skills", "name", "retry", "timeout", "heartbeat")
    options = options_of(call, known)
    if len(call.args) < 2:  # noqa: PLR2004 - who, and what
        raise Refusal(call, "agent() needs an agent and its instructions.", 'Write agent("writer", "Write about ...").')
    who = scope.fixed(call.args[0])
    state: dict[str, Any] = {"Type": "Task", "AgentBinding": {"agent_ref": {"id": who}}}
    arguments = _data_of(scope, call, options.get("data"))
    state["Instructions"] = _instructions(scope, call.args[1], arguments)
    state["Arguments"] = arguments
    output = scope.fixed(options["output"]) if "output" in options else Any
    schema = schema_of(output)
    if schema is not None:
        state["OutputSchema"] = schema
    if "gates" in options:
        state["Gates"] = [dict(gate.fields) for gate in scope.fixed(options["gates"])]
    if "skills" in options:
        state["Skills"] = list(scope.fixed(options["skills"]))
    limits = _limits(scope, options)
    name = str(limits.pop("name", who))
    set_limits(state, **limits)
    return StepState(state=state, name=name, type=type_of(output))


def _data_of(scope: Scope, call: ast.Call, data: ast.expr | None) -> dict[str, Any]:
    """Return what an agent gets as its input: values under their own names, and what `data` names."""
    arguments: dict[str, Any] = {}
    for value in call.args[2:]:
        name = _last_name(value)
        if name is None:
            raise Refusal(value, "The data of an agent needs a name.", 'Write data={"name": ...}.')
        arguments[name] = scope.guarded(value)
    if data is None:
        return arguments
    if not isinstance(data, ast.Dict):
        raise Refusal(data, "data is a dict that is written out.", 'Write data={"name": value}.')
    for key, value in zip(data.keys, data.values, strict=True):
        if not isinstance(key, ast.Constant) or not isinstance(key.value, str):
            raise Refusal(key or value, "The names of data are written out.", 'Write data={"name": value}.')
        arguments[key.value] = scope.guarded(value)
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
        raise Refusal(
            part.value, "Instructions show values as they are.", "Assign the formatted text to a name before."
        )
    code = defined(scope.value(part.value))
    scope.guard(code, part.value)
    value = template(code)
    wanted = _last_name(part.value) or "value"
    name, number = wanted, 2
    while arguments.get(name, value) != value:
        name, number = f"{wanted}_{number}", number + 1
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
    options = options_of(call, ("to", "timeout", "name", *_OF_HUMAN))
    title = first_argument(call, "a title")
    if "to" not in options:
        raise Refusal(call, "human() needs to=, those who are asked.", 'Write to=["alice"].')
    arguments = {"to": scope.guarded(options["to"]), "title": scope.guarded(title)}
    arguments |= {name: scope.guarded(options[name]) for name in _OF_HUMAN if name in options}
    state: dict[str, Any] = {"Type": "Task", "Resource": "dcf:human", "Arguments": arguments}
    limits = _limits(scope, options)
    name = str(limits.pop("name", title.value if isinstance(title, ast.Constant) else "human"))
    set_limits(state, **limits)
    return StepState(state=state, name=name, type=type_of(steps.Answer))


def _signal_state(scope: Scope, call: ast.Call) -> StepState:
    options = options_of(call, ("output", "timeout"))
    name = first_argument(call, "a name")
    state: dict[str, Any] = {"Type": "Task", "Resource": "dcf:signal", "Arguments": {"name": scope.guarded(name)}}
    output = scope.fixed(options["output"]) if "output" in options else Any
    set_limits(state, **_limits(scope, {"timeout": options["timeout"]} if "timeout" in options else {}))
    text = str(name.value) if isinstance(name, ast.Constant) and isinstance(name.value, str) else ast.unparse(name)
    return StepState(state=state, name=f"signal {text}", type=type_of(output))


def _child_state(scope: Scope, call: ast.Call) -> StepState:
    node = first_argument(call, "a flow")
    called = scope.resolve(node)
    if not isinstance(called, Flow):
        raise Refusal(node, "child() takes a flow.", "Put @flow above the function.")
    inner = ast.copy_location(ast.Call(node, call.args[1:], call.keywords), call)
    hints = typing.get_type_hints(called.function)
    values = {name: template(code) for name, code in arguments_of(scope, inner, called.function, hints).items()}
    arguments = {"StateMachineArn": called.name, "Input": values}
    state = {"Type": "Task", "Resource": _CHILD, "Arguments": arguments}
    kind = type_of(hints.get("return", Any))
    return StepState(state=state, name=f"child {called.name}", type=kind, result=f"{RESULT}.Output")


def _sleep_state(scope: Scope, call: ast.Call) -> StepState:
    node, is_until = first_argument(call, "a time"), short_name(call.func) == "sleep_until"
    time = defined(scope.value(node))
    if not (time.type in {STR, ANY} if is_until else time.type.is_number):
        kind, example = ("a time as text", '"2026-12-24T18:00:00Z"') if is_until else ("seconds", "sleep(30)")
        raise Refusal(call, f"{short_name(call.func)}() takes {kind}; this is {time.type}.", f"Write {example}.")
    scope.guard(time, node)
    state = {"Type": "Wait", "Timestamp" if is_until else "Seconds": template(time)}
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
