"""Compiles a JSONata expression so that it gives what was measured on AWS, where the library does not.

Functions are replaced. Where the language itself differs, the text is changed before it is compiled. An analysis of
what an expression reads needs the text as it was written. Like `aws_functions`, this module imports little.
"""

import re
from collections.abc import Callable
from typing import Any, Final

from jlens import Expression

from dcf.asl.jsonata.aws_functions import FUNCTIONS
from dcf.asl.jsonata.text import may_divide, with_regexes_changed, without_literals

_NAME: Final = re.compile(r"\$([^\W\d]\w*)")
_NOW_WITH_ARGUMENTS: Final = re.compile(r"\$now\s*\(\s*[^\s)]")
_PIECE: Final = re.compile(r"\\.|[^\\]", re.DOTALL)

_SPACE: Final = r" \t\n\x0B\f\r"
_OTHER_SPACE: Final = r"\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
_SPACES: Final = {
    (r"\s", False): f"[{_SPACE}]",
    (r"\S", False): f"[^{_SPACE}]",
    (r"\s", True): _SPACE,
    (r"\S", True): rf"\S{_OTHER_SPACE}",
}
"""The replacements of `\\s` and `\\S`, by whether they are inside a character class. Java's whitespace is ASCII's."""

_UTC: Final = (
    '$dcf_now := $now; $now := function($picture, $zone) { $dcf_now($picture, $zone = "utc" ? "+0000" : $zone) };'
)
_NAN: Final = "NaN"
_MARKS: Final = "[$dcf_value.**.($ != $ ? 1 : $ = null ? 0)]"
"""Marks each NaN and each null in a value, in the order of its JSON text. Only NaN differs from itself."""

_WITH_NAN: Final = (
    f'$dcf_value != $dcf_value ? "{_NAN}" : $dcf_holds_null($dcf_value) ?'
    f" ($dcf_marks := {_MARKS}; 1 in $dcf_marks ? $dcf_nan_named($dcf_value, $dcf_marks) : $dcf_value) : $dcf_value"
)
"""The result with a string for each NaN."""


def aws_expression(text: str) -> Expression:
    """Compile an expression, whose text the library must be able to compile unchanged."""
    bare, divides = without_literals(text), may_divide(text)
    compiled = Expression(_changed(text, bare, divides=divides))
    for name in FUNCTIONS.keys() & set(_NAME.findall(bare)):
        compiled.register_function(name, *FUNCTIONS[name])
    if divides:
        compiled.register_function("dcf_holds_null", _holds_null)
        compiled.register_function("dcf_nan_named", _nan_named)
    return compiled


def _changed(text: str, bare: str, *, divides: bool) -> str:
    changed = with_regexes_changed(text, _ascii_spaces)
    if _NOW_WITH_ARGUMENTS.search(bare):
        changed = f"({_UTC} ({changed}))"
    if divides:
        changed = f"($dcf_value := ({changed}); {_WITH_NAN})"
    return changed


def _ascii_spaces(regex: str) -> str:
    written, inside = [], False
    for piece in _PIECE.findall(regex):
        inside = piece == "[" or (inside and piece != "]")
        written.append(_SPACES.get((piece, inside), piece))
    return "".join(written)


def _holds_null(value: Any = None) -> bool:
    """Return True if an array or object holds what the library hands over as None: null, NaN or a function."""
    return isinstance(value, dict | list) and _count_none(value) > 0


def _nan_named(value: Any, marks: list[int]) -> Any:
    """Return a copy of an array or object with a string for each NaN, which `marks` tells from null."""
    if len(marks) != _count_none(value):
        raise ValueError("a result cannot hold a function and a quotient that is not a number")
    return _renamed(value, iter(marks).__next__)


def _count_none(value: Any) -> int:
    """Count what is None inside a container."""
    if isinstance(value, dict | list):
        parts = value.values() if isinstance(value, dict) else value
        return sum(1 if part is None else _count_none(part) for part in parts)
    return 0


def _renamed(value: Any, mark: Callable[[], int]) -> Any:
    if isinstance(value, dict):
        return {name: _renamed(part, mark) for name, part in value.items()}
    if isinstance(value, list):
        return [_renamed(part, mark) for part in value]
    return _NAN if value is None and mark() else value
