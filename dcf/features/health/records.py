"""The records of a health report. Loads the standard library only, since clients read it too."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from dcf.values.json_text import Json

HealthLevelName: TypeAlias = Literal["ok", "warning", "failing"]


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthCheck:
    """One check: what it is about, how bad it is, a sentence, and what to do where something is to be done."""

    topic: str
    level: HealthLevelName
    sentence: str
    remedy: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadHealth:
    """The checks, and the facts behind them. `level` is the worst; `ok` is False if calls of tools fail now."""

    ok: bool
    level: HealthLevelName
    failing: int
    warnings: int
    checks: tuple[HealthCheck, ...] = ()
    facts: Mapping[str, Json] = field(default_factory=dict)
