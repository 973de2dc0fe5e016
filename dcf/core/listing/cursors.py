"""Cursors of lists in the order of time, and what every list answers to a cursor that none of its pages gave. Pure."""

import re
from typing import Final

from dcf.errors import InvalidArgument

_TIME_AND_ID: Final = re.compile(r"([0-9]{1,16}):([A-Za-z0-9][A-Za-z0-9_.-]{0,63})\Z", re.ASCII)


def read_time_and_id(text: str | None) -> tuple[int, str] | None:
    """Read the cursor of an earlier page; raise InvalidArgument for anything else."""
    if text is None:
        return None
    match = _TIME_AND_ID.match(text)
    if match is None:
        raise unknown_cursor()
    return int(match[1]), match[2]


def unknown_cursor() -> InvalidArgument:
    """Return the error for a cursor that no page gave."""
    return InvalidArgument("cursor is not one that an answer to this call gave.", "Begin again without cursor.")
