"""Steps with machines of their own: Maps, Parallels, and flows that are written into another."""

import ast
import inspect
import typing
from collections.abc import Mapping
from typing import Any, Final

from dcf.asl.jsonata.writing import CONDITIONAL, PATH, expression, literal
from dcf.flow.expressions.collections import items_of
from dcf.flow.jsonata_code import Code, template
from dcf.flow.program import Program
from dcf.flow.refusals import Refusal
from dcf.flow.scope import Scope, targets
from dcf.flow.source import source_of
from dcf.flow.states.step_states import RESULT, StepState, arguments_of, options_of
from dcf.steps import vocabulary as steps
from dcf.steps.value_types import ANY, NULL, ValueType, join, joined, list_of, type_of
from dcf.steps.vocabulary import Flow
from dcf.values.records import record

NOTHING: Final = expression("null")
"""The output of a flow without a result."""

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
    if scope.open:
        scope.add("end", {"Type": "Succeed", "Output": NOTHING}, source.tree.body[-1], ends=True)
        scope.result = NULL if scope.result is None else join(scope.result, NULL) or ANY
    program.active.pop()
    comment = ast.get_docstring(source.tree)
    machine = scope.machine() if comment is None else {"Comment": comment.split("\n")[0], **scope.machine()}
    return Body(machine, scope.returns or scope.result or ANY)


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
    arguments = arguments_of(scope, call, flow.function, typing.get_type_hints(flow.function))
    body = body_of(flow, scope.program, scope, {name: code.type for name, code in arguments.items()})
    values = {name: template(code) for name, code in arguments.items()}
    state = {"Type": "Parallel", "Arguments": values, "Branches": [body.machine], "Output": expression(f"{RESULT}[0]")}
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


def map_state(
    scope: Scope,
    comprehension: ast.comprehension,
    body: ast.expr | list[ast.stmt],
    name: str,
) -> StepState:
    """Return the Map of a comprehension with a step, or of a `for` over `each(...)`."""
    options, iterated = _each_options(scope, comprehension.iter)
    target = comprehension.target
    if not isinstance(target, ast.Name):
        raise Refusal(target, "A Map goes over one name.", "Make a list of pairs first.")
    items = _items(scope, comprehension, iterated)
    inner = scope.inner()
    if isinstance(body, ast.expr):
        _write_element(inner, target, items.type.element, body)
    else:
        _write_body(inner, target, items.type.element, body)
    state = {"Type": "Map", "Items": template(items), **options}
    wanted = state.pop("name", None) or name
    return StepState(
        state={**state, "ItemProcessor": inner.machine()}, name=str(wanted), type=list_of(inner.result or ANY)
    )


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


def _items(scope: Scope, comprehension: ast.comprehension, iterated: ast.expr) -> Code:
    target = comprehension.target
    if any(scope.has_step(test) for test in comprehension.ifs):
        raise Refusal(target, "A condition of a comprehension has no step.", "Make a list of the answers first.")
    if comprehension.ifs:
        assert isinstance(target, ast.Name), "checked before"
        chosen = ast.ListComp(
            ast.Name(target.id, ast.Load()), [ast.comprehension(target, iterated, comprehension.ifs, 0)]
        )
        node: ast.expr = ast.fix_missing_locations(ast.copy_location(chosen, iterated))
        items = scope.value(node)
    else:
        node = iterated
        items = items_of(scope, ast.comprehension(target, iterated, [], comprehension.is_async)).code
    scope.guard(items, node)
    return items


def _write_element(inner: Scope, target: ast.Name, kind: ValueType, body: ast.expr) -> None:
    """Write the states of one element. A single step reads the Map's input; anything else begins with a Pass."""
    if _is_single_step(inner, body):
        inner.environment[target.id] = Code("$states.input", kind)
        inner.assigned.add(target.id)
    else:
        _bind_item(inner, target, kind)
    inner.write(ast.copy_location(ast.Return(body), body))


def _is_single_step(inner: Scope, body: ast.expr) -> bool:
    if not isinstance(body, ast.Call) or not inner.is_step(body):
        return False
    called = inner.resolve(body.func)
    has_machine = isinstance(called, Flow) or called is steps.parallel
    return not has_machine and sum(inner.is_step(part) for part in ast.walk(body)) == 1


def _bind_item(inner: Scope, target: ast.Name, kind: ValueType) -> None:
    variable = inner.bind(target.id, kind, target)
    inner.add(target.id, {"Type": "Pass", "Assign": {variable: expression("$states.input")}}, target)


def _write_body(inner: Scope, target: ast.Name, kind: ValueType, body: list[ast.stmt]) -> None:
    _bind_item(inner, target, kind)
    inner.body(body)
    if inner.open:
        inner.add("done", {"Type": "Succeed", "Output": NOTHING}, body[-1], ends=True)
        inner.result = NULL
