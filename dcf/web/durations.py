"""Spans of time as people read them on pages. Pure: "now" is always told."""

from datetime import datetime
from typing import Final

from dcf.values.json_text import Json

_MINUTE: Final = 60
_HOUR: Final = 3600
_DAY: Final = 86_400


def span(seconds: float) -> str:
    """Return a span of time in its two largest units: `45 s`, `12 min`, `3 h 5 min`, `2 d 4 h`."""
    left = max(0, int(seconds))
    if left < _MINUTE:
        return f"{left} s"
    if left < _HOUR:
        return f"{left // _MINUTE} min"
    if left < _DAY:
        return _two(left // _HOUR, "h", left % _HOUR // _MINUTE, "min")
    return _two(left // _DAY, "d", left % _DAY // _HOUR, "h")


def between(earlier: Json, later: Json) -> float | None:
    """Return the seconds between two instants as documents have them; None where one of them is missing."""
    if not isinstance(earlier, str) or not isinstance(later, str):
        return None
    return (datetime.fromisoformat(later) - datetime.fromisoformat(earlier)).total_seconds()


def age(since: Json, now: Json) -> str:
    """Return how long ago something was; nothing where it is not known."""
    seconds = between(since, now)
    return "" if seconds is None else span(seconds)


def _two(many: int, unit: str, few: int, smaller: str) -> str:
    return f"{many} {unit}" + (f" {few} {smaller}" if few else "")
