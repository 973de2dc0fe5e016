"""Lists, dicts, and comprehensions without a step. Those with a step are Maps (`dcf.flow.states.maps`)."""

import ast
from collections.abc import Callable, Mapping
from typing import Final

from dcf.asl.jsonata.writing import AND, FUNCTIONS, PATH, quoted
from dcf.flow.expressions.truth import truth
from dcf.flow.jsonata_code import UNKNOWN, Code, any_risky, defined, gathered, keys_of, listed, template
from dcf.flow.refusals import Refusal
from dcf.flow.scope import Scope, reads
from dcf.steps.value_types import ANY, INT, STR, Field, ValueType, join, joined, list_of
from dcf.values.records import record, replace

_ANNOTATE_LIST: Final = "Annotate it: x: list[str] = ..."


@reads(ast.List)
def _list(scope: Scope, node: ast.List) -> Code:
    if not any(isinstance(item, ast.Starred) for item in node.elts):
        return listed([scope.value(item) for item in node.elts])
    first, *others = [_spread(scope, item) for item in node.elts]
    text, kind = first.text, first.type
    for piece in others:
        text, kind = f"$append({text}, {piece.text})", join(kind, piece.type) or list_of(ANY)
    return Code(text, kind, may_fail=any_risky([first, *others]))


def _spread(scope: Scope, item: ast.expr) -> Code:
    if not isinstance(item, ast.Starred):
        return listed([scope.value(item)])
    items = defined(scope.value(item.value))
    if not items.type.is_list:
        raise Refusal(item, f"* spreads a list; this is {items.type}.", _ANNOTATE_LIST)
    return items


@reads(ast.Dict)
def _dict(scope: Scope, node: ast.Dict) -> Code:
    if any(key is None for key in node.keys):
        return _merged(scope, node)
    if len(set(map(ast.unparse, filter(None, node.keys)))) != len(node.keys):
        raise Refusal(node, "This dict has the same key twice.", "Leave one of them out.")
    pairs = [(_key(scope, key), scope.value(value)) for key, value in zip(node.keys, node.values, strict=True) if key]
    if all(key.is_constant for key, _ in pairs):
        return object_of({key.constant: value for key, value in pairs})
    # Two keys that turn out equal are an error of JSONata in one object, so each has an object of its own.
    objects = [f"{{{key.text}: {defined(value).text}}}" for key, value in pairs]
    kind = ValueType("dict", joined([value.type for _, value in pairs]) or ANY)
    return Code(f"$merge([{', '.join(objects)}])", kind, may_fail=any_risky([code for pair in pairs for code in pair]))


def object_of(fields: Mapping[str, Code], kind: ValueType | None = None) -> Code:
    """Return an object that is written out; as a field of a state it is a template."""
    text = "{" + ", ".join(f"{quoted(name)}: {defined(code).text}" for name, code in fields.items()) + "}"
    own = ValueType("obj", None, tuple(Field(name, code.type) for name, code in fields.items()))
    parts = {name: template(code) for name, code in fields.items()}
    return Code(text, kind or own, template=parts, may_fail=any_risky(fields.values()))


def _merged(scope: Scope, node: ast.Dict) -> Code:
    pieces: list[Code] = []
    fields: dict[str, Field] = {}
    is_known = True
    for key, value in zip(node.keys, node.values, strict=True):
        if key is None:
            piece = defined(scope.value(value))
            if not piece.type.is_mapping:
                raise Refusal(value, f"** spreads a dict; this is {piece.type}.", "Annotate it with a TypedDict.")
        else:
            name = _key(scope, key)
            piece = _pair(name, defined(scope.value(value)))
        pieces.append(piece)
        is_known = is_known and piece.type.kind == "obj"
        fields.update({field.name: _over(fields.get(field.name), field) for field in piece.type.fields})
    values = ValueType("dict", joined([piece.type.values for piece in pieces]) or ANY)
    kind = ValueType("obj", None, tuple(fields.values())) if is_known else values
    return Code(f"$merge([{', '.join(piece.text for piece in pieces)}])", kind, may_fail=any_risky(pieces))


def _pair(name: Code, value: Code) -> Code:
    """Return an object of one field."""
    if name.is_constant:
        return object_of({name.constant: value})
    may_fail = name.may_fail or value.may_fail
    return Code(f"{{{name.text}: {value.text}}}", ValueType("dict", value.type), may_fail=may_fail)


def _over(before: Field | None, field: Field) -> Field:
    """Return a field that a later dict may overwrite."""
    if field.always or before is None:
        return field
    return Field(field.name, join(before.type, field.type) or ANY, always=before.always)


def _key(scope: Scope, node: ast.expr) -> Code:
    key = defined(scope.value(node))
    if key.type != STR:
        raise Refusal(node, f"A key in JSON is a string, not {key.type}.", "Write str(...) around it.")
    return key


@record(frozen=True, slots=True)
class Items:
    """The items of a comprehension, the names of an item, and the parameter of the function in JSONata."""

    code: Code
    names: Mapping[str, Code]
    parameter: str


def items_of(scope: Scope, comprehension: ast.comprehension) -> Items:
    """Read what a comprehension or loop goes over."""
    iterated, target = comprehension.iter, comprehension.target
    if comprehension.is_async:
        advice = "Leave it out; a comprehension with a step in it is a Map, whose items run at the same time."
        raise Refusal(target, "async cannot be part of a flow.", advice)
    pairs = _PAIRS.get(_method_or_function(scope, iterated))
    if pairs is not None and isinstance(target, ast.Tuple) and isinstance(iterated, ast.Call):
        return pairs(scope, iterated, target)
    if not isinstance(target, ast.Name):
        raise Refusal(target, "This goes over one name.", "Take it apart inside: x[0], x[1].")
    items = defined(scope.value(iterated))
    if items.type.is_mapping:
        items = keys_of(items)
    if not items.type.is_list:
        message = f"This goes over a list; {ast.unparse(iterated)} is {items.type}."
        raise Refusal(iterated, message, _ANNOTATE_LIST)
    parameter = f"${target.id}_" if target.id in FUNCTIONS else f"${target.id}"
    return Items(items, {target.id: Code(parameter, items.type.element)}, parameter)


def _method_or_function(scope: Scope, node: ast.expr) -> str:
    if not isinstance(node, ast.Call):
        return ""
    if isinstance(node.func, ast.Attribute):
        return f".{node.func.attr}"
    return "enumerate" if scope.resolve(node.func) is enumerate else ""


def _two_names(target: ast.Tuple) -> tuple[str, str]:
    names = [part.id for part in target.elts if isinstance(part, ast.Name)]
    if len(names) != len(target.elts) or len(names) != 2:  # noqa: PLR2004 - a pair
        raise Refusal(target, "This goes over two names.", "Write: for key, value in ...")
    return names[0], names[1]


def _dict_items(scope: Scope, call: ast.Call, target: ast.Tuple) -> Items:
    assert isinstance(call.func, ast.Attribute), "the table names a method"
    base = defined(scope.value(call.func.value))
    if not base.type.is_mapping:
        raise Refusal(call, f".items() of {base.type}.", "Annotate it: x: dict[str, int] = ...")
    text = f"[$each({base.text}, function($_v, $_k) {{ {{'k': $_k, 'v': $_v}} }})]"
    return _pairs_of(scope, text, target, (STR, base.type.values), may_fail=base.may_fail)


def _enumerated(scope: Scope, call: ast.Call, target: ast.Tuple) -> Items:
    if len(call.args) != 1 or call.keywords:
        raise Refusal(call, "enumerate() takes one list here.", "Add to the number where it is used.")
    items = defined(scope.value(call.args[0]))
    if not items.type.is_list:
        raise Refusal(call, f"enumerate() goes over a list; this is {items.type}.", _ANNOTATE_LIST)
    text = f"[$map({items.text}, function($_v, $_i) {{ {{'k': $_i, 'v': $_v}} }})]"
    return _pairs_of(scope, text, target, (INT, items.type.element), may_fail=items.may_fail)


def _pairs_of(
    scope: Scope, text: str, target: ast.Tuple, kinds: tuple[ValueType, ValueType], *, may_fail: bool
) -> Items:
    first, second = _two_names(target)
    pair = ValueType("obj", None, (Field("k", kinds[0]), Field("v", kinds[1])))
    parameter = f"$_kv{len(scope.frames)}"
    names = {first: Code(f"{parameter}.k", kinds[0], PATH), second: Code(f"{parameter}.v", kinds[1], PATH)}
    return Items(Code(text, list_of(pair), may_fail=may_fail), names, parameter)


_PAIRS: Final[Mapping[str, Callable[[Scope, ast.Call, ast.Tuple], Items]]] = {
    ".items": _dict_items,
    "enumerate": _enumerated,
}


def _condition(scope: Scope, comprehension: ast.comprehension) -> Code | None:
    parts = [truth(scope, test) for test in comprehension.ifs]
    if not parts:
        return None
    text = " and ".join(part.within(AND) for part in parts)
    return Code(text, parts[0].type, AND, may_fail=any_risky(parts))


@reads(ast.ListComp, ast.GeneratorExp)
def _comprehension(scope: Scope, node: ast.ListComp | ast.GeneratorExp) -> Code:
    if len(node.generators) > 1:
        raise Refusal(node, "A comprehension has one `for` here.", "Nest two, or do it in a @task function.")
    (comprehension,) = node.generators
    items = items_of(scope, comprehension)
    with scope.frame(items.names):
        condition = _condition(scope, comprehension)
        each = defined(scope.value(node.elt))
    may_fail = any_risky([items.code, each, *([] if condition is None else [condition])])
    text = _listed_by(items, each, condition)
    return Code(text, list_of(each.type), may_fail=may_fail)


def _listed_by(items: Items, each: Code, condition: Code | None) -> str:
    test = None if condition is None else condition.text
    is_plain = each.type.kind not in {"list", "any"} and items.code.type.element.kind not in {"list", "any"}
    if test is None or each.text == items.parameter or not is_plain:
        return gathered(items.code.text, items.parameter, each, test)
    passed = f"$filter({items.code.text}, function({items.parameter}) {{ {test} }})"
    return f"[$map({passed}, function({items.parameter}) {{ {each.text} }})]"


@reads(ast.DictComp)
def _dict_comprehension(scope: Scope, node: ast.DictComp) -> Code:
    if len(node.generators) > 1 or scope.has_step(node):
        raise Refusal(node, "A dict comprehension has one `for` and no step here.", "Make a list first.")
    (comprehension,) = node.generators
    items = items_of(scope, comprehension)
    with scope.frame(items.names):
        condition = _condition(scope, comprehension)
        key, value = _key(scope, node.key), defined(scope.value(node.value))
    pair = replace(_pair(key, value), type=ValueType("dict", value.type), constant=UNKNOWN)
    text = gathered(items.code.text, items.parameter, pair, None if condition is None else condition.text)
    may_fail = any_risky([items.code, key, value, *([] if condition is None else [condition])])
    return Code(f"$merge({text})", ValueType("dict", value.type), may_fail=may_fail)


def refuses(kind: type[ast.expr], message: str, advice: str) -> None:
    """Register the refusal of a kind of expression."""

    def refuse(_: Scope, node: ast.expr) -> Code:
        raise Refusal(node, message, advice)

    reads(kind)(refuse)


refuses(ast.Set, "A set is no JSON value.", "Write a list.")
refuses(ast.SetComp, "A set is no JSON value.", "Write a list.")
refuses(ast.Tuple, "A tuple is no JSON value.", "Write a list: [a, b].")
refuses(ast.Starred, "* has no place here.", "Write the values out.")
refuses(ast.NamedExpr, ":= cannot be part of a flow.", "Assign the name on a line of its own.")
refuses(ast.Lambda, "A lambda has no place in a flow, but as key= of sorted.", "Write a comprehension, or a @task.")
refuses(
    ast.Await,
    "await has no place in a flow: every step is waited for.",
    "Leave it out; parallel(...) and comprehensions run at the same time.",
)
refuses(ast.Yield, "yield cannot be part of a flow.", "Return a list.")
refuses(ast.YieldFrom, "yield cannot be part of a flow.", "Return a list.")
