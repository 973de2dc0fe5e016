"""The parts of the records of `machine`: retriers, catchers, branches of a Choice, readers and writers of a Map."""

from collections.abc import Mapping

from dcf.asl.expressions.choice import Rule
from dcf.asl.expressions.paths import Path
from dcf.asl.expressions.templates import Template
from dcf.values.json_text import Json
from dcf.values.records import record


@record(frozen=True, slots=True, kw_only=True)
class Retrier:
    """Which errors are retried, how often and after which backoff. Without jitter the delay is exact."""

    errors: tuple[str, ...]
    interval: int
    max_attempts: int
    rate: float
    max_delay: int | None
    jitter: bool


@record(frozen=True, slots=True, kw_only=True)
class Catcher:
    """Which errors lead to another state, and with what data; a `result_path` of None discards the Error Output."""

    errors: tuple[str, ...]
    next: str
    result_path: Path | None
    output: Template | None
    assign: Template | None


@record(frozen=True, slots=True, kw_only=True)
class ItemReader:
    """Where a Map's items come from, when not from its input."""

    resource: str
    arguments: Template | None
    config: Mapping[str, Json]
    max_items: Template | None


@record(frozen=True, slots=True, kw_only=True)
class Batcher:
    """How a Map groups its items into batches."""

    max_items: Template | None
    max_bytes: Template | None
    shared: Template | None


@record(frozen=True, slots=True, kw_only=True)
class Writer:
    """Where the results of a Map go, when not into its output."""

    resource: str | None
    arguments: Template | None
    config: Template | None


@record(frozen=True, slots=True, kw_only=True)
class Branch:
    """A Choice rule, the state that it leads to, and its data flow when it matches."""

    rule: Rule
    next: str
    output: Template | None
    assign: Template | None
