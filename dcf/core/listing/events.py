"""Which events of a run's history a reader wants: by state, type and time, in which order. Pure."""

import re
from typing import Final

from dcf.asl.state_paths import name_of
from dcf.errors import InvalidArgument
from dcf.values.records import record
from dcf.values.spans import check_time

CURSOR: Final = re.compile(r"[0-9]{1,19}-[0-9]{1,19}(\.[0-9]{1,4})?", re.ASCII)
"""An event's id, after which the next page begins."""

_MILLISECOND: Final = 1000


@record(frozen=True, slots=True, kw_only=True)
class EventQuery:
    """The events wanted; empty means all. `since` and `until` are server times in milliseconds, both included.

    A state is meant by its path; by its name, also inside Parallel and Map.
    """

    states: frozenset[str] = frozenset()
    types: frozenset[str] = frozenset()
    since: int | None = None
    until: int | None = None
    newest_first: bool = False

    @property
    def takes_all(self) -> bool:
        """True if the query has only times and an order."""
        return not self.states and not self.types

    def wants(self, type_: str, state: str | None) -> bool:
        """Return True if an event of this type, about this state, is wanted."""
        if self.types and type_ not in self.types:
            return False
        return not self.states or (state is not None and (state in self.states or name_of(state) in self.states))


def check_cursor(cursor: str | None) -> str | None:
    """Return the cursor; raise InvalidArgument if it is not the id of an event."""
    if cursor is not None and not CURSOR.fullmatch(cursor):
        raise InvalidArgument("The cursor is not the id of an event.", "Pass next_cursor of the answer before.")
    return cursor


def check_moment(name: str, text: str | None, now: int) -> int | None:
    """Return the milliseconds of a point in time that a caller gave; raise InvalidArgument if it is none."""
    at = check_time(name, text, now)
    return None if at is None else at // _MILLISECOND
