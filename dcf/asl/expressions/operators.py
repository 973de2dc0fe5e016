"""The data tests of Choice rules.

A value of the wrong type makes a test false, never an error. In JSON a boolean is no number; in Python it is.
"""

import operator
from collections.abc import Callable
from typing import TypeAlias

from dcf.asl.expressions.timestamps import instant
from dcf.asl.expressions.wildcards import Pattern, parse_pattern
from dcf.values.json_text import Json
from dcf.values.records import record

Test: TypeAlias = Callable[[Json, Json], bool]
"""A function of the Variable's value and the operand that returns True if the test passes."""


def text(value: Json) -> bytes | None:
    """Return a string as bytes that sort by UTF-16 code unit, the order of the language; None for other types."""
    return value.encode("utf-16-be", "surrogatepass") if isinstance(value, str) else None


def number(value: Json) -> int | float | None:
    """Return a number; None for other types, booleans among them."""
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def boolean(value: Json) -> bool | None:
    """Return a boolean; None for other types."""
    return value if isinstance(value, bool) else None


def _as_written(operand: Json) -> Json:
    return operand


@record(frozen=True, slots=True, kw_only=True)
class Operator:
    """An operator: the name of its operand's type, the check of a literal operand, and the test.

    `prepare` compiles a literal operand once; `by_path` means that the operand is a path to read first.
    """

    noun: str
    fits: Callable[[Json], bool]
    test: Test
    prepare: Callable[[Json], Json] = _as_written
    by_path: bool = False


def _comparison(read: Callable[[Json], Json], compare: Callable[[Json, Json], bool]) -> Test:
    def test(value: Json, operand: Json) -> bool:
        left, right = read(value), read(operand)
        return left is not None and right is not None and compare(left, right)

    return test


def _kind_check(holds: Callable[[Json], bool]) -> Test:
    def test(value: Json, expected: Json) -> bool:
        return holds(value) is expected

    return test


def _reads(read: Callable[[Json], Json]) -> Callable[[Json], bool]:
    return lambda value: read(value) is not None


def _wildcard(value: Json, pattern: Pattern) -> bool:
    return isinstance(value, str) and pattern.matches(value)


_ORDER: dict[str, Callable[[Json, Json], bool]] = {
    "Equals": operator.eq,
    "LessThan": operator.lt,
    "GreaterThan": operator.gt,
    "LessThanEquals": operator.le,
    "GreaterThanEquals": operator.ge,
}

_READERS: dict[str, tuple[str, Callable[[Json], Json], dict[str, Callable[[Json, Json], bool]]]] = {
    "String": ("a string", text, _ORDER),
    "Numeric": ("a number", number, _ORDER),
    "Boolean": ("a boolean", boolean, {"Equals": operator.eq}),
    "Timestamp": ("an RFC 3339 timestamp such as 2026-01-31T12:00:00Z", instant, _ORDER),
}

_KINDS: dict[str, Callable[[Json], bool]] = {
    "IsNull": lambda value: value is None,
    "IsNumeric": _reads(number),
    "IsString": _reads(text),
    "IsBoolean": _reads(boolean),
    "IsTimestamp": _reads(instant),
}


def _catalog() -> dict[str, Operator]:
    operators: dict[str, Operator] = {}
    for kind, (noun, read, orders) in _READERS.items():
        for order, compare in orders.items():
            test = _comparison(read, compare)
            operators[kind + order] = Operator(noun=noun, fits=_reads(read), test=test)
            operators[f"{kind}{order}Path"] = Operator(noun="a path", fits=_reads(text), test=test, by_path=True)
    for name, holds in _KINDS.items():
        operators[name] = Operator(noun="a boolean", fits=_reads(boolean), test=_kind_check(holds))
    operators["StringMatches"] = Operator(noun="a string", fits=_reads(text), test=_wildcard, prepare=parse_pattern)
    return operators


OPERATORS = _catalog()
"""All operators except IsPresent, which tests the path, not the value."""
