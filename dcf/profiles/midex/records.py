"""Logs, artifacts and findings of the profile `midex`."""

from collections.abc import AsyncIterator, Mapping
from typing import Final

from dcf.core.access.model import Scope
from dcf.profiles.ids import id_of, place_of
from dcf.profiles.midex import calls
from dcf.profiles.midex.content import contract_of, known_project, project_at_number
from dcf.profiles.midex.contracts import LAYERS, check_contract
from dcf.profiles.midex.late_logs import is_line, read_line, store_line
from dcf.profiles.midex.words import project_number
from dcf.profiles.native_calls import Tolerated, add_entry, listed
from dcf.profiles.profile import Native, NotDone, Toolbox
from dcf.values.json_text import Json, without_nulls

BOX: Final = Toolbox()
_LOGGED: Final = "log:"
_PAGE: Final = 100
_MOST_FINDINGS: Final = 1000
_MOST_CONTENT: Final = 256 * 1024
"""Bytes of contents of artifacts in one answer."""
_TYPES: Final = {
    "text": "text/plain",
    "markdown": "text/markdown",
    "json": "application/json",
    "binary": "application/octet-stream",
}


@BOX.tool(calls.LogExecutionCall, Scope.WORK)
async def log_execution(native: Native, args: calls.LogExecutionCall) -> Json:
    """Add a line to the journal, once for each layer and layerId; contracts are checked every time."""
    layer = LAYERS[args.layer]
    for value, end in ((args.contract_input, "Input"), (args.contract_output, "Output")):
        if value is not None:
            contract = await contract_of(native, f"{layer}{end}", native.project)
            check_contract(f"{layer}{end}", contract, value, f"contract{end}")
    key = f"{_LOGGED}{args.layer}:{args.layer_id}"
    details = {
        "level": args.log_level,
        "layer": args.layer,
        "layer_id": args.layer_id,
        "context": args.context,
        "contract_input": args.contract_input,
        "contract_output": args.contract_output,
    }
    try:
        with Tolerated("conflict"):  # the first line of this layer and layerId stays, as in the original
            await add_entry(native, args.execution_id, "log", args.message, details, key=key)
    except NotDone as refused:
        if refused.failure.code != "run_over":
            raise
        line = {"text": args.message, "details": without_nulls(details)}
        return _log(args.execution_id, await store_line(native, args.execution_id, key, line))
    earlier = [entry async for entry in _entries(native, args.execution_id) if entry.get("key") == key]
    return _log(args.execution_id, earlier[0])


@BOX.tool(calls.StoreArtifactCall, Scope.WORK)
async def store_artifact(native: Native, args: calls.StoreArtifactCall) -> Json:
    """Put an artifact."""
    state = None if args.step_id is None else place_of(args.step_id, "stepId")[1]
    stored = await native.call(
        "put_artifact",
        workflow_id=args.execution_id,
        name=args.name,
        content_type=args.content_type,
        content=args.content,
        state=state,
        agent_id=native.agent(),
        metadata_json=args.metadata,
    )
    return _artifact(args.execution_id, stored["artifact"])


@BOX.tool(calls.StoreFindingCall, Scope.WORK)
async def store_finding(native: Native, args: calls.StoreFindingCall) -> Json:
    """Keep a finding, of its project or for all."""
    number = args.project_id
    project = None if number is None else await project_at_number(native, number)
    state = None if args.step_id is None else place_of(args.step_id, "stepId")[1]
    of_run = await _project_of(native, args.execution_id)
    is_global = args.is_global or (project or of_run) is None
    stored = await native.call(
        "add_finding",
        severity=args.severity,
        category=args.category,
        title=args.title,
        text=args.description,
        tags_json=args.tags,
        scope="global" if is_global else "project",
        project=None if is_global else project or of_run,
        workflow_id=args.execution_id,
        state=state,
        location_json=args.location,
        metadata_json=args.metadata,
        agent_id=native.agent(),
    )
    return _finding(stored["finding"])


@BOX.tool(calls.QueryFindingsCall, read_only=True)
async def query_findings(native: Native, args: calls.QueryFindingsCall) -> Json:
    """Search findings: those of the project and global ones, newest first."""
    project = native.project if args.project_id is None else await known_project(native, args.project_id)
    is_unknown = args.project_id is not None and project is None
    if is_unknown and args.is_global is False:
        return []
    is_everywhere = args.is_global is True or is_unknown
    skips_global = args.is_global is False and project is None  # the search leaves them out of a project's alone
    findings = _findings(
        native,
        0 if skips_global else args.offset or 0,
        text=args.search_text,
        project=project,
        include_global=args.is_global is not False,
        scope="global" if is_everywhere else None,
        run=args.execution_id,
        severity=args.severity,
        category=args.category,
        tags_json=args.tags,
    )
    return await _newest(_not_global(findings, args.offset or 0) if skips_global else findings, args.limit or _PAGE)


async def _not_global(document: AsyncIterator[dict[str, Json]], offset: int) -> AsyncIterator[dict[str, Json]]:
    async for finding in document:
        if finding["isGlobal"]:
            continue
        if offset:
            offset -= 1
            continue
        yield finding


async def logs_of(native: Native, run: str) -> list[Json]:
    """Return the lines of a run's log, the oldest first."""
    lines = [_log(run, entry) async for entry in _entries(native, run) if str(entry.get("key", "")).startswith(_LOGGED)]
    late = [artifact async for artifact in _artifacts(native, run) if is_line(artifact)]
    return lines + [_log(run, await read_line(native, run, str(entry["artifact_id"]))) for entry in late]


async def artifacts_of(native: Native, run: str) -> list[Json]:
    """Return the artifacts of a run, with their contents as far as an answer has room for them."""
    listed: list[Json] = []
    room = _MOST_CONTENT
    async for artifact in _artifacts(native, run):
        if is_line(artifact):
            continue
        fits = int(artifact["size"]) <= room
        room -= int(artifact["size"]) if fits else 0
        listed.append(_artifact(run, artifact) | {"content": await _content(native, run, artifact) if fits else None})
    return listed


def _artifacts(native: Native, run: str) -> AsyncIterator[Mapping[str, Json]]:
    return listed(native, "list_artifacts", "artifacts", workflow_id=run)


async def _content(native: Native, run: str, artifact: Mapping[str, Json]) -> Json:
    """Return the content of an artifact as it was stored: text, or Base64 of what is binary."""
    encoding = "base64" if _content_type(artifact) == "binary" else "text"
    piece = await native.call("get_artifact", workflow_id=run, artifact_id=artifact["artifact_id"], encoding=encoding)
    return piece["content"]


async def findings_of(native: Native, run: str) -> list[Json]:
    """Return the findings of a run."""
    return await _newest(_findings(native, 0, run=run), _MOST_FINDINGS)


def _entries(native: Native, run: str) -> AsyncIterator[Mapping[str, Json]]:
    return listed(native, "read_journal", "entries", workflow_id=run, kind="log", oldest_first=True, limit=200)


async def _findings(native: Native, offset: int, **filters: Json) -> AsyncIterator[dict[str, Json]]:
    """Yield findings from this place on, each whole."""
    cursor: Json = None
    while True:
        place = {"offset": offset or None} if cursor is None else {"cursor": cursor}
        page = await native.call("search_findings", limit=_PAGE, status="active", **place, **filters)
        for finding in page["findings"]:
            whole = await native.call("get_finding", finding_id=finding["finding_id"])
            yield _finding(whole["finding"]) | ({"score": finding["score"]} if filters.get("text") else {})
        cursor = page.get("next_cursor")
        if cursor is None:
            return


async def _newest(document: AsyncIterator[dict[str, Json]], most: int) -> list[Json]:
    listed: list[dict[str, Json]] = []
    async for entry in document:
        listed.append(entry)
        if len(listed) == most:
            break
    return sorted(listed, key=lambda item: str(item["createdAt"]), reverse=True)


async def _project_of(native: Native, run: str) -> str | None:
    read_run = await native.call("read_workflow_control_plane", workflow_id=run, summary=True, limit=1)
    project: str | None = read_run["meta"].get("project")
    return project


def _log(run: str, entry: Mapping[str, Json]) -> dict[str, Json]:
    details = entry.get("details") or {}
    return {
        "id": entry["entry"],
        "executionId": run,
        "layer": details.get("layer"),
        "layerId": details.get("layer_id"),
        "logLevel": details.get("level"),
        "message": entry["text"],
        "context": details.get("context"),
        "contractInput": details.get("contract_input"),
        "contractOutput": details.get("contract_output"),
        "createdAt": entry["at"],
    }


def _artifact(run: str, document: Mapping[str, Json]) -> dict[str, Json]:
    state = document.get("state")
    return {
        "id": id_of(run, str(document["artifact_id"])),
        "executionId": run,
        "stepId": None if state is None else id_of(run, str(state)),
        "name": document.get("name"),
        "contentType": _content_type(document),
        "sizeBytes": document.get("size"),
        "metadata": document.get("metadata") or None,
        "createdAt": document.get("created_at"),
    }


def _content_type(document: Mapping[str, Json]) -> str:
    media = str(document.get("content_type")).partition(";")[0]
    return next((name for name, media_type in _TYPES.items() if media_type == media), "binary")


def _finding(document: Mapping[str, Json]) -> dict[str, Json]:
    run, state, project = document.get("run"), document.get("state"), document.get("project")
    return {
        "id": document["finding_id"],
        "executionId": run,
        "stepId": None if run is None or state is None else id_of(str(run), str(state)),
        "severity": document.get("severity"),
        "category": document.get("category"),
        "title": document.get("title"),
        "description": document.get("text"),
        "tags": document.get("tags") or [],
        "isGlobal": document.get("scope") == "global",
        "projectId": None if project is None else project_number(str(project)),
        "location": document.get("location"),
        "metadata": document.get("metadata"),
        "createdAt": document.get("created_at"),
    }
