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
    found = doc.extra.get("areas")
    return tuple(one for one in found if isinstance(one, str)) if isinstance(found, list) else ()


def overlaps(mine: Sequence[str], others: Sequence[Occupied]) -> list[tuple[Occupied, str, str]]:
    """Return the others whose areas overlap, each with the first two areas that do: mine and theirs."""
    found: list[tuple[Occupied, str, str]] = []
    for other in others:
        pair = next(((one, its) for one in mine for its in other.areas if overlap(one, its)), None)
        if pair is not None:
            found.append((other, *pair))
    return found


def warnings_of(found: Sequence[tuple[Occupied, str, str]]) -> list[str]:
    """Return overlaps in words, the first few of them."""
    told = [
        f"'{other.state}' of run '{other.workflow_id}' is worked on by '{other.owner}' in '{its}', which overlaps "
        f"'{one}'."
        for other, one, its in found[:_NAMED]
    ]
    more = len(found) - len(told)
    return [*told, f"And {more} more."] if more else told


def event_data(found: Sequence[tuple[Occupied, str, str]]) -> dict[str, Json]:
    """Return overlaps for the history."""
    with_: list[Json] = [
        {"run": other.workflow_id, "state": other.state, "agent": other.owner, "area": one, "their_area": its}
        for other, one, its in found[:_NAMED]
    ]
    return {"overlaps": with_, "count": len(found)}


def read_occupied(entry: str, found: Mapping[str, Json], state: str) -> Occupied:
    """Read an entry of the book of areas."""
    areas = found.get("areas")
    return Occupied(
        workflow_id=entry.partition("/")[0],
        state=state,
        owner=str(found.get("owner")),
        areas=tuple(map(str, areas)) if isinstance(areas, list) else (),
    )
