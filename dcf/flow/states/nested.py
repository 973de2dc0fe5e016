"""Steps with machines of their own: Maps, Parallels, and flows that are written into another."""

import ast
import inspect
import typing
from collections.abc import Mapping
from typing import Any, Final

from dcf.asl.jsonata.writing import CONDITIONAL, PATH, expression, literal
from dcf.flow.expressions.collections import items_of
from dcf.flow.folding import RESULT
from dcf.flow.jsonata_code import Code, template
from dcf.flow.names import targets
from dcf.flow.program import Program
from dcf.flow.refusals import Refusal
from dcf.flow.scope import Scope
from dcf.flow.source import source_of
from dcf.flow.states.step_states import StepState, arguments_of, options_of
from dcf.steps import vocabulary as steps
from dcf.steps.value_types import ANY, ValueType, joined, list_of, type_of
from dcf.steps.vocabulary import Flow
from dcf.values.records import record

_INPUT: Final = "$states.context.Execution.Input"
_HUNDRED: Final = 100


@record(frozen=True, slots=True)
class Body:
    """The machine of a flow, and the type of what it returns."""

    machine: dict[str, Any]
    type: ValueType


def body_of(
    flow: Flow[..., Any], program: Program, caller: Scope | None, kinds: Mapping[str, ValueType] | None
) -> Body:
    """Write the machine of a flow: that of a run, or (with the types of its arguments) one within another flow."""
    source = source_of(flow.function)
    scope = Scope(program, source, caller=caller)
    hint = source.hints.get("return", Any)
    scope.returns = None if hint is Any else type_of(hint)
    program.active.append(flow.function)
    _bind_parameters(scope, kinds)
    scope.body(source.tree.body)
    _return_nothing(scope, source.tree.body[-1])
    program.active.pop()
    comment = ast.get_docstring(source.tree)
    machine = scope.machine() if comment is None else {"Comment": comment.split("\n")[0], **scope.machine()}
    return Body(machine, scope.returns or scope.result or ANY)


def _return_nothing(scope: Scope, last: ast.stmt) -> None:
    """Return None where control comes to the end, as Python does."""
    if scope.open:
        scope.body([ast.copy_location(ast.Return(), last)])


def _bind_parameters(scope: Scope, kinds: Mapping[str, ValueType] | None) -> None:
    """Give the parameters their values: a run has them as its input, unless they change or have defaults."""
    source = scope.source
    changed = set(targets(source.tree.body))
    assigns: dict[str, Any] = {}
    for name, parameter in inspect.signature(source.function).parameters.items():
        kind = type_of(source.hints.get(name, Any))
        text = f"{_INPUT if kinds is None else '$states.input'}.{name}"
        has_default = parameter.default is not parameter.empty
        if kinds is None and not has_default and name not in changed:
            scope.environment[name] = Code(text, kind, PATH)
            scope.declared[name] = kind
            scope.assigned.add(name)
            continue
        code = Code(text, kind, PATH)
        if has_default:
            code = Code(f"$exists({text}) ? {text} : {literal(parameter.default)}", kind, CONDITIONAL)
        assigns[scope.bind(name, kind, source.tree)] = template(code)
    if assigns:
        scope.add("input", {"Type": "Pass", "Assign": assigns}, source.tree)


def inlined(scope: Scope, call: ast.Call, flow: Flow[..., Any]) -> StepState:
    """Return a flow within a flow: a Parallel of one branch, so that its returns, failures and names stay its own."""
    if flow.function in scope.program.active:
        message = f"{flow.name} calls itself, so it could never be written out."
        raise Refusal(call, message, "Write child(...), which is a run of its own, or a loop.")
    if flow.timeout is not None:
        message = f"{flow.name} has a timeout, and only a run has one; written in here it would be dropped."
        raise Refusal(call, message, f"Write child({flow.function.__name__}, ...), or leave its timeout out.")
    arguments = arguments_of(scope, call, flow.function, typing.get_type_hints(flow.function))
    body = body_of(flow, scope.program, scope, {name: code.type for name, code in arguments.items()})
    values = {name: template(code) for name, code in arguments.items()}
    state = {"Type": "Parallel", "Arguments": values, "Branches": [body.machine]}
    return StepState(state=state, name=flow.name, type=body.type, result=f"{RESULT}[0]")


def parallel_state(scope: Scope, call: ast.Call) -> tuple[StepState, list[ValueType]]:
    """Return the Parallel of `parallel(...)`, and the type of what each branch returns."""
    if not call.args or call.keywords:
        raise Refusal(call, "parallel() takes steps, one for each branch.", "Write parallel(fetch(a), fetch(b)).")
    scopes = [_branch(scope, branch) for branch in call.args]
    state = {"Type": "Parallel", "Branches": [inner.machine() for inner in scopes]}
    kinds = [inner.result or ANY for inner in scopes]
    return StepState(state=state, name="parallel", type=list_of(joined(kinds) or ANY)), kinds


def _branch(scope: Scope, node: ast.expr) -> Scope:
    inner = scope.inner()
    inner.write(ast.copy_location(ast.Return(node), node))
    return inner


def map_state(scope: Scope, comprehension: ast.comprehension, body: ast.expr | list[ast.stmt], name: str) -> StepState:
    """Return the Map of a comprehension with a step, or of a `for` over `each(...)`."""
    options, iterated = _each_options(scope, comprehension.iter)
    target = comprehension.target
    if not isinstance(target, ast.Name):
        raise Refusal(target, "A Map goes over one name.", "Make a list of pairs first.")
    items, kind = _items(scope, comprehension, iterated)
    inner = scope.inner()
    statements: list[ast.stmt] = [ast.copy_location(ast.Return(body), body)] if isinstance(body, ast.expr) else body
    if isinstance(body, ast.expr) and _is_single_step(inner, body):
        inner.environment[target.id] = Code("$states.input", kind.element)
        inner.assigned.add(target.id)
    else:
        variable = inner.bind(target.id, kind.element, target)
        inner.add(target.id, {"Type": "Pass", "Assign": {variable: expression("$states.input")}}, target)
    inner.body(statements)
    _return_nothing(inner, statements[-1])
    chosen_name = options.pop("name", None) or name
    state = {"Type": "Map", "Items": items, **options, "ItemProcessor": inner.machine()}
    return StepState(state=state, name=str(chosen_name), type=list_of(inner.result or ANY))


def _each_options(scope: Scope, iterated: ast.expr) -> tuple[dict[str, Any], ast.expr]:
    if not isinstance(iterated, ast.Call) or scope.resolve(iterated.func) is not steps.each:
        return {}, iterated
    if len(iterated.args) != 1:
        raise Refusal(iterated, "each() takes the items it goes over.", "Write each(urls, concurrency=4).")
    options = options_of(iterated, ("concurrency", "tolerate", "name"))
    fixed = {name: scope.fixed(value) for name, value in options.items()}
    fields: dict[str, Any] = {"name": fixed.get("name")}
    if fixed.get("concurrency"):
        fields["MaxConcurrency"] = fixed["concurrency"]
    tolerate = fixed.get("tolerate", 0)
    if isinstance(tolerate, float) and tolerate:
        fields["ToleratedFailurePercentage"] = round(tolerate * _HUNDRED)
    elif tolerate:
        fields["ToleratedFailureCount"] = tolerate
    return fields, iterated.args[0]


def _items(scope: Scope, comprehension: ast.comprehension, iterated: ast.expr) -> tuple[Any, ValueType]:
    target = comprehension.target
    if any(scope.has_step(test) for test in comprehension.ifs):
        raise Refusal(target, "A condition of a comprehension has no step.", "Make a list of the answers first.")
    if comprehension.ifs:
        assert isinstance(target, ast.Name), "checked before"
        loop = ast.comprehension(target, iterated, comprehension.ifs, 0)
        chosen = ast.ListComp(ast.Name(target.id, ast.Load()), [loop])
        node: ast.expr = ast.fix_missing_locations(ast.copy_location(chosen, iterated))
        items = scope.value(node)
    else:
        node = iterated
        items = items_of(scope, target, iterated).code
    return scope.written(items, node), items.type


def _is_single_step(inner: Scope, body: ast.expr) -> bool:
    if not isinstance(body, ast.Call) or not inner.is_step(body):
        return False
    called = inner.resolve(body.func)
    has_machine = isinstance(called, Flow) or called is steps.parallel
    return not has_machine and sum(inner.is_step(part) for part in ast.walk(body)) == 1
