"""Timeouts and retries of a step as the fields of its state."""

from collections.abc import Sequence
from typing import Any, Final

from dcf.steps.error_names import error_names
from dcf.steps.vocabulary import Retries, Retry
from dcf.values.json_text import Json

_FAILURES: Final = ("States.TaskFailed", "States.Timeout")


def limits_of(
    *, retry: Retries | None = None, timeout: int | None = None, heartbeat: int | None = None
) -> dict[str, Json]:
    """Return the fields TimeoutSeconds, HeartbeatSeconds and Retry, as far as they are wanted."""
    rules: list[Json] = [_rule(each) for each in _retries(retry)]
    fields: dict[str, Json] = {"TimeoutSeconds": timeout, "HeartbeatSeconds": heartbeat, "Retry": rules or None}
    return {name: value for name, value in fields.items() if value is not None}


def _retries(retry: Retries | None) -> Sequence[Retry]:
    if isinstance(retry, int) or retry is None:
        return [Retry(times=retry)] if retry else []
    return [retry] if isinstance(retry, Retry) else retry


def _rule(retry: Retry) -> dict[str, Json]:
    names = [name for kind in retry.on for name in error_names(kind)] or list(_FAILURES)
    rule: dict[str, Any] = {"ErrorEquals": list(dict.fromkeys(names)), "MaxAttempts": retry.times}
    rule |= {"IntervalSeconds": retry.delay, "BackoffRate": retry.backoff}
    if retry.max_delay:
        rule["MaxDelaySeconds"] = retry.max_delay
    if retry.jitter:
        rule["JitterStrategy"] = "FULL"
    return rule
