"""`if` and `match` as Choices."""

import ast
from collections.abc import Sequence
from typing import Any, Final

from dcf.asl.jsonata.writing import COMPARISON, OR
from dcf.flow.expressions.truth import narrowed, truth
from dcf.flow.jsonata_code import Code, constant, defined
from dcf.flow.refusals import Refusal
from dcf.flow.scope import Scope, writes
from dcf.flow.ways import into
from dcf.steps.value_types import BOOL, join
from dcf.values.records import record

_WRITE_IF: Final = "Write if and elif."


@record(frozen=True, slots=True)
class Case:
    """A condition with what is done where it holds; `test` is the expression behind it, which narrows names."""

    condition: Any
    body: list[ast.stmt]
    test: ast.expr | None = None


@writes(ast.If)
def _if(scope: Scope, node: ast.If) -> None:
    cases: list[Case] = []
    rest: list[ast.stmt] = [node]
    names: dict[str, Code] = {}
    while len(rest) == 1 and isinstance(rest[0], ast.If) and (not cases or not scope.has_step(rest[0].test)):
        branch = rest[0]
        with scope.frame(names, nested=len(cases)):
            condition = truth(scope, branch.test)
        cases.append(Case(scope.written(condition, branch.test), branch.body, branch.test))
        names |= narrowed(scope, branch.test, holds=False)
        rest = branch.orelse
    _choose(scope, cases, rest, node, f"if {ast.unparse(node.test)}")


@writes(ast.Match)
def _match(scope: Scope, node: ast.Match) -> None:
    if not isinstance(node.subject, ast.Name | ast.Attribute | ast.Subscript):
        raise Refusal(node.subject, "match looks at a variable or a part of one here.", "Assign the value before.")
    subject = defined(scope.value(node.subject))
    scope.guard(subject, node)
    cases: list[Case] = []
    rest: list[ast.stmt] = []
    for at, case in enumerate(node.cases):
        if case.guard is not None:
            raise Refusal(case.guard, "A case has no `if` here.", _WRITE_IF)
        if isinstance(case.pattern, ast.MatchAs) and case.pattern.pattern is None and case.pattern.name is None:
            if at != len(node.cases) - 1:
                raise Refusal(case.pattern, "case _ must be the last.", "Move it to the end.")
            rest = case.body
            continue
        patterns = case.pattern.patterns if isinstance(case.pattern, ast.MatchOr) else [case.pattern]
        text = " or ".join(_equality(scope, subject, pattern) for pattern in patterns)
        cases.append(Case(scope.written(Code(text, BOOL, OR), case.pattern), case.body))
    if not cases:
        raise Refusal(node, "A match needs a case that is no `_`.", _WRITE_IF)
    _choose(scope, cases, rest, node, f"match {ast.unparse(node.subject)}")


def _equality(scope: Scope, subject: Code, pattern: ast.pattern) -> str:
    if isinstance(pattern, ast.MatchSingleton):
        value = constant(pattern.value)
    elif isinstance(pattern, ast.MatchValue):
        value = scope.value(pattern.value)
    else:
        raise Refusal(pattern, "A case is a constant here, or several with |.", _WRITE_IF)
    if join(subject.type, value.type) is None:
        raise Refusal(pattern, f"{subject.type} and {value.type} are never equal.", "Compare values of the same type.")
    return f"{subject.within(COMPARISON)} = {value.within(COMPARISON)}"


def _choose(scope: Scope, cases: Sequence[Case], rest: list[ast.stmt], node: ast.stmt, name: str) -> None:
    """Write a Choice, then the states of each case; continue where the cases meet that do not leave."""
    rules: list[dict[str, Any]] = [{"Condition": case.condition} for case in cases]
    state: dict[str, Any] = {"Type": "Choice", "Choices": rules}
    scope.add(name, state, node)
    before = dict(scope.environment)
    ends: list[Any] = []
    environments: list[dict[str, Code]] = []
    branches = [*((case.body, case.test, into(rule)) for case, rule in zip(cases, rules, strict=True))]
    for body, test, way in [*branches, (rest, None, into(state, "Default"))]:
        scope.environment = dict(before)
        if test is not None:
            scope.environment |= narrowed(scope, test, holds=True)
            before |= narrowed(scope, test, holds=False)
        scope.leave_open([way])
        scope.body(body)
        if scope.open:
            ends += scope.open
            environments.append(scope.environment)
    scope.leave_open(ends)
    scope.environment = scope.common(environments) if environments else before
