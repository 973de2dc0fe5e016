"""The calls of the profile `mission-control` that need the agent's disk: files of a workflow, changes by a task.

`start_workflow` sends workflow.md and definition.md of the directory that has the workflow's name, with the agents that
there are. Where a task starts is recorded in the repository, so that its end names the files that differ since. Without
git, or without a record, the changed files stay unknown: the answer says so, and never invents them.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import anyio.to_thread

from dcf.authoring.mission_files import read_texts, write_texts
from dcf.errors import InvalidArgument
from dcf.local import git, worktree
from dcf.local.git import GitRefused
from dcf.local.working_root import WorkingDirectory
from dcf.values.json_text import Json
from dcf.values.located import Report
from dcf.values.records import record

PROFILE: Final = "mission-control"
_TOOLS: Final = frozenset({"start_workflow", "start_task", "complete_task"})
_KINDS: Final[Mapping[str, str]] = {"untracked": "added", "renamed": "added"}
"""Changes that count as another one."""


def is_one(profile: str | None, tool: str) -> bool:
    """Return True for a call that is looked into here."""
    return profile == PROFILE and tool in _TOOLS


@record(frozen=True, slots=True)
class MissionCall:
    """One call of a tool of the profile. Without a directory it is passed on as it is."""

    tool: str
    arguments: Mapping[str, Json]
    place: WorkingDirectory | None

    async def prepared(self) -> dict[str, Json]:
        """Return the arguments that are sent; raise InvalidArgument for files of the workflow that cannot be read."""
        arguments = dict(self.arguments)
        if self.place is None:
            return arguments
        return arguments | await anyio.to_thread.run_sync(self._facts, self.place)

    async def finished(self, result: dict[str, Any]) -> dict[str, Any]:
        """Record where a task that was started starts; return the result."""
        answer = result.get("structuredContent")
        if self.place is not None and self.tool == "start_task" and isinstance(answer, dict) and "task_id" in answer:
            await anyio.to_thread.run_sync(_record, self.place, str(answer["task_id"]))
        return result

    def _facts(self, place: WorkingDirectory) -> dict[str, Json]:
        """Return what the call does not say and the disk does; nothing without a repository."""
        if self.tool == "start_workflow" and "workflow_files" not in self.arguments:
            return _files_of(place.path, self.arguments.get("name"))
        try:
            if self.tool == "start_task" and "snapshot_id" not in self.arguments:
                return {"snapshot_id": git.facts(place).head, "snapshot_type": "git"}
            if self.tool == "complete_task" and "files_changed" not in self.arguments:
                return {"files_changed": _changes(place, str(self.arguments.get("task_id")))}
        except GitRefused:
            return {}
        return {}


def _record(place: WorkingDirectory, task: str) -> None:
    try:
        worktree.record_start(place, task)
    except GitRefused:
        return  # without a repository what changed is not known, and the end of the task says so


def _changes(place: WorkingDirectory, task: str) -> dict[str, Json]:
    """Return the paths that differ since the task started; a renamed file counts as deleted and added."""
    changed: dict[str, list[Json]] = {"added": [], "modified": [], "deleted": []}
    for file in worktree.changes_since(place, start=None, unit=task, areas=[])["files"]:
        changed[_KINDS.get(file["change"], file["change"])].append(file["path"])
        changed["deleted"] += [file["old_path"]] if file.get("old_path") else []
    return dict(changed)


def _files_of(root: Path, name: Json) -> dict[str, Json]:
    report = Report()
    texts = read_texts(root, str(name), Path.home(), report)
    if report.problems:
        raise InvalidArgument(str(report.problems[0]), "Correct the files of the workflow, then call again.")
    return {} if texts is None else {"workflow_files": write_texts(texts)}
