"""Points in time: integers in code, ISO 8601 text in documents.

The integers are microseconds since the Unix epoch (UTC) by the Redis server's clock. No other clock may decide, so this
module must not read one.
"""

from datetime import UTC, datetime, timedelta
from functools import lru_cache

SECOND = 1_000_000
"""Microseconds in a second."""

_SLACK = SECOND
"""Tolerance: clocks are adjusted by less than this all the time."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_PLAIN_EPOCH = _EPOCH.replace(tzinfo=None)
_FIRST = (datetime.min.replace(tzinfo=UTC) - _EPOCH) // timedelta(microseconds=1)
_LAST = (datetime.max.replace(tzinfo=UTC) - _EPOCH) // timedelta(microseconds=1)


def is_ahead(at: int, now: int, span_s: int = 0) -> bool:
    """Return True if a time lies more than `span_s` seconds in the future, with a tolerance of a second."""
    return at > now + span_s * SECOND + _SLACK


@lru_cache(maxsize=1024)
def to_text(micros: int) -> str:
    """Write microseconds since the epoch as `2026-01-02T03:04:05.000006Z`. Years are clamped to 1 to 9999."""
    second, fraction = divmod(max(_FIRST, min(micros, _LAST)), SECOND)
    return f"{_second_text(second)}.{fraction:06d}Z"


@lru_cache(maxsize=256)
def _second_text(second: int) -> str:
    return (_PLAIN_EPOCH + timedelta(seconds=second)).isoformat(timespec="seconds")


def from_text(text: object) -> int | None:
    """Return the microseconds since the epoch of ISO 8601 text; None if it is no such text or has no time zone."""
    return _parse(text) if isinstance(text, str) else None


@lru_cache(maxsize=1024)
def _parse(text: str) -> int | None:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    if moment.tzinfo is None:
        return None
    return (moment - _EPOCH) // timedelta(microseconds=1)


def seconds(micros: int) -> float:
    """Convert microseconds to seconds, rounded to the millisecond."""
    return round(micros / SECOND, 3)
