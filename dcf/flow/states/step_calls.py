"""A step in a statement: its state enters the machine, and its result is a value that expressions may read."""

import ast
from collections.abc import Sequence

from dcf.asl.jsonata.writing import INDEX
from dcf.flow.folding import RESULT
from dcf.flow.jsonata_code import Code, constant
from dcf.flow.refusals import FollowsRefusal, Refusal
from dcf.flow.scope import Scope, reads
from dcf.flow.source import short_name
from dcf.flow.states.nested import inlined, map_state, parallel_state
from dcf.flow.states.step_states import StepState, state_of, task_state
from dcf.steps import vocabulary as steps
from dcf.steps.vocabulary import Flow, Task
from dcf.values.records import replace


@reads(Task)
def _result_of_step(scope: Scope, node: ast.Call | ast.ListComp) -> Code:
    """Let the state of a step come first, and read its result."""
    if node not in scope.kept:
        _refuse_late(scope, node)
        before = scope.program.refusals
        step = _step_state(scope, node)
        if scope.program.refusals > before:
            raise FollowsRefusal(node, "A part of this step was refused.")
        _add(scope, step, node)
        if not step.gives_value and isinstance(scope.statement, ast.Expr | ast.Return):
            return constant(None)
        if not step.gives_value:
            raise Refusal(node, "A wait gives no value.", "Write it on a line of its own.")
        name = scope.free_name(f"{short_name(node.func) if isinstance(node, ast.Call) else 'items'}_result")
        scope.keep({name: step.code}, step.state, node, spare=name)
        scope.kept[node] = name
        scope.is_late = False
    result = scope.read(scope.kept[node], node)
    assert result is not None, "the name was given its value before"
    return result


def _refuse_late(scope: Scope, node: ast.Call | ast.ListComp) -> None:
    text = f"{ast.unparse(node.func)}(...)" if isinstance(node, ast.Call) else "This list of what a step returns"
    if scope.nested:
        message = f"{text} is a step, and whether it runs here depends on what comes before."
        raise Refusal(node, message, "Write it on a line of its own, within an if; or in a comprehension of its own.")
    if scope.is_late:
        message = f"What stands before {text} may fail, and Python would then not come to the step."
        raise Refusal(node, message, "Assign the result of the step on a line of its own before.")


def _step_state(scope: Scope, node: ast.Call | ast.ListComp) -> StepState:
    if isinstance(node, ast.ListComp):
        return _map_of(scope, node)
    called = scope.fixed(node.func) if scope.is_changed_task(node.func) else scope.resolve(node.func)
    if isinstance(called, Task):
        return task_state(scope, node, called)
    if isinstance(called, Flow):
        return inlined(scope, node, called)
    if called is steps.parallel:
        return parallel_state(scope, node)[0]
    step = state_of(scope, node)
    assert step is not None, "is_step() knows the calls that are steps"
    return step


def _add(scope: Scope, step: StepState, node: ast.expr | ast.stmt) -> None:
    if step.state["Type"] != "Wait":
        scope.catch(step.state)
    name = scope.add(step.name, step.state, node)
    if step.task is not None:
        scope.program.functions[name] = step.task


def _map_of(scope: Scope, node: ast.ListComp) -> StepState:
    if len(node.generators) > 1:
        raise Refusal(node, "A comprehension has one `for` here.", "Call a flow for the inner one.")
    (comprehension,) = node.generators
    name = _name_of_list(scope, node) or f"each {_item(comprehension.target)}"
    return map_state(scope, comprehension, node.elt, name)


def _name_of_list(scope: Scope, node: ast.ListComp) -> str:
    """Return the name that the list is assigned to."""
    match scope.statement:
        case ast.Assign(targets=[target], value=value) | ast.AnnAssign(target=target, value=value) if value is node:
            return target.id if isinstance(target, ast.Name) else ""
    return ""


def _item(target: ast.expr) -> str:
    return target.id if isinstance(target, ast.Name) else "item"


def add_each(scope: Scope, node: ast.For) -> None:
    """Add the Map of a `for` over `each(...)`: its body is done for all items at the same time."""
    comprehension = ast.comprehension(node.target, node.iter, [], 0)
    step = map_state(scope, comprehension, node.body, f"each {_item(node.target)}")
    _add(scope, step, node)
    scope.keep({}, step.state, node)


def add_branches(scope: Scope, call: ast.Call, names: Sequence[str], node: ast.stmt) -> None:
    """Add a Parallel, and give each name the result of its branch."""
    parallel, kinds = parallel_state(scope, call)
    if len(kinds) != len(names):
        raise Refusal(node, f"{len(kinds)} branches for {len(names)} names.", "Write one name for each branch.")
    _add(scope, replace(parallel, name=" | ".join(names)), node)
    results = [Code(f"{RESULT}[{at}]", kind, INDEX) for at, kind in enumerate(kinds)]
    scope.keep(dict(zip(names, results, strict=True)), parallel.state, node)
