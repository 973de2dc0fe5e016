"""Constants, names, and the places in values: fields, keys, elements, slices."""

import ast
import enum
import json
from typing import Any, Final

from dcf.asl.jsonata.writing import INDEX, PATH, is_json
from dcf.flow.jsonata_code import UNKNOWN, Code, constant, defined, gathered, lookup, place
from dcf.flow.refusals import IN_A_TASK, Refusal
from dcf.flow.scope import Scope, reads
from dcf.steps.suggestions import near
from dcf.steps.value_types import INT, STR, Field, ValueType

_LARGEST: Final = 2**53


@reads(ast.Constant)
def _constant(_: Scope, node: ast.Constant) -> Code:
    value = node.value
    if value is not None and not isinstance(value, bool | str | int | float):
        raise Refusal(node, f"{type(value).__name__} is no JSON value.", "Use a string or a number.")
    _refuse_large(value, node)
    return constant(value)


def _refuse_large(value: Any, node: ast.AST) -> None:
    if isinstance(value, int | float) and abs(value) > _LARGEST:
        raise Refusal(node, f"{value} is beyond 2**53: JSON numbers lose digits there.", "Write it as a string.")


@reads(ast.Name)
def _name(scope: Scope, node: ast.Name) -> Code:
    code = scope.read(node.id, node)
    return _of_module(scope, node) if code is None else code


def _of_module(scope: Scope, node: ast.expr) -> Code:
    value = scope.source.resolve(node)
    if isinstance(value, enum.StrEnum):
        value = value.value
    if value is UNKNOWN or not is_json(value):
        raise scope.refuse_name(node, value)
    _refuse_large(value, node)
    return constant(json.loads(json.dumps(value, allow_nan=False)))


@reads(ast.Attribute)
def _attribute(scope: Scope, node: ast.Attribute) -> Code:
    if not scope.is_local(node):
        return _of_module(scope, node)
    base = scope.value(node.value)
    if base.type.kind == "any":
        advice = 'Annotate it with a dataclass or pydantic model, or read a key: ["..."].'
        raise Refusal(node, f"The type of {base.source} is not known.", advice)
    if not base.type.by_dot:
        is_mapping = base.type.kind in {"obj", "dict"}
        advice = f"Write [{json.dumps(node.attr, allow_nan=False)}] for a key." if is_mapping else IN_A_TASK
        raise Refusal(node, f"A {base.type} has no field '.{node.attr}' in a flow.", advice)
    field = _field(base.type, node.attr, "field", node)
    return place(base, node.attr, field.type, sure=field.always and not base.type.optional)


def _field(kind: ValueType, name: str, noun: str, node: ast.expr) -> Field:
    field = kind.field(name)
    if field is None:
        names = [known.name for known in kind.fields]
        advice = f"It has {', '.join(names)}." if names else ""
        raise Refusal(node, f"{kind} has no {noun} '{name}'.{near(name, names)}", advice)
    return field


@reads(ast.Subscript)
def _subscript(scope: Scope, node: ast.Subscript) -> Code:
    base = scope.value(node.value)
    if isinstance(node.slice, ast.Slice):
        return _slice(scope, base, node.slice, node)
    key = node.slice.value if isinstance(node.slice, ast.Constant) else None
    if isinstance(key, str) and base.type.kind in {"obj", "dict", "any"}:
        return _by_key(base, key, node)
    index = defined(scope.value(node.slice))
    if base.type.kind == "list":
        if index.type != INT:
            raise Refusal(node.slice, f"The place in a list is a whole number, not {index.type}.", "Write xs[0].")
        may_fail = base.may_fail or index.may_fail
        return Code(f"{base.within(PATH)}[{index.text}]", base.type.element, INDEX, sure=False, may_fail=may_fail)
    if base.type.kind in {"dict", "obj"}:
        if index.type != STR:
            raise Refusal(node.slice, f"A key is a string, not {index.type}.", "Write d[f'{key}'].")
        return lookup(base, index, base.type.values)
    if base.type.kind == "str":
        raise Refusal(node, "A flow does not read a character of a string by its place.", "Write s[i:i + 1].")
    raise Refusal(node, f"Whether {base.source} is a list or a dict is not known.", base.annotated("list[str]"))


def _by_key(base: Code, key: str, node: ast.Subscript) -> Code:
    if base.type.by_dot:
        raise Refusal(node, f"{base.type} is read with a dot.", f"Write .{key}")
    if base.type.kind != "obj":
        kind, always = base.type.element, False
    else:
        field = _field(base.type, key, "key", node)
        kind, always = field.type, field.always
    if "`" in key:
        return lookup(base, constant(key), kind)
    return place(base, key, kind, sure=always and not base.type.optional)


def _slice(scope: Scope, base: Code, cut: ast.Slice, node: ast.AST) -> Code:
    if cut.step is not None:
        raise Refusal(node, "A slice with a step cannot be part of a flow.", IN_A_TASK)
    if base.type.optional or base.type.kind not in {"str", "list"}:
        raise Refusal(node, f"A slice of {base.type} may be of a string or a list.", base.annotated("list[str]"))
    size = "$length($_v)" if base.type.kind == "str" else "$count($_v)"
    begin, end = _bound(scope, cut.lower, "0"), _bound(scope, cut.upper, "$_n")
    may_fail = base.is_risky or begin.may_fail or end.may_fail
    head = f"$_v := {defined(base).text}; $_n := {size}; $_b := {begin.text}; $_e := {end.text}; "
    within = "$_i >= $_b and $_i < $_e"
    if base.type.kind == "str":  # $substring counts UTF-16 units, Python characters
        characters = f"[$filter([$split($_v, '')], function($_x, $_i) {{ {within} }})]"
        return Code(f"({head}$join({characters}))", STR, may_fail=may_fail)
    items = gathered("$_v", "$_x", Code("$_x", base.type.element), within, by_index=True)
    return Code(f"({head}{items})", base.type, may_fail=may_fail)


def _bound(scope: Scope, node: ast.expr | None, otherwise: str) -> Code:
    """Return an end of a slice, within the size `$_n`."""
    if node is None:
        return Code(otherwise, INT)
    end = defined(scope.value(node))
    if end.type != INT:
        raise Refusal(node, "The ends of a slice are whole numbers.", "Write xs[1:3].")
    if end.is_constant:
        number = end.constant
        return Code(f"$min([{number}, $_n])" if number >= 0 else f"$max([0, $_n - {-number}])", INT)
    return Code(f"($_p := {end.text}; $_p < 0 ? $max([0, $_n + $_p]) : $min([$_p, $_n]))", INT, may_fail=end.may_fail)
