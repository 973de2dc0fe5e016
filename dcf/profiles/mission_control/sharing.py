"""Separates the files of tasks that ran at the same time in one worktree. Pure.

git reports what changed in a worktree, and not who changed it. Tasks share their files if they ran at the same time in
one worktree. A file outside the areas of a task belongs to a sharing task that has it in its areas. If a sharing task
has no areas, the owner of an unexpected file is unknown.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from dcf.core.text.path_globs import covers, outside
from dcf.profiles.growing_runs import Grown, RunUnit, instant
from dcf.profiles.mission_control.words import files_of, is_checkpoint, outcome_of
from dcf.values.json_text import Json
from dcf.values.records import record

_MOST_NAMED: Final = 5

Files = Mapping[str, list[str]]
"""Paths by the kind of change."""


@record(frozen=True, slots=True, kw_only=True)
class Separated:
    """The files of a task; `others` belong to the tasks in `sharing`. Those in `unclear` have no areas."""

    files: Files
    others: tuple[str, ...] = ()
    sharing: tuple[str, ...] = ()
    unclear: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Json]:
        """Return what is stored with the outcome of the task."""
        return {"others": list(self.others), "sharing": list(self.sharing), "unclear": list(self.unclear)}


def separate(run: Grown, task: RunUnit, files: Files) -> Separated:
    """Return the files without those of other tasks that ran at the same time in the same worktree."""
    if not task.areas:
        return Separated(files=files)
    sharing = [other for other in run.units.values() if _shares(other, task)]
    paths = [path for kind in files.values() for path in kind]
    elsewhere = set(outside(paths, task.areas))
    owners = {
        path: [other.title for other in sharing if any(covers(area, path) for area in other.areas)]
        for path in sorted(elsewhere)
    }
    others = {path for path, titles in owners.items() if titles}
    return Separated(
        files={kind: [path for path in named if path not in others] for kind, named in files.items()},
        others=tuple(sorted(others)),
        sharing=tuple(dict.fromkeys(title for titles in owners.values() for title in titles)),
        unclear=tuple(other.title for other in sharing if not other.areas) if elsewhere - others else (),
    )


def verified(task: RunUnit) -> dict[str, Json]:
    """Return which changed files lie outside the areas that the task named; None where that is not known."""
    outcome = outcome_of(task)
    files = files_of(outcome)
    if outcome.get("files_changed") is None:
        unknown = "Which files changed is not known: it takes git, and a helper on the agent's machine."
        return {"scope_match": None, "unexpected_files": [], "warnings": [unknown]}
    separated = outcome.get("files_beside") or {}
    elsewhere = outside([path for paths in files.values() for path in paths], task.areas)
    warnings = [f"{len(elsewhere)} changed files lie outside the areas of the task."] if elsewhere else []
    match = None if separated.get("unclear") else not elsewhere
    return {"scope_match": match, "unexpected_files": elsewhere, "warnings": warnings + _warnings_of(separated)}


def _warnings_of(separated: Mapping[str, Json]) -> list[str]:
    """Return what the agent should know of files that are not counted as its own."""
    warnings = []
    if separated.get("others"):
        files, tasks = _named(separated["others"]), _named(separated["sharing"])
        warnings.append(f"Not counted, since they are in the areas of tasks in the same worktree ({tasks}): {files}.")
    if separated.get("unclear"):
        tasks = _named(separated["unclear"])
        warnings.append(f"Tasks without areas ran at the same time in the same worktree ({tasks}): scope is unknown.")
    return warnings


def _shares(other: RunUnit, task: RunUnit) -> bool:
    """Return True for another task that was in progress in the same worktree while this one was."""
    if other.name == task.name or other.is_group or is_checkpoint(other):
        return False
    worktree = task.input("worktree")
    if worktree is None or other.input("worktree") != worktree or other.started_at is None or task.started_at is None:
        return False
    return _before(other.started_at, task.finished_at) and _before(task.started_at, other.finished_at)


def _before(start: str, end: str | None) -> bool:
    return end is None or instant(start) <= instant(end)


def _named(names: Iterable[str]) -> str:
    listed = list(names)
    more = f" and {len(listed) - _MOST_NAMED} more" if len(listed) > _MOST_NAMED else ""
    return ", ".join(listed[:_MOST_NAMED]) + more
