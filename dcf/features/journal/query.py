"""Which entries of a journal a reader wants: by kind, agent, state, time, open issues; in which order. Pure."""

import re
from collections.abc import Sequence
from typing import Final

from dcf.core.listing.cursors import unknown_cursor
from dcf.errors import InvalidArgument
from dcf.features.journal.model import EntryKind, JournalEntry
from dcf.values.record_json.codec import json_method
from dcf.values.records import record

LONGEST_PAGE: Final = 200
"""Most entries of a page."""

PAGE_BYTES: Final = 200_000
"""Bytes of stored entries after which a page ends, with one entry at least."""

CURSOR: Final = re.compile(r"[0-9]{16}:j[0-9a-f]{16}", re.ASCII)


@record(frozen=True, slots=True, kw_only=True)
class JournalQuery:
    """The entries wanted: those that meet every filter given. `since` (included) and `until` are when they were added.

    `cursor` is the place of the last entry that the reader has seen, or that a page looked at.
    """

    limit: int
    kind: EntryKind | None = None
    agent: str | None = None
    state: str | None = None
    since: int | None = None
    until: int | None = None
    open: bool = False
    oldest_first: bool = False
    cursor: str | None = None


@record(frozen=True, slots=True, kw_only=True)
class JournalPage:
    """A page. `matching` is how many entries the filters leave in all, None where several filters were given.

    `next_cursor` is None if there are no more. A page may be short, even empty, although there are more.
    """

    entries: Sequence[JournalEntry]
    matching: int | None
    next_cursor: str | None

    as_json = json_method("entries matching has_more next_cursor")

    @property
    def has_more(self) -> bool:
        """True if there is another page."""
        return self.next_cursor is not None


def check_cursor(cursor: str | None) -> str | None:
    """Return the cursor; raise InvalidArgument if no page gave it."""
    if cursor is not None and not CURSOR.fullmatch(cursor):
        raise unknown_cursor()
    return cursor


def kind_of(text: str | None) -> EntryKind | None:
    """Return the kind of this name; raise InvalidArgument if there is none."""
    if text is None:
        return None
    if text not in frozenset(EntryKind):
        raise InvalidArgument(f"There is no kind '{text[:20]}'.", f"Kinds are: {', '.join(EntryKind)}.")
    return EntryKind(text)
