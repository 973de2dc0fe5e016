"""Parses RFC 3339 timestamps in the one spelling that the language allows, and compares them as instants.

`datetime.fromisoformat` alone accepts far more spellings and drops nanoseconds.
"""

import re
from datetime import datetime
from typing import TypeAlias

from dcf.values.json_text import Json

Instant: TypeAlias = tuple[datetime, str]
"""The second, and the digits of its fraction without trailing zeros: such pairs sort by time."""

_SPELLING = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2})(?:\.([0-9]+))?(Z|[+-][0-9]{2}:[0-9]{2})"
)


def instant(value: Json) -> Instant | None:
    """Return the instant that a JSON value names; None when it is no timestamp."""
    match = _SPELLING.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        return None
    second, fraction, zone = match.groups(default="")
    try:
        return datetime.fromisoformat(second + zone), fraction.rstrip("0")
    except ValueError:
        return None
