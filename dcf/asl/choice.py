"""Choice rules, compiled: small objects that look at a document and say yes or no.

They decide only; where a choice leads is the machine's matter. Parsing them is `choice_syntax`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from dcf.asl.operators import Test
from dcf.asl.paths import MISSING, Path
from dcf.core.json_text import Json


class Rule(Protocol):
    """A condition over the state's effective input."""

    def matches(self, document: Json, context: Mapping[str, Json], /) -> bool:
        """Say yes or no; raise StateError when a path finds nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AllOf:
    """And: stops at the first rule that does not match, so a guard may stand before what it guards."""

    rules: tuple[Rule, ...]

    def matches(self, document: Json, context: Mapping[str, Json], /) -> bool:
        """Whether every rule matches."""
        return all(rule.matches(document, context) for rule in self.rules)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnyOf:
    """Or: stops at the first rule that matches."""

    rules: tuple[Rule, ...]

    def matches(self, document: Json, context: Mapping[str, Json], /) -> bool:
        """Whether at least one rule matches."""
        return any(rule.matches(document, context) for rule in self.rules)


@dataclass(frozen=True, slots=True, kw_only=True)
class Negation:
    """Not."""

    rule: Rule

    def matches(self, document: Json, context: Mapping[str, Json], /) -> bool:
        """Whether the rule does not match."""
        return not self.rule.matches(document, context)


@dataclass(frozen=True, slots=True, kw_only=True)
class Never:
    """Stands in for a rule that has problems; no machine that may run contains one."""

    def matches(self, _document: Json, _context: Mapping[str, Json], /) -> bool:
        """No."""
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueTest:
    """An operator with its operand written in the rule."""

    variable: Path
    test: Test
    operand: Json

    def matches(self, document: Json, context: Mapping[str, Json], /) -> bool:
        """Whether the value of the Variable passes."""
        return self.test(self.variable.read(document, context), self.operand)


@dataclass(frozen=True, slots=True, kw_only=True)
class PathTest:
    """An operator whose operand is read by a path."""

    variable: Path
    test: Test
    operand: Path

    def matches(self, document: Json, context: Mapping[str, Json], /) -> bool:
        """Whether the value of the Variable passes."""
        return self.test(self.variable.read(document, context), self.operand.read(document, context))


@dataclass(frozen=True, slots=True, kw_only=True)
class Presence:
    """IsPresent: the one operator that may ask about something that is not there."""

    variable: Path
    expected: bool

    def matches(self, document: Json, context: Mapping[str, Json], /) -> bool:
        """Whether the value's presence is as expected; null is present."""
        return (self.variable.find(document, context) is not MISSING) is self.expected
