"""Lists, reads, writes, moves and deletes files and directories below the configured roots, for the file tools.

Never touches anything outside the roots, follows no links, and opens no devices or pipes. A file is replaced as a whole
or not at all. Nothing is deleted or overwritten unless the caller named it. `roots` decides which paths are inside.
"""

import errno
import os
import secrets
import stat
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import asdict
from functools import wraps
from pathlib import Path
from typing import Concatenate, Final, ParamSpec, TypeVar

from dcf.files.appending import append_to
from dcf.files.flags import CLOEXEC, NOFOLLOW, NONBLOCK
from dcf.files.roots import STEP, RootedPath, Roots, Stopped, descend, failed
from dcf.files.walking import DirectoryEntry, describe, walk
from dcf.values.json_text import byte_length
from dcf.values.records import record
from dcf.values.refusal import Refusal

MAX_BYTES: Final = 1024 * 1024

_READ: Final = os.O_RDONLY | NOFOLLOW | NONBLOCK | CLOEXEC
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | NOFOLLOW | CLOEXEC
_MAX_DEPTH: Final = 64

Asked = ParamSpec("Asked")
Told = TypeVar("Told")


@record(frozen=True, slots=True, kw_only=True)
class Listing:
    """One page of a directory's entries, in order.

    `cursor` begins the next page, None on the last; `skipped` counts names that are not valid Unicode.
    """

    path: str
    entries: tuple[DirectoryEntry, ...]
    cursor: str | None = None
    skipped: int = 0


@record(frozen=True, slots=True, kw_only=True)
class Content:
    """Bytes of a file from an offset on; `size` is the whole file's size in bytes."""

    path: str
    data: bytes
    size: int


def _answering(
    method: Callable[Concatenate["FileTree", Asked], Told],
) -> Callable[Concatenate["FileTree", Asked], Told | Refusal]:
    """Make a method return its refusal instead of raising Stopped."""

    @wraps(method)
    def answer(tree: "FileTree", /, *args: Asked.args, **options: Asked.kwargs) -> Told | Refusal:
        try:
            return method(tree, *args, **options)
        except Stopped as stopped:
            return stopped.refusal

    return answer


class FileTree:
    """The files below the roots. `max_bytes` limits what one call may read or write."""

    def __init__(self, read: tuple[Path, ...], write: tuple[Path, ...], max_bytes: int = MAX_BYTES) -> None:
        self._roots = Roots(read=read, write=write)
        self.max_bytes = max_bytes

    @_answering
    def entries(self, path: str, *, recursive: bool, hidden: bool, limit: int, room: int, after: str | None) -> Listing:
        """List a directory after the entry `after`, at most `limit` entries and `room` bytes of JSON.

        The path `.` lists the roots themselves if there are several.
        """
        if path == "." and len(self._roots.all()) > 1:
            roots = [root for root in self._roots.all() if root.is_dir()]
            return Listing(path=path, entries=tuple(describe(str(root), str(root), root.stat()) for root in roots))
        place = self._roots.place(path)
        begun = None if after is None else tuple(after.split("/"))
        entries: list[DirectoryEntry] = []
        skipped = 0
        with place.open_directory() as directory:
            for steps, about in walk(directory, recursive=recursive, hidden=hidden, after=begun):
                if about is None:
                    skipped += 1
                    continue
                entry = describe(steps[-1], str(Path(place.text, *steps)), about)
                room -= byte_length(asdict(entry))
                if entries and (len(entries) == limit or room < 0):
                    last = entries[-1].path[len(place.text) :].strip("/")
                    return Listing(path=place.text, entries=tuple(entries), cursor=last, skipped=skipped)
                entries.append(entry)
        return Listing(path=place.text, entries=tuple(entries), skipped=skipped)

    @_answering
    def read(self, path: str, offset: int, length: int) -> Content:
        """Read up to `length` bytes of a regular file from `offset` on."""
        place = self._roots.place(path)
        if not place.steps:
            raise Stopped("not_a_file", f"'{path}' is a directory.", "List it with `list_directory`.")
        with place.open_parent() as (directory, name), ExitStack() as opened:
            _regular(directory, name, missing="path_not_found")
            try:
                file = os.open(name, _READ, dir_fd=directory)
                opened.callback(os.close, file)
                about = os.fstat(file)
                if not stat.S_ISREG(about.st_mode):
                    raise Stopped("not_a_file", f"'{name}' is no regular file.")
                data = _read(file, offset, length)
            except OSError as error:
                raise failed("read_failed", f"'{name}' cannot be read", error) from None
        return Content(path=place.text, data=data, size=about.st_size)

    @_answering
    def write(self, path: str, data: bytes, *, append: bool, create_parents: bool) -> str:
        """Create or replace a file as a whole, or append to it. Return its absolute path."""
        if len(data) > self.max_bytes:
            raise Stopped(
                "too_large", f"{len(data)} bytes are more than {self.max_bytes}.", "Write it in pieces, append=true."
            )
        place = self._inner(path)
        with place.open_parent(create=create_parents, missing="parent_missing") as (directory, name):
            about = _regular(directory, name)
            try:
                if append:
                    append_to(directory, name, data, self.max_bytes)
                else:
                    _replace(directory, name, data, about)
            except OSError as error:
                raise failed("write_failed", f"'{name}' cannot be written", error) from None
        return place.text

    @_answering
    def make_directory(self, path: str, *, parents: bool, exist_ok: bool) -> tuple[str, bool]:
        """Create a directory. Return its absolute path and whether it is new."""
        place = self._roots.place(path, write=True)
        made = False
        with ExitStack() as opened:
            if place.steps:
                around = descend(place.root, place.steps[:-1], opened, create=parents, missing="parent_missing")[0]
                made = _make_directory(around, place.steps[-1])
            if not made and not exist_ok:
                raise Stopped("already_exists", f"'{path}' exists.", "Use it, or choose another name.")
        return place.text, made

    @_answering
    def delete(self, path: str, *, recursive: bool) -> str:
        """Delete a file, a link itself, or a directory. Return its absolute path."""
        place = self._inner(path)
        self._roots.refuse_root(place)
        with place.open_parent() as (directory, name):
            mode = _look(directory, name, "path_not_found").st_mode
            try:
                if stat.S_ISDIR(mode):
                    _delete_directory(directory, name, recursive=recursive)
                elif stat.S_ISREG(mode) or stat.S_ISLNK(mode):
                    os.unlink(name, dir_fd=directory)
                else:
                    raise Stopped("unsupported_type", f"'{name}' is no file, link or directory.")
                os.fsync(directory)
            except OSError as error:
                raise failed("remove_failed", f"'{name}' cannot be deleted, or only a part of it", error) from None
        return place.text

    @_answering
    def move(self, source: str, target: str, *, overwrite: bool, create_parents: bool) -> tuple[str, str]:
        """Rename a file, link or directory in one step. Return the absolute paths before and after.

        `overwrite` allows replacing a file or an empty directory.
        """
        old, new = self._inner(source), self._inner(target)
        self._roots.refuse_root(old)
        self._roots.refuse_root(new)
        if new.inside(old) and new != old:
            raise Stopped("move_failed", "Nothing can be moved into itself.", "Choose a destination outside of it.")
        with old.open_parent(missing="source_not_found") as (from_directory, name):
            about = _look(from_directory, name, "source_not_found")
            if not _is_plain(about.st_mode):
                raise Stopped("unsupported_type", f"'{name}' is no file, link or directory.")
            with new.open_parent(create=create_parents, missing="destination_parent_missing") as (to_directory, last):
                if old.parts != new.parts:
                    _Move(from_directory, name, to_directory, last, about).carry_out(overwrite=overwrite)
        return old.text, new.text

    def _inner(self, path: str) -> RootedPath:
        """Return a writable path that is not a root itself; raise Stopped otherwise."""
        place = self._roots.place(path, write=True)
        if not place.steps:
            raise Stopped("forbidden", f"'{path}' is a configured directory.", "Name what is inside it.")
        return place


@record(frozen=True, slots=True)
class _Move:
    """One rename, from one open directory to another."""

    source: int
    name: str
    target: int
    last: str
    about: os.stat_result

    def carry_out(self, *, overwrite: bool) -> None:
        """Rename such that the moved file keeps at least one of its names, whatever happens meanwhile."""
        try:
            there = _look_or_none(self.target, self.last)
            if there is not None and not overwrite:
                raise _exists(self.last)
            if there is None:
                self._to_nothing()
            else:
                self._over(there)
            os.fsync(self.target)
            os.fsync(self.source)
        except OSError as error:
            if error.errno in (errno.EEXIST, errno.ENOTEMPTY):
                raise _exists(self.last) from None
            raise failed("move_failed", f"'{self.name}' cannot be moved", error) from None

    def _to_nothing(self) -> None:
        """Rename to a free name, without replacing anything created there meanwhile."""
        if stat.S_ISDIR(self.about.st_mode):
            os.mkdir(self.last, dir_fd=self.target)
            try:
                self._rename()  # the system replaces the new directory only if it is still empty
            except OSError:
                with suppress(OSError):
                    os.rmdir(self.last, dir_fd=self.target)
                raise
            return
        os.link(self.name, self.last, src_dir_fd=self.source, dst_dir_fd=self.target, follow_symlinks=False)
        os.unlink(self.name, dir_fd=self.source)

    def _over(self, there: os.stat_result) -> None:
        if stat.S_ISDIR(there.st_mode) != stat.S_ISDIR(self.about.st_mode) or not _is_plain(there.st_mode):
            raise Stopped("destination_exists", f"'{self.last}' is of another kind.", "Choose another destination.")
        if (there.st_dev, there.st_ino) == (self.about.st_dev, self.about.st_ino):
            os.unlink(self.name, dir_fd=self.source)  # hard links of one file: renaming would leave both names
            return
        self._rename()

    def _rename(self) -> None:
        os.rename(self.name, self.last, src_dir_fd=self.source, dst_dir_fd=self.target)


def _is_plain(mode: int) -> bool:
    return stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISLNK(mode)


def _exists(name: str) -> Stopped:
    hint = "Choose another destination; overwrite=true replaces a file or an empty directory, never a full one."
    return Stopped("destination_exists", f"'{name}' exists.", hint)


def _look(directory: int, name: str, missing: str) -> os.stat_result:
    file_stat = _look_or_none(directory, name)
    if file_stat is None:
        raise Stopped(missing, f"There is no '{name}'.")
    return file_stat


def _look_or_none(directory: int, name: str) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise failed("path_not_found", f"'{name}' cannot be looked at", error) from None


def _regular(directory: int, name: str, *, missing: str | None = None) -> os.stat_result | None:
    """Raise Stopped for anything but a regular file. Checked before opening, as opening a device can have effects."""
    about = _look_or_none(directory, name) if missing is None else _look(directory, name, missing)
    if about is not None and not stat.S_ISREG(about.st_mode):
        kind = "a directory" if stat.S_ISDIR(about.st_mode) else "no regular file; links are not followed"
        raise Stopped("not_a_file", f"'{name}' is {kind}.")
    return about


def _read(file: int, offset: int, length: int) -> bytes:
    pieces: list[bytes] = []
    while length > 0 and (piece := os.pread(file, min(length, MAX_BYTES), offset)):
        pieces.append(piece)
        offset, length = offset + len(piece), length - len(piece)
    return b"".join(pieces)


def _replace(directory: int, name: str, data: bytes, about: os.stat_result | None) -> None:
    """Write a temporary file, flush it to disk, and rename it over the old one."""
    draft = f".dcf-{secrets.token_hex(8)}.tmp"
    file = os.open(draft, _NEW, 0o666, dir_fd=directory)
    try:
        with os.fdopen(file, "wb") as out:
            if about is not None:
                os.fchmod(out.fileno(), stat.S_IMODE(about.st_mode) & 0o777)
            out.write(data)
            out.flush()
            os.fsync(out.fileno())
        os.rename(draft, name, src_dir_fd=directory, dst_dir_fd=directory)
    except BaseException:
        with suppress(OSError):
            os.unlink(draft, dir_fd=directory)
        raise
    os.fsync(directory)


def _make_directory(around: int, name: str) -> bool:
    try:
        os.mkdir(name, dir_fd=around)
    except FileExistsError:
        if not stat.S_ISDIR(_look(around, name, "mkdir_failed").st_mode):
            raise Stopped("already_exists", f"'{name}' exists and is no directory.", "Choose another name.") from None
        return False
    except OSError as error:
        raise failed("mkdir_failed", f"The directory '{name}' cannot be made", error) from None
    os.fsync(around)
    return True


def _delete_directory(around: int, name: str, *, recursive: bool) -> None:
    if recursive:
        _empty(around, name, _MAX_DEPTH)
    try:
        os.rmdir(name, dir_fd=around)
    except OSError as error:
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
            raise Stopped(
                "not_empty", f"The directory '{name}' is not empty.", "Pass recursive=true to delete all of it."
            ) from None
        raise


def _empty(around: int, name: str, depth: int) -> None:
    """Delete everything in a directory. Links are deleted, not followed."""
    if depth == 0:
        raise Stopped(
            "remove_failed",
            f"The directories are nested deeper than {_MAX_DEPTH} levels.",
            "Delete the inner ones first.",
        )
    directory = os.open(name, STEP, dir_fd=around)
    try:
        for inner in os.listdir(directory):  # noqa: PTH208 - a path could be another directory by now
            about = _look_or_none(directory, inner)
            if about is not None and stat.S_ISDIR(about.st_mode):
                _empty(directory, inner, depth - 1)
                os.rmdir(inner, dir_fd=directory)
            elif about is not None:
                os.unlink(inner, dir_fd=directory)
    finally:
        os.close(directory)
