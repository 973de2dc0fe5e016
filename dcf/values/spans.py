"""Lengths of time as people write them: `90d`, `12h`, `30m`, `45s`. Pure."""

import re
from typing import Final

from dcf.errors import InvalidArgument
from dcf.values.instants import SECOND, from_text

_SPAN = re.compile(r"([0-9]{1,9})([smhd])", re.ASCII)
_SECONDS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86_400}

LONGEST_S: Final = 10 * 365 * 86_400
"""Longest length of time that is accepted: ten years."""


def read_span(text: str) -> int | None:
    """Return the seconds of a length of time; None if it is none, or is 0, or is longer than ten years."""
    match = _SPAN.fullmatch(text)
    seconds = 0 if match is None else int(match[1]) * _SECONDS[match[2]]
    return seconds if 0 < seconds <= LONGEST_S else None


def in_largest_unit(seconds: float) -> str:
    """Return a length of time in words, in the largest unit of which there are two at least."""
    whole = max(0, int(seconds))
    for unit, length in (("d", 86400), ("h", 3600), ("min", 60)):
        if whole >= 2 * length:
            return f"{whole // length} {unit}"
    return f"{whole} s"


def read_moment(text: str, now: int) -> int | None:
    """Return a point in time: ISO 8601 text with a time zone, or a length of time before `now`; None for others."""
    span = read_span(text)
    return from_text(text) if span is None else now - span * SECOND


def check_time(name: str, text: str | None, now: int) -> int | None:
    """Return the point in time that a caller gave, as `read_moment` reads it; raise InvalidArgument if it is none."""
    moment = None if text is None else read_moment(text, now)
    if text is not None and moment is None:
        raise InvalidArgument(
            f"{name} is no point in time.", "Write it as 2h, 30d, or 2026-11-22T09:00:00Z, with its time zone."
        )
    return moment
