"""Tools on files below the configured directories. They only parse arguments, call, and format the answer."""

import base64
import binascii
from dataclasses import asdict
from typing import Annotated, Any, Literal

from pydantic import Field

from dcf.application.application import Application
from dcf.core.access.model import Scope
from dcf.errors import InvalidArgument
from dcf.values.refusal import Refusal
from dcf.values.text_pieces import LONGEST, utf8_piece
from dcf.verbs.registry import Answer, Arguments, refused, tool

_PLACE = "Absolute, or relative where one directory is configured."
_GROWTH = 8
"""Characters that one byte can take in an answer: a control character is escaped."""

FilePath = Annotated[
    str, Field(min_length=1, max_length=4000, description=f"The path. {_PLACE}", examples=["notes/plan.md"])
]
Encoding = Annotated[
    Literal["utf-8", "ascii", "latin-1", "base64"], Field(description="Of the content; base64 for what is no text.")
]


class ListDirectory(Arguments):
    """List what is in a directory; links are shown and not followed. A long list goes on with next_cursor."""

    path: str = Field(default=".", min_length=1, max_length=4000, description=f"The directory. {_PLACE}")
    recursive: bool = Field(default=False, description="Also what is in directories inside.")
    include_hidden: bool = Field(default=False, description="Also names that begin with a dot.")
    max_entries: int = Field(default=200, ge=1, le=1000, description="Most entries of one answer.")
    cursor: str | None = Field(default=None, max_length=4000, description="next_cursor of the answer before.")


class DirectoryListed(Answer):
    """Entries in the order of their paths; `truncated` when there are more, times in UTC."""

    path: str | None = None
    entries: list[dict[str, Any]] = Field(default_factory=list)
    truncated: bool = False
    next_cursor: str | None = None
    skipped: int = 0


@tool(
    toolset="files",
    scope=Scope.READ,
    profiles=("operator",),
    arguments=ListDirectory,
    answer=DirectoryListed,
    read_only=True,
)
def list_directory(app: Application, args: ListDirectory) -> DirectoryListed:
    """List a directory."""
    found = app.files.entries(
        args.path,
        recursive=args.recursive,
        hidden=args.include_hidden,
        limit=args.max_entries,
        room=app.settings.max_result_bytes // 2,
        after=args.cursor,
    )
    if isinstance(found, Refusal):
        return refused(DirectoryListed, found)
    return DirectoryListed(
        status="listed in part" if found.cursor else "listed",
        hint=f"{found.skipped} names are not Unicode and cannot be shown." if found.skipped else None,
        path=found.path,
        entries=[asdict(entry) for entry in found.entries],
        truncated=found.cursor is not None,
        next_cursor=found.cursor,
        skipped=found.skipped,
    )


class ReadFile(Arguments):
    """Read a file or a part of it; a long one goes on at next_offset. Text is never cut inside a character."""

    path: FilePath
    offset: int = Field(default=0, ge=0, le=2**53, description="First byte.")
    length: int | None = Field(default=None, ge=1, le=2**26, description="Most bytes; default: as many as allowed.")
    encoding: Encoding = "utf-8"


class FileRead(Answer):
    """`content` is the bytes from `offset` on, `size` those of the whole file."""

    path: str | None = None
    content: str | None = None
    bytes_read: int = 0
    offset: int = 0
    size: int | None = None
    next_offset: int | None = None


@tool(
    toolset="files",
    scope=Scope.READ,
    profiles=("operator",),
    arguments=ReadFile,
    answer=FileRead,
    read_only=True,
)
def read_file(app: Application, args: ReadFile) -> FileRead:
    """Read a file."""
    most = min(app.files.max_bytes, app.settings.max_result_bytes // _GROWTH)
    length = min(args.length or most, most)
    is_utf8 = args.encoding == "utf-8"
    found = app.files.read(args.path, args.offset, length + LONGEST if is_utf8 else length)
    if isinstance(found, Refusal):
        return refused(FileRead, found)
    skipped, data = utf8_piece(found.data, length) if is_utf8 else (0, found.data)
    offset = args.offset + skipped
    content = _decoded(data, args.encoding)
    if content is None:
        hint = "Read it with encoding=base64."
        return refused(FileRead, Refusal(code="decode_failed", message=f"The file is not {args.encoding}.", hint=hint))
    end = offset + len(data)
    return FileRead(
        status="read" if end >= found.size else "read in part",
        path=found.path,
        content=content,
        bytes_read=len(data),
        offset=offset,
        size=found.size,
        next_offset=end if end < found.size else None,
    )


class WriteFile(Arguments):
    """Write a file: replace it as a whole, or add to its end with append=true."""

    path: FilePath
    content: str = Field(max_length=2**27, description="What to write.", examples=["# Plan\n"])
    append: bool = Field(default=False, description="Add to the end.")
    encoding: Encoding = "utf-8"
    create_parents: bool = Field(default=True, description="Make missing directories.")


class FileWritten(Answer):
    """How much was written, and how."""

    path: str | None = None
    bytes_written: int = 0
    mode: Literal["append", "overwrite"] | None = None


@tool(
    toolset="files",
    scope=Scope.WORK,
    profiles=("operator",),
    arguments=WriteFile,
    answer=FileWritten,
    destructive=True,
    idempotent=False,
    audit=("path",),
)
def write_file(app: Application, args: WriteFile) -> FileWritten:
    """Write a file."""
    data = _encoded(args.content, args.encoding)
    path = app.files.write(args.path, data, append=args.append, create_parents=args.create_parents)
    if isinstance(path, Refusal):
        return refused(FileWritten, path)
    mode: Literal["append", "overwrite"] = "append" if args.append else "overwrite"
    return FileWritten(status="written", path=path, bytes_written=len(data), mode=mode)


class CreateDirectory(Arguments):
    """Create a directory where files are to be written."""

    path: FilePath = Field(examples=["notes"])
    parents: bool = Field(default=True, description="Make missing directories on the way.")
    exist_ok: bool = Field(default=True, description="Accept one that exists.")


class DirectoryCreated(Answer):
    """`created` is true only when it is new."""

    path: str | None = None
    created: bool = False


@tool(toolset="files", scope=Scope.WORK, arguments=CreateDirectory, answer=DirectoryCreated, audit=("path",))
def create_directory(app: Application, args: CreateDirectory) -> DirectoryCreated:
    """Create a directory."""
    found = app.files.make_directory(args.path, parents=args.parents, exist_ok=args.exist_ok)
    if isinstance(found, Refusal):
        return refused(DirectoryCreated, found)
    path, is_new = found
    return DirectoryCreated(status="created" if is_new else "exists", path=path, created=is_new)


class DeletePath(Arguments):
    """Remove a file, a link itself, or a directory; of a full one only with recursive=true."""

    path: FilePath
    recursive: bool = Field(default=False, description="Delete all that is in a directory.")


class PathDeleted(Answer):
    """What is gone."""

    path: str | None = None
    removed: bool = False


@tool(toolset="files", scope=Scope.WORK, arguments=DeletePath, answer=PathDeleted, destructive=True, audit=("path",))
def delete_path(app: Application, args: DeletePath) -> PathDeleted:
    """Delete a file, link or directory."""
    path = app.files.delete(args.path, recursive=args.recursive)
    if isinstance(path, Refusal):
        return refused(PathDeleted, path)
    return PathDeleted(status="removed", path=path, removed=True)


class MovePath(Arguments):
    """Move or rename a file or directory, in one step."""

    source: FilePath
    destination: FilePath = Field(examples=["notes/final.md"])
    overwrite: bool = Field(default=False, description="Replace a file or an empty directory that is there.")
    create_parents: bool = Field(default=True, description="Make missing directories.")


class PathMoved(Answer):
    """From where to where."""

    source: str | None = None
    destination: str | None = None


@tool(
    toolset="files",
    scope=Scope.WORK,
    arguments=MovePath,
    answer=PathMoved,
    destructive=True,
    idempotent=False,
    audit=("source", "destination"),
)
def move_path(app: Application, args: MovePath) -> PathMoved:
    """Move a file or directory."""
    found = app.files.move(args.source, args.destination, overwrite=args.overwrite, create_parents=args.create_parents)
    if isinstance(found, Refusal):
        return refused(PathMoved, found)
    source, destination = found
    return PathMoved(status="moved" if source != destination else "unchanged", source=source, destination=destination)


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
