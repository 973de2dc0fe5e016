"""What a validation found. The exit codes are those of the seed's four stages."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from dcf.errors import Problem
from dcf.values.json_text import Json

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
"""The stages in the order of the pipeline; without readable input there is no other stage."""

MAX_FINDINGS: Final = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding(Problem):
    """One thing wrong with a document, and the stage that found it."""

    stage: Stage

    def as_json(self) -> dict[str, Json]:
        """Make the object that answers show."""
        return {
            "path": self.path,
            "code": self.code,
            "message": self.message,
            "hint": self.hint,
            "stage": self.stage,
        }


def found(stage: Stage, path: str, code: str, message: str, hint: str) -> Finding:
    """Make a finding."""
    return Finding(stage=stage, path=path, code=code, message=message, hint=hint)


@dataclass(frozen=True, slots=True, kw_only=True)
class Validation:
    """Everything found in a document; the exit code is that of the first stage that found something."""

    problems: tuple[Finding, ...] = ()
    warnings: tuple[str, ...] = ()
    schema_errors: tuple[str, ...] = ()
    resolution: Mapping[str, Json] = field(default_factory=dict)
    graph: Mapping[str, Json] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems

    @property
    def stage(self) -> Stage | None:
        """The first stage that failed."""
        return min((finding.stage for finding in self.problems), key=_ORDER.index, default=None)

    @property
    def exit_code(self) -> int:
        """Tell 0 fine, 1 schema, 2 imports or references, 3 graph, 4 no JSON."""
        return 0 if self.stage is None else EXIT_CODES[self.stage]

    def as_json(self) -> dict[str, Json]:
        """Make the object that answers show."""
        return {
            "ok": self.ok,
            "exit_code": self.exit_code,
            "schema_errors": list(self.schema_errors),
            "resolution": dict(self.resolution),
            "graph": dict(self.graph),
            "warnings": list(self.warnings),
            "problems": [finding.as_json() for finding in self.problems],
        }


def in_order(problems: Iterable[Finding]) -> tuple[Finding, ...]:
    """Sort findings by stage, keep the order within one, and bound their number."""
    return tuple(sorted(problems, key=lambda finding: _ORDER.index(finding.stage))[:MAX_FINDINGS])
