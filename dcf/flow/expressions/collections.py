"""Lists, dicts, and comprehensions without a step. Those with a step are Maps (`dcf.flow.states.maps`)."""

import ast
from collections.abc import Mapping, Sequence

from dcf.asl.jsonata.writing import FUNCTIONS, INDEX, PATH, quoted
from dcf.flow.expressions.truth import narrowed, truth
from dcf.flow.jsonata_code import UNKNOWN, Code, any_risky, constant, defined, gathered, keys_of, listed, template
from dcf.flow.names import Environment
from dcf.flow.refusals import Refusal
from dcf.flow.scope import Scope, reads
from dcf.steps.suggestions import near
from dcf.steps.value_types import ANY, INT, STR, Field, ValueType, default_of, fits, join, joined, list_of, type_of
from dcf.values.records import record, replace


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
    return as_list(scope.value(item.value), "*")


def as_list(code: Code, user: str) -> Code:
    """Return the code of what must be a list."""
    if not code.type.is_list:
        raise Refusal(code.node, f"{user} takes a list; {code.source} is {code.type}.", code.annotated("list[str]"))
    return defined(code)


@reads(ast.Dict)
def _dict(scope: Scope, node: ast.Dict) -> Code:
    written = [ast.unparse(key) for key in node.keys if key]
    if len(set(written)) != len(written):
        raise Refusal(node, "This dict has the same key twice.", "Leave one of them out.")
    items = zip(node.keys, node.values, strict=True)
    pairs = [(None if key is None else _key(scope, key), scope.value(value)) for key, value in items]
    named = {key.constant: value for key, value in pairs if key is not None and key.is_constant}
    return object_of(named) if len(named) == len(pairs) else _merged(pairs)


def object_of(fields: Mapping[str, Code], kind: ValueType | None = None) -> Code:
    """Return an object that is written out; as a field of a state it is a template."""
    text = "{" + ", ".join(f"{quoted(name)}: {defined(code).text}" for name, code in fields.items()) + "}"
    own = ValueType("obj", None, tuple(Field(name, code.type) for name, code in fields.items()))
    parts = {name: template(code) for name, code in fields.items()}
    return Code(text, kind or own, template=parts, may_fail=any_risky(fields.values()))


def made_of(scope: Scope, node: ast.Call, kind: type) -> Code:
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
            try:
                values[field.name] = constant(default_of(kind, field.name))
            except LookupError:
                raise Refusal(node, f"{made} needs '{field.name}'.", f"Add {field.name}=...") from None
    return object_of(values, made)


def _merged(pairs: Sequence[tuple[Code | None, Code]]) -> Code:
    """Return one object of many: equal keys are an error of JSONata in an object that is written out."""
    pieces: list[Code] = []
    fields: dict[str, Field] = {}
    for key, value in pairs:
        if key is None and not value.type.is_mapping:
            raise Refusal(value.node, f"** spreads a dict; this is {value.type}.", "Annotate it with a TypedDict.")
        pieces.append(defined(value) if key is None else _pair(key, defined(value)))
        fields.update({field.name: _over(fields.get(field.name), field) for field in pieces[-1].type.fields})
    values = ValueType("dict", joined([piece.type.values for piece in pieces]) or ANY)
    is_known = all(piece.type.kind == "obj" for piece in pieces)
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


def ends_of(scope: Scope, call: ast.Call) -> list[Code]:
    """Return the ends of a `range(...)`."""
    ends = [defined(scope.value(end)) for end in call.args]
    if any(end.type != INT for end in ends) or len(ends) not in {1, 2}:
        raise Refusal(call, "range() takes one or two whole numbers here.", "Multiply in the loop for a step.")
    return ends


@record(frozen=True, slots=True)
class Items:
    """The items of a comprehension or loop, and the names of an item, which is `parameter` in JSONata."""

    code: Code
    names: Mapping[str, Code]
    parameter: str


def items_of(scope: Scope, target: ast.expr, iterated: ast.expr, parameter: str = "") -> Items:
    """Read what a comprehension or loop goes over."""
    if isinstance(target, ast.Tuple):
        return _pairs_of(scope, target, iterated, parameter or f"$_kv{len(scope.frames)}")
    if not isinstance(target, ast.Name):
        raise Refusal(target, "This goes over one name.", "Take it apart inside: x[0], x[1].")
    items = scope.value(iterated)
    items = keys_of(defined(items)) if items.type.is_mapping else as_list(items, f"A loop over {target.id}")
    parameter = parameter or f"${target.id}" + ("_" if target.id in FUNCTIONS else "")
    return Items(items, {target.id: Code(parameter, items.type.element, INDEX)}, parameter)


def _pairs_of(scope: Scope, target: ast.Tuple, iterated: ast.expr, parameter: str) -> Items:
    """Read `for key, value in d.items()` or `for number, x in enumerate(xs)`."""
    match iterated:
        case ast.Call(func=ast.Attribute(value=whole, attr="items"), args=[]):
            base = defined(scope.value(whole))
            if not base.type.is_mapping:
                raise Refusal(iterated, f".items() of {base.type}.", base.annotated("dict[str, int]"))
            text = f"$each({base.text}, function($_v, $_k) {{ {{'k': $_k, 'v': $_v}} }})"
            kinds = (STR, base.type.values)
        case ast.Call(func=function, args=[whole], keywords=[]) if scope.resolve(function) is enumerate:
            base = as_list(scope.value(whole), "enumerate()")
            text = f"$map({base.text}, function($_v, $_i) {{ {{'k': $_i, 'v': $_v}} }})"
            kinds = (INT, base.type.element)
        case _:
            advice = "Take it apart inside: x[0], x[1]; two names go over d.items() or enumerate(xs)."
            raise Refusal(target, "This goes over one name.", advice)
    names = [part.id for part in target.elts if isinstance(part, ast.Name)]
    if len(names) != len(target.elts) or len(names) != len(kinds):
        raise Refusal(target, "This goes over two names.", "Write: for key, value in ...")
    pair = ValueType("obj", None, tuple(map(Field, "kv", kinds)))
    parts = {name: Code(f"{parameter}.{key}", kind, PATH) for name, key, kind in zip(names, "kv", kinds, strict=True)}
    return Items(Code(f"[{text}]", list_of(pair), may_fail=base.may_fail), parts, parameter)


def _tested(scope: Scope, comprehension: ast.comprehension) -> tuple[Code | None, Environment]:
    """Return the condition of a comprehension, and what is known of each item that passes."""
    if not comprehension.ifs:
        return None, {}
    first, *others = comprehension.ifs
    test = ast.copy_location(ast.BoolOp(ast.And(), comprehension.ifs), first) if others else first
    return truth(scope, test), narrowed(scope, test, holds=True)


@reads(ast.ListComp, ast.GeneratorExp)
def _comprehension(scope: Scope, node: ast.ListComp | ast.GeneratorExp) -> Code:
    if len(node.generators) > 1:
        raise Refusal(node, "A comprehension has one `for` here.", "Nest two, or do it in a @task function.")
    (comprehension,) = node.generators
    items = items_of(scope, comprehension.target, comprehension.iter)
    with scope.frame(items.names):
        condition, known = _tested(scope, comprehension)
        with scope.frame(known):
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
    items = items_of(scope, comprehension.target, comprehension.iter)
    with scope.frame(items.names):
        condition, known = _tested(scope, comprehension)
        with scope.frame(known):
            key, value = _key(scope, node.key), defined(scope.value(node.value))
    pair = replace(_pair(key, value), type=ValueType("dict", value.type), constant=UNKNOWN)
    text = gathered(items.code.text, items.parameter, pair, None if condition is None else condition.text)
    may_fail = any_risky([items.code, key, value, *([] if condition is None else [condition])])
    return Code(f"$merge({text})", ValueType("dict", value.type), may_fail=may_fail)
