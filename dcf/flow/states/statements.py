"""Statements that go straight on: assignments, calls, return, and those that a flow cannot have."""

import ast
from typing import Any, Final

from dcf.asl.jsonata.writing import expression
from dcf.flow.jsonata_code import Code, any_risky, defined, listed
from dcf.flow.refusals import Refusal
from dcf.flow.scope import Scope, writes
from dcf.flow.states.lists import refuse_second_name
from dcf.flow.states.step_calls import add_branches
from dcf.steps import vocabulary as steps
from dcf.steps.value_types import ANY, ValueType, fits, join, type_of

_NOTHING: Final = expression("null")
"""The output of a flow without a result: a state without Output would have its input as its output."""
_RESULT_NAME: Final = "returned"


@writes(ast.Pass)
def _pass(_: Scope, __: ast.Pass) -> None:
    """Write nothing."""


@writes(ast.Expr)
def _alone(scope: Scope, node: ast.Expr) -> None:
    match node.value:
        case ast.Constant(value=str()):
            return  # a docstring
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="append"), args=[item]) as call:
            _append(scope, name, item, call)
            return
    value = node.value
    scope.value(value)
    if scope.is_step(value):
        return
    if isinstance(value, ast.Call):
        message = f"What {ast.unparse(value.func)}() returns is not used, and it is no step."
        raise Refusal(node, message, "Put @task above it if it has an effect.")
    raise Refusal(node, "This has no effect.", "Assign it, or leave it out.")


def _append(scope: Scope, name: str, item: ast.expr, call: ast.Call) -> None:
    """Write `xs.append(x)` as a new list, which is the same where the list has one name."""
    items = scope.read(name, call)
    if items is None or items.type.kind != "list" or name not in scope.assigned:
        raise Refusal(call, f"'{name}' is not a list of this part of the flow.", "Start with: xs: list[str] = []")
    refuse_second_name(scope, name, call)
    scope.assign(name, lambda: _longer(scope, name, item, call), call)


def _longer(scope: Scope, name: str, node: ast.expr, call: ast.Call) -> Code:
    item = defined(scope.value(node))
    items = scope.read(name, call)
    assert items is not None, "checked before"
    if items.type.item != ANY and not fits(item.type, items.type.element):
        raise Refusal(node, f"'{name}' is a {items.type}, this is {item.type}.", "Change the annotation of the list.")
    longer = listed([item])
    return Code(f"$append({items.text}, {longer.text})", items.type, may_fail=any_risky([item, longer]))


@writes(ast.Assign)
def _assign(scope: Scope, node: ast.Assign) -> None:
    if len(node.targets) > 1:
        raise Refusal(node, "One target here: a = b = ... would be one value under two names.", "Assign twice.")
    target = node.targets[0]
    if isinstance(target, ast.Tuple):
        _unpack(scope, target, node.value, node)
    else:
        _assign_to(scope, target, node.value, node, None)


@writes(ast.AnnAssign)
def _assign_with_type(scope: Scope, node: ast.AnnAssign) -> None:
    hint = type_of(scope.fixed(node.annotation))
    if node.value is not None:
        _assign_to(scope, node.target, node.value, node, hint)
    elif isinstance(node.target, ast.Name):
        scope.declared[node.target.id] = hint


@writes(ast.AugAssign)
def _change(scope: Scope, node: ast.AugAssign) -> None:
    value = ast.copy_location(ast.BinOp(node.target, node.op, node.value), node)
    if not isinstance(node.target, ast.Name):
        raise _refusal_of_target(scope, node.target, node, ast.unparse(value))
    name = node.target.id
    if scope.value(node.target).type.kind == "list":
        refuse_second_name(scope, name, node)
    scope.assign(name, lambda: scope.value(value), node)


def _assign_to(scope: Scope, target: ast.expr, value: ast.expr, node: ast.stmt, hint: ValueType | None) -> None:
    if not isinstance(target, ast.Name):
        raise _refusal_of_target(scope, target, node)
    scope.assign(target.id, lambda: scope.value(value), node, hint)


def _refusal_of_target(scope: Scope, target: ast.expr, node: ast.stmt, value: str = "...") -> Refusal:
    if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
        owner, key = target.value.id, ast.unparse(target.slice)
        if scope.value(target.value).type.kind == "list":
            return Refusal(node, "This changes a list in place.", f"Write [... for at, x in enumerate({owner})].")
        return Refusal(node, "This changes a value in place.", f"Write {owner} = {{**{owner}, {key}: {value}}}.")
    if isinstance(target, ast.Attribute):
        return Refusal(node, "A field cannot be set: values of a flow do not change.", "Make a new object.")
    return Refusal(node, "This changes a value in place.", "Assign a new value to one name.")


def _unpack(scope: Scope, target: ast.Tuple, value: ast.expr, node: ast.stmt) -> None:
    names = [part.id for part in target.elts if isinstance(part, ast.Name)]
    if len(names) != len(target.elts):
        raise Refusal(target, "Only names can be unpacked.", "Read the parts: x[0], x[1].")
    if isinstance(value, ast.Call) and scope.resolve(value.func) is steps.parallel:
        add_branches(scope, value, names, node)
        return
    if not isinstance(value, ast.Tuple) or len(value.elts) != len(names):
        raise Refusal(node, "Only parallel(...) and a written tuple are taken apart.", "Read the parts: x[0], x[1].")
    codes = [scope.value(part) for part in value.elts]
    values = [scope.written(code, node) for code in codes]
    variables = [scope.bind(name, code.type, node) for name, code in zip(names, codes, strict=True)]
    assigns: dict[str, Any] = dict(zip(variables, values, strict=True))
    scope.add(", ".join(names), {"Type": "Pass", "Assign": assigns}, node)


@writes(ast.Return)
def _return(scope: Scope, node: ast.Return) -> None:
    if scope.cleanups:
        _return_through_finally(scope, node)
    else:
        _return_value(scope, node.value or ast.copy_location(ast.Constant(None), node), node)


def _return_value(scope: Scope, value: ast.expr, node: ast.stmt) -> None:
    """End with a value: in the state of the step before, where that is the same, else in a state of its own."""
    code = scope.value(value)
    _note_result(scope, code.type, node)
    output = scope.written(code, node)
    last = scope.last
    if last is not None and last.state["Type"] != "Pass":
        assigned = last.assigned.get(value.id) if isinstance(value, ast.Name) else None
        folded = scope.folded(lambda: scope.value(value)) if assigned is None else assigned[1]
        if folded is not None:
            last.end(_or_nothing(scope.written(folded, node)))
            scope.leave_open([])
            return
    scope.add("return", {"Type": "Succeed", "Output": _or_nothing(output)}, node, ends=True)


def _or_nothing(output: Any) -> Any:
    return _NOTHING if output is None else output


def _note_result(scope: Scope, kind: ValueType, node: ast.AST) -> None:
    """Note the type of what a machine returns."""
    if scope.returns is not None and not fits(kind, scope.returns):
        raise Refusal(node, f"The flow returns {scope.returns}, and this is {kind}.", "Change it, or the annotation.")
    scope.result = kind if scope.result is None else join(scope.result, kind) or ANY


def _return_through_finally(scope: Scope, node: ast.Return) -> None:
    """Work out the value first, then do what the finally clauses say, then return it."""
    name = scope.free_name(_RESULT_NAME)
    value = node.value or ast.copy_location(ast.Constant(None), node)
    assign = ast.Assign([ast.copy_location(ast.Name(name, ast.Store()), node)], value)
    scope.write(ast.copy_location(assign, node))
    scope.leave(0)
    if scope.open:
        cleanups, scope.cleanups = scope.cleanups, []
        _return_value(scope, ast.copy_location(ast.Name(name, ast.Load()), node), node)
        scope.cleanups = cleanups
