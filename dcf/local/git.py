"""The git facts of a worktree: its place, its changes, and a branch made for a Task.

git is asked as a program with a small environment, in which nothing of the repository is executed (`git_settings.py`).
A worktree is only where its repository is found. Nothing here throws uncommitted work away.
"""

import os
import signal
import subprocess
import tempfile
import threading
from pathlib import Path
from shutil import which
from typing import Final

from dcf.local.git_settings import DIFF, EXECUTE_NOTHING, MOST_NAMED, STATUS, environment, named_off
from dcf.local.repository_bounds import RepositoryPlace, is_within
from dcf.local.working_root import WorkingDirectory
from dcf.values.records import record
from dcf.values.refusal import Refusal

_LONG_S: Final = 60.0
_LONGEST_COMPLAINT: Final = 4000


class GitRefused(Exception):
    """git did not do what it was asked; `refusal` is the answer to the caller."""

    def __init__(self, code: str, message: str, hint: str) -> None:
        super().__init__(message)
        self.refusal = Refusal(code=code, message=message, hint=hint)


@record(frozen=True, slots=True, kw_only=True)
class FileChange:
    """One file that differs: how (`added`, `modified`, `deleted`, `renamed`, `untracked`), and where git sees it."""

    path: str
    change: str
    where: tuple[str, ...]
    old_path: str | None = None


@record(frozen=True, slots=True, kw_only=True)
class WorktreeFacts:
    """A worktree: its top directory, branch (None if detached), commit (None before the first), and what is dirty."""

    root: Path
    branch: str | None
    head: str | None
    changes: tuple[FileChange, ...]


def run(root: Path, *arguments: str, ok: tuple[int, ...] = (0,), given: bytes | None = None) -> bytes:
    """Return what git prints; raise GitRefused if it is missing, takes too long or fails."""
    settings = _settings(root, arguments[0])
    try:
        done = subprocess.run(  # noqa: S603 - words of ours and names, no shell
            [_program(settings), *arguments],
            cwd=root,
            env=settings,
            input=given,
            stdin=subprocess.DEVNULL if given is None else None,
            capture_output=True,
            timeout=_LONG_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise _slow() from None
    if done.returncode not in ok:
        raise _failed(done.returncode, done.stderr)
    return done.stdout


def beginning(root: Path, *arguments: str, limit: int, ok: tuple[int, ...] = (0,)) -> bytes:
    """Return at most `limit` bytes of what git prints, and end git there; raise GitRefused as `run` does."""
    settings = _settings(root, arguments[0])
    with (
        tempfile.TemporaryFile() as complaints,
        subprocess.Popen(  # noqa: S603 - words of ours and names, no shell
            [_program(settings), *arguments],
            cwd=root,
            env=settings,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=complaints,
        ) as process,
    ):
        timer = threading.Timer(_LONG_S, process.kill)
        timer.start()
        try:
            assert process.stdout is not None, "it was asked for"
            first_bytes = process.stdout.read(limit)
            is_whole = not process.stdout.read(1)
            if not is_whole:
                process.kill()
            code = process.wait()
        finally:
            timer.cancel()
        if is_whole and code == -signal.SIGKILL:
            raise _slow()
        if is_whole and code not in ok:
            complaints.seek(0)
            raise _failed(code, complaints.read(_LONGEST_COMPLAINT))
    return first_bytes


def _settings(root: Path, command: str) -> dict[str, str]:
    """Return the environment of a command of git: what the repository names is switched off, where it may be run."""
    if command in EXECUTE_NOTHING:
        return environment()
    names = _names(run(root, "config", "--list", "--name-only", "-z"))
    off = named_off(names)
    if len(off) > MOST_NAMED:
        raise GitRefused(
            "git_refused", f"The repository names more than {MOST_NAMED} filters and hooks.", "Remove some of them."
        )
    return environment(off)


def _program(settings: dict[str, str]) -> str:
    git = which("git", path=settings.get("PATH", os.defpath))
    if git is None:
        raise GitRefused("git_missing", "git is not installed.", "Install git, or do without it.")
    return git


def _slow() -> GitRefused:
    return GitRefused("git_slow", f"git took more than {_LONG_S:g} seconds.", "Call again.")


def _failed(code: int, complaint: bytes) -> GitRefused:
    complaint_lines = complaint.decode("utf-8", "replace").strip().splitlines()
    why = complaint_lines[0][:300] if complaint_lines else f"exit code {code}"
    return GitRefused("git_failed", f"git refused: {why}.", "Correct the problem that git reports, then call again.")


def facts(place: WorkingDirectory) -> WorktreeFacts:
    """Return what is so now; raise GitRefused if the directory is in no worktree that may be read."""
    root = place.path
    repository = _place(root)
    top = repository.top
    nearest = next((folder for folder in (root, *root.parents) if os.path.lexists(folder / ".git")), None)
    if top != nearest:
        raise GitRefused(
            "no_worktree",
            f"The repository of {root} says that its worktree is elsewhere: {top}.",
            "Remove core.worktree from its configuration, or pass another root.",
        )
    if place.boundary is not None and not top.is_relative_to(place.boundary):
        raise GitRefused(
            "no_worktree",
            f"The worktree around {root} begins above --root, {place.boundary}.",
            "Start dcf agents local with the top of the worktree as --root, or with a directory above it.",
        )
    if not is_within(repository, place.boundary or top):
        raise GitRefused(
            "no_worktree",
            f"The worktree {top} reads a repository outside {place.boundary or top} that does not name it as its own.",
            "Make the worktree with git worktree add, or start dcf agents local with a --root that has the repository.",
        )
    return _status(top)


def _place(root: Path) -> RepositoryPlace:
    arguments = ("--path-format=absolute", "--show-toplevel", "--git-dir", "--git-common-dir")
    try:
        top, own, shared = os.fsdecode(run(root, "rev-parse", *arguments)).splitlines()
    except ValueError:
        raise GitRefused("no_worktree", f"A path around {root} has a line break.", "Rename that directory.") from None
    except GitRefused as refused:
        if refused.refusal.code != "git_failed":
            raise
        raise GitRefused(
            "no_worktree", f"{root} is in no git worktree.", "Pass root, or make one with git init."
        ) from None
    named = run(root, "config", "--get", "core.worktree", ok=(0, 1)).decode("utf-8", "replace").strip()
    return RepositoryPlace(top=Path(top), own=Path(own), shared=Path(shared), named_worktree=named)


def _status(top: Path) -> WorktreeFacts:
    shown = ("--porcelain=v2", "--branch", "-z", "--untracked-files=all", "--renames")
    fields = iter(_names(run(top, "status", *shown, *STATUS)))
    branch: str | None = None
    head: str | None = None
    changes: list[FileChange] = []
    for field in fields:
        kind, _, rest = field.partition(" ")
        if field.startswith("# branch.oid "):
            oid = field.removeprefix("# branch.oid ")
            head = None if oid == "(initial)" else oid
        elif field.startswith("# branch.head "):
            name = field.removeprefix("# branch.head ")
            branch = None if name == "(detached)" else name
        elif kind == "?":
            changes.append(FileChange(path=rest, change="untracked", where=("untracked",)))
        elif kind == "1":
            changes.append(_plain(rest))
        elif kind == "2":
            marks, *_, path = rest.split(" ", 8)
            changes.append(FileChange(path=path, change="renamed", where=_where(marks), old_path=next(fields)))
        elif kind == "u":
            changes.append(FileChange(path=rest.split(" ", 9)[-1], change="modified", where=("unstaged",)))
    return WorktreeFacts(root=top, branch=branch, head=head, changes=tuple(changes))


_WORDS: Final = {"A": "added", "D": "deleted", "R": "renamed", "C": "added"}


def _plain(rest: str) -> FileChange:
    marks, *_, path = rest.split(" ", 7)
    word = next((_WORDS[mark] for mark in marks[::-1] if mark in _WORDS), "modified")
    return FileChange(path=path, change=word, where=_where(marks))


def _where(marks: str) -> tuple[str, ...]:
    return tuple(name for mark, name in zip(marks, ("staged", "unstaged"), strict=False) if mark != ".")


def _names(output: bytes) -> list[str]:
    return output.decode("utf-8", "surrogateescape").split("\0")[:-1]


def unknown_start(start: str) -> GitRefused:
    """Return the refusal of a start that names no commit."""
    return GitRefused("unknown_start", f"There is no commit '{start[:60]}'.", "Pass the start that was recorded.")


def committed(root: Path, start: str, head: str) -> tuple[FileChange, ...]:
    """Return what the commits since a start changed; raise GitRefused if the commit no longer exists."""
    commit = commit_of(root, start)
    if commit is None:
        raise unknown_start(start)
    return difference(root, commit, head)


def difference(root: Path, old: str, new: str) -> tuple[FileChange, ...]:
    """Return what differs between two commits or trees."""
    output = run(root, "diff", "--name-status", "-z", "-M", *DIFF, old, new)
    fields = iter(_names(output))
    file_changes: list[FileChange] = []
    for mark in fields:
        source = next(fields) if mark[:1] in "RC" else None
        path = next(fields)
        old_path = source if mark[:1] == "R" else None
        word = _WORDS.get(mark[:1], "modified")
        file_changes.append(FileChange(path=path, change=word, where=("committed",), old_path=old_path))
    return tuple(file_changes)


def commit_of(root: Path, name: str) -> str | None:
    """Return the full id of a commit; None if there is none of this name."""
    if name.startswith("-"):
        return None
    output = run(root, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}", ok=(0, 1, 128))
    return output.decode().strip() or None


def patch(root: Path, start: str | None, untracked: list[str], limit: int) -> tuple[str, bool]:
    """Return the difference as text, untracked files included, and whether it was cut at `limit` bytes."""
    most = limit + 1
    text = beginning(root, "diff", "-M", *DIFF, start, limit=most) if start else b""
    for path in untracked:
        if len(text) > limit:
            break
        left = most - len(text)
        text += beginning(root, "diff", "--no-index", *DIFF, "--", "/dev/null", path, limit=left, ok=(0, 1))
    return text[:limit].decode("utf-8", "replace"), len(text) > limit
