"""Parses, checks and compiles Choice rules.

The nesting of And, Or and Not is limited, so that neither parsing nor evaluating a rule can overflow the stack.
"""

from typing import Final

from dcf.asl.expressions.choice import AllOf, AnyOf, Condition, Negation, Never, PathTest, Presence, Rule, ValueTest
from dcf.asl.expressions.operators import OPERATORS
from dcf.asl.expressions.paths import Path
from dcf.asl.expressions.templates import Literal
from dcf.asl.syntax.fields import DefinitionFields, kind
from dcf.values.json_text import Json
from dcf.values.text_pieces import clip

MAX_NESTING: Final = 32
"""Limit on nested And, Or and Not; readable rules are far below it."""

_COMBINED: Final = ("And", "Or", "Not")
_TOP_ONLY: Final = ("Next", "Assign")
_PLAIN: Final = frozenset({"Next", "Comment", "Assign"})


def parse_rule(rule: DefinitionFields, depth: int = 1) -> Rule:
    """Compile one rule; `depth` 1 is a rule of the Choice state itself."""
    rule.text("Comment")
    if rule.jsonata:
        return _jsonata_rule(rule)
    for name in _TOP_ONLY if depth > 1 else ():
        if name in rule.document:
            message = f"a rule inside another has no {name}."
            rule.note(name, f"misplaced_{name.lower()}", message, f"Put {name} on the outermost rule.")
    if depth > MAX_NESTING:
        rule.note(None, "too_deep", f"rules nest deeper than {MAX_NESTING} levels.", "Split the Choice state.")
        return Never()
    return _condition(rule, depth)


def _jsonata_rule(rule: DefinitionFields) -> Rule:
    operators = frozenset({*_COMBINED, "Variable", "IsPresent", *OPERATORS})
    rule.allow(_PLAIN | {"Condition", "Output"}, operators)
    written = rule.document.get("Condition")
    if isinstance(written, bool):
        return Condition(source=Literal(value=written))
    if rule.is_expression("Condition"):
        source = rule.query("Condition")
        return Never() if source is None else Condition(source=source)
    message = "a rule needs a Condition that is a boolean or a JSONata expression."
    place = "Condition" if "Condition" in rule.document else None
    rule.note(place, "invalid_rule", message, "Write a Condition such as {% $states.input.total > 10 %}.")
    return Never()


def _condition(rule: DefinitionFields, depth: int) -> Rule:
    subjects = [name for name in (*_COMBINED, "Variable") if name in rule.document]
    if len(subjects) != 1:
        subjects_named = " and ".join(subjects) or "none"
        message = f"a rule needs exactly one of And, Or, Not and Variable; it has {subjects_named}."
        rule.note(None, "invalid_rule", message, "Combine rules with And, Or and Not.")
        return Never()
    if subjects == ["Variable"]:
        return _data_test(rule)
    _refuse_others(rule, subjects[0])
    return _combination(rule, subjects[0], depth)


def _refuse_others(rule: DefinitionFields, subject: str) -> None:
    for field in rule.document:
        if field != subject and field not in _PLAIN:
            rule.note(
                field,
                "unknown_field",
                f"'{clip(field)}' does not belong next to {subject}.",
                "Remove it, or move it.",
            )


def _combination(rule: DefinitionFields, name: str, depth: int) -> Rule:
    if name == "Not":
        return Negation(rule=_nested(rule, "/Not", rule.document["Not"], depth))
    parts: list[Json] = rule.value(name, list, "an array of rules") or []
    if rule.document[name] == []:
        rule.note(
            name,
            "missing_field",
            f"{name} needs at least one rule.",
            "Add a rule, or remove the combination.",
        )
    rules = tuple(_nested(rule, f"/{name}/{at}", part, depth) for at, part in enumerate(parts))
    return AllOf(rules=rules) if name == "And" else AnyOf(rules=rules)


def _nested(rule: DefinitionFields, tail: str, part: Json, depth: int) -> Rule:
    inner = rule.members(tail, part, rule.owner)
    return Never() if inner is None else parse_rule(inner, depth + 1)


def _data_test(rule: DefinitionFields) -> Rule:
    named = [field for field in rule.document if field not in _PLAIN and field != "Variable"]
    for field in named:
        if field != "IsPresent" and field not in OPERATORS:
            hint = "Use one of the language's comparison operators, such as StringEquals or IsPresent."
            rule.note(field, "unknown_field", f"'{clip(field)}' is not an operator.", hint)
    variable = rule.path("Variable")
    if len(named) != 1:
        message = f"a rule with Variable needs exactly one operator; it has {len(named)}."
        rule.note(None, "invalid_rule", message, "Combine several tests with And.")
    elif variable is not None:
        return _with_operand(rule, variable, named[0])
    return Never()


def _with_operand(rule: DefinitionFields, variable: Path, name: str) -> Rule:
    if name == "IsPresent":
        return Presence(variable=variable, expected=bool(rule.value(name, bool, "a boolean")))
    operator = OPERATORS.get(name)
    if operator is None:
        return Never()
    if operator.by_path:
        operand = rule.path(name)
        return Never() if operand is None else PathTest(variable=variable, test=operator.test, operand=operand)
    operand = rule.document[name]
    if operator.fits(operand):
        return ValueTest(variable=variable, test=operator.test, operand=operator.prepare(operand))
    shown = f"'{clip(operand)}'" if isinstance(operand, str) else kind(operand)
    message = f"{name} must be {operator.noun}, not {shown}."
    rule.note(name, "wrong_type", message, f"Give {name} {operator.noun}.")
    return Never()
