"""Says whether the data of a git repository may be read: what a worktree holds may name data anywhere on the disk.

`.git` may be a file or a link, `commondir` names another repository, links and `alternates` name other objects, and an
agent can write each of them. So the data is within the boundary, whatever it names included, or it is that of a
repository outside which names this worktree as its own (git notes that for `git worktree add` and for submodules).
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from dcf.values.records import record

_ALTERNATES: Final = Path("info/alternates")


@record(frozen=True, slots=True, kw_only=True)
class RepositoryPlace:
    """A worktree's top, the directory of its own data, and that of what all worktrees of the repository share."""

    top: Path
    own: Path
    shared: Path
    named_worktree: str
    """core.worktree, by which a repository names its worktree; empty for most."""


def is_within(place: RepositoryPlace, boundary: Path) -> bool:
    """Return True if all data of the repository is within the boundary, or in a repository that owns the worktree."""
    own, shared = place.own.resolve(), place.shared.resolve()
    if shared.is_relative_to(boundary):
        return own.is_relative_to(boundary) and _stay_within((own, shared), boundary)
    if own == shared:
        return bool(place.named_worktree)  # of a submodule; git has taken the top from it
    return own.parent == shared / "worktrees" and _first_line(own / "gitdir") == str(place.top / ".git")


def _stay_within(places: tuple[Path, ...], boundary: Path) -> bool:
    pending, seen = list(places), set[Path]()
    while pending:
        data = pending.pop()
        if data in seen:
            continue
        seen.add(data)
        others = [*_links(data), *_alternates(data / "objects"), *_alternates(data)]
        if not all(other.is_relative_to(boundary) for other in others):
            return False
        pending += others
    return True


def _links(data: Path) -> Iterator[Path]:
    """Yield where the symbolic links below a directory lead."""
    for folder, folders, files in os.walk(data):
        yield from (path.resolve() for name in (*folders, *files) if (path := Path(folder, name)).is_symlink())


def _alternates(objects: Path) -> Iterator[Path]:
    """Yield the directories of objects that others keep."""
    try:
        lines = os.fsdecode((objects / _ALTERNATES).read_bytes()).splitlines()
    except OSError:
        return
    yield from ((objects / line.strip('"')).resolve() for line in lines if line and not line.startswith("#"))


def _first_line(path: Path) -> str | None:
    try:
        return os.fsdecode(path.read_bytes()).split("\n", 1)[0]
    except OSError:
        return None
