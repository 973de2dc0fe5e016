"""A piece of JSONata with what is known of its value, and the bridges over what JSONata does otherwise than Python."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from dcf.steps.value_types import ANY, STR, Field, ValueType, joined, list_of, type_of
from dcf.values.records import record, replace

UNKNOWN: Final[Any] = object()
"""Stands where no constant and no template is known; None is a value."""

ATOM: Final = 100
PATH: Final = 90
INDEX: Final = 80
STEP: Final = 75
PRODUCT: Final = 60
SUM: Final = 50
COMPARISON: Final = 40
AND: Final = 30
OR: Final = 25
CONDITIONAL: Final = 20
"""How strongly the operators of JSONata bind."""

FUNCTIONS: Final = frozenset(
    {
        *("states", "sum", "count", "max", "min", "average", "string", "length", "substring", "substringBefore"),
        *("substringAfter", "uppercase", "lowercase", "trim", "pad", "contains", "split", "join", "match"),
        *("replace", "number", "abs", "floor", "ceil", "round", "power", "sqrt", "random", "formatNumber"),
        *("formatBase", "formatInteger", "parseInteger", "boolean", "not", "exists", "map", "zip", "filter"),
        *("single", "reduce", "sift", "keys", "lookup", "append", "merge", "reverse", "each", "error", "assert"),
        *("type", "sort", "shuffle", "distinct", "base64encode", "base64decode", "encodeUrl", "encodeUrlComponent"),
        *("decodeUrl", "decodeUrlComponent", "now", "millis", "toMillis", "fromMillis", "eval", "clone"),
        *("partition", "range", "hash", "parse", "uuid", "spread"),
    }
)
"""Names that are functions of JSONata: a variable of this name would hide one."""

_WORDS: Final = ("and", "or", "in", "true", "false", "null")
_OPEN, _CLOSE = "{%", "%}"


@record(frozen=True, slots=True)
class Code:
    """JSONata, and what is known of its value.

    `level`: how strongly its outermost operator binds. `sure`: it is never undefined. `may_fail`: evaluating it may be
    an error. `written`: an array constructor. `constant`: its value, where it is known. `template`: what the field of a
    state holds in its place, so that a part that is missing fails by itself. `missing` says what is wrong then.
    """

    text: str
    type: ValueType
    level: int = ATOM
    sure: bool = True
    may_fail: bool = False
    written: bool = False
    constant: Any = UNKNOWN
    template: Any = UNKNOWN
    missing: str = ""

    def within(self, level: int) -> str:
        """Return the text as an operand of an operator of this level."""
        return self.text if self.level > level else f"({self.text})"

    @property
    def is_constant(self) -> bool:
        """True where the value is known when the flow is compiled."""
        return self.constant is not UNKNOWN

    @property
    def is_risky(self) -> bool:
        """True where evaluating it may be an error, or may give nothing."""
        return self.may_fail or not self.sure


def quoted(text: str) -> str:
    """Return a string of JSONata; what would end an expression of ASL is escaped."""
    return json.dumps(text, ensure_ascii=False).replace(_CLOSE, "%\\u007d").replace(_OPEN, "{\\u0025")


def literal(value: Any) -> str:
    """Return a JSON value written in JSONata."""
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{quoted(key)}: {literal(part)}" for key, part in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(literal, value)) + "]"
    return json.dumps(value)


def constant(value: Any) -> Code:
    """Return the code of a JSON value that is known now."""
    text = literal(value)
    level = PRODUCT if text.startswith("-") else ATOM
    return Code(text, _type_of_value(value), level, written=isinstance(value, list), constant=value, template=value)


def _type_of_value(value: Any) -> ValueType:
    if isinstance(value, list):
        return list_of(joined([_type_of_value(part) for part in value]) or ANY)
    if isinstance(value, dict):
        return ValueType("obj", None, tuple(Field(key, _type_of_value(part)) for key, part in value.items()))
    return type_of(type(value))


def is_json(value: Any) -> bool:
    """Return True for a Python value that JSON has too."""
    if value is None or isinstance(value, bool | int | float | str):
        return True
    if isinstance(value, list | tuple):
        return all(map(is_json, value))
    return isinstance(value, dict) and all(isinstance(key, str) and is_json(part) for key, part in value.items())


def defined(code: Code) -> Code:
    """Return code that fails where the value is undefined, which JSONata would pass over."""
    if code.sure:
        return code
    text = f"($_v := {code.text}; $exists($_v) ? $_v : $error({quoted(code.missing)}))"
    return replace(code, text=text, level=ATOM, sure=True, may_fail=True, template=UNKNOWN)


def element(code: Code) -> str:
    """Return what stands in an array constructor for exactly one element: JSONata flattens arrays that stand there."""
    text = defined(code).text
    if code.type.is_list:
        is_constructor = code.written or (text.startswith("[") and code.level == ATOM)
        return text if is_constructor else f"[{text}]"
    if code.type.kind in {"any", "list"}:
        return f"($_v := {text}; $type($_v) = 'array' ? [[$_v]] : $_v)"
    return text


def listed(items: Sequence[Code]) -> Code:
    """Return a list that is written out."""
    kind = list_of(joined([item.type for item in items]) or ANY)
    text = "[" + ", ".join(map(element, items)) + "]"
    return Code(text, kind, written=True, may_fail=any_risky(items), template=[template(item) for item in items])


def gathered(items: str, name: str, each: Code, test: str | None = None, *, by_index: bool = False) -> str:
    """Return a list of `each` for every item that passes: by $map and $filter if nothing can collapse, else $reduce."""
    at = ", $_i" if by_index else ""
    is_plain = each.type.kind not in {"list", "any"} or (each.is_constant and not isinstance(each.constant, list))
    if is_plain and test is None:
        return f"[$map({items}, function({name}{at}) {{ {defined(each).text} }})]"
    if is_plain and each.text == name:
        return f"[$filter({items}, function({name}{at}) {{ {test} }})]"
    longer = f"$append($_l, [{element(each)}])"
    body = longer if test is None else f"({test}) ? {longer} : $_l"
    return f"$reduce({items}, function($_l, {name}{at}) {{ {body} }}, [])"


def place(base: Code, key: str, kind: ValueType, *, sure: bool) -> Code:
    """Return a field of a value."""
    step = key if key.isidentifier() and key not in _WORDS else f"`{key}`"
    return Code(f"{base.within(STEP)}.{step}", kind, PATH, sure=sure and base.sure, may_fail=base.may_fail)


def lookup(base: Code, key: Code, kind: ValueType) -> Code:
    """Return what a dict has under a key that is worked out."""
    return Code(f"$lookup({base.text}, {key.text})", kind, sure=False, may_fail=base.may_fail or key.may_fail)


def keys_of(base: Code) -> Code:
    """Return the keys of a dict as a list."""
    return Code(f"[$keys({base.text})]", list_of(STR), may_fail=base.may_fail)


def template(code: Code) -> Any:
    """Return what a field of a state holds for this code."""
    if code.is_constant and not _reads_as_expression(code.constant):
        return code.constant
    if code.template is not UNKNOWN and not code.is_constant:
        return code.template
    return expression(code.text)


def expression(text: str) -> str:
    """Return JSONata as a field of a state holds it."""
    return f"{_OPEN} {text} {_CLOSE}"


def _reads_as_expression(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_reads_as_expression, value.values()))
    if isinstance(value, list):
        return any(map(_reads_as_expression, value))
    return isinstance(value, str) and value.strip().startswith(_OPEN)


def any_risky(codes: Iterable[Code]) -> bool:
    """Return True if evaluating one of these may be an error."""
    return any(code.is_risky for code in codes)
