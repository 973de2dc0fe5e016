"""Choice rules, compiled: small objects that look at a document and say yes or no.

They decide only; where a choice leads is the machine's matter. Parsing them is `choice_syntax`.
"""

from dataclasses import dataclass
from typing import Protocol

from dcf.asl.jsonata import QUERY_ERROR, Query
from dcf.asl.operators import Test
from dcf.asl.paths import MISSING, Path
from dcf.asl.surroundings import Surroundings
from dcf.asl.templates import Template
from dcf.errors import StateError
from dcf.values.json_text import Json


class Rule(Protocol):
    """A condition over the state's effective input, or over `$states` in JSONata mode."""

    def matches(self, document: Json, around: Surroundings, /) -> bool:
        """Say yes or no; raise StateError when something it reads is not there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AllOf:
    """And: stops at the first rule that does not match, so a guard may stand before what it guards."""

    rules: tuple[Rule, ...]

    def matches(self, document: Json, around: Surroundings, /) -> bool:
        """Whether every rule matches."""
        return all(rule.matches(document, around) for rule in self.rules)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnyOf:
    """Or: stops at the first rule that matches."""

    rules: tuple[Rule, ...]

    def matches(self, document: Json, around: Surroundings, /) -> bool:
        """Whether at least one rule matches."""
        return any(rule.matches(document, around) for rule in self.rules)


@dataclass(frozen=True, slots=True, kw_only=True)
class Negation:
    """Not."""

    rule: Rule

    def matches(self, document: Json, around: Surroundings, /) -> bool:
        """Whether the rule does not match."""
        return not self.rule.matches(document, around)


@dataclass(frozen=True, slots=True, kw_only=True)
class Never:
    """Stands in for a rule that has problems; no machine that may run contains one."""

    def matches(self, _document: Json, _around: Surroundings, /) -> bool:
        """No."""
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueTest:
    """An operator with its operand written in the rule."""

    variable: Path
    test: Test
    operand: Json

    def matches(self, document: Json, around: Surroundings, /) -> bool:
        """Whether the value of the Variable passes."""
        return self.test(self.variable.read(document, around), self.operand)


@dataclass(frozen=True, slots=True, kw_only=True)
class PathTest:
    """An operator whose operand is read by a path."""

    variable: Path
    test: Test
    operand: Path

    def matches(self, document: Json, around: Surroundings, /) -> bool:
        """Whether the value of the Variable passes."""
        return self.test(self.variable.read(document, around), self.operand.read(document, around))


@dataclass(frozen=True, slots=True, kw_only=True)
class Presence:
    """IsPresent: the one operator that may ask about something that is not there."""

    variable: Path
    expected: bool

    def matches(self, document: Json, around: Surroundings, /) -> bool:
        """Whether the value's presence is as expected; null is present."""
        return (self.variable.find(document, around) is not MISSING) is self.expected


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """A JSONata rule: its expression says yes or no, or the state fails."""

    source: Template

    def matches(self, document: Json, around: Surroundings, /) -> bool:
        """Whether the condition holds."""
        verdict = self.source.render(document, around)
        if isinstance(verdict, bool):
            return verdict
        if isinstance(self.source, Query):
            raise self.source.failure("returned an unexpected result type. Expected 'boolean'.")
        raise StateError(QUERY_ERROR, "The Condition is not a boolean.")
