"""Content and projects of the profile `midex`: workflows, personas, rules and contracts of the catalogue."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from anyio.to_thread import run_sync

from dcf.profiles.ids import digest_of, slug_of
from dcf.profiles.midex import calls
from dcf.profiles.midex.contracts import CONTRACTS, in_our_dialect
from dcf.profiles.midex.words import project_number
from dcf.profiles.profile import Native, NotDone, Toolbox, refuse
from dcf.values.json_text import Json
from dcf.values.secret_shapes import PERSONAL, redact

BOX: Final = Toolbox()
_NOT_THERE: Final = frozenset({"not_in_catalogue", "unknown_project"})
_MOST: Final = 1000
_PHASE: Final = {"description": "", "dependsOn": [], "allowParallel": True}


@BOX.tool(calls.SearchWorkflowsCall, read_only=True)
async def search_workflows(native: Native, args: calls.SearchWorkflowsCall) -> Json:
    """Search workflows of the catalogue."""
    return await _searched(
        native, "workflow", args, tags_json=args.tags, keywords_json=args.keywords, complexity=args.complexity
    )


@BOX.tool(calls.GetWorkflowCall, read_only=True)
async def get_workflow(native: Native, args: calls.GetWorkflowCall) -> Json:
    """Get a workflow of the catalogue."""
    return await _got(native, "workflow", args.workflow_name, args)


@BOX.tool(calls.GetAgentPersonaCall, read_only=True)
async def get_agent_persona(native: Native, args: calls.GetAgentPersonaCall) -> Json:
    """Get a persona of the catalogue."""
    return await _got(native, "persona", args.agent_name, args)


@BOX.tool(calls.GetRelevantRulesCall, read_only=True)
async def get_relevant_rules(native: Native, args: calls.GetRelevantRulesCall) -> Json:
    """Search rules of the catalogue; any of the tags will do."""
    return await _searched(native, "rule", args, file_types_json=args.file_types, always_apply=args.always_apply)


@BOX.tool(calls.ListProjectsCall, read_only=True)
async def list_projects(native: Native, args: calls.ListProjectsCall) -> Json:
    """List the projects."""
    first = (args.page - 1) * args.limit
    listed = await _projects(native, first + args.limit)
    return [_project(one) | _times(one) for one in listed[first:]]


@BOX.tool(calls.GetProjectContextCall)
async def get_project_context(native: Native, args: calls.GetProjectContextCall) -> Json:
    """Get a project by its path, or that of the key; null if there is none.

    For the local user the path is one of this disk, by default the current directory, which becomes known.
    """
    path = args.project_path
    if path is None and native.project is not None:
        found = await _or_none(native, "get_project", project=native.project)
        return None if found is None else _project(found["project"])
    if native.is_local and (place := await run_sync(_directory, path or ".")) is not None:
        await project_at(native, path := str(place))
    found = None if path is None else await _or_none(native, "get_project", path=path)
    return None if found is None else _project(found["project"])


async def known_project(native: Native, number: int) -> str | None:
    """Return the id of the project with this number; None if there is none."""
    names = [str(project["project"]) for project in await _projects(native, _MOST)]
    return next((name for name in names if project_number(name) == number), None)


async def project_at_number(native: Native, number: int) -> str:
    """Return the id of the project with this number; raise NotDone."""
    found = await known_project(native, number)
    if found is None:
        raise refuse("unknown_project", "There is no such project.", "list_projects lists the ids.", "projectId")
    return found


async def project_at(native: Native, path: str) -> str:
    """Return the id of the project at a path, which becomes known if it was not."""
    found = await _or_none(native, "get_project", path=path)
    if found is not None:
        return str(found["project"]["project"])
    name = path.rstrip("/\\").replace("\\", "/").rpartition("/")[2] or "root"
    project = f"{slug_of(name)}-{digest_of(path)}"
    place = await run_sync(_directory, path) if native.is_local else None
    git = None if place is None or not (place / ".git").exists() else {"worktree": str(place)}
    await native.call("put_project", project=project, name=name, paths_json=[path], git_json=git, reason="midex")
    return project


def _directory(path: str) -> Path | None:
    """Return a directory of this disk by its real path; None for anything else."""
    try:
        place = Path(path).resolve()
    except (OSError, ValueError):
        return None
    return place if place.is_dir() else None


async def phases_of(native: Native, workflow: str, project: str | None) -> list[Json] | None:
    """Return the phases of a workflow in the catalogue; None if it is not there, or has no phases."""
    found = await _or_none(native, "get_definition", kind="workflow", name=workflow, project=project)
    return None if found is None else _phases(found["definition"])


async def contract_of(native: Native, name: str, project: Json) -> Mapping[str, Json]:
    """Return a contract: that of the catalogue, else the one that comes with the profile."""
    found = await _or_none(native, "get_definition", kind="contract", name=name, project=project)
    content = None if found is None else found["definition"].get("content")
    return in_our_dialect(content) if isinstance(content, Mapping) else CONTRACTS[name]


def _phases(definition: Mapping[str, Json]) -> list[Json] | None:
    listed = (definition.get("attributes") or {}).get("phases")
    return None if not isinstance(listed, list) else [{**_PHASE, **one} for one in listed if isinstance(one, Mapping)]


async def _searched(
    native: Native, kind: str, args: calls.SearchWorkflowsCall | calls.GetRelevantRulesCall, **wanted: Any
) -> Json:
    given = {name: value for name, value in wanted.items() if value not in (None, [])}
    found = await native.call(
        "search_definitions",
        kind=kind,
        detail="summary" if args.detail_level == "name" else args.detail_level,  # a name alone has no tags
        limit=args.limit,
        offset=(args.page - 1) * args.limit,
        project=native.project,
        **given,
    )
    rules = isinstance(args, calls.GetRelevantRulesCall)
    fields = args.fields if isinstance(args, calls.GetRelevantRulesCall) else None
    tags = set(args.tags or ()) if rules else set()
    listed = [one for one in found["definitions"] if not tags or tags & set(one.get("tags") or ())]
    hashed = not isinstance(args, calls.GetRelevantRulesCall) or args.include_hash
    return [_content(kind, one, args.detail_level, fields, hashed=hashed) for one in listed]


async def _got(native: Native, kind: str, name: str, args: calls.ContentCall) -> Json:
    policy = args.redact_policy or "secrets"
    found = await _or_none(
        native,
        "get_definition",
        kind=kind,
        name=name,
        detail=args.detail_level,
        if_none_match=args.if_none_match,
        project=native.project,
        redact="secrets" in policy,
    )
    if found is None:
        return None
    if found.get("not_modified"):
        return {"notModified": True}
    content = _content(kind, found["definition"], args.detail_level, args.fields, hashed=args.include_hash)
    clean = redact(content["item"], PERSONAL if "pii" in policy else {})
    redacted = {**(found.get("redacted") or {}), **clean.counts}
    content = {**content, "item": clean.value}
    return content if not redacted else {**content, "metadata": {**content["metadata"], "redacted": redacted}}


def _content(
    kind: str, found: Mapping[str, Json], detail: str, fields: list[str] | None, *, hashed: bool
) -> dict[str, Json]:
    """Return a definition as clients know it: name only, all but the body, or all."""
    item: dict[str, Json] = {"name": found.get("name")}
    if detail != "name":
        attributes = found.get("attributes") or {}
        item |= {"description": found.get("description"), "tags": found.get("tags") or []}
        item |= _OF_KIND[kind](found, attributes)
        item["content"] = found.get("content") if detail == "full" else ""
    shown = item if fields is None else {name: value for name, value in item.items() if name in {*fields, "name"}}
    metadata = {"updatedAt": found.get("updated_at"), "path": (found.get("attributes") or {}).get("path")}
    return {"item": shown, "metadata": ({"fileHash": found.get("sha256")} if hashed else {}) | metadata}


def _workflow(found: Mapping[str, Json], _: Mapping[str, Json]) -> dict[str, Json]:
    return {
        "keywords": found.get("keywords") or [],
        "complexity": found.get("complexity") or "moderate",
        "phases": _phases(found) or [],
    }


def _rule(found: Mapping[str, Json], _: Mapping[str, Json]) -> dict[str, Json]:
    return {"globs": found.get("globs") or [], "alwaysApply": bool(found.get("always_apply"))}


def _persona(found: Mapping[str, Json], attributes: Mapping[str, Json]) -> dict[str, Json]:
    return {"version": attributes.get("version") or found.get("version")}


_OF_KIND: Final = {"workflow": _workflow, "rule": _rule, "persona": _persona}


def _project(found: Mapping[str, Json]) -> dict[str, Json]:
    paths = found.get("paths") or [{}]
    first = paths[0]
    return {
        "id": project_number(str(found["project"])),
        "name": found.get("name") or found["project"],
        "path": first.get("path") if isinstance(first, Mapping) else first,
        "isGitRepo": bool(found.get("git")),
        "metadata": found.get("metadata") or None,
    }


def _times(found: Mapping[str, Json]) -> dict[str, Json]:
    created = found.get("created_at")
    return {"discoveredAt": created, "lastUsedAt": found.get("last_used_at") or found.get("updated_at") or created}


async def _projects(native: Native, most: int) -> list[Mapping[str, Json]]:
    listed: list[Mapping[str, Json]] = []
    cursor: Json = None
    while len(listed) < most:
        page = await native.call("list_projects", cursor=cursor)
        listed += page["projects"]
        cursor = page.get("next_cursor")
        if cursor is None:
            break
    return listed[:most]


async def _or_none(native: Native, tool: str, **arguments: Json) -> Mapping[str, Json] | None:
    """Return a tool's answer; None where what is asked for is not there."""
    try:
        return await native.call(tool, **arguments)
    except NotDone as missing:
        if missing.failure.code in _NOT_THERE:
            return None
        raise
