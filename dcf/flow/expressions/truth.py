"""Conditions that hold where Python takes a value for true, unlike JSONata; and the names that a test narrows."""

import ast
from collections.abc import Mapping
from typing import Final

from dcf.asl.jsonata.writing import AND, ATOM, COMPARISON, CONDITIONAL, OR
from dcf.flow.jsonata_code import Code, defined
from dcf.flow.names import Environment, path_of
from dcf.flow.scope import Scope, reads
from dcf.steps.value_types import ANY, BOOL, joined, present
from dcf.values.records import replace


def truth(scope: Scope, node: ast.expr) -> Code:
    """Return the condition that is true where Python takes the expression for true."""
    if isinstance(node, ast.BoolOp):
        return all_or_any(scope, node)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        inner = truth(scope, node.operand)
        return Code(f"$not({inner.text})", BOOL, may_fail=inner.may_fail)
    return truth_of(scope.value(node))


def truth_of(code: Code) -> Code:
    """Return the condition that is true where Python takes this value for true."""
    value = defined(code)
    if value.type == BOOL:
        return value
    pattern, level = ("true", ATOM) if value.type.by_dot else _TRUTH[value.type.kind]
    if not value.type.optional:
        return Code(pattern.format(value.within(COMPARISON)), BOOL, level, may_fail=value.may_fail)
    return Code(f"($_v := {value.text}; $_v != null and {pattern.format('$_v')})", BOOL, may_fail=value.may_fail)


_OF_MAPPING: Final = ("$count($keys({})) > 0", COMPARISON)
_OF_ANYTHING: Final = (
    "($_v := {}; $_t := $type($_v); $_t = 'array' ? $count($_v) > 0"
    " : $_t = 'object' ? $count($keys($_v)) > 0 : $boolean($_v))"
)
_TRUTH: Final[Mapping[str, tuple[str, int]]] = {
    "null": ("false", ATOM),
    "bool": ("{}", COMPARISON),
    "str": ("{} != ''", COMPARISON),
    "int": ("{} != 0", COMPARISON),
    "float": ("{} != 0", COMPARISON),
    "list": ("$count({}) > 0", COMPARISON),
    "dict": _OF_MAPPING,
    "obj": _OF_MAPPING,
    "any": (_OF_ANYTHING, ATOM),
}
"""The conditions by type, with the levels of their operators."""


def all_or_any(scope: Scope, node: ast.BoolOp) -> Code:
    """Return the condition of `and` or `or`; a later part is read with what those before it tell."""
    is_and = isinstance(node.op, ast.And)
    parts = [truth(scope, node.values[0])]
    names: Environment = {}
    for before, value in zip(node.values, node.values[1:], strict=False):
        names = {**names, **narrowed(scope, before, holds=is_and)}
        with scope.frame(names):
            parts.append(truth(scope, value))
    word, level = ("and", AND) if is_and else ("or", OR)
    first, *others = parts
    text = f" {word} ".join([first.within(level - 1), *(part.within(level) for part in others)])
    return Code(text, BOOL, level, may_fail=any(part.may_fail for part in parts))


def narrowed(scope: Scope, test: ast.expr, *, holds: bool) -> Environment:
    """Return the names, and the parts of their values, that are there and not None where a test holds, or does not."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return narrowed(scope, test.operand, holds=not holds)
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) == holds:
        return {path: code for value in test.values for path, code in narrowed(scope, value, holds=holds).items()}
    part = _part_that_is_there(test, holds=holds)
    path = "" if part is None else path_of(part)
    if part is None or not path or not scope.is_local(part):
        return {}
    code = scope.value(part)
    return {path: replace(code, type=present(code.type), sure=True)}


def _part_that_is_there(test: ast.expr, *, holds: bool) -> ast.expr | None:
    """Return what is not None, or the part that a key is known to have, where a test holds, or does not."""
    match test:
        case ast.Compare(left=left, ops=[ast.Is() | ast.Eq()], comparators=[ast.Constant(value=None)]):
            return None if holds else left
        case ast.Compare(left=left, ops=[ast.IsNot() | ast.NotEq()], comparators=[ast.Constant(value=None)]):
            return left if holds else None
        case ast.Compare(left=left, ops=[ast.Eq()], comparators=[ast.Constant()]):
            return left if holds else None
        case ast.Compare(left=ast.Constant() as key, ops=[ast.In() | ast.NotIn() as operator], comparators=[whole]):
            is_there = isinstance(operator, ast.In) == holds
            return ast.copy_location(ast.Subscript(whole, key, ast.Load()), test) if is_there else None
        case ast.Name() | ast.Attribute() | ast.Subscript():
            return test if holds else None
    return None


@reads(ast.BoolOp)
def _value_of_either(scope: Scope, node: ast.BoolOp) -> Code:
    """Read `a or b` as Python does: one of the two values, not a boolean."""
    first = scope.value(node.values[0])
    with scope.frame({}):
        values = [defined(first), *(defined(scope.value(value)) for value in node.values[1:])]
    if all(value.type == BOOL for value in values):
        return all_or_any(scope, node)
    result = values[-1]
    for value in reversed(values[:-1]):
        result = _either(value, result, is_or=isinstance(node.op, ast.Or))
    return result


def _either(value: Code, other: Code, *, is_or: bool) -> Code:
    condition = truth_of(Code("$_v", value.type)).within(CONDITIONAL)
    kept_type = present(value.type) if is_or else value.type
    kind = other.type if is_or and value.type.kind == "null" else joined([kept_type, other.type]) or ANY
    # The other value is written as a function before `$_v` is bound, since its own code may use that name.
    yes, no = ("$_v", "$_w()") if is_or else ("$_w()", "$_v")
    text = f"($_w := function() {{ {other.text} }}; $_v := {value.text}; {condition} ? {yes} : {no})"
    return Code(text, kind, may_fail=value.may_fail or other.may_fail)


@reads(ast.IfExp)
def _conditional(scope: Scope, node: ast.IfExp) -> Code:
    test = truth(scope, node.test)
    with scope.frame(narrowed(scope, node.test, holds=True)):
        yes = defined(scope.value(node.body))
    with scope.frame(narrowed(scope, node.test, holds=False)):
        no = defined(scope.value(node.orelse))
    text = f"{test.within(CONDITIONAL)} ? {yes.within(CONDITIONAL)} : {no.within(CONDITIONAL)}"
    may_fail = test.may_fail or yes.may_fail or no.may_fail
    return Code(text, joined([yes.type, no.type]) or ANY, CONDITIONAL, may_fail=may_fail)
