"""The data of a text index and of its searches: entries, searches, pages, and cursors that continue a search. Pure."""

import base64
import binascii
from collections.abc import Callable, Mapping
from dataclasses import field
from itertools import combinations, product
from typing import Final, Generic, TypeAlias, TypeVar

from dcf.core.listing.cursors import unknown_cursor
from dcf.core.text.query import EVERYTHING, TextQuery, as_json
from dcf.core.text.tokens import Words
from dcf.errors import InvalidArgument
from dcf.values.digest import content_fingerprint
from dcf.values.json_text import Json
from dcf.values.records import record

MOST_SKIPPED: Final = 10_000
"""Largest offset of a page; a cursor has no such limit."""

_PARTS: Final = 8
_LONGEST_CURSOR: Final = 600


@record(frozen=True, slots=True, kw_only=True)
class TextEntry:
    """A document that is found by its words and facets.

    `at` is the time of the entry. Entries of the same rank are shown newest first; a change that leaves `at` as it was
    leaves the entry in its place. The entry expires at `until`. Times are in server microseconds. `revision` grows with
    each change. `body` is stored with the document, and read only on demand.
    """

    entry_id: str
    at: int
    document: Mapping[str, Json]
    words: Words
    facets: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    until: int | None = None
    revision: int = 1
    body: str = ""


@record(frozen=True, slots=True, kw_only=True)
class FacetFilter:
    """A filter: the entry has one of these values of a facet, or one of these words.

    `is_disjoint`: no entry has two of the values, so that their numbers may be added.
    """

    facet: str | None
    values: tuple[str, ...]
    is_disjoint: bool = True


def combined(facets: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """Return these facets, each with one value, and a facet for every combination of them.

    A filter by several of them is then one list, whose length is how many entries there are.
    """
    combined: dict[str, tuple[str, ...]] = {}
    for count in range(1, len(facets) + 1):
        for names in combinations(sorted(facets), count):
            combined["+".join(names)] = ("|".join(facets[name] for name in names),)
    return combined


def combined_filter(values_by_facet: Mapping[str, tuple[str, ...]]) -> tuple[FacetFilter, ...]:
    """Return the one filter by facets of `combined`: one of the values of each; those without values are left out."""
    names = sorted(name for name, values in values_by_facet.items() if values)
    if not names:
        return ()
    values = tuple("|".join(chosen) for chosen in product(*(values_by_facet[name] for name in names)))
    return (FacetFilter(facet="+".join(names), values=values),)


@record(frozen=True, slots=True, kw_only=True)
class TextSearch:
    """Request for a page of entries that meet the query and every filter: the best first, without words the newest."""

    limit: int
    query: TextQuery = EVERYTHING
    filters: tuple[FacetFilter, ...] = ()
    offset: int = 0
    cursor: str | None = None

    @property
    def fingerprint(self) -> str:
        """The fingerprint that distinguishes this search from others; a cursor belongs to one search."""
        identity = [
            as_json(self.query.expression),
            [[facet_filter.facet, facet_filter.values] for facet_filter in self.filters],
        ]
        return content_fingerprint(identity)


@record(frozen=True, slots=True, kw_only=True)
class Hit:
    """An entry that was found, and the sum of the weights of the words that it was found by; 0 without words."""

    entry_id: str
    score: int
    document: Mapping[str, Json]


Entry = TypeVar("Entry")
Found = TypeVar("Found")


@record(frozen=True, slots=True, kw_only=True)
class SearchPage(Generic[Found]):
    """A page of a search. There are `total` entries in all; at least, if that is not `exact`."""

    hits: tuple[Found, ...] = ()
    total: int = 0
    exact: bool = True
    next_cursor: str | None = None

    @property
    def totals(self) -> dict[str, Json]:
        """The members of an answer that say how much there is, and where the next page begins."""
        return {"total": self.total, "total_is_exact": self.exact, "next_cursor": self.next_cursor}


def read_page(page: SearchPage[Hit], read: Callable[[Mapping[str, Json]], Entry]) -> SearchPage[tuple[Entry, int]]:
    """Return a page with what its entries are, each with its score."""
    hits = tuple((read(hit.document), hit.score) for hit in page.hits)
    return SearchPage(hits=hits, total=page.total, exact=page.exact, next_cursor=page.next_cursor)


Place: TypeAlias = tuple[str, ...]
"""The place where a search continues: its list, the beginning and the end of its block, the last entry shown."""


@record(frozen=True, slots=True, kw_only=True)
class Onward:
    """The content of a cursor: the place, and how many entries the first page counted."""

    place: Place
    total: int
    exact: bool


def write_cursor(search: TextSearch, onward: Onward) -> str:
    """Return the cursor of the next page of a search."""
    written = [search.fingerprint, str(onward.total), "1" if onward.exact else "0", *onward.place]
    return base64.urlsafe_b64encode(" ".join(written).encode()).decode().rstrip("=")


def read_cursor(search: TextSearch) -> Onward | None:
    """Return where a search continues, None at its beginning; raise InvalidArgument for a cursor of another search."""
    text = search.cursor
    if text is None:
        return None
    parts = _decoded(text).split(" ")
    if len(parts) != _PARTS + 3 or not all(parts[1:]) or not _are_numbers(parts[1:4]):
        raise unknown_cursor()
    if parts[0] != search.fingerprint:
        raise InvalidArgument(
            "cursor belongs to a search with other arguments.", "Send the same arguments, or begin without cursor."
        )
    place = tuple("" if part == "-" else part for part in parts[3:])
    scores = [place[number] for number in (1, 3, 5, 6) if place[number]]
    if not _are_numbers(scores):
        raise unknown_cursor()
    return Onward(place=place, total=int(parts[1]), exact=parts[2] == "1")


def _decoded(text: str) -> str:
    if len(text) > _LONGEST_CURSOR:
        return ""
    try:
        return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode("ascii")
    except (binascii.Error, ValueError):
        return ""


def _are_numbers(parts: list[str]) -> bool:
    return all(part.isdecimal() and part.isascii() and len(part) <= 16 for part in parts)  # noqa: PLR2004 - of a double
