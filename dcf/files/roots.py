"""The configured directories (roots) that file tools are confined to, and opening paths below them.

Every directory is opened relative to its parent and never through a symbolic link. So a process that may write below a
root cannot lead a tool outside of it, not even by renaming directories meanwhile. The roots themselves are set by the
operator and may be links. Errors of the operating system are reported in dcf's own words.
"""

import errno
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from dcf.files.flags import CLOEXEC, DIRECTORY, NOFOLLOW
from dcf.values.records import record
from dcf.values.refusal import Refusal

STEP: Final = os.O_RDONLY | DIRECTORY | NOFOLLOW | CLOEXEC

_WORDS: Final = {
    errno.EACCES: "the server has no permission",
    errno.EPERM: "the system does not permit it",
    errno.EROFS: "the file system is read-only",
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EMFILE: "too many files are open",
    errno.ENFILE: "too many files are open",
    errno.ENAMETOOLONG: "a name is too long",
    errno.EXDEV: "the two places are on different file systems",
}
_AGAIN: Final = "Look with `list_directory` and call again."


class Stopped(Exception):
    """Ends a file operation early. `refusal` is the answer to the caller."""

    def __init__(self, code: str, message: str, hint: str = _AGAIN) -> None:
        super().__init__(message)
        self.refusal = Refusal(code=code, message=message, hint=hint)


def failed(code: str, message: str, error: OSError) -> Stopped:
    """Turn an OSError into Stopped, with a message of dcf's own instead of the system's text."""
    return Stopped(code, f"{message}: {_WORDS.get(error.errno or 0, 'the system refused it')}.")


@record(frozen=True, slots=True, kw_only=True)
class RootedPath:
    """A path at or below a root: `root` is the root's real path, `steps` are the names below it."""

    root: Path
    steps: tuple[str, ...]

    @property
    def text(self) -> str:
        """The absolute path."""
        return str(self.root.joinpath(*self.steps))

    @property
    def parts(self) -> tuple[str, ...]:
        """All names from the top of the file system."""
        return (*self.root.parts, *self.steps)

    def inside(self, other: "RootedPath") -> bool:
        """Return True if this is the other path or lies below it."""
        return self.parts[: len(other.parts)] == other.parts

    @contextmanager
    def open_parent(self, *, create: bool = False, missing: str = "path_not_found") -> Iterator[tuple[int, str]]:
        """Open the directory that contains this path; yield its descriptor and the last name."""
        *around, last = self.steps
        with ExitStack() as opened:
            yield descend(self.root, tuple(around), opened, create=create, missing=missing)[0], last

    @contextmanager
    def open_directory(self) -> Iterator[int]:
        """Open this path as a directory; yield its descriptor."""
        with ExitStack() as opened:
            yield descend(self.root, self.steps, opened)[0]


def descend(
    root: Path, steps: tuple[str, ...], opened: ExitStack, *, create: bool = False, missing: str = "path_not_found"
) -> tuple[int, bool]:
    """Open the directories down to the last step; return its descriptor and whether it was created just now.

    All descriptors are closed with `opened`. Raise Stopped, with the code `missing` for a directory that is not there.
    """
    try:
        base = os.open(root, STEP)
    except OSError as error:
        raise failed("path_not_found", "A configured directory cannot be opened", error) from None
    opened.callback(os.close, base)
    made = False
    for step in steps:
        made = create and _make(base, step)
        base = _step(base, step, missing)
        opened.callback(os.close, base)
    return base, made


def _step(base: int, step: str, missing: str) -> int:
    try:
        return os.open(step, STEP, dir_fd=base)
    except FileNotFoundError:
        raise Stopped(missing, f"There is no directory '{step}'.") from None
    except OSError as error:
        if error.errno in (errno.ENOTDIR, errno.ELOOP):
            raise Stopped("not_a_directory", f"'{step}' is no directory; symbolic links are not followed.") from None
        raise failed("scan_failed", f"'{step}' cannot be opened", error) from None


def _make(base: int, step: str) -> bool:
    try:
        os.mkdir(step, dir_fd=base)
    except FileExistsError:
        return False
    except OSError as error:
        raise failed("mkdir_failed", f"The directory '{step}' cannot be made", error) from None
    os.fsync(base)
    return True


@record(frozen=True, slots=True, kw_only=True)
class Roots:
    """The configured directories. Those in `write` may be read as well."""

    read: tuple[Path, ...]
    write: tuple[Path, ...]

    def place(self, text: str, *, write: bool = False) -> RootedPath:
        """Return the rooted path that a caller names; raise Stopped if it is outside the roots or not writable."""
        known = self._known()
        if not known:
            raise Stopped(
                "not_configured",
                "No directory is configured for the file tools.",
                "Ask an operator to set DCF_FILES_READ or DCF_FILES_WRITE: callers with a key have no default.",
            )
        rooted_path = self._governed(self._located(text, known), known)
        if write and not known[rooted_path.root]:
            raise Stopped(
                "forbidden", f"'{text}' may only be read.", f"Writable directories: {self._listed(write=True)}."
            )
        return rooted_path

    def all(self) -> list[Path]:
        """Return the real paths of the roots, sorted."""
        return sorted(self._known())

    def refuse_root(self, place: RootedPath) -> None:
        """Raise Stopped if this path is a root or contains one."""
        roots = [RootedPath(root=root, steps=()) for root in self._known()]
        if any(root.inside(place) for root in roots):
            raise Stopped(
                "forbidden", f"'{place.text}' is, or holds, a configured directory.", "Name what is inside it."
            )

    def _known(self) -> dict[Path, bool]:
        """Return the real path of each root, and whether it is writable."""
        roots = {Path(os.path.realpath(root)): False for root in self.read}
        return roots | {Path(os.path.realpath(root)): True for root in self.write}

    def _located(self, text: str, known: dict[Path, bool]) -> Path:
        steps = [step for step in text.split("/") if step not in ("", ".")]
        if not text or "\0" in text or ".." in steps:
            raise Stopped("invalid_argument", "The path is empty, or holds '..' or a NUL.", "Name the place directly.")
        if text.startswith("/"):
            for alias in sorted((root.absolute() for root in (*self.read, *self.write, *known)), reverse=True):
                if tuple(steps[: len(alias.parts) - 1]) == alias.parts[1:]:
                    return Path(os.path.realpath(alias)).joinpath(*steps[len(alias.parts) - 1 :])
            hint = f"They are: {self._listed()}."
            raise Stopped("forbidden", f"'{text[:200]}' is outside the configured directories.", hint)
        if len(known) > 1:
            raise Stopped(
                "invalid_argument",
                "There are several directories, so a path must be absolute.",
                f"Begin it with one of: {self._listed()}.",
            )
        return next(iter(known)).joinpath(*steps)

    def _governed(self, path: Path, known: dict[Path, bool]) -> RootedPath:
        """Choose the innermost root around a path, so that a read-only root inside a writable one stays read-only."""
        root = max((root for root in known if path.is_relative_to(root)), key=lambda root: len(root.parts))
        return RootedPath(root=root, steps=path.parts[len(root.parts) :])

    def _listed(self, *, write: bool = False) -> str:
        shown = [str(root) for root, writable in sorted(self._known().items()) if writable or not write]
        return ", ".join(shown[:5]) if shown else "none"
