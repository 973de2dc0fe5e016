"""Areas: which files a piece of work is about, as globs, and whether those of two pieces overlap. Pure.

An overlap is a hint for who plans, never a refusal: two pieces may touch the same directory and get along. `*` and `?`
stay within a name, `**` stands for any directories; an area without them means a file, or a directory with all in it.
"""

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Final

from dcf.core.documents.model import StateDoc
from dcf.values.json_text import Json
from dcf.values.records import record

_WILD: Final = "*?["
_MOST_PARTS: Final = 32
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


def overlap(one: str, other: str) -> bool:
    """Return True if a file may be in both areas."""
    return _meet(_parts(one), _parts(other), {})


def _parts(area: str) -> tuple[str, ...]:
    parts = tuple(part for part in area.lower().replace("\\", "/").split("/") if part not in {"", "."})[:_MOST_PARTS]
    return parts if any(sign in area for sign in _WILD) else (*parts, "**")


def _meet(one: tuple[str, ...], other: tuple[str, ...], known: dict[tuple[int, int], bool]) -> bool:
    place = (len(one), len(other))
    if place not in known:
        known[place] = _worked_out(one, other, known)
    return known[place]


def _worked_out(one: tuple[str, ...], other: tuple[str, ...], known: dict[tuple[int, int], bool]) -> bool:
    if not one or not other:
        return all(part == "**" for part in (*one, *other))
    if one[0] == "**":
        return _meet(one[1:], other, known) or _meet(one, other[1:], known)
    if other[0] == "**":
        return _meet(one, other[1:], known) or _meet(one[1:], other, known)
    return _alike(one[0], other[0]) and _meet(one[1:], other[1:], known)


def _alike(one: str, other: str) -> bool:
    """Return True if a name may match both."""
    wild = [part for part in (one, other) if any(sign in part for sign in _WILD)]
    if len(wild) < 2:  # noqa: PLR2004 - one of the two is a plain name
        return fnmatchcase(one, other) or fnmatchcase(other, one)
    begins, ends = zip(_edges(one), _edges(other), strict=True)
    first, last = sorted(begins, key=len), sorted(ends, key=len)
    return first[1].startswith(first[0]) and last[1].endswith(last[0])


def _edges(part: str) -> tuple[str, str]:
    """Return what a pattern begins and ends with, up to its first and from its last wildcard."""
    at = [index for index, sign in enumerate(part) if sign in "*?[]"]
    return part[: at[0]], part[at[-1] + 1 :]


def read_occupied(entry: str, found: Mapping[str, Json], state: str) -> Occupied:
    """Read an entry of the book of areas."""
    areas = found.get("areas")
    return Occupied(
        workflow_id=entry.partition("/")[0],
        state=state,
        owner=str(found.get("owner")),
        areas=tuple(map(str, areas)) if isinstance(areas, list) else (),
    )
