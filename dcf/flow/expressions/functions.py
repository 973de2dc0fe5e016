"""Calls within expressions: the built-in functions that a flow may use, records, `jsonata`, and values of the run."""

import ast
import builtins
import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, Final

from dcf.asl.jsonata.writing import AND, PATH, SUM
from dcf.flow.expressions.collections import object_of
from dcf.flow.expressions.methods import method_call
from dcf.flow.expressions.texts import shown
from dcf.flow.expressions.truth import truth, truth_of
from dcf.flow.jsonata_code import UNKNOWN, Code, constant, defined, keys_of, listed
from dcf.flow.refusals import IN_A_TASK, Refusal
from dcf.flow.scope import Scope, reads
from dcf.flow.source import short_name
from dcf.steps import vocabulary as steps
from dcf.steps.suggestions import near
from dcf.steps.value_types import (
    ANY,
    BOOL,
    FLOAT,
    INT,
    STR,
    ValueType,
    fits,
    is_model,
    is_record_class,
    list_of,
    type_of,
)
from dcf.values.records import replace

_ANNOTATE_NUMBER: Final = "Annotate it: x: float = ..."
_ANNOTATE_LIST: Final = "Annotate it: x: list[str] = ..."
_OF_THE_RUN: Final[Mapping[Any, str]] = {
    steps.token: "$states.context.Task.Token",
    steps.run_id: "$states.context.Execution.Name",
}


@reads(ast.Call)
def _call(scope: Scope, node: ast.Call) -> Code:
    if scope.is_step(node):
        return _step_result(scope, node)
    if isinstance(node.func, ast.Attribute) and scope.resolve(node.func) is UNKNOWN:
        return method_call(scope, node, node.func)
    called = scope.resolve(node.func)
    if called is steps.jsonata:
        return _written_out(scope, node)
    if is_record_class(called):
        return _record(scope, node, called)
    text = next((text for function, text in _OF_THE_RUN.items() if function is called), None)
    if text is not None:
        return Code(text, STR, PATH)
    return _function_call(scope, node, called)


def _step_result(scope: Scope, node: ast.Call) -> Code:
    """Let the state of a step come first; its result is a variable."""
    if scope.nested:
        message = f"{ast.unparse(node.func)}(...) is a step, and whether it runs here depends on what comes before."
        raise Refusal(node, message, "Write it on a line of its own, within an if; or in a comprehension of its own.")
    if scope.is_late:
        message = (
            f"What stands before {ast.unparse(node.func)}(...) may fail, and Python would then not come to the step."
        )
        raise Refusal(node, message, "Assign the result of the step on a line of its own before.")
    name = scope.free_name(f"{short_name(node.func)}_result")
    assign = ast.Assign([ast.copy_location(ast.Name(name, ast.Store()), node)], node)
    scope.write(ast.copy_location(assign, node))
    scope.is_late = False
    return scope.environment[name]


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
    if called is UNKNOWN:
        return scope.refuse_name(node.func, called)
    if getattr(called, "__module__", None) == scope.source.function.__module__:
        advice = "Put @task above it, so that it is a step."
    else:
        advice = f"Call it in a @task function.{near(text, _FUNCTIONS)}"
    return Refusal(node, f"{text}() is no step and no expression of a flow.", advice)


def _written_out(scope: Scope, node: ast.Call) -> Code:
    text = node.args[0] if node.args else node
    if not isinstance(text, ast.Constant) or not isinstance(text.value, str):
        raise Refusal(
            node, "jsonata() takes an expression that is written out.", 'Write jsonata("$uppercase($s)", s=x).'
        )
    values = "".join(f"${option.arg} := {defined(scope.value(option.value)).text}; " for option in node.keywords)
    return Code(f"({values}{text.value})", ANY, sure=False, may_fail=True)


def _record(scope: Scope, node: ast.Call, kind: type) -> Code:
    """Read an object that is made of its fields, as JSON has it."""
    made = type_of(kind)
    names = [field.name for field in made.fields]
    named = {option.arg: option.value for option in node.keywords if option.arg}
    written = {**dict(zip(names, node.args, strict=False)), **named}
    for name, value in written.items():
        if name not in names:
            raise Refusal(value, f"{made} has no field '{name}'.{near(name, names)}", f"It has {', '.join(names)}.")
    values: dict[str, Code] = {}
    for field in made.fields:
        argument = written.get(field.name)
        if argument is not None:
            values[field.name] = defined(scope.value(argument))
            if not fits(values[field.name].type, field.type):
                message = f"{made}.{field.name} is {field.type}, this is {values[field.name].type}."
                raise Refusal(argument, message, "Change the value, or the annotation of the field.")
        elif field.always:
            values[field.name] = constant(_default(kind, field.name, node))
    return object_of(values, made)


def _default(kind: Any, name: str, node: ast.AST) -> Any:
    if dataclasses.is_dataclass(kind):
        field = next(field for field in dataclasses.fields(kind) if field.name == name)
        if field.default is not dataclasses.MISSING:
            return field.default
        if field.default_factory is not dataclasses.MISSING:
            return field.default_factory()
    elif is_model(kind) and not kind.model_fields[name].is_required():
        return kind.model_fields[name].get_default(call_default_factory=True)
    raise Refusal(node, f"{kind.__name__} needs '{name}'.", f"Add {name}=...")


# -- the built-in functions


def _single(scope: Scope, node: ast.Call) -> Code:
    if len(node.args) != 1:
        raise Refusal(node, f"{short_name(node.func)}() takes one argument here.", IN_A_TASK)
    return defined(scope.value(node.args[0]))


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
    raise Refusal(node, f"The length of {value.type} is not known.", _ANNOTATE_LIST)


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
        raise Refusal(node, message, "Annotate it: x: list[float] = ...")
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
    items = _single(scope, node)
    if not items.type.is_list:
        raise Refusal(node, f"sorted() takes a list; this is {items.type}.", _ANNOTATE_LIST)
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
    values = _single(scope, node)
    if not values.type.is_list:
        raise Refusal(node, f"{short_name(node.func)}() takes a list; this is {values.type}.", _ANNOTATE_LIST)
    if values.may_fail:
        message = "A part of this may fail, and Python may not come to it."
        raise Refusal(node, message, "Make the list on a line of its own before.")
    condition = truth_of(Code("$_x", values.type.element)).within(AND)
    word, start = ("and", "true") if is_all else ("or", "false")
    text = f"$reduce({values.text}, function($_f, $_x) {{ $_f {word} {condition} }}, {start})"
    return Code(text, BOOL)


def _list(scope: Scope, node: ast.Call) -> Code:
    items = _single(scope, node)
    if items.type.is_list:
        return replace(items, constant=UNKNOWN)
    if items.type.is_mapping:
        return keys_of(items)
    raise Refusal(node, f"list() of {items.type} cannot be part of a flow.", _ANNOTATE_LIST)


def _reversed(scope: Scope, node: ast.Call) -> Code:
    items = _single(scope, node)
    if not items.type.is_list:
        raise Refusal(node, f"reversed() of {items.type} cannot be part of a flow.", _ANNOTATE_LIST)
    return Code(f"$reverse({items.text})", items.type, may_fail=items.may_fail)


def _range(scope: Scope, node: ast.Call) -> Code:
    ends = [defined(scope.value(end)) for end in node.args]
    if any(end.type != INT for end in ends) or len(ends) not in {1, 2}:
        raise Refusal(node, "range() takes one or two whole numbers here.", "Multiply in the loop for a step.")
    start = "0" if len(ends) == 1 else ends[0].within(SUM)
    text = f"[{start}..{ends[-1].within(SUM)} - 1]"
    return Code(text, list_of(INT), may_fail=any(end.may_fail for end in ends))


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
