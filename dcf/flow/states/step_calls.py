"""A step in a statement: its state enters the machine, and its result becomes the value of a name, or the output."""

import ast
from typing import Any

from dcf.asl.jsonata.writing import expression
from dcf.flow.refusals import Refusal
from dcf.flow.scope import Scope
from dcf.flow.states.nested import NOTHING, inlined, map_state, parallel_state
from dcf.flow.states.step_states import RESULT, StepState, state_of, task_state
from dcf.steps import vocabulary as steps
from dcf.steps.value_types import ANY, NULL, ValueType, fits, join
from dcf.steps.vocabulary import Flow, Task
from dcf.values.records import replace


def add_step(scope: Scope, call: ast.Call, target: str | None = None, hint: ValueType | None = None) -> None:
    """Add the state of a step, and give a name its result."""
    step = _step_state(scope, call)
    _add(scope, step, call)
    if target is not None:
        _keep_result(scope, step, call, target, hint)


def return_step(scope: Scope, call: ast.Call) -> None:
    """Add the state of a step whose result is what the machine returns."""
    step = _step_state(scope, call)
    if step.gives_value:
        set_result(scope, step.type, call)
        _add(scope, step, call, ends=True)
        step.state["End"] = True
        return
    _add(scope, step, call)
    return_nothing(scope, call)


def return_nothing(scope: Scope, node: ast.AST) -> None:
    """End the machine without a result."""
    set_result(scope, NULL, node)
    scope.add("return", {"Type": "Succeed", "Output": NOTHING}, node, ends=True)


def set_result(scope: Scope, kind: ValueType, node: ast.AST) -> None:
    """Note the type of what a machine returns."""
    if scope.returns is not None and not fits(kind, scope.returns):
        message = f"The flow returns {scope.returns}, and this is {kind}."
        raise Refusal(node, message, "Change the value, or the annotation of the flow.")
    scope.result = kind if scope.result is None else join(scope.result, kind) or ANY


def _step_state(scope: Scope, call: ast.Call) -> StepState:
    called = scope.fixed(call.func) if scope.is_changed_task(call.func) else scope.resolve(call.func)
    if isinstance(called, Task):
        return task_state(scope, call, called)
    if isinstance(called, Flow):
        return inlined(scope, call, called)
    if called is steps.parallel:
        return parallel_state(scope, call)[0]
    step = state_of(scope, call)
    assert step is not None, "is_step() knows the calls that are steps"
    return step


def _add(scope: Scope, step: StepState, call: ast.expr | ast.stmt, *, ends: bool = False) -> None:
    if step.state["Type"] != "Wait":
        scope.catch(step.state)
    name = scope.add(step.name, step.state, call, ends=ends)
    called = _task_of(scope, call)
    if called is not None:
        scope.program.functions[name] = called


def _task_of(scope: Scope, call: ast.expr | ast.stmt) -> Task[..., Any] | None:
    if not isinstance(call, ast.Call):
        return None
    called = scope.fixed(call.func) if scope.is_changed_task(call.func) else scope.resolve(call.func)
    return called if isinstance(called, Task) else None


def _keep_result(scope: Scope, step: StepState, node: ast.AST, target: str, hint: ValueType | None) -> None:
    if not step.gives_value:
        raise Refusal(node, "A wait gives no value.", "Write it on a line of its own.")
    if hint is not None and not fits(step.type, hint):
        raise Refusal(node, f"This gives {step.type}, not {hint}.", "Change the annotation.")
    step.state["Assign"] = {scope.bind(target, hint or step.type, node): expression(step.result)}


def add_map(scope: Scope, node: ast.ListComp, target: str | None = None, hint: ValueType | None = None) -> None:
    """Add the Map of a comprehension with a step, and give a name its result."""
    step = _map_of(scope, node, target)
    _add(scope, step, node)
    if target is not None:
        _keep_result(scope, step, node, target, hint)


def return_map(scope: Scope, node: ast.ListComp) -> None:
    """Add the Map whose result is what the machine returns."""
    step = _map_of(scope, node, None)
    set_result(scope, step.type, node)
    _add(scope, step, node, ends=True)
    step.state["End"] = True


def _map_of(scope: Scope, node: ast.ListComp, target: str | None) -> StepState:
    if scope.nested:
        message = "A comprehension with a step stands within an expression."
        raise Refusal(node, message, "Assign the list on a line of its own.")
    if len(node.generators) > 1:
        raise Refusal(node, "A comprehension has one `for` here.", "Call a flow for the inner one.")
    (comprehension,) = node.generators
    item = comprehension.target.id if isinstance(comprehension.target, ast.Name) else "item"
    return map_state(scope, comprehension, node.elt, target or f"each {item}")


def add_each(scope: Scope, node: ast.For) -> None:
    """Add the Map of a `for` over `each(...)`: its body is done for all items at the same time."""
    comprehension = ast.comprehension(node.target, node.iter, [], 0)
    item = node.target.id if isinstance(node.target, ast.Name) else "item"
    _add(scope, map_state(scope, comprehension, node.body, f"each {item}"), node)


def add_branches(scope: Scope, call: ast.Call, names: list[str], node: ast.stmt) -> None:
    """Add a Parallel, and give each name the result of its branch."""
    parallel, kinds = parallel_state(scope, call)
    if len(kinds) != len(names):
        message = f"There are {len(kinds)} branches for {len(names)} names."
        raise Refusal(node, message, "Write one name for each branch.")
    _add(scope, replace(parallel, name=" | ".join(names)), node)
    pairs = enumerate(zip(names, kinds, strict=True))
    parallel.state["Assign"] = {
        scope.bind(name, kind, node): expression(f"{RESULT}[{at}]") for at, (name, kind) in pairs
    }
