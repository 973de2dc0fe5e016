"""The answer of the validation of a workflow."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from dcf.errors import Problem
from dcf.values.json_text import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidatedWorkflow:
    """The verdict: `exit_code` is 0 valid, 1 schema, 2 imports or references, 3 graph, 4 other.

    `defaulted`: what the workflow leaves open, and what a run would take instead. `problems`: all that is wrong.
    """

    ok: bool
    exit_code: int = 0
    problems: tuple[Problem, ...] = ()
    schema_errors: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    defaulted: tuple[str, ...] = ()
    graph: Mapping[str, Json] = field(default_factory=dict)
    resolution: Mapping[str, Json] = field(default_factory=dict)
