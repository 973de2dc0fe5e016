"""Areas: globs of the paths that a piece of work is about. Whether two overlap, and what one covers. Pure.

`*` and `?` stay within a name, `**` stands for any directories. An area without them means a file, or a directory with
all in it. Case does not matter: two spellings are one file on some machines, and an area only warns.
"""

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from typing import Final, TypeAlias

_WILD: Final = "*?["
_MOST_PARTS: Final = 32

_Meet: TypeAlias = dict[tuple[int, int], bool]


def overlap(left: str, other: str) -> bool:
    """Return True if a file may be in both areas."""
    return _meet(_parts(left), _parts(other), {})


def covers(area: str, path: str) -> bool:
    """Return True if a file is in an area. A wildcard character in the path is only a character of the file's name."""
    return _fits(_parts(area), _names(path), {})


def outside(paths: Iterable[str], areas: Sequence[str]) -> list[str]:
    """Return the paths that no area covers; with no areas everything is allowed."""
    return [path for path in paths if areas and not any(covers(area, path) for area in areas)]


def _names(path: str) -> tuple[str, ...]:
    return tuple(part for part in path.lower().replace("\\", "/").split("/") if part not in {"", "."})


def _parts(area: str) -> tuple[str, ...]:
    parts = _names(area)[:_MOST_PARTS]
    is_whole = any(sign in area for sign in _WILD) and not area.endswith("/")
    return parts if is_whole else (*parts, "**")


def _fits(parts: tuple[str, ...], names: tuple[str, ...], known: _Meet) -> bool:
    place = (len(parts), len(names))
    if place not in known:
        known[place] = _fitted(parts, names, known)
    return known[place]


def _fitted(parts: tuple[str, ...], names: tuple[str, ...], known: _Meet) -> bool:
    if not parts or (not names and parts[0] != "**"):
        return not parts and not names
    if parts[0] == "**":
        return _fits(parts[1:], names, known) or (bool(names) and _fits(parts, names[1:], known))
    is_alike = parts[0] == names[0] or fnmatchcase(names[0], parts[0])
    return is_alike and _fits(parts[1:], names[1:], known)


def _meet(left: tuple[str, ...], other: tuple[str, ...], known: _Meet) -> bool:
    place = (len(left), len(other))
    if place not in known:
        known[place] = _worked_out(left, other, known)
    return known[place]


def _worked_out(left: tuple[str, ...], other: tuple[str, ...], known: _Meet) -> bool:
    if not left or not other:
        return all(part == "**" for part in (*left, *other))
    if left[0] == "**":
        return _meet(left[1:], other, known) or _meet(left, other[1:], known)
    if other[0] == "**":
        return _meet(left, other[1:], known) or _meet(left[1:], other, known)
    return _alike(left[0], other[0]) and _meet(left[1:], other[1:], known)


def _alike(left: str, other: str) -> bool:
    """Return True if a name may match both."""
    wild = [part for part in (left, other) if any(sign in part for sign in _WILD)]
    if len(wild) < 2:  # noqa: PLR2004 - one of the two is a plain name
        return fnmatchcase(left, other) or fnmatchcase(other, left)
    begins, ends = zip(_edges(left), _edges(other), strict=True)
    first, last = sorted(begins, key=len), sorted(ends, key=len)
    return first[1].startswith(first[0]) and last[1].endswith(last[0])


def _edges(part: str) -> tuple[str, str]:
    """Return what a pattern begins and ends with, up to its first and from its last wildcard."""
    at = [index for index, sign in enumerate(part) if sign in "*?[]"]
    return part[: at[0]], part[at[-1] + 1 :]
