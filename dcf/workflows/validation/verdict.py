"""The result of a validation. Its exit codes are those of the four stages in the seed contract. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from dcf.errors import Problem
from dcf.values.json_text import Json
from dcf.values.names import escaped
from dcf.values.record_json.codec import json_method
from dcf.values.records import record

Stage = Literal["input", "schema", "imports", "references", "static", "graph"]

EXIT_CODES: Final[Mapping[Stage, int]] = {
    "schema": 1,
    "imports": 2,
    "references": 2,
    "static": 2,
    "graph": 3,
    "input": 4,
}
_ORDER: Final = tuple(EXIT_CODES)
"""The stages in order; when the input cannot be parsed no other stage runs."""

MAX_FINDINGS: Final = 1_000
_LONGEST_PATH: Final = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding(Problem):
    """One problem of a document, and the stage that found it."""

    stage: Stage

    def as_json(self) -> dict[str, Json]:
        """Return the object that answers show; in its path, what cannot be seen is escaped."""
        return {
            "path": escaped(self.path, _LONGEST_PATH),
            "code": self.code,
            "message": self.message,
            "hint": self.hint,
            "stage": self.stage,
        }


def found(stage: Stage, path: str, code: str, message: str, hint: str) -> Finding:
    """Return a finding."""
    return Finding(stage=stage, path=path, code=code, message=message, hint=hint)


def findings_of(stage: Stage, problems: Iterable[Problem]) -> list[Finding]:
    """Return the findings that problems are."""
    return [found(stage, problem.path, problem.code, problem.message, problem.hint) for problem in problems]


@record(frozen=True, slots=True, kw_only=True)
class Validation:
    """All findings of a document; the exit code is that of the first stage with a finding.

    `defaulted` is what the document leaves open and a run would take instead, `open_tasks` are Tasks without an agent.
    `has_templates`: agents are to be made for some of its Tasks.
    """

    problems: tuple[Finding, ...] = ()
    warnings: tuple[str, ...] = ()
    schema_errors: tuple[str, ...] = ()
    resolution: Mapping[str, Json] = field(default_factory=dict)
    graph: Mapping[str, Json] = field(default_factory=dict)
    defaulted: tuple[str, ...] = ()
    open_tasks: tuple[str, ...] = ()
    has_templates: bool = False

    @property
    def ok(self) -> bool:
        """True if there is no problem."""
        return not self.problems

    @property
    def stage(self) -> Stage | None:
        """The first stage that failed."""
        return min((finding.stage for finding in self.problems), key=_ORDER.index, default=None)

    @property
    def exit_code(self) -> int:
        """Return 0 for valid, 1 for schema, 2 for imports or references, 3 for graph, 4 for invalid JSON."""
        return 0 if self.stage is None else EXIT_CODES[self.stage]

    as_json = json_method("ok exit_code schema_errors resolution graph warnings defaulted problems")


def in_order(problems: Iterable[Finding]) -> tuple[Finding, ...]:
    """Sort findings by stage, keep the order within a stage, and limit their number."""
    return tuple(sorted(problems, key=lambda finding: _ORDER.index(finding.stage))[:MAX_FINDINGS])
