"""Files that a result names: read from this disk, and described with the result (docs/agents/local-agents.md).

A result may have a member `files`, a list of paths below the root. `file_hashes` is added, with the sha256 and size of
each, by its path. With `upload_files` in the call their contents become artifacts of the run, and `file_hashes` has
their ids too. If a file is missing, the result is refused before anything is sent.
"""

import base64
import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import anyio.to_thread

from dcf.errors import InvalidArgument
from dcf.local.calls import ServerCalls
from dcf.local.file_reading import FoundFile, all_found, content
from dcf.values.json_text import Json, parse

FIELD: Final = "files"
HASHES: Final = "file_hashes"
UPLOAD: Final = "upload_files"
_LONGEST_NAME: Final = 200
_PART: Final = 512 * 1024
"""Bytes of one part of an artifact, before they are base64."""

COMPLETION: Final = "update_workflow_control_plane"
"""The tool whose result is looked through."""


def names_files(tool: str, arguments: Mapping[str, Json]) -> bool:
    """Return True if a call is a completion whose result names files."""
    return tool == COMPLETION and bool(_named(_value(arguments.get("output_json"))))


async def described(arguments: Mapping[str, Json], root: Path, server: ServerCalls, *, upload: bool) -> dict[str, Json]:
    """Return a completion with its files described; raise InvalidArgument if one is missing."""
    output = _value(arguments.get("output_json"))
    files = await anyio.to_thread.run_sync(all_found, root, _named(output))
    ids = await _artifacts(server, root, str(arguments.get("workflow_id")), files) if upload else {}
    hashes = {file.path: {**file.as_json(), **_artifact(ids.get(file.path))} for file in files}
    return {**arguments, "output_json": {**output, HASHES: hashes}}


async def uploaded(server: ServerCalls, root: Path, paths: list[str], workflow_id: str | None) -> list[dict[str, Json]]:
    """Return what files hold; with a run their contents become artifacts of it."""
    files = await anyio.to_thread.run_sync(all_found, root, paths)
    ids = {} if workflow_id is None else await _artifacts(server, root, workflow_id, files)
    return [{"path": file.path, **file.as_json(), **_artifact(ids.get(file.path))} for file in files]


async def _artifacts(server: ServerCalls, root: Path, workflow_id: str, files: list[FoundFile]) -> dict[str, str]:
    """Put each file into the run. Its id follows from its content, so that a repetition finds it there."""
    ids: dict[str, str] = {}
    for file in files:
        data = await anyio.to_thread.run_sync(content, root, file)
        path = hashlib.sha256(file.path.encode("utf-8", "surrogateescape")).hexdigest()[:16]
        name = f"file-{file.sha256[:32]}-{path}"
        parts = [data[start : start + _PART] for start in range(0, len(data), _PART)] or [b""]
        for number, part in enumerate(parts, 1):
            await server.call(
                "put_artifact",
                workflow_id=workflow_id,
                artifact_id=name,
                name=file.path[-_LONGEST_NAME:],
                content=base64.b64encode(part).decode(),
                content_type="binary",
                encoding="base64",
                part=number,
                of=len(parts),
                sha256=file.sha256,
            )
        ids[file.path] = name
    return ids


def _artifact(artifact_id: str | None) -> dict[str, Json]:
    return {} if artifact_id is None else {"artifact_id": artifact_id}


def _named(output: Json) -> list[str]:
    """Return the paths that a result names; raise InvalidArgument for a `files` that holds something else."""
    named = output.get(FIELD) if isinstance(output, dict) else None
    if not isinstance(named, list) or not named:
        return []
    if not all(isinstance(name, str) for name in named):
        raise InvalidArgument(f"{FIELD} of the output is no list of paths.", f'Write "{FIELD}": ["docs/plan.md"].')
    return named


def _value(value: Json) -> Json:
    """Return what an argument holds that takes JSON text and native values; text that is not JSON names no files."""
    if not isinstance(value, str):
        return value
    try:
        return parse(value, name="output")
    except InvalidArgument:
        return None
