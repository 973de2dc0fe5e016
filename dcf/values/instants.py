"""Points in time: whole microseconds of the Redis server's clock inside, ISO 8601 UTC text in documents.

Only the server's clock decides anything, so nothing here reads a clock.
"""

from datetime import UTC, datetime, timedelta
from functools import lru_cache

SECOND = 1_000_000
"""Microseconds in a second."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST = (datetime.min.replace(tzinfo=UTC) - _EPOCH) // timedelta(microseconds=1)
_LAST = (datetime.max.replace(tzinfo=UTC) - _EPOCH) // timedelta(microseconds=1)


@lru_cache(maxsize=1024)
def to_text(micros: int) -> str:
    """Write microseconds since the epoch as `2026-01-02T03:04:05.000006Z`; the years end with 9999."""
    moment = _EPOCH + timedelta(microseconds=max(_FIRST, min(micros, _LAST)))
    return moment.replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def from_text(text: object) -> int | None:
    """Read such text back; None for anything that is not a point in time with a zone."""
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
    """Turn a span in microseconds into seconds, to the millisecond."""
    return round(micros / SECOND, 3)
