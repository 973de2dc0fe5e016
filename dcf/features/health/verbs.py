"""The tool that tells operators how dcf is. It only shows what `runs.health` found."""

from typing import Any

from pydantic import Field

from dcf.application.application import Application
from dcf.core.access.model import Scope
from dcf.verbs.registry import Answer, Arguments, tool


class ReadHealth(Arguments):
    """Read how dcf is, when runs do not move or calls fail: the report of `dcf doctor`.

    Each check has a level (ok, warning, failing), a sentence and a remedy: whether Redis takes writes (a small key
    is written), memory, durability, replicas, clock, agents seen, the agent platform, lists of runs.
    """


class HealthRead(Answer):
    """The checks, and the facts behind them. `level` is the worst; `ok` is false if calls of tools fail now."""

    ok: bool | None = None
    level: str | None = None
    failing: int | None = None
    warnings: int | None = None
    checks: list[dict[str, Any]] = Field(default_factory=list)
    facts: dict[str, Any] = Field(default_factory=dict)


@tool(
    toolset="operations",
    scope=Scope.OPERATE,
    profiles=("operator",),
    arguments=ReadHealth,
    answer=HealthRead,
    read_only=True,
)
def read_health(app: Application, args: ReadHealth) -> HealthRead:  # noqa: ARG001 - it has none
    """Read the health report."""
    report = app.health.report()
    found = report.as_json()
    own = {name: found.pop(name) for name in ("ok", "level", "failing", "warnings", "checks")}
    return HealthRead(status=f"The worst level is {report.level.value}.", facts=found, **own)
