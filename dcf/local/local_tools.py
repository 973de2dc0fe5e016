"""The tools that `dcf agents local` adds to the server's: git, files, and commands of gates, on this machine.

Each has a name that begins with `local_`, so that none is taken for one of the server's. Every answer says which
directory it is about.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

import anyio.to_thread

from dcf.errors import InvalidArgument
from dcf.local import git, worktree
from dcf.local.answers import done
from dcf.local.calls import ServerCalls
from dcf.local.command_templates import Allowed
from dcf.local.gate_runs import run_gates
from dcf.local.output_files import uploaded
from dcf.local.working_root import WorkingDirectory
from dcf.values.json_text import Json
from dcf.values.records import record

_ROOT: Final[Mapping[str, Json]] = {
    "type": "string",
    "description": "Absolute path of the directory you work in; by default the client's root.",
}
_UNIT: Final[Mapping[str, Json]] = {
    "type": "string",
    "description": "Name of a piece of work, e.g. RUN/STATE.",
    "minLength": 1,
    "maxLength": 500,
}
_NAMES: Final[Mapping[str, Json]] = {"type": "array", "items": {"type": "string"}}


@record(frozen=True, slots=True)
class LocalCall:
    """The context of a local tool: the arguments, the directory, the server, what may run here, the helper's key."""

    arguments: Mapping[str, Json]
    place: WorkingDirectory
    server: ServerCalls
    allowed: Allowed
    helper: ServerCalls | None = None

    def text(self, name: str) -> str | None:
        """Return an argument that is text; raise InvalidArgument for another kind."""
        argument = self.arguments.get(name)
        if argument is not None and (not isinstance(argument, str) or not argument):
            raise InvalidArgument(f"{name} is no text.", f"Send {name} as a string.")
        return argument

    def needed(self, name: str) -> str:
        """Return an argument that there must be."""
        schema = self.text(name)
        if schema is None:
            raise InvalidArgument(f"{name} is missing.", f"Send {name}.")
        return schema

    def names(self, name: str) -> list[str]:
        """Return an argument that is a list of texts; none of it is an empty list."""
        argument = self.arguments.get(name) or []
        if not isinstance(argument, list) or not all(isinstance(name, str) for name in argument):
            raise InvalidArgument(f"{name} is no list of texts.", f'Send {name} as ["a", "b"].')
        return argument


@record(frozen=True, slots=True, kw_only=True)
class LocalTool:
    """One tool of this machine."""

    name: str
    description: str
    arguments: Mapping[str, Json]
    required: tuple[str, ...] = ()
    read_only: bool = False
    run: Callable[[LocalCall], Awaitable[dict[str, Json]]]

    def listed(self) -> dict[str, Any]:
        """Return the tool as `tools/list` shows it."""
        schema = {"type": "object", "properties": {**self.arguments, "root": _ROOT}, "additionalProperties": False}
        return {
            "name": self.name,
            "description": self.description,
            "inputSchema": {**schema, "required": list(self.required)} if self.required else schema,
            "annotations": {"readOnlyHint": self.read_only, "openWorldHint": False},
        }


async def _worktree(call: LocalCall) -> dict[str, Json]:
    def look() -> dict[str, Json]:
        description = worktree.described(git.facts(call.place))
        unit = call.text("unit")
        return description if unit is None else {**description, "start": worktree.record_start(call.place, unit)}

    return done(**await anyio.to_thread.run_sync(look))


async def _changes(call: LocalCall) -> dict[str, Json]:
    start, unit, areas = call.text("start"), call.text("unit"), call.names("areas")

    def look() -> dict[str, Json]:
        changes = worktree.changes_since(call.place, start=start, unit=unit, areas=areas)
        return (
            {**changes, **worktree.patch_of(call.place, changes["start"])} if call.arguments.get("patch") else changes
        )

    return done(**await anyio.to_thread.run_sync(look))


async def _branch(call: LocalCall) -> dict[str, Json]:
    return done(**await anyio.to_thread.run_sync(worktree.make_branch, call.place, call.needed("name")))


async def _files(call: LocalCall) -> dict[str, Json]:
    files = await uploaded(call.server, call.place.path, call.names("paths"), call.text("workflow_id"))
    return done(files=files)


async def _gates(call: LocalCall) -> dict[str, Json]:
    run, state, agent = call.needed("workflow_id"), call.text("state"), call.text("agent_id")
    return done(gates=await run_gates(call.server, call.helper, call.place.path, call.allowed, run, state, agent))


TOOLS: Final[Mapping[str, LocalTool]] = {
    tool.name: tool
    for tool in (
        LocalTool(
            name="local_worktree",
            description=(
                "The git worktree on this machine: branch, commit, changed and untracked files. With unit it records "
                "where that work starts, once."
            ),
            arguments={"unit": _UNIT},
            run=_worktree,
        ),
        LocalTool(
            name="local_changes",
            description=(
                "Files that differ from a start (a commit, or the one recorded for unit) until now: committed, staged, "
                "unstaged and untracked. With areas (globs) outside_areas lists those that lie elsewhere."
            ),
            arguments={
                "unit": _UNIT,
                "start": {"type": "string", "description": "A commit."},
                "areas": _NAMES,
                "patch": {"type": "boolean", "description": "The difference as text, too."},
            },
            read_only=True,
            run=_changes,
        ),
        LocalTool(
            name="local_branch",
            description=(
                "Make a git branch at the present commit and switch to it. Uncommitted work stays as it is; a branch "
                "that exists is never moved."
            ),
            arguments={"name": {"type": "string", "description": "E.g. deepwork/JOB-WORKFLOW-ID."}},
            required=("name",),
            run=_branch,
        ),
        LocalTool(
            name="local_files",
            description="sha256 and size of files; with workflow_id their contents become artifacts of that run.",
            arguments={"paths": _NAMES, "workflow_id": {"type": "string"}},
            required=("paths",),
            run=_files,
        ),
        LocalTool(
            name="local_gates",
            description=(
                "Run here the commands that open gates of a run wait for, and report the results. Only commands "
                "that a person allowed run."
            ),
            arguments={name: {"type": "string"} for name in ("workflow_id", "state", "agent_id")},
            required=("workflow_id",),
            run=_gates,
        ),
    )
}
