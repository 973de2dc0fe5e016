"""Texts that show values: f-strings and `str`, as Python shows them or not at all."""

import ast
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from dcf.asl.jsonata.writing import CONDITIONAL, PATH, SUM
from dcf.flow.jsonata_code import Code, constant, defined
from dcf.flow.refusals import Refusal
from dcf.flow.scope import Scope, reads
from dcf.steps.value_types import STR, present

_AS_STR: Final = (-1, 115)
"""No conversion, or !s."""


@reads(ast.JoinedStr)
def _formatted_text(scope: Scope, node: ast.JoinedStr) -> Code:
    parts: list[Code] = []
    for part in node.values:
        if isinstance(part, ast.FormattedValue):
            parts.append(_formatted(scope, part))
        else:
            assert isinstance(part, ast.Constant), "an f-string is made of texts and of values"
            parts.append(constant(part.value))
    if not parts:
        return constant("")
    text = " & ".join(part.within(SUM) for part in parts)
    if len(parts) == 1 and not parts[0].is_constant:
        text = f'"" & {text}'
    return Code(text, STR, SUM, may_fail=any(part.may_fail for part in parts))


def _formatted(scope: Scope, part: ast.FormattedValue) -> Code:
    if part.conversion not in _AS_STR:
        raise Refusal(part.value, "!r and !a show Python's own notation, which JSON does not have.", "Leave it out.")
    value = defined(scope.value(part.value))
    if part.format_spec is None:
        return shown(value, part.value)
    pattern = ast.unparse(part.format_spec)[2:-1]
    if value.type.is_number and pattern.startswith(".") and pattern.endswith("f") and pattern[1:-1].isdigit():
        digits = "0" * int(pattern[1:-1])
        picture = f"0.{digits}" if digits else "0"
        return Code(f"$formatNumber({value.text}, '{picture}')", STR, may_fail=value.may_fail)
    message = f"The format '{pattern}' cannot be part of a flow."
    raise Refusal(part.value, message, "Formats are .0f, .1f, .2f and so on; do others in a @task function.")


def shown(value: Code, node: ast.AST) -> Code:
    """Return the text of a value as Python shows it; refuse what Python shows in its own notation."""
    if value.type.kind == "null":
        return constant("None")
    if value.type.declared is Exception:
        return Code(f"{value.text}.Cause", STR, PATH)
    if value.type.optional:
        text = shown(Code("$_v", present(value.type)), node).within(CONDITIONAL)
        return Code(f"($_v := {value.text}; $_v = null ? 'None' : {text})", STR, may_fail=value.may_fail)
    pattern = _SHOWN.get(value.type.kind)
    if pattern is None:
        message, advice = _REFUSED.get(value.type.kind, _REFUSED["obj"])
        raise Refusal(node, message, advice or value.annotated("str"))
    return value if pattern == "{}" else Code(pattern.format(value.text), STR, may_fail=value.may_fail)


def f_string(text: Any, mark: str, values: Sequence[ast.expr]) -> str:
    """Return the advice to write an f-string for a text with marks; it is written out where the marks are plain."""
    pieces = re.split(mark, text) if isinstance(text, str) else []
    if len(pieces) != len(values) + 1 or any(sign in piece for sign in "%{}" for piece in pieces):
        return "Write an f-string: f'... {x}'."
    parts: list[ast.expr] = [ast.Constant(pieces[0])]
    for value, piece in zip(values, pieces[1:], strict=True):
        parts += [ast.FormattedValue(value, -1), ast.Constant(piece)]
    return f"Write {ast.unparse(ast.JoinedStr(parts))}."


_SHOWN: Final[Mapping[str, str]] = {"str": "{}", "int": "$string({})", "bool": "(({}) ? 'True' : 'False')"}
_REFUSED: Final[Mapping[str, tuple[str, str]]] = {
    "float": ("A float has another text in JSON (1 for 1.0).", "Say how many digits: f'{x:.2f}'."),
    "any": ("The type of this value is not known, and its text depends on it.", ""),
    "obj": ("The text of a list or an object is Python's own notation.", "Name the parts that shall be shown."),
}
