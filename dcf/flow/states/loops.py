"""`while` and `for` as Choices that are come back to. A `for` over `each(...)` is a Map."""

import ast
from collections.abc import Mapping
from typing import Any, Final

from dcf.asl.jsonata.writing import expression
from dcf.flow.expressions.collections import ends_of, items_of
from dcf.flow.expressions.truth import narrowed, truth
from dcf.flow.jsonata_code import Code
from dcf.flow.refusals import Refusal
from dcf.flow.scope import Scope, writes
from dcf.flow.states.step_calls import add_each
from dcf.flow.ways import Loop, Way, into
from dcf.steps import vocabulary as steps
from dcf.steps.value_types import INT
from dcf.values.records import record

_ORDERS: Final = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
_BOUND: Final = (
    "Count the rounds: `while ... and rounds < 100:` with `rounds += 1` in it; or write for round in range(100):, and"
    " break; or give the run a limit: @flow(timeout=86400)."
)
_NO_ELSE: Final = "Set a variable in the loop, and test it after the loop."


@writes(ast.Break, ast.Continue)
def _jump(scope: Scope, node: ast.Break | ast.Continue) -> None:
    if not scope.loops:
        advice = "A part that runs at the same time as others has no loop to leave; use return in a flow of its own."
        raise Refusal(node, "There is no loop around this in the same part.", advice)
    loop = scope.loops[-1]
    scope.leave(loop.depth)
    (loop.breaks if isinstance(node, ast.Break) else loop.continues).extend(scope.open)
    scope.leave_open([])


@writes(ast.While)
def _while(scope: Scope, node: ast.While) -> None:
    if node.orelse:
        raise Refusal(node.orelse[0], "A loop has no else here.", _NO_ELSE)
    if scope.has_step(node.test):
        advice = "Write for attempt in range(100):, assign the step's result, and break where the loop shall end."
        raise Refusal(node.test, "The condition of a loop has no step.", advice)
    if not scope.program.is_timed and not _is_counted(node):
        raise Refusal(node.test, "Nothing bounds this loop, so a run might never end.", _BOUND)
    scope.widen(node.body)
    after = dict(scope.environment)
    heads: list[str] = []
    count = len(scope.states)
    scope.leave_open([*scope.open, heads.append])
    is_endless = isinstance(node.test, ast.Constant) and bool(node.test.value)
    out = [] if is_endless else _test(scope, node)
    loop = _body(scope, node.body)
    if len(scope.states) == count or not heads:
        raise Refusal(node, "This loop does nothing.", "Let it call a step, or sleep.")
    scope.open += loop.continues
    scope.connect(heads[0])
    scope.leave_open([*out, *loop.breaks])
    scope.environment = after


def _is_counted(node: ast.While) -> bool:
    """Return True if the condition has a counter that the body changes in every round: `while n < 9: n += 1`."""
    counters = {target.id for target in map(_changed, node.body) if isinstance(target, ast.Name)}
    is_all = isinstance(node.test, ast.BoolOp) and isinstance(node.test.op, ast.And)
    tests = node.test.values if is_all and isinstance(node.test, ast.BoolOp) else [node.test]
    orders = [test for test in tests if isinstance(test, ast.Compare) and isinstance(test.ops[0], _ORDERS)]
    return any(isinstance(part, ast.Name) and part.id in counters for test in orders for part in ast.walk(test))


def _changed(statement: ast.stmt) -> ast.expr | None:
    """Return what a statement adds to or takes from."""
    match statement:
        case ast.AugAssign(target=target) | ast.Assign(targets=[target], value=ast.BinOp()):
            return target
    return None


def _test(scope: Scope, node: ast.While) -> list[Way]:
    """Write the Choice at the head of a loop; return the way out of it."""
    condition = truth(scope, node.test)
    rule: dict[str, Any] = {"Condition": scope.written(condition, node.test)}
    state: dict[str, Any] = {"Type": "Choice", "Choices": [rule]}
    scope.add(f"while {ast.unparse(node.test)}", state, node)
    scope.leave_open([into(rule)])
    scope.environment |= narrowed(scope, node.test, holds=True)
    return [into(state, "Default")]


def _body(scope: Scope, statements: list[ast.stmt]) -> Loop:
    loop = Loop(len(scope.cleanups))
    scope.loops.append(loop)
    scope.body(statements)
    scope.loops.pop()
    return loop


@record(frozen=True, slots=True, kw_only=True)
class _Course:
    """The course of a `for`: what is assigned before it, its bound, its counter, and the names of each round."""

    assigns: dict[str, Any]
    bound: str
    counter: str
    names: Mapping[str, Code]


@writes(ast.For)
def _for(scope: Scope, node: ast.For) -> None:
    if node.orelse:
        raise Refusal(node.orelse[0], "A loop has no else here.", _NO_ELSE)
    if isinstance(node.iter, ast.Call) and scope.resolve(node.iter.func) is steps.each:
        add_each(scope, node)
        return
    scope.widen(node.body)
    course = _course_of(scope, node)
    name = ", ".join(course.names)
    scope.add(f"for {name}", {"Type": "Pass", "Assign": course.assigns}, node)
    before = dict(scope.environment)
    values = {scope.bind(each, code.type, node): expression(code.text) for each, code in course.names.items()}
    rule: dict[str, Any] = {"Condition": expression(f"${course.counter} < {course.bound}")}
    rule["Assign"] = {**values, course.counter: expression(f"${course.counter} + 1")}
    state: dict[str, Any] = {"Type": "Choice", "Choices": [rule]}
    head = scope.add(f"next {name}", state, node)
    scope.leave_open([into(rule)])
    loop = _body(scope, node.body)
    scope.open += loop.continues
    scope.connect(head)
    rule.setdefault("Next", head)
    scope.leave_open([into(state, "Default"), *loop.breaks])
    scope.environment = before


def _course_of(scope: Scope, node: ast.For) -> _Course:
    last = node.target.elts[-1] if isinstance(node.target, ast.Tuple) and node.target.elts else node.target
    name = last.id if isinstance(last, ast.Name) else "item"
    counter = scope.program.variable(scope.free_name(f"{name}_at"), scope.number)
    is_range = isinstance(node.iter, ast.Call) and scope.resolve(node.iter.func) is range
    if is_range and isinstance(node.iter, ast.Call) and isinstance(node.target, ast.Name):
        return _over_range(scope, node.iter, name, counter)
    holder = scope.program.variable(scope.free_name(f"{name}_items"), scope.number)
    items = items_of(scope, node.target, node.iter, f"${holder}[${counter}]")
    assigns = {counter: 0, holder: scope.written(items.code, node.iter)}
    return _Course(assigns=assigns, bound=f"$count(${holder})", counter=counter, names=items.names)


def _over_range(scope: Scope, call: ast.Call, name: str, counter: str) -> _Course:
    ends = ends_of(scope, call)
    first, last = (scope.written(end, call) for end in (ends[0], ends[-1]))
    assigns: dict[str, Any] = {counter: 0 if len(ends) == 1 else first}
    bound = ends[-1].text
    if not ends[-1].is_constant:
        limit = scope.program.variable(scope.free_name(f"{name}_end"), scope.number)
        assigns[limit], bound = last, f"${limit}"
    return _Course(assigns=assigns, bound=bound, counter=counter, names={name: Code(f"${counter}", INT)})
