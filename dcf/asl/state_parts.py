"""What states are made of besides their data flow: their rules for failures and choices, and where a Map's items are.

Plain records; what a state does with them is written where that type of state is executed.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from dcf.asl.choice import Rule
from dcf.asl.paths import Path
from dcf.asl.templates import Template
from dcf.values.json_text import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrier:
    """Which errors are tried again, how often and how soon. Without jitter the delay is exact."""

    errors: tuple[str, ...]
    interval: int
    max_attempts: int
    rate: float
    max_delay: int | None
    jitter: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Catcher:
    """Which errors lead to another state, and with what data; `result_path` None discards the Error Output."""

    errors: tuple[str, ...]
    next: str
    result_path: Path | None
    output: Template | None
    assign: Template | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemReader:
    """Where a Map's items come from when not from its input."""

    resource: str
    arguments: Template | None
    config: Mapping[str, Json]
    max_items: Template | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Batcher:
    """How items are put together before they are worked on."""

    max_items: Template | None
    max_bytes: Template | None
    shared: Template | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Writer:
    """Where the results of a Map go when not into its output."""

    resource: str | None
    arguments: Template | None
    config: Template | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    """A Choice rule, where it leads, and what it does with data when it is taken."""

    rule: Rule
    next: str
    output: Template | None
    assign: Template | None
