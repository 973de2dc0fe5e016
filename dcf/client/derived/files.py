"""Methods of the clients for the verbs of the toolset files. Derived from their descriptions."""

from dcf.client.calls import call_pages, call_tool
from dcf.client.exchange import Conversation, Stream
from dcf.verbs.records.files import (
    DeletedPath,
    EncodingName,
    ListedPath,
    MadeDirectory,
    MovedPath,
    ReadFile,
    WrittenFile,
)


def list_directory(path: str = ".", *, recursive: bool = False, include_hidden: bool = False) -> Stream[ListedPath]:
    """List what is in a directory; links are shown and not followed. Pages are read as they are needed."""
    return call_pages(
        ListedPath,
        "list_directory",
        "entries",
        max_entries=100,
        path=path,
        recursive=recursive or None,
        include_hidden=include_hidden or None,
    )


def read_file(
    path: str, *, offset: int = 0, length: int | None = None, encoding: EncodingName = "utf-8"
) -> Conversation[ReadFile]:
    """Read a file or a part of it; a long one continues at next_offset. Text is never cut inside a character."""
    return call_tool(ReadFile, "read_file", path=path, offset=offset, length=length, encoding=encoding)


def write_file(
    path: str, content: str, *, append: bool = False, encoding: EncodingName = "utf-8", create_parents: bool = True
) -> Conversation[WrittenFile]:
    """Write a file: replace it as a whole, or add to its end with `append=True`."""
    return call_tool(
        WrittenFile,
        "write_file",
        path=path,
        content=content,
        append=append or None,
        encoding=encoding,
        create_parents=create_parents,
    )


def create_directory(path: str, *, parents: bool = True, exist_ok: bool = True) -> Conversation[MadeDirectory]:
    """Create a directory where files are to be written."""
    return call_tool(MadeDirectory, "create_directory", path=path, parents=parents, exist_ok=exist_ok)


def delete_path(path: str, *, recursive: bool = False) -> Conversation[DeletedPath]:
    """Remove a file, a link itself, or a directory; of a full one only with `recursive=True`."""
    return call_tool(DeletedPath, "delete_path", path=path, recursive=recursive or None)


def move_path(
    source: str, destination: str, *, overwrite: bool = False, create_parents: bool = True
) -> Conversation[MovedPath]:
    """Move or rename a file or directory, in one step."""
    return call_tool(
        MovedPath,
        "move_path",
        source=source,
        destination=destination,
        overwrite=overwrite or None,
        create_parents=create_parents,
    )
