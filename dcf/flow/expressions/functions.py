"""Calls within expressions: the built-in functions that a flow may use, records, `jsonata`, and values of the run."""

import ast
import builtins
from collections.abc import Callable, Mapping
from typing import Any, Final

from dcf.asl.jsonata.writing import AND, PATH, SUM
from dcf.flow.expressions.collections import as_list, ends_of, made_of
from dcf.flow.expressions.methods import method_call
from dcf.flow.expressions.texts import shown
from dcf.flow.expressions.truth import truth, truth_of
from dcf.flow.jsonata_code import UNKNOWN, Code, defined, keys_of, listed
from dcf.flow.refusals import IN_A_TASK, Refusal
from dcf.flow.scope import Scope, reads
from dcf.flow.source import short_name
from dcf.steps import vocabulary as steps
from dcf.steps.value_types import ANY, BOOL, FLOAT, INT, STR, ValueType, is_record_class, list_of
from dcf.values.records import replace

_OF_THE_RUN: Final[Mapping[Any, str]] = {
    steps.token: "$states.context.Task.Token",
    steps.run_id: "$states.context.Execution.Name",
}
_COMPREHENSIONS: Final = {"map": "Write [f(x) for x in xs].", "filter": "Write [x for x in xs if ...]."}


@reads(ast.Call)
def _call(scope: Scope, node: ast.Call) -> Code:
    if isinstance(node.func, ast.Attribute) and scope.resolve(node.func) is UNKNOWN:
        return method_call(scope, node, node.func)
    called = scope.resolve(node.func)
    if called is steps.jsonata:
        return _written_out(scope, node)
    if is_record_class(called):
        return made_of(scope, node, called)
    text = next((text for function, text in _OF_THE_RUN.items() if function is called), None)
    if called is steps.token and not scope.has_token:
        message = "Only a task that ends with a callback has a token."
        raise Refusal(node, message, "Put token() among the arguments of one: @task(callback=True).")
    if text is not None:
        return Code(text, STR, PATH)
    return _function_call(scope, node, called)


def _function_call(scope: Scope, node: ast.Call, called: Any) -> Code:
    name = short_name(node.func)
    function = _FUNCTIONS.get(name)
    if function is None or called is not getattr(builtins, name, UNKNOWN):
        raise _unknown_call(scope, node, called)
    if node.keywords and name not in _WITH_NAMES:
        raise Refusal(node, f"{name}() takes no names here.", "Leave them out, or do it in a @task function.")
    return function(scope, node)


def _unknown_call(scope: Scope, node: ast.Call, called: Any) -> Refusal:
    text = ast.unparse(node.func)
    if called is UNKNOWN and scope.is_local(node.func):
        message = f"{text} is {scope.value(node.func).type}, which is not called."
        return Refusal(node.func, message, "Write a @task with another name, and call it.")
    if called is UNKNOWN:
        return scope.refuse_name(node.func, called)
    is_own = getattr(called, "__module__", None) == scope.source.function.__module__
    advice = "Put @task above it, so that it is a step." if is_own else "Call it in a @task function."
    return Refusal(node, f"{text}() is no step and no expression of a flow.", _COMPREHENSIONS.get(text, advice))


def _written_out(scope: Scope, node: ast.Call) -> Code:
    text = node.args[0] if node.args else node
    if not isinstance(text, ast.Constant) or not isinstance(text.value, str):
        raise Refusal(node, "jsonata() takes a text that is written out.", 'Write jsonata("$uppercase($s)", s=x).')
    values = "".join(f"${option.arg} := {defined(scope.value(option.value)).text}; " for option in node.keywords)
    return Code(f"({values}{text.value})", ANY, sure=False, may_fail=True)


# -- the built-in functions


def _single(scope: Scope, node: ast.Call) -> Code:
    if len(node.args) != 1:
        raise Refusal(node, f"{short_name(node.func)}() takes one argument here.", IN_A_TASK)
    return defined(scope.value(node.args[0]))


def _items(scope: Scope, node: ast.Call) -> Code:
    return as_list(_single(scope, node), f"{short_name(node.func)}()")


def _number(scope: Scope, node: ast.Call) -> Code:
    if len(node.args) != 1 and short_name(node.func) == "round":
        advice = "Write f'{x:.2f}' for a text; round in a @task function."
        raise Refusal(node, "round() to digits depends on how a float is kept.", advice)
    value = _single(scope, node)
    if not value.type.is_number:
        name = short_name(node.func)
        message = f"{name}() of {value.type} is not the same in JSONata."
        raise Refusal(node, message, f"{name}() takes a number here; read texts in a @task function.")
    return value


def _len(scope: Scope, node: ast.Call) -> Code:
    value = _single(scope, node)
    if value.type == STR:
        return Code(f"$length({value.text})", INT, may_fail=value.may_fail)
    if value.type.is_list:
        return Code(f"$count({value.text})", INT, may_fail=value.may_fail)
    if value.type.is_mapping:
        return Code(f"$count($keys({value.text}))", INT, may_fail=value.may_fail)
    raise Refusal(node, f"The length of {value.type} is not known.", value.annotated("list[str]"))


def _str(scope: Scope, node: ast.Call) -> Code:
    return shown(_single(scope, node), node.args[0])


def _of_number(pattern: str, kind: ValueType | None = None) -> Callable[[Scope, ast.Call], Code]:
    """Return the reader of a function of one number; `kind` is what it gives, by default what it gets."""

    def read(scope: Scope, node: ast.Call) -> Code:
        value = _number(scope, node)
        return Code(pattern.format(value.text), kind or value.type, may_fail=value.may_fail)

    return read


def _float(scope: Scope, node: ast.Call) -> Code:
    return replace(_number(scope, node), type=FLOAT, constant=UNKNOWN, template=UNKNOWN)


def _bool(scope: Scope, node: ast.Call) -> Code:
    return truth(scope, node.args[0] if node.args else node)


def _numbers(scope: Scope, node: ast.Call) -> Code:
    is_many = len(node.args) > 1
    values = listed([scope.value(value) for value in node.args]) if is_many else _single(scope, node)
    if not values.type.is_list or not values.type.element.is_number:
        message = f"{short_name(node.func)}() takes numbers; this is {values.type}."
        raise Refusal(node, message, values.annotated("list[float]"))
    return values


def _sum(scope: Scope, node: ast.Call) -> Code:
    values = _numbers(scope, node)
    return Code(f"$sum({values.text})", values.type.element, may_fail=values.may_fail)


def _extreme(scope: Scope, node: ast.Call) -> Code:
    name = short_name(node.func)
    if node.keywords:
        advice = f"Write sorted(..., key=...)[{'-1' if name == 'max' else '0'}]."
        raise Refusal(node, f"{name}() takes no key= or default= here.", advice)
    values = _numbers(scope, node)
    is_filled = values.written and values.text != "[]"
    return Code(f"${name}({values.text})", values.type.element, sure=is_filled, may_fail=values.may_fail)


def _sorted(scope: Scope, node: ast.Call) -> Code:
    items = _items(scope, node)
    options = {option.arg: option.value for option in node.keywords}
    unknown = next((option for option in node.keywords if option.arg not in {"key", "reverse"}), None)
    if unknown is not None:
        raise Refusal(unknown.value, f"sorted() has no '{unknown.arg}'.", "It has key and reverse.")
    left, right = (_sort_key(scope, node, options.get("key"), name, items) for name in ("$_l", "$_r"))
    descending = bool(scope.fixed(options["reverse"])) if "reverse" in options else False
    if "key" not in options and not descending:
        return Code(f"[$sort({items.text})]", items.type, may_fail=items.may_fail)
    sign = "<" if descending else ">"
    order = f"function($_l, $_r) {{ {left.within(SUM)} {sign} {right.within(SUM)} }}"
    may_fail = items.may_fail or left.may_fail
    return Code(f"[$sort({items.text}, {order})]", items.type, may_fail=may_fail)


def _sort_key(scope: Scope, node: ast.Call, key: ast.expr | None, name: str, items: Code) -> Code:
    """Return what an item is sorted by: itself, or what the lambda of `key=` makes of it."""
    item = Code(name, items.type.element)
    if key is None:
        value = item
    elif isinstance(key, ast.Lambda) and len(key.args.args) == 1:
        with scope.frame({key.args.args[0].arg: item}):
            value = defined(scope.value(key.body))
    else:
        raise Refusal(key, "key= is a lambda of one item.", "Write key=lambda item: item.name.")
    if value.may_fail:
        message = "This key may fail, and JSONata does not ask for it where there is a single item."
        raise Refusal(key or node, message, "Sort by a field that every item has.")
    if not (value.type.is_number or value.type == STR):
        message = f"sorted() goes by numbers or by strings; this is {value.type}."
        raise Refusal(key or node, message, "Annotate it, or name a part: key=lambda item: item.name.")
    return value


def _all_or_any(scope: Scope, node: ast.Call) -> Code:
    is_all = short_name(node.func) == "all"
    values = _items(scope, node)
    if values.may_fail:
        raise Refusal(node, "A part of this may fail, and Python may not come to it.", "Make the list before.")
    condition = truth_of(Code("$_x", values.type.element)).within(AND)
    word, start = ("and", "true") if is_all else ("or", "false")
    return Code(f"$reduce({values.text}, function($_f, $_x) {{ $_f {word} {condition} }}, {start})", BOOL)


def _list(scope: Scope, node: ast.Call) -> Code:
    items = _single(scope, node)
    return keys_of(items) if items.type.is_mapping else replace(as_list(items, "list()"), constant=UNKNOWN)


def _reversed(scope: Scope, node: ast.Call) -> Code:
    items = _items(scope, node)
    return Code(f"$reverse({items.text})", items.type, may_fail=items.may_fail)


def _range(scope: Scope, node: ast.Call) -> Code:
    ends = ends_of(scope, node)
    start = "0" if len(ends) == 1 else ends[0].within(SUM)
    return Code(f"[{start}..{ends[-1].within(SUM)} - 1]", list_of(INT), may_fail=any(end.may_fail for end in ends))


_WITH_NAMES: Final = ("sorted", "min", "max")
_FUNCTIONS: Final[Mapping[str, Callable[[Scope, ast.Call], Code]]] = {
    "len": _len,
    "str": _str,
    "int": _of_number("($_v := {}; $_v < 0 ? $ceil($_v) : $floor($_v))", INT),
    "float": _float,
    "bool": _bool,
    "abs": _of_number("$abs({})"),
    "round": _of_number("$round({})", INT),
    "sum": _sum,
    "max": _extreme,
    "min": _extreme,
    "sorted": _sorted,
    "any": _all_or_any,
    "all": _all_or_any,
    "list": _list,
    "reversed": _reversed,
    "range": _range,
}
