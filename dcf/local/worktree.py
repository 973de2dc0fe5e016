"""Questions about a worktree that an agent asks: what changed for a unit of work, and a branch to do it on.

Where a unit starts is recorded in the repository itself, as a ref below `refs/dcf/starts/`: it outlives this process,
belongs to the disk it is about, and is never pushed. Files that were dirty at the start and are the same now are not
the unit's.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from dcf.core.text.path_globs import outside
from dcf.local import git
from dcf.local.git import FileChange, GitRefused, WorktreeFacts
from dcf.local.working_root import WorkingDirectory
from dcf.values.json_text import Json, dump

_EMPTY_TREE: Final = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
MOST_SHOWN: Final = 1000
"""Files that one answer lists."""
LONGEST_PATCH: Final = 65_536


def described(facts: WorktreeFacts) -> dict[str, Json]:
    """Return the facts as an answer shows them; `dirty` counts untracked files too."""
    return {
        "worktree": str(facts.root),
        "branch": facts.branch,
        "head": facts.head,
        "dirty": bool(facts.changes),
        "changed": [_shown(change) for change in facts.changes[:MOST_SHOWN]],
        "changed_total": len(facts.changes),
    }


def record_start(place: WorkingDirectory, unit: str) -> dict[str, Json]:
    """Record where a unit starts, unless that was done; return the record and whether there was one."""
    facts = git.facts(place)
    known = _record(facts.root, unit)
    if known is not None:
        return {**_told(known), "existed": True}
    made = {"head": facts.head, "dirty": _digests(facts)}
    blob = git.run(facts.root, "hash-object", "-w", "--stdin", given=dump(made).encode()).decode().strip()
    git.run(facts.root, "update-ref", _ref(unit), blob)
    return {**_told(made), "existed": False}


def changes_since(
    place: WorkingDirectory, *, start: str | None, unit: str | None, areas: Sequence[str]
) -> dict[str, Json]:
    """Return what changed since a commit, or since the recorded start of a unit; else what is not committed."""
    facts = git.facts(place)
    record = None if unit is None else _record(facts.root, unit)
    if unit is not None and record is None and start is None:
        raise GitRefused(
            "no_start", "No start of this unit is recorded here.", "Call local_worktree with it when you begin."
        )
    since = start or (None if record is None else record["head"])
    changes = united(_committed(facts, since, from_nothing=record is not None), facts.changes)
    if record is not None:
        old = record["dirty"]
        now = _digests(facts)
        same = {path for path, content in old.items() if now.get(path) == content}
        changes = [change for change in changes if _text(change.path) not in same or "committed" in change.where]
    elsewhere = outside(_paths(changes), areas)
    return {
        "worktree": str(facts.root),
        "branch": facts.branch,
        "head": facts.head,
        "start": since,
        "files": [_shown(change) for change in changes[:MOST_SHOWN]],
        "files_total": len(changes),
        **({"outside_areas": [_text(path) for path in elsewhere[:MOST_SHOWN]]} if areas else {}),
    }


def patch_of(place: WorkingDirectory, start: str | None) -> dict[str, Json]:
    """Return the difference as text, from a commit (by default the last one) to what is on the disk now."""
    facts = git.facts(place)
    untracked = [change.path for change in facts.changes if change.change == "untracked"]
    commit = facts.head if start is None else git.commit_of(facts.root, start)
    if start is not None and commit is None:
        raise git.unknown_start(start)
    text, cut = git.patch(facts.root, commit, untracked, LONGEST_PATCH)
    return {"patch": text, "patch_cut": cut}


def united(*parts: Iterable[FileChange]) -> list[FileChange]:
    """Return one entry for each path, with the facts of all parts. The last part gives the kind of change."""
    changes: dict[str, FileChange] = {}
    for change in (changed for part in parts for changed in part):
        known = changes.pop(change.path, None)
        if known is None and change.old_path is not None and change.change == "renamed":
            known = changes.pop(change.old_path, None)
        changes[change.path] = change if known is None else _joined(known, change)
    return sorted(changes.values(), key=lambda change: change.path)


def _joined(known: FileChange, later: FileChange) -> FileChange:
    word = later.change
    if known.change in ("added", "renamed") and later.change == "modified":
        word = known.change
    old = known.old_path if known.change == "renamed" else later.old_path
    return FileChange(path=later.path, change=word, where=(*known.where, *later.where), old_path=old)


def make_branch(place: WorkingDirectory, name: str) -> dict[str, Json]:
    """Make a branch at the present commit and switch to it; what is not committed stays as it is, on the new branch."""
    facts = git.facts(place)
    if git.run(facts.root, "check-ref-format", "--branch", name, ok=(0, 1, 128)).decode().strip() != name:
        raise GitRefused("invalid_argument", f"'{name[:100]}' is no name of a branch.", "Use letters, digits, - and /.")
    if facts.branch == name:
        return {"worktree": str(facts.root), "branch": name, "created": False, "head": facts.head}
    if git.commit_of(facts.root, f"refs/heads/{name}") is not None:
        raise GitRefused(
            "branch_exists",
            f"There is a branch '{name}' already, and this worktree is on {facts.branch or 'no branch'}.",
            "Switch to it yourself once your work is committed, or choose another name; nothing was changed.",
        )
    _refuse_operations(facts.root)
    git.run(facts.root, "switch", "--quiet", "--no-guess", "--create", name)
    return {"worktree": str(facts.root), "branch": name, "created": True, "head": facts.head, "from": facts.branch}


def _refuse_operations(top: Path) -> None:
    """Refuse while a merge, rebase, cherry-pick or bisect is unfinished: a new branch would take it along."""
    names = ("MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply", "BISECT_LOG")
    for name in names:
        place = git.run(top, "rev-parse", "--git-path", name).decode().strip()
        if (top / place).exists():
            raise GitRefused(
                "operation_in_progress",
                f"git is in the middle of something ({name}).",
                "Finish or abort it first; nothing was changed.",
            )


def _committed(facts: WorktreeFacts, since: str | None, *, from_nothing: bool) -> tuple[FileChange, ...]:
    if facts.head is None or (since is None and not from_nothing):
        return ()
    if since is None:  # the start was before the first commit
        return git.difference(facts.root, _EMPTY_TREE, facts.head)
    return git.committed(facts.root, since, facts.head)


def _paths(changes: Iterable[FileChange]) -> dict[str, None]:
    """Return each path once, the old one of a renamed file too."""
    return dict.fromkeys(path for change in changes for path in (change.path, change.old_path) if path is not None)


def _ref(unit: str) -> str:
    return f"refs/dcf/starts/{hashlib.sha256(unit.encode()).hexdigest()[:40]}"


def _record(top: Path, unit: str) -> dict[str, Json] | None:
    commit = git.run(top, "rev-parse", "--verify", "--quiet", _ref(unit), ok=(0, 1, 128)).decode().strip()
    if not commit:
        return None
    record: dict[str, Json] = json.loads(git.run(top, "cat-file", "blob", commit))
    return record


def _told(record: Mapping[str, Json]) -> dict[str, Json]:
    return {"start": record["head"], "dirty_at_start": sorted(record["dirty"])[:MOST_SHOWN]}


def _digests(facts: WorktreeFacts) -> dict[str, str | None]:
    """Return the content of each changed file; None for a deleted file."""
    return {_text(change.path): _digest(facts.root / change.path) for change in facts.changes}


def _digest(path: Path) -> str | None:
    try:
        if path.is_symlink():
            return f"link:{_text(str(path.readlink()))}"
        if not path.is_file():  # a pipe would be waited for
            return None
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None


def _shown(change: FileChange) -> dict[str, Json]:
    shown: dict[str, Json] = {"path": _text(change.path), "change": change.change}
    shown["where"] = list(dict.fromkeys(change.where))
    return shown if change.old_path is None else {**shown, "old_path": _text(change.old_path)}


def _text(path: str) -> str:
    """Return a path as text that JSON can carry; a name need not be valid UTF-8."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
