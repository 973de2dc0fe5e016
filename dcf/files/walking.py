"""Walks directories in a fixed order, so that a listing can resume after any entry. Links are listed, not followed."""

import os
import stat
from collections.abc import Iterator
from typing import Final, TypeAlias

from dcf.files.roots import STEP, Stopped, failed
from dcf.values.instants import to_text
from dcf.values.records import record

_MOST: Final = 100_000
_MAX_DEPTH: Final = 64
_MICRO: Final = 1000

DirectorySteps: TypeAlias = tuple[str, ...]


@record(frozen=True, slots=True, kw_only=True)
class DirectoryEntry:
    """One entry of a directory: `size` in bytes, `modified` as ISO 8601 UTC text."""

    name: str
    path: str
    type: str
    size: int
    modified: str


def describe(name: str, path: str, about: os.stat_result) -> DirectoryEntry:
    """Describe a file by its own status: a symbolic link is reported as a link."""
    kinds = {stat.S_IFREG: "file", stat.S_IFDIR: "directory", stat.S_IFLNK: "symlink"}
    return DirectoryEntry(
        name=name,
        path=path,
        type=kinds.get(stat.S_IFMT(about.st_mode), "other"),
        size=about.st_size,
        modified=to_text(about.st_mtime_ns // _MICRO),
    )


def walk(
    directory: int, *, recursive: bool, hidden: bool, after: DirectorySteps | None, around: DirectorySteps = ()
) -> Iterator[tuple[DirectorySteps, os.stat_result | None]]:
    """Yield names and status below a directory, sorted by name, each directory before its contents.

    The status is None for a name that is not valid Unicode. Yields only entries after `after`. Unless `hidden`, names
    that begin with a dot are neither yielded nor entered.
    """
    if len(around) > _MAX_DEPTH:
        raise Stopped("scan_failed", f"The directories are nested deeper than {_MAX_DEPTH} levels.")
    for name in _names(directory):
        steps = (*around, name)
        is_behind = after is None or steps > after
        leads_there = after is not None and after[: len(steps)] == steps
        if (name.startswith(".") and not hidden) or not (is_behind or leads_there):
            continue
        if not _is_unicode(name):
            yield steps, None
            continue
        try:
            about = os.stat(name, dir_fd=directory, follow_symlinks=False)
        except OSError:
            continue  # deleted meanwhile
        if is_behind:
            yield steps, about
        if recursive and stat.S_ISDIR(about.st_mode):
            yield from _inside(directory, name, steps, hidden=hidden, after=after)


def _inside(
    directory: int, name: str, steps: DirectorySteps, *, hidden: bool, after: DirectorySteps | None
) -> Iterator[tuple[DirectorySteps, os.stat_result | None]]:
    try:
        inner = os.open(name, STEP, dir_fd=directory)
    except OSError:
        return  # deleted, replaced by something else, or not readable
    try:
        yield from walk(inner, recursive=True, hidden=hidden, after=after, around=steps)
    finally:
        os.close(inner)


def _names(directory: int) -> list[str]:
    try:
        names = os.listdir(directory)
    except OSError as error:
        raise failed("scan_failed", "The directory cannot be listed", error) from None
    if len(names) > _MOST:
        raise Stopped("too_large", f"The directory has more than {_MOST} entries.", "List directories inside it.")
    return sorted(names)


def _is_unicode(name: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in name)
