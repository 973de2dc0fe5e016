"""Cursors of lists in the order of time, and what every list answers to a cursor that none of its pages gave. Pure."""

import re
from typing import Final

from dcf.errors import InvalidArgument

_TIME_AND_ID: Final = re.compile(r"([0-9]{1,16}):([A-Za-z0-9][A-Za-z0-9_.-]{0,63})\Z", re.ASCII)


def parts_of_cursor(pattern: "re.Pattern[str]", text: str | None) -> "re.Match[str] | None":
    """Return the parts of a cursor, None without a cursor; raise InvalidArgument if no page gave the cursor."""
    match = None if text is None else pattern.match(text)
    if match is None and text is not None:
        raise unknown_cursor()
    return match


def read_time_and_id(text: str | None) -> tuple[int, str] | None:
    """Read the cursor of an earlier page; raise InvalidArgument for anything else."""
    parts = parts_of_cursor(_TIME_AND_ID, text)
    return None if parts is None else (int(parts[1]), parts[2])


def unknown_cursor() -> InvalidArgument:
    """Return the error for a cursor that no page gave."""
    return InvalidArgument("cursor is not one that an answer to this call gave.", "Begin again without cursor.")
