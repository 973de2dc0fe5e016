"""The verbs on files below the configured directories. They call and describe."""

import base64
import binascii
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Final, Literal

from dcf.errors import InvalidArgument
from dcf.values.refusal import Refusal
from dcf.values.text_pieces import LONGEST, utf8_piece
from dcf.verbs.callers import current_caller
from dcf.verbs.derived_tools import add_tools
from dcf.verbs.description.verb import Answered, Argument, verb
from dcf.verbs.records.files import (
    DeletedPath,
    EncodingName,
    ListedDirectory,
    MadeDirectory,
    MovedPath,
    ReadFile,
    WrittenFile,
)

if TYPE_CHECKING:
    from dcf.application.application import Application
    from dcf.files.tree import FileTree

_PLACE: Final = "Absolute, or relative where one directory is configured."
_LONGEST_PATH: Final = 4000
_ON_THE_WAY: Final = ("not_configured", "path_not_found", "not_a_directory", "scan_failed")
_GROWTH: Final = 8
"""Characters that one byte can take in an answer: a control character is escaped."""

_Path = Annotated[
    str, Argument(means=f"The path. {_PLACE}", example="notes/plan.md", min_length=1, max_length=_LONGEST_PATH)
]
_Encoding = Annotated[EncodingName, Argument(means="Of the content; base64 for what is no text.")]
_Parents = Annotated[bool, Argument(means="Make missing directories.")]


@verb(
    toolset="files",
    scope="read",
    lists=("operator",),
    effect="reads",
    says=lambda answer: "listed in part" if answer["truncated"] else "listed",
    codes=_ON_THE_WAY,
    pages="entries",
    in_refusals={"entries": [], "truncated": False, "skipped": 0},
)
def list_directory(
    on: "Application",
    path: Annotated[str, Argument(means=f"The directory. {_PLACE}", min_length=1, max_length=_LONGEST_PATH)] = ".",
    *,
    recursive: Annotated[bool, Argument(means="Also what is in directories inside.")] = False,
    include_hidden: Annotated[bool, Argument(means="Also names that begin with a dot.")] = False,
    limit: Annotated[int, Argument(means="Most entries of one answer.", ge=1, le=1000, tool="max_entries")] = 200,
    cursor: Annotated[
        str | None, Argument(means="next_cursor of the answer before.", plain=True, max_length=_LONGEST_PATH)
    ] = None,
) -> Answered[ListedDirectory] | Refusal:
    """List what is in a directory; links are shown and not followed. A long list continues with next_cursor."""
    listing = _files_of(on).entries(
        path,
        recursive=recursive,
        hidden=include_hidden,
        limit=limit,
        room=on.settings.max_result_bytes // 2,
        after=cursor,
    )
    if isinstance(listing, Refusal):
        return listing
    members = {
        "hint": f"{listing.skipped} names are not Unicode and cannot be shown." if listing.skipped else None,
        "path": listing.path,
        "entries": [asdict(entry) for entry in listing.entries],
        "truncated": listing.cursor is not None,
        "next_cursor": listing.cursor,
        "skipped": listing.skipped,
    }
    return Answered(ListedDirectory, members)


@verb(
    toolset="files",
    scope="read",
    lists=("operator",),
    effect="reads",
    says=lambda answer: "read" if answer["next_offset"] is None else "read in part",
    codes=(*_ON_THE_WAY, "not_a_file", "decode_failed", "read_failed"),
    in_refusals={"bytes_read": 0, "offset": 0},
)
def read_file(
    on: "Application",
    path: _Path,
    *,
    offset: Annotated[int, Argument(means="First byte.", ge=0, le=2**53)] = 0,
    length: Annotated[int | None, Argument(means="Most bytes; default: as many as allowed.", ge=1, le=2**26)] = None,
    encoding: _Encoding = "utf-8",
) -> ReadFile | Refusal:
    """Read a file or a part of it; a long one continues at next_offset. Text is never cut inside a character."""
    most = min(_files_of(on).max_bytes, on.settings.max_result_bytes // _GROWTH)
    length_wanted = min(length or most, most)
    is_utf8 = encoding == "utf-8"
    content = _files_of(on).read(path, offset, length_wanted + LONGEST if is_utf8 else length_wanted)
    if isinstance(content, Refusal):
        return content
    skipped, data = utf8_piece(content.data, length_wanted) if is_utf8 else (0, content.data)
    start = offset + skipped
    text = _decoded(data, encoding)
    if text is None:
        hint = "Read it with encoding=base64."
        return Refusal(code="decode_failed", message=f"The file is not {encoding}.", hint=hint)
    end = start + len(data)
    return ReadFile(
        path=content.path,
        content=text,
        bytes_read=len(data),
        offset=start,
        size=content.size,
        next_offset=end if end < content.size else None,
    )


@verb(
    toolset="files",
    scope="work",
    lists=("operator",),
    effect="destroys",
    is_repeatable=False,
    says=lambda _: "written",
    codes=(*_ON_THE_WAY, "not_a_file", "decode_failed", "mkdir_failed", "write_failed"),
    audit=("path",),
    in_refusals={"bytes_written": 0},
)
def write_file(
    on: "Application",
    path: _Path,
    content: Annotated[str, Argument(means="What to write.", example="# Plan\n", max_length=2**27)],
    *,
    append: Annotated[bool, Argument(means="Add to the end.")] = False,
    encoding: _Encoding = "utf-8",
    create_parents: _Parents = True,
) -> WrittenFile | Refusal:
    """Write a file: replace it as a whole, or add to its end with append=true."""
    data = _encoded(content, encoding)
    written = _files_of(on).write(path, data, append=append, create_parents=create_parents)
    if isinstance(written, Refusal):
        return written
    mode: Literal["append", "overwrite"] = "append" if append else "overwrite"
    return WrittenFile(path=written, bytes_written=len(data), mode=mode)


@verb(
    toolset="files",
    scope="work",
    says=lambda answer: "created" if answer["created"] else "exists",
    codes=(*_ON_THE_WAY, "already_exists", "mkdir_failed"),
    audit=("path",),
    in_refusals={"created": False},
)
def create_directory(
    on: "Application",
    path: Annotated[_Path, Argument(means="", example="notes")],
    *,
    parents: Annotated[bool, Argument(means="Make missing directories on the way.")] = True,
    exist_ok: Annotated[bool, Argument(means="Accept one that exists.")] = True,
) -> MadeDirectory | Refusal:
    """Create a directory where files are to be written."""
    made = _files_of(on).make_directory(path, parents=parents, exist_ok=exist_ok)
    return made if isinstance(made, Refusal) else MadeDirectory(path=made[0], created=made[1])


@verb(
    toolset="files",
    scope="work",
    effect="destroys",
    says=lambda _: "removed",
    codes=(*_ON_THE_WAY, "not_empty", "unsupported_type", "remove_failed"),
    audit=("path",),
    in_refusals={"removed": False},
)
def delete_path(
    on: "Application",
    path: _Path,
    *,
    recursive: Annotated[bool, Argument(means="Delete all that is in a directory.")] = False,
) -> DeletedPath | Refusal:
    """Remove a file, a link itself, or a directory; of a full one only with recursive=true."""
    deletion = _files_of(on).delete(path, recursive=recursive)
    return deletion if isinstance(deletion, Refusal) else DeletedPath(path=deletion, removed=True)


@verb(
    toolset="files",
    scope="work",
    effect="destroys",
    is_repeatable=False,
    says=lambda answer: "moved" if answer["source"] != answer["destination"] else "unchanged",
    codes=(
        *(*_ON_THE_WAY, "source_not_found", "destination_exists", "destination_parent_missing", "unsupported_type"),
        *("mkdir_failed", "move_failed"),
    ),
    audit=("source", "destination"),
)
def move_path(
    on: "Application",
    source: _Path,
    destination: Annotated[_Path, Argument(means="", example="notes/final.md")],
    *,
    overwrite: Annotated[bool, Argument(means="Replace a file or an empty directory that is there.")] = False,
    create_parents: _Parents = True,
) -> MovedPath | Refusal:
    """Move or rename a file or directory, in one step."""
    moved = _files_of(on).move(source, destination, overwrite=overwrite, create_parents=create_parents)
    return moved if isinstance(moved, Refusal) else MovedPath(source=moved[0], destination=moved[1])


def _decoded(data: bytes, encoding: str) -> str | None:
    if encoding == "base64":
        return base64.b64encode(data).decode()
    try:
        return data.decode(encoding)
    except UnicodeDecodeError:
        return None


def _encoded(content: str, encoding: str) -> bytes:
    """Encode the content before the file is opened: content that cannot be encoded must not destroy the file."""
    try:
        if encoding == "base64":
            return base64.b64decode(content, validate=True)
        return content.encode(encoding)
    except (binascii.Error, ValueError):
        raise InvalidArgument(f"content cannot be written as {encoding}.", "Correct content or encoding.") from None


def _files_of(on: "Application") -> "FileTree":
    """Return the files that the caller may reach: without configured directories, only the local user has any."""
    return on.local_files if current_caller().local else on.files


add_tools(__name__)
