"""Writes JSONata: literals, how strongly its operators bind, and the names that are taken. Pure."""

import json
import math
from collections.abc import Mapping
from typing import Any, Final

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

_OPEN, _CLOSE = "{%", "%}"


def quoted(text: str) -> str:
    """Return a string of JSONata; what would end an expression of ASL is escaped."""
    return json.dumps(text, ensure_ascii=False, allow_nan=False).replace(_CLOSE, "%\\u007d").replace(_OPEN, "{\\u0025")


def literal(value: Any) -> str:
    """Return a JSON value written in JSONata."""
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{quoted(key)}: {literal(part)}" for key, part in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(literal, value)) + "]"
    return json.dumps(value, allow_nan=False)


def is_json(value: Any) -> bool:
    """Return True for a Python value that JSON has too: NaN and infinity are none."""
    if isinstance(value, float):
        return math.isfinite(value)
    if value is None or isinstance(value, bool | int | str):
        return True
    if isinstance(value, list | tuple):
        return all(map(is_json, value))
    return isinstance(value, dict) and all(isinstance(key, str) and is_json(part) for key, part in value.items())


def expression(text: str) -> str:
    """Return JSONata as a field of a state holds it."""
    return f"{_OPEN} {text} {_CLOSE}"


def reads_as_expression(value: Any) -> bool:
    """Return True for a value that a state would take for an expression."""
    if isinstance(value, dict):
        return any(map(reads_as_expression, value.values()))
    if isinstance(value, list):
        return any(map(reads_as_expression, value))
    return isinstance(value, str) and value.strip().startswith(_OPEN)
