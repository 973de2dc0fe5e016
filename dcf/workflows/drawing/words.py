"""Turns names and conditions into texts for pictures, made safe since a workflow's author may write anything. Pure."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Final
from unicodedata import east_asian_width

from dcf.asl.expressions.choice import AllOf, AnyOf, Condition, Negation, PathTest, Presence, Rule, ValueTest
from dcf.asl.expressions.operators import OPERATORS, Test
from dcf.asl.expressions.wildcards import Pattern
from dcf.asl.jsonata.expressions import Query
from dcf.values.json_text import Json, dump

LONGEST: Final = 400
_NARROW: Final = frozenset("iljtfr.,:;'|!()[] ")
_WIDE: Final = frozenset("mwMW@%&—…")

_SIGNS: Final[Mapping[str, str]] = {
    "LessThanEquals": "≤",
    "GreaterThanEquals": "≥",
    "LessThan": "<",
    "GreaterThan": ">",
    "Equals": "=",
}
_NOUNS: Final[Mapping[str, str]] = {
    "IsNumeric": "a number",
    "IsString": "a string",
    "IsBoolean": "a boolean",
    "IsTimestamp": "a timestamp",
}
_TESTS: Final[Mapping[Test, str]] = {
    operator.test: name for name, operator in OPERATORS.items() if not operator.by_path
}


def printable(text: str, longest: int = LONGEST) -> str:
    """Make text safe for XML, Mermaid and terminals, on one line, and cut it at `longest` characters."""
    shown = "".join(map(_printable, text[: longest + 1]))
    return shown if len(shown) <= longest else shown[: longest - 1] + "…"


def width_of(text: str, size: float) -> float:
    """Estimate the width of a text in pixels, in a common sans-serif font; rather too wide than too narrow."""
    return size * sum(map(_em, text))


def describe(rule: Rule) -> str:
    """Describe the condition of a Choice rule briefly."""
    return printable(_describe(rule, 0))


def errors_text(errors: tuple[str, ...]) -> str:
    """Name the errors that a Catcher matches."""
    return printable(", ".join("any error" if error == "States.ALL" else error for error in errors))


def _printable(character: str) -> str:
    if character.isprintable():
        return character
    return " " if character.isspace() else "\N{REPLACEMENT CHARACTER}"


@lru_cache(maxsize=4096)
def _em(character: str) -> float:
    if character in _NARROW:
        return 0.36
    if character in _WIDE or east_asian_width(character) in "WF":
        return 1.02
    return 0.72 if character.isupper() or not character.isascii() else 0.59


def _describe(rule: Rule, depth: int) -> str:  # noqa: PLR0911  # a table of the kinds of rules
    match rule:
        case AllOf(rules=rules):
            return _joined(rules, " and ", depth)
        case AnyOf(rules=rules):
            return _joined(rules, " or ", depth)
        case Negation(rule=inner):
            return f"not ({_describe(inner, 0)})"
        case Presence(variable=variable, expected=expected):
            return f"{variable.text} is {'present' if expected else 'absent'}"
        case ValueTest(variable=variable, test=test, operand=operand):
            return f"{variable.text} {_verb(_TESTS.get(test, ''), _literal(operand))}"
        case PathTest(variable=variable, test=test, operand=path):
            return f"{variable.text} {_verb(_TESTS.get(test, ''), path.text)}"
        case Condition(source=source):
            return source.compiled.text.strip() if isinstance(source, Query) else "always or never"
        case _:
            return "?"


def _joined(rules: tuple[Rule, ...], word: str, depth: int) -> str:
    text = word.join(_describe(rule, depth + 1) for rule in rules)
    return f"({text})" if depth else text


def _verb(name: str, operand: str) -> str:
    if name.startswith("Is"):
        noun = _NOUNS.get(name, name[2:].lower())
        return f"is {noun}" if operand == "true" else f"is not {noun}"
    if name == "StringMatches":
        return f"matches {operand}"
    sign = next((sign for ending, sign in _SIGNS.items() if name.endswith(ending)), name)
    return f"{sign} {operand}"


def _literal(operand: Json) -> str:
    return dump(operand.text if isinstance(operand, Pattern) else operand)
