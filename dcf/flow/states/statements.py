"""Statements that go straight on: assignments, calls, return, and those that a flow cannot have."""

import ast
from typing import Any, Final

from dcf.flow.jsonata_code import Code, any_risky, defined, listed, template
from dcf.flow.refusals import Refusal
from dcf.flow.scope import Scope, writes
from dcf.flow.states.lists import refuse_second_name
from dcf.flow.states.nested import NOTHING
from dcf.flow.states.step_calls import (
    add_branches,
    add_map,
    add_step,
    return_map,
    return_nothing,
    return_step,
    set_result,
)
from dcf.steps import vocabulary as steps
from dcf.steps.value_types import ANY, ValueType, fits, type_of

_RESULT_NAME: Final = "returned"


@writes(ast.Pass)
def _pass(_: Scope, __: ast.Pass) -> None:
    """Write nothing."""


@writes(ast.Expr)
def _alone(scope: Scope, node: ast.Expr) -> None:
    value = node.value
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        return  # a docstring
    if isinstance(value, ast.Call) and scope.is_step(value):
        add_step(scope, value)
    elif isinstance(value, ast.ListComp) and scope.has_step(value.elt):
        add_map(scope, value)
    elif isinstance(value, ast.Call) and _is_append(value):
        _append(scope, value)
    else:
        scope.value(value)
        if isinstance(value, ast.Call):
            message = f"What {ast.unparse(value.func)}() returns is not used, and it is no step."
            raise Refusal(node, message, "Put @task above it if it has an effect.")
        raise Refusal(node, "This has no effect.", "Assign it, or leave it out.")


def _is_append(call: ast.Call) -> bool:
    function = call.func
    is_method = isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name)
    return is_method and isinstance(function, ast.Attribute) and function.attr == "append" and len(call.args) == 1


def _append(scope: Scope, call: ast.Call) -> None:
    """Write `xs.append(x)` as a new list, which is the same where the list has one name."""
    assert isinstance(call.func, ast.Attribute), "checked before"
    assert isinstance(call.func.value, ast.Name), "checked before"
    name = call.func.value.id
    items = scope.read(name, call)
    if items is None or items.type.kind != "list" or name not in scope.assigned:
        raise Refusal(call, f"'{name}' is not a list of this part of the flow.", "Start with: xs: list[str] = []")
    refuse_second_name(scope, name, call)
    item = defined(scope.value(call.args[0]))
    if items.type.item != ANY and not fits(item.type, items.type.element):
        raise Refusal(
            call.args[0], f"'{name}' is a {items.type}, this is {item.type}.", "Change the annotation of the list."
        )
    longer = listed([item])
    items = scope.read(name, call) or items
    code = Code(f"$append({items.text}, {longer.text})", items.type, may_fail=any_risky([item, longer]))
    scope.assign(name, code, call)


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
    if not isinstance(node.target, ast.Name):
        raise Refusal(node, "This changes a value in place.", "Assign a new one: d = {**d, 'k': v}.")
    name = node.target.id
    value = ast.BinOp(ast.Name(name, ast.Load()), node.op, node.value)
    ast.fix_missing_locations(ast.copy_location(value, node))
    code = scope.value(value)
    if code.type.kind == "list":
        refuse_second_name(scope, name, node)
    scope.assign(name, code, node)


def _assign_to(scope: Scope, target: ast.expr, value: ast.expr, node: ast.stmt, hint: ValueType | None) -> None:
    if not isinstance(target, ast.Name):
        raise _refusal_of_target(target, node)
    if isinstance(value, ast.Call) and scope.is_step(value):
        add_step(scope, value, target.id, hint)
    elif isinstance(value, ast.ListComp) and scope.has_step(value.elt):
        add_map(scope, value, target.id, hint)
    else:
        scope.assign(target.id, scope.value(value), node, hint)


def _refusal_of_target(target: ast.expr, node: ast.stmt) -> Refusal:
    if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
        owner, key = target.value.id, ast.unparse(target.slice)
        return Refusal(node, "This changes a value in place.", f"Write {owner} = {{**{owner}, {key}: ...}}.")
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
        message = "Only parallel(...) and a tuple that is written out are taken apart."
        raise Refusal(node, message, "Read the parts: x[0], x[1].")
    codes = [scope.value(part) for part in value.elts]
    for code in codes:
        scope.guard(code, node)
    variables = [scope.bind(name, code.type, node) for name, code in zip(names, codes, strict=True)]
    assigns: dict[str, Any] = dict(zip(variables, map(template, codes), strict=True))
    scope.add(", ".join(names), {"Type": "Pass", "Assign": assigns}, node)


@writes(ast.Return)
def _return(scope: Scope, node: ast.Return) -> None:
    if scope.cleanups:
        _return_through_finally(scope, node)
    elif node.value is None:
        return_nothing(scope, node)
    elif _is_ending_step(scope, node.value):
        assert isinstance(node.value, ast.Call), "a step is a call"
        return_step(scope, node.value)
    elif isinstance(node.value, ast.ListComp) and scope.has_step(node.value.elt):
        return_map(scope, node.value)
    else:
        _return_value(scope, node.value, node)


def _is_ending_step(scope: Scope, node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and scope.is_step(node) and scope.resolve(node.func) is not steps.parallel


def _return_value(scope: Scope, value: ast.expr, node: ast.stmt) -> None:
    code = scope.value(value)
    scope.guard(code, node)
    set_result(scope, code.type, node)
    output = template(code)
    scope.add("return", {"Type": "Succeed", "Output": NOTHING if output is None else output}, node, ends=True)


def _return_through_finally(scope: Scope, node: ast.Return) -> None:
    """Work out the value first, then do what the finally clauses say, then return it."""
    if node.value is None:
        scope.leave(0)
        return_nothing(scope, node)
        return
    name = scope.free_name(_RESULT_NAME)
    assign = ast.Assign([ast.copy_location(ast.Name(name, ast.Store()), node)], node.value)
    scope.write(ast.copy_location(assign, node))
    scope.leave(0)
    if scope.open:
        cleanups, scope.cleanups = scope.cleanups, []
        _return_value(scope, ast.copy_location(ast.Name(name, ast.Load()), node), node)
        scope.cleanups = cleanups


def _refuses(kind: type[ast.stmt], message: str, advice: str) -> None:
    def refuse(_: Scope, node: ast.stmt) -> None:
        raise Refusal(node, message, advice)

    writes(kind)(refuse)


_TOP: Final = "Put it at the top of the file, with @task or @flow above it."
_refuses(ast.Assert, "assert vanishes under python -O, so a flow has none.", "Write if not ...: raise SomeError(...).")
_refuses(ast.With, "with has no place in a flow: nothing stays open between states.", "Open and close it in one @task.")
_refuses(ast.AsyncWith, "async has no place in a flow.", "Open and close it in one @task function.")
_refuses(ast.AsyncFor, "async has no place in a flow.", "Write for; for x in each(xs) goes over all at the same time.")
_refuses(ast.FunctionDef, "A function inside a flow would close over its variables.", _TOP)
_refuses(ast.AsyncFunctionDef, "A function inside a flow would close over its variables.", _TOP)
_refuses(ast.ClassDef, "A class inside a flow would close over its variables.", "Put it at the top of the file.")
_refuses(ast.Import, "An import has no place in a flow.", "Import at the top of the file.")
_refuses(ast.ImportFrom, "An import has no place in a flow.", "Import at the top of the file.")
_refuses(ast.Global, "A flow has no global state.", "Return the value.")
_refuses(ast.Nonlocal, "A flow has no global state.", "Return the value.")
_refuses(ast.Delete, "del has no place in a flow.", "Leave it out.")
_refuses(ast.TryStar, "except* has no place in a flow: a step fails with one error.", "Write except.")
