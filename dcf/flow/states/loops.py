"""`while` and `for` as Choices that are come back to. A `for` over `each(...)` is a Map."""

import ast
from typing import Any, Final

from dcf.asl.jsonata.writing import expression
from dcf.flow.expressions.collections import items_of
from dcf.flow.expressions.truth import narrowed, truth
from dcf.flow.jsonata_code import defined, template
from dcf.flow.refusals import Refusal
from dcf.flow.scope import Scope, writes
from dcf.flow.states.step_calls import add_each
from dcf.flow.ways import Loop, Way, into
from dcf.steps import vocabulary as steps
from dcf.steps.value_types import INT, ValueType
from dcf.values.records import record

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
        advice = "Write while True:, assign the step's result, and break where the loop shall end."
        raise Refusal(node.test, "The condition of a loop has no step.", advice)
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


def _test(scope: Scope, node: ast.While) -> list[Way]:
    """Write the Choice at the head of a loop; return the way out of it."""
    condition = truth(scope, node.test)
    scope.guard(condition, node)
    rule: dict[str, Any] = {"Condition": expression(condition.text)}
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
    """How a `for` goes on: what is assigned before it, its bound, the value of its name, the name of its counter."""

    assigns: dict[str, Any]
    bound: str
    value: str
    kind: ValueType
    counter: str
    name: ast.Name
    number: ast.Name | None = None


@writes(ast.For)
def _for(scope: Scope, node: ast.For) -> None:
    if node.orelse:
        raise Refusal(node.orelse[0], "A loop has no else here.", _NO_ELSE)
    if isinstance(node.iter, ast.Call) and scope.resolve(node.iter.func) is steps.each:
        add_each(scope, node)
        return
    scope.widen(node.body)
    course = _course_of(scope, node)
    name = course.name.id
    scope.add(f"for {name}", {"Type": "Pass", "Assign": course.assigns}, node)
    before = dict(scope.environment)
    assigns = {scope.bind(name, course.kind, node): expression(course.value)}
    assigns[course.counter] = expression(f"${course.counter} + 1")
    if course.number is not None:
        assigns[scope.bind(course.number.id, INT, node)] = expression(f"${course.counter}")
    condition = expression(f"${course.counter} < {course.bound}")
    rule: dict[str, Any] = {"Condition": condition, "Assign": assigns}
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
    target, number, items = node.target, None, node.iter
    is_counted = isinstance(items, ast.Call) and scope.resolve(items.func) is enumerate and len(items.args) == 1
    if is_counted and isinstance(items, ast.Call) and isinstance(target, ast.Tuple) and len(target.elts) > 1:
        first, target, items = target.elts[0], target.elts[1], items.args[0]
        number = first if isinstance(first, ast.Name) else None
    if not isinstance(target, ast.Name):
        advice = "Take the item apart inside; for key in d: ... d[key] goes over a dict."
        raise Refusal(target, "A loop goes over one name, or over enumerate().", advice)
    counter = scope.program.variable(scope.free_name(f"{target.id}_at"), scope.number)
    if isinstance(items, ast.Call) and scope.resolve(items.func) is range:
        return _over_range(scope, items, target, number, counter)
    return _over_list(scope, items, target, number, counter)


def _over_range(scope: Scope, call: ast.Call, name: ast.Name, number: ast.Name | None, counter: str) -> _Course:
    ends = [defined(scope.value(end)) for end in call.args]
    if any(end.type != INT for end in ends) or len(ends) not in {1, 2} or number is not None:
        raise Refusal(call, "range() takes one or two whole numbers here.", "Multiply in the loop for a step.")
    for end in ends:
        scope.guard(end, call)
    assigns: dict[str, Any] = {counter: 0 if len(ends) == 1 else template(ends[0])}
    bound = ends[-1].text
    if not ends[-1].is_constant:
        limit = scope.program.variable(scope.free_name(f"{name.id}_end"), scope.number)
        assigns[limit] = template(ends[-1])
        bound = f"${limit}"
    return _Course(assigns=assigns, bound=bound, value=f"${counter}", kind=INT, counter=counter, name=name)


def _over_list(scope: Scope, node: ast.expr, name: ast.Name, number: ast.Name | None, counter: str) -> _Course:
    items = items_of(scope, ast.comprehension(name, node, [], 0)).code
    scope.guard(items, node)
    held = scope.program.variable(scope.free_name(f"{name.id}_items"), scope.number)
    return _Course(
        assigns={counter: 0, held: template(items)},
        bound=f"$count(${held})",
        value=f"${held}[${counter}]",
        kind=items.type.element,
        counter=counter,
        name=name,
        number=number,
    )
