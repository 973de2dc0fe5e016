"""Areas: which files a piece of work is about, as globs, and whether those of two pieces overlap. Pure.

An overlap is a hint for the planner, never a refusal: two pieces may touch the same directory and get along. The
meaning of an area is in `core/text/path_globs.py`.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from dcf.core.documents.model import StateDoc
from dcf.core.text.path_globs import overlap
from dcf.values.json_text import Json
from dcf.values.records import record

_NAMED: Final = 5


@record(frozen=True, slots=True, kw_only=True)
class Occupied:
    """A state that is worked on, and the areas that it is about."""

    workflow_id: str
    state: str
    owner: str
    areas: tuple[str, ...]


def areas_of(doc: StateDoc) -> tuple[str, ...]:
    """Return the areas that a state's document names."""
    areas = doc.extra.get("areas")
    return tuple(area for area in areas if isinstance(area, str)) if isinstance(areas, list) else ()


def overlaps(mine: Sequence[str], others: Sequence[Occupied]) -> list[tuple[Occupied, str, str]]:
    """Return the others whose areas overlap, each with the first two areas that do: mine and theirs."""
    overlapping: list[tuple[Occupied, str, str]] = []
    for other in others:
        pair = next(((area, its) for area in mine for its in other.areas if overlap(area, its)), None)
        if pair is not None:
            overlapping.append((other, *pair))
    return overlapping


def warnings_of(overlapping: Sequence[tuple[Occupied, str, str]]) -> list[str]:
    """Return overlaps in words, the first few of them."""
    warnings = [
        f"'{other.state}' of run '{other.workflow_id}' is worked on by '{other.owner}' in '{its}', which overlaps "
        f"'{area}'."
        for other, area, its in overlapping[:_NAMED]
    ]
    more = len(overlapping) - len(warnings)
    return [*warnings, f"And {more} more."] if more else warnings


def event_data(overlapping: Sequence[tuple[Occupied, str, str]]) -> dict[str, Json]:
    """Return overlaps for the history."""
    with_: list[Json] = [
        {"run": other.workflow_id, "state": other.state, "agent": other.owner, "area": area, "their_area": its}
        for other, area, its in overlapping[:_NAMED]
    ]
    return {"overlaps": with_, "count": len(overlapping)}


def read_occupied(entry: str, document: Mapping[str, Json], state: str) -> Occupied:
    """Read an entry of the book of areas."""
    areas = document.get("areas")
    return Occupied(
        workflow_id=entry.partition("/")[0],
        state=state,
        owner=str(document.get("owner")),
        areas=tuple(map(str, areas)) if isinstance(areas, list) else (),
    )
