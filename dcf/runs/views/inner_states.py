"""Selects and orders the open states inside Parallel and Map, so that a person can read the list. Pure.

A Map may have thousands of open states, so the selection uses their paths only and reads no document.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Final, TypeAlias

from dcf.asl.state_paths import ancestors, components, join, name_of, open_scope, split, split_scope
from dcf.values.records import record

if TYPE_CHECKING:
    from dcf.asl.machine import Machine

EACH: Final = 10
"""Most open branches or iterations in an overview, per Parallel or Map."""

MOST: Final = 200
"""Most open states inside Parallel and Map in an overview."""

Order: TypeAlias = tuple[tuple[int, int, str], ...]


@record(frozen=True, slots=True, kw_only=True)
class Picked:
    """Paths to show, each scope before its states; `more` counts the open iterations left out, by Parallel or Map."""

    paths: tuple[str, ...] = ()
    more: Mapping[str, int] = field(default_factory=dict)


@record(frozen=True, slots=True, kw_only=True)
class Row:
    """A line of the table of states: a state, or (without a path) how many more there are inside the last scope."""

    depth: int
    label: str
    path: str | None = None


def pick(paths: Iterable[str], *, each: int, most: int) -> Picked:
    """Return nested states: at most `each` branches or iterations per Parallel or Map, and at most `most` states."""
    picked: list[str] = []
    shown: dict[str, set[str]] = {}
    more: dict[str, set[str]] = {}
    for path in sorted((path for path in paths if "/" in path), key=_order):
        chain = _scopes(path)
        full = next((scope for scope in chain if not _has_room(shown, scope, each)), None)
        if full is None and len(picked) >= most:
            full = next((scope for scope in chain if scope not in shown.get(split_scope(scope)[0], ())), None)
        if full is not None:
            more.setdefault(split_scope(full)[0], set()).add(full)
            continue
        for scope in chain:
            shown.setdefault(split_scope(scope)[0], set()).add(scope)
        picked.append(path)
    return Picked(paths=tuple(picked), more={owner: len(scopes) for owner, scopes in more.items()})


def following(paths: Sequence[str], after: str | None) -> Sequence[str]:
    """Return the paths of an overview that come after this one, which may have ended since."""
    if after is None:
        return paths
    if after in paths:
        return paths[paths.index(after) + 1 :]
    return [path for path in paths if "/" in path and _order(path) > _order(after)]


def members(owner: str, machines: "Sequence[Machine]", size: int, after: str | None) -> Iterator[tuple[int, str]]:
    """Yield the index and path of each state in the branches or iterations of a scope, after this path, in order.

    Raise KeyError if `after` is not one of them.
    """
    first, name = 0, None
    if after is not None:
        scope, name = split(after)
        if not scope or split_scope(scope)[0] != owner:
            raise KeyError(after)
        first = split_scope(scope)[1]
    for index in range(first, size):
        names = list(machines[index if len(machines) > 1 else 0].states)
        for member in names[names.index(name) + 1 :] if name in names and index == first else names:
            yield index, join(open_scope(owner, index), member)


def tree(paths: Iterable[str], more: Mapping[str, int]) -> Iterator[Row]:
    """Yield the states, each followed by the ones inside it. States of one level keep the given order."""
    inside: dict[str, list[str]] = {}
    known = list(paths)
    present = set(known)
    for path in known:
        around = ancestors(path)[-1] if "/" in path else ""
        inside.setdefault(around if around in present else "", []).append(path)
    yield from _below("", 0, inside, more)


def _below(owner: str, depth: int, inside: Mapping[str, list[str]], more: Mapping[str, int]) -> Iterator[Row]:
    members = inside.get(owner, [])
    for path in sorted(members, key=_order) if owner else members:
        yield Row(depth=depth, label=_label(path), path=path)
        yield from _below(path, depth + 1, inside, more)
    if owner and more.get(owner):
        yield Row(depth=depth, label=f"and {more[owner]} more")


def _label(path: str) -> str:
    """Return a short label: the state's branch or iteration, and its name."""
    scope, name = split(path)
    return f"{split_scope(scope)[1]} {name}" if scope else name_of(path)


def _scopes(path: str) -> list[str]:
    """Return the branches and iterations that a state is in, outermost first."""
    scopes: list[str] = []
    scope = split(path)[0]
    while scope:
        scopes.append(scope)
        scope = split(split_scope(scope)[0])[0]
    return scopes[::-1]


def _has_room(shown: Mapping[str, set[str]], scope: str, each: int) -> bool:
    others = shown.get(split_scope(scope)[0], set())
    return scope in others or len(others) < each


def _order(path: str) -> Order:
    """Return a sort key that puts iteration 9 before iteration 10, and a scope before its states."""
    return tuple(
        (0, int(part), "") if at % 2 and part.isascii() and part.isdigit() else (1, 0, part)
        for at, part in enumerate(components(path))
    )
