"""The directories that file tools are confined to, and the way down from one of them.

Every step is opened relative to the one before and never through a symbolic link, so that nobody who may write below a
root can lead a tool out of it, not even by changing a directory while it is walked. The roots themselves are the
operator's and may be links. What the system says is told in words of ours.
"""

import errno
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from dcf.values.refusal import Refusal

STEP: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC

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
_AGAIN: Final = "Look with list_directory and call again."


class Stopped(Exception):
    """Ends an operation half-way down; its refusal is what the caller is told."""

    def __init__(self, code: str, message: str, hint: str = _AGAIN) -> None:
        super().__init__(message)
        self.refusal = Refusal(code=code, message=message, hint=hint)


def failed(code: str, what: str, error: OSError) -> Stopped:
    """Tell of a refusal of the system without its words."""
    return Stopped(code, f"{what}: {_WORDS.get(error.errno or 0, 'the system refused it')}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class RootedPath:
    """A place at or below a root: `root` is where it really is, `steps` lead down from there."""

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
        """Whether it is the other place or lies below it."""
        return self.parts[: len(other.parts)] == other.parts

    @contextmanager
    def open_parent(self, *, create: bool = False, missing: str = "path_not_found") -> Iterator[tuple[int, str]]:
        """Open the directory that this place is in; yield it and the last name."""
        *around, last = self.steps
        with ExitStack() as opened:
            yield descend(self.root, tuple(around), opened, create=create, missing=missing)[0], last

    @contextmanager
    def open_directory(self) -> Iterator[int]:
        """Open this place, a directory."""
        with ExitStack() as opened:
            yield descend(self.root, self.steps, opened)[0]


def descend(
    root: Path, steps: tuple[str, ...], opened: ExitStack, *, create: bool = False, missing: str = "path_not_found"
) -> tuple[int, bool]:
    """Open step after step for as long as `opened` lasts; tell the last directory and whether it was made just now."""
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Roots:
    """The configured directories; those in `write` may be read as well."""

    read: tuple[Path, ...]
    write: tuple[Path, ...]

    def place(self, text: str, *, write: bool = False) -> RootedPath:
        """Find the place that a caller names; raise Stopped where it is none of ours."""
        known = self._known()
        if not known:
            raise Stopped(
                "not_configured",
                "No directory is configured for the file tools.",
                "Ask an operator to set DCF_FILES_READ or DCF_FILES_WRITE.",
            )
        found = self._governed(self._located(text, known), known)
        if write and not known[found.root]:
            raise Stopped(
                "forbidden", f"'{text}' may only be read.", f"Writable directories: {self._listed(write=True)}."
            )
        return found

    def all(self) -> list[Path]:
        """List the roots, where they really are."""
        return sorted(self._known())

    def refuse_root(self, place: RootedPath) -> None:
        """Refuse to delete, move or replace a root or what holds one."""
        roots = [RootedPath(root=root, steps=()) for root in self._known()]
        if any(root.inside(place) for root in roots):
            raise Stopped(
                "forbidden", f"'{place.text}' is, or holds, a configured directory.", "Name what is inside it."
            )

    def _known(self) -> dict[Path, bool]:
        """Tell where the roots really are, and whether they may be written."""
        found = {Path(os.path.realpath(root)): False for root in self.read}
        return found | {Path(os.path.realpath(root)): True for root in self.write}

    def _located(self, text: str, known: dict[Path, bool]) -> Path:
        steps = [step for step in text.split("/") if step not in ("", ".")]
        if not text or "\0" in text or ".." in steps:
            raise Stopped("invalid_argument", "The path is empty, or holds '..' or a NUL.", "Name the place directly.")
        if text.startswith("/"):
            for alias in sorted((root.absolute() for root in (*self.read, *self.write, *known)), reverse=True):
                if tuple(steps[: len(alias.parts) - 1]) == alias.parts[1:]:
                    return Path(os.path.realpath(alias)).joinpath(*steps[len(alias.parts) - 1 :])
            raise self._outside(text)
        if len(known) > 1:
            raise Stopped(
                "invalid_argument",
                "There are several directories, so a path must be absolute.",
                f"Begin it with one of: {self._listed()}.",
            )
        return next(iter(known)).joinpath(*steps)

    def _governed(self, path: Path, known: dict[Path, bool]) -> RootedPath:
        """Take the innermost root around a path: a read-only one inside a writable one stays so."""
        root = max((root for root in known if path.is_relative_to(root)), key=lambda one: len(one.parts))
        return RootedPath(root=root, steps=path.parts[len(root.parts) :])

    def _outside(self, text: str) -> Stopped:
        return Stopped(
            "forbidden", f"'{text[:200]}' is outside the configured directories.", f"They are: {self._listed()}."
        )

    def _listed(self, *, write: bool = False) -> str:
        shown = [str(root) for root, writable in sorted(self._known().items()) if writable or not write]
        return ", ".join(shown[:5]) if shown else "none"
