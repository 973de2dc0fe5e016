"""Compiled Choice rules: objects that return True or False for a document.

They do not decide where a choice leads: that is the machine's. `syntax/choice.py` parses them.
"""

from typing import Protocol

from dcf.asl.expressions.operators import Test
from dcf.asl.expressions.paths import MISSING, Path
from dcf.asl.expressions.templates import Template
from dcf.asl.jsonata.expressions import QUERY_ERROR, Query
from dcf.asl.surroundings import Surroundings
from dcf.errors import StateError
from dcf.values.json_text import Json
from dcf.values.records import record


class Rule(Protocol):
    """A condition over the state's effective input, or over `$states` in JSONata mode."""

    def matches(self, document: Json, around: Surroundings, /) -> bool:
        """Return True if the rule matches; raise StateError when a value that it reads is missing."""


@record(frozen=True, slots=True, kw_only=True)
class AllOf:
    """And. Evaluation stops at the first rule that does not match, so an early rule can guard a later one."""

    rules: tuple[Rule, ...]

    def matches(self, document: Json, around: Surroundings, /) -> bool:
        """Return True if every rule matches."""
        return all(rule.matches(document, around) for rule in self.rules)


@record(frozen=True, slots=True, kw_only=True)
class AnyOf:
    """Or. Evaluation stops at the first rule that matches."""

    rules: tuple[Rule, ...]

    def matches(self, document: Json, around: Surroundings, /) -> bool:
        """Return True if at least one rule matches."""
        return any(rule.matches(document, around) for rule in self.rules)


@record(frozen=True, slots=True, kw_only=True)
class Negation:
    """Not: matches when its rule does not."""

    rule: Rule

    def matches(self, document: Json, around: Surroundings, /) -> bool:
        """Return True if the rule does not match."""
        return not self.rule.matches(document, around)


@record(frozen=True, slots=True, kw_only=True)
class Never:
    """Placeholder for a rule that has problems; a machine with problems never runs."""

    def matches(self, _document: Json, _around: Surroundings, /) -> bool:
        """Return False."""
        return False


@record(frozen=True, slots=True, kw_only=True)
class ValueTest:
    """An operator whose operand is a literal in the rule."""

    variable: Path
    test: Test
    operand: Json

    def matches(self, document: Json, around: Surroundings, /) -> bool:
        """Return True if the value of the Variable passes the test."""
        return self.test(self.variable.read(document, around), self.operand)


@record(frozen=True, slots=True, kw_only=True)
class PathTest:
    """An operator whose operand is read by a path."""

    variable: Path
    test: Test
    operand: Path

    def matches(self, document: Json, around: Surroundings, /) -> bool:
        """Return True if the value of the Variable passes the test."""
        return self.test(self.variable.read(document, around), self.operand.read(document, around))


@record(frozen=True, slots=True, kw_only=True)
class Presence:
    """IsPresent: the only operator that accepts a missing value."""

    variable: Path
    expected: bool

    def matches(self, document: Json, around: Surroundings, /) -> bool:
        """Return True if the value is present or missing as expected; null counts as present."""
        return (self.variable.find(document, around) is not MISSING) is self.expected


@record(frozen=True, slots=True, kw_only=True)
class Condition:
    """A JSONata condition. The state fails when the expression returns no boolean."""

    source: Template

    def matches(self, document: Json, around: Surroundings, /) -> bool:
        """Return True if the expression is true."""
        verdict = self.source.render(document, around)
        if isinstance(verdict, bool):
            return verdict
        if isinstance(self.source, Query):
            raise self.source.failure("returned an unexpected result type. Expected 'boolean'.")
        raise StateError(QUERY_ERROR, "The Condition is not a boolean.")
