"""The answers of verbs on files."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias

EncodingName: TypeAlias = Literal["utf-8", "ascii", "latin-1", "base64"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedPath:
    """What is in a directory: `size` in bytes, `modified` in UTC. A link is listed as a link."""

    name: str
    path: str
    type: str
    size: int
    modified: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedDirectory:
    """Entries in the order of their paths; `truncated` when there are more, times in UTC.

    `skipped` counts names that are not Unicode and cannot be shown.
    """

    path: str
    entries: tuple[ListedPath, ...]
    truncated: bool = False
    next_cursor: str | None = None
    skipped: int = 0
    hint: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadFile:
    """`content` is the bytes from `offset` on, `size` those of the file. A long file continues at `next_offset`."""

    path: str
    content: str
    bytes_read: int
    offset: int
    size: int
    next_offset: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenFile:
    """How much was written, and how."""

    path: str
    bytes_written: int
    mode: Literal["append", "overwrite"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeDirectory:
    """`created` is true only when it is new."""

    path: str
    created: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletedPath:
    """What is gone."""

    path: str
    removed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class MovedPath:
    """From where to where."""

    source: str
    destination: str
