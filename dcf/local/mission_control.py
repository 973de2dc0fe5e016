"""The calls of the profile `mission-control` that need the agent's disk: files of a workflow, changes by a task.

`start_workflow` sends workflow.md and definition.md of the directory that has the workflow's name, with the agents that
there are. Where a task starts is recorded in the repository, so that its end names the files that differ since. Without
git, or without a record, the changed files stay unknown: the answer says so, and never invents them. The end of a phase
sends which of the outputs of its plan exist.
"""

import hashlib
import os.path
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import anyio.to_thread

from dcf.authoring.mission_files import read_texts, workflow_names, write_texts
from dcf.errors import DcfError, InvalidArgument
from dcf.local import git, worktree
from dcf.local.deepwork.tool_calls import ProfileCalls
from dcf.local.git import GitRefused
from dcf.local.working_root import WorkingDirectory
from dcf.profiles.mission_control.outputs import found_outputs
from dcf.profiles.profile import Failure
from dcf.values.json_text import Json, dump
from dcf.values.located import Report
from dcf.values.records import record

PROFILE: Final = "mission-control"
_TOOLS: Final = frozenset(
    {"start_workflow", "start_task", "complete_task", "complete_phase", "complete_workflow", "get_context"}
)
_OF_ONE_WORKFLOW: Final = frozenset({"complete_workflow", "get_context"})
"""Tools whose call without a workflow_id means the workflow of the directory."""

_KINDS: Final[Mapping[str, str]] = {"untracked": "added", "renamed": "added"}
"""Changes that count as another one."""


def is_one(profile: str | None, tool: str) -> bool:
    """Return True for a call that is looked into here."""
    return profile == PROFILE and tool in _TOOLS


def rejected(error: DcfError) -> dict[str, Any]:
    """Return a failure on this machine in the shape that clients of the profile know."""
    from dcf.profiles.mission_control.profile import PROFILE as SERVED  # noqa: PLC0415 - its tools are not needed here

    shown = SERVED.failed(Failure(code=error.code, message=error.message, hint=error.hint))
    content = [{"type": "text", "text": dump(shown)}]
    return {"content": content, "structuredContent": shown, "isError": True, "resultType": "complete"}


@record(frozen=True, slots=True)
class MissionCall:
    """One call of a tool of the profile. Without a directory it is passed on as it is."""

    tool: str
    arguments: Mapping[str, Json]
    place: WorkingDirectory | None
    server: ProfileCalls

    async def prepared(self) -> dict[str, Json]:
        """Return the arguments that are sent; raise InvalidArgument for files of the workflow that cannot be read."""
        arguments = dict(self.arguments)
        if self.place is None:
            return arguments
        if self.tool == "complete_phase" and "outputs_found" not in arguments:
            outputs = await self._outputs()
            existing = await anyio.to_thread.run_sync(found_outputs, self.place.path, outputs)
            return arguments | ({"outputs_found": list[Json](existing)} if outputs else {})
        return arguments | await anyio.to_thread.run_sync(self._facts, self.place)

    async def _outputs(self) -> list[str]:
        """Return the outputs that the plan demands of the phase; none if the server does not say which."""
        phase = str(self.arguments.get("phase_id"))
        read: dict[str, Json] = {"workflow_id": phase.partition(":")[0], "include": ["phase_summary"]}
        sent = {"name": "get_context", "arguments": read, "_meta": dict(self.server.meta or {})}
        answer = (await self.server.passed_on(sent)).get("structuredContent")
        phases = answer.get("phase_summary") if isinstance(answer, dict) else None
        return [path for row in phases or () if row.get("phase_id") == phase for path in row.get("outputs") or ()]

    async def finished(self, result: dict[str, Any]) -> dict[str, Any]:
        """Record where a task that was started starts; return the result."""
        answer = result.get("structuredContent")
        if self.place is not None and self.tool == "start_task" and isinstance(answer, dict) and "task_id" in answer:
            await anyio.to_thread.run_sync(_record, self.place, str(answer["task_id"]))
        return result

    def _facts(self, place: WorkingDirectory) -> dict[str, Json]:
        """Return what the call does not say and the disk does; nothing without a repository."""
        if self.tool == "start_workflow" and "workflow_files" not in self.arguments:
            return {"place": _identity(place.path), **_files_of(place.path, self.arguments.get("name"))}
        if self.tool in _OF_ONE_WORKFLOW:
            return {"place": _identity(place.path)}
        try:
            if self.tool == "start_task" and "snapshot_id" not in self.arguments:
                facts = git.facts(place)
                return {"snapshot_id": facts.head, "snapshot_type": "git", "worktree": _identity(facts.root)}
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


def _identity(directory: Path) -> str:
    """Return what a directory of this machine is known by elsewhere. It does not show the path."""
    return hashlib.sha256(os.fsencode(f"{socket.gethostname()}:{directory}")).hexdigest()[:16]


def _changes(place: WorkingDirectory, task: str) -> dict[str, Json]:
    """Return the paths that differ since the task started; a renamed file counts as deleted and added.

    They are relative to the directory of the project, as its areas are, which may be below that of the repository.
    """
    changed: dict[str, list[Json]] = {"added": [], "modified": [], "deleted": []}
    since = worktree.changes_since(place, start=None, unit=task, areas=[])
    here = place.path.resolve()
    for file in since["files"]:
        changed[_KINDS.get(file["change"], file["change"])].append(_relative(since["worktree"], file["path"], here))
        changed["deleted"] += [_relative(since["worktree"], old, here)] if (old := file.get("old_path")) else []
    return dict(changed)


def _relative(worktree_root: str, path: str, here: Path) -> str:
    """Return the path of a file of the worktree, seen from a directory."""
    return os.path.relpath(f"{worktree_root}/{path}", here)


def _files_of(root: Path, name: Json) -> dict[str, Json]:
    """Return the files of the workflow of this name; without a name those of the only one."""
    report, names = Report(), workflow_names(root)
    more: dict[str, Json] = {"searched": {"directory": str(root), "workflows": list[Json](names)}}
    if name is None and len(names) == 1:
        name = names[0]
        more["name"] = name
    texts = read_texts(root, str(name), Path.home(), report)
    if report.problems:
        raise InvalidArgument(str(report.problems[0]), "Correct the files of the workflow, then call again.")
    return more | ({} if texts is None else {"workflow_files": write_texts(texts)})
