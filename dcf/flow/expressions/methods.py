"""Methods of strings and dicts. Those that change a value in place are refused: values of a flow do not change."""

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from dcf.asl.jsonata.writing import ATOM, PATH
from dcf.flow.expressions.texts import f_string
from dcf.flow.jsonata_code import Code, any_risky, constant, defined, element, gathered, keys_of
from dcf.flow.refusals import IN_A_TASK, Refusal
from dcf.flow.scope import Scope
from dcf.steps.suggestions import near
from dcf.steps.value_types import ANY, BOOL, NULL, STR, ValueType, join, list_of

_IN_PLACE: Final = ("append", "extend", "insert", "pop", "sort", "remove", "clear", "update", "setdefault", "reverse")


def method_call(scope: Scope, node: ast.Call, function: ast.Attribute) -> Code:
    """Read the call of a method of a value."""
    base = defined(scope.value(function.value))
    if base.type == STR and function.attr == "format":
        raise Refusal(node, ".format() cannot be part of a flow.", f_string(base.constant, r"\{\}", node.args))
    if node.keywords and function.attr != "update":
        raise Refusal(node, f".{function.attr}() takes no names here.", "Leave them out, or do it in a @task function.")
    arguments = [defined(scope.value(argument)) for argument in node.args]
    methods = _STRING if base.type == STR else _DICT if base.type.is_mapping else {}
    method = methods.get((function.attr, len(arguments)))
    code = None if method is None else method(base, arguments)
    if code is None:
        raise _refusal_of(node, function, base)
    return code


def _refusal_of(node: ast.Call, function: ast.Attribute, base: Code) -> Refusal:
    name = function.attr
    if name in _IN_PLACE and base.type.kind in {"list", "dict", "obj"}:
        return Refusal(node, f".{name}() changes a value in place.", _new_value(node, name, function.value))
    known = sorted({method for method, _ in (_STRING if base.type == STR else _DICT)})
    if base.type == STR or base.type.is_mapping:
        message = f".{name}() of {base.type} with these arguments cannot be part of a flow.{near(name, known)}"
        return Refusal(node, message, f"Known are {', '.join(known)}; split and replace take a text written out.")
    advice = base.annotated("str") if base.type.kind == "any" else IN_A_TASK
    return Refusal(node, f".{name}() of {base.type} cannot be part of a flow.", advice)


def _new_value(node: ast.Call, name: str, owner: ast.expr) -> str:
    """Return the advice to assign a new list or dict."""
    text = ", ".join(map(ast.unparse, node.args))
    if not isinstance(owner, ast.Name) or name not in {"append", "extend", "update"}:
        return "Assign a new value, or use a @task."
    if name != "update":
        return f"Write {owner.id} = [*{owner.id}, {'*' * (name == 'extend')}{text}]."
    parts = [f"{option.arg!r}: {ast.unparse(option.value)}" for option in node.keywords]
    parts += [ast.unparse(part)[1:-1] if isinstance(part, ast.Dict) else f"**{text}" for part in node.args]
    return f"Write {owner.id} = {{**{owner.id}, {', '.join(parts)}}}."


Method = Callable[[Code, Sequence[Code]], Code | None]
"""Returns the code of a call; None if the arguments do not suit."""


def _written(pattern: str, kind: ValueType, *argument_types: ValueType, is_fixed: bool = False) -> Method:
    """Return the method whose arguments are of these types; `is_fixed`: the first is a text that is written out."""

    def call(base: Code, arguments: Sequence[Code]) -> Code | None:
        types = [argument.type for argument in arguments]
        if types != list(argument_types) or (is_fixed and not (arguments[0].is_constant and arguments[0].constant)):
            return None
        text = pattern.format(base.text, *(argument.text for argument in arguments))
        return Code(text, kind, may_fail=any_risky([base, *arguments]))

    return call


def _values(base: Code, _: Sequence[Code]) -> Code:
    wrapped = f"[$each({base.text}, function($_v, $_k) {{ {{'v': $_v}} }})]"
    text = gathered(wrapped, "$_y", Code("$_y.v", base.type.values, PATH))
    return Code(text, list_of(base.type.values), may_fail=base.may_fail)


def _get(base: Code, arguments: Sequence[Code]) -> Code | None:
    key, *rest = arguments
    if key.type != STR:
        return None
    other = rest[0] if rest else constant(None)
    lookup = f"$lookup({base.text}, {key.text})"
    kind = _type_under(base.type, key)
    if other.is_constant:
        text = f"($_g := {lookup}; $exists($_g) ? $_g : {other.text})"
    else:  # the other value is worked out before, as Python does
        text = f"($_v := [{element(other)}]; $_g := {lookup}; $exists($_g) ? $_g : $_v[0])"
    result = other.type if kind == NULL else join(kind, other.type) or ANY
    return Code(text, result, ATOM, may_fail=any_risky([base, *arguments]))


def _type_under(kind: ValueType, key: Code) -> ValueType:
    """Return the type of what a dict has under a key; NULL if it never has this key."""
    if kind.kind == "obj" and key.is_constant:
        field = kind.field(key.constant)
        return NULL if field is None else field.type
    return kind.values


_STARTS: Final = "$_v[1] = '' or $contains($_v[0], $_v[1]) and $substringBefore($_v[0], $_v[1]) = ''"
_ENDS: Final = (
    "$_n := $length($_v[0]) - $length($_v[1]); $_n >= 0 and"
    " $join([$filter([$split($_v[0], '')], function($_x, $_i) {{ $_i >= $_n }})]) = $_v[1]"
)
_STRING: Final[Mapping[tuple[str, int], Method]] = {
    ("upper", 0): _written("$uppercase({})", STR),
    ("lower", 0): _written("$lowercase({})", STR),
    ("strip", 0): _written("$replace({}, /^\\s+|\\s+$/, '')", STR),
    ("lstrip", 0): _written("$replace({}, /^\\s+/, '')", STR),
    ("rstrip", 0): _written("$replace({}, /\\s+$/, '')", STR),
    ("startswith", 1): _written(f"($_v := [{{}}, {{}}]; {_STARTS})", BOOL, STR),
    ("endswith", 1): _written(f"($_v := [{{}}, {{}}]; {_ENDS})", BOOL, STR),
    ("split", 1): _written("[$split({}, {})]", list_of(STR), STR, is_fixed=True),
    ("replace", 2): _written("$replace({}, {}, {})", STR, STR, STR, is_fixed=True),
    ("join", 1): _written("$join({1}, {0})", STR, list_of(STR)),
}
_DICT: Final[Mapping[tuple[str, int], Method]] = {
    ("keys", 0): lambda base, _: keys_of(base),
    ("values", 0): _values,
    ("get", 1): _get,
    ("get", 2): _get,
}
