"""Content and projects of the profile `midex`: workflows, personas, rules and contracts of the catalogue."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from anyio.to_thread import run_sync

from dcf.profiles.ids import digest_of, slug_of
from dcf.profiles.midex import calls
from dcf.profiles.midex.contracts import CONTRACTS, in_our_dialect
from dcf.profiles.midex.words import project_number
from dcf.profiles.native_calls import Tolerated, listed
from dcf.profiles.profile import Native, NotDone, Toolbox, refuse
from dcf.values.json_text import Json
from dcf.values.secret_shapes import PERSONAL, redact

BOX: Final = Toolbox()
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
    projects = await _projects(native, first + args.limit)
    return [_project(project) | _times(project) for project in projects[first:]]


@BOX.tool(calls.GetProjectContextCall)
async def get_project_context(native: Native, args: calls.GetProjectContextCall) -> Json:
    """Get a project by its path, or that of the key; null if there is none.

    For the local user the path is one of this disk, by default the current directory, which becomes known.
    """
    path = args.project_path
    if path is None and native.project is not None:
        answer = await _or_none(native, "get_project", project=native.project)
        return None if answer is None else _project(answer["project"])
    if native.is_local and (place := await run_sync(_directory, path or ".")) is not None:
        await project_at(native, path := str(place))
    answer = None if path is None else await _or_none(native, "get_project", path=path)
    return None if answer is None else _project(answer["project"])


async def known_project(native: Native, number: int) -> str | None:
    """Return the id of the project with this number; None if there is none.

    That of a key is known, also before anything was noted of it.
    """
    if native.project is not None and project_number(native.project) == number:
        return native.project
    names = [str(project["project"]) for project in await _projects(native, _MOST)]
    return next((name for name in names if project_number(name) == number), None)


async def project_at_number(native: Native, number: int) -> str:
    """Return the id of the project with this number; raise NotDone."""
    project_found = await known_project(native, number)
    if project_found is None:
        raise refuse("unknown_project", "There is no such project.", "list_projects lists the ids.", "projectId")
    return project_found


async def project_at(native: Native, path: str) -> str:
    """Return the id of the project at a path, which becomes known if it was not.

    A key that is bound to a project works in that one, wherever its directory is.
    """
    if native.project is not None:
        return native.project
    answer = await _or_none(native, "get_project", path=path)
    if answer is not None:
        return str(answer["project"]["project"])
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
    answer = await _or_none(native, "get_definition", kind="workflow", name=workflow, project=project)
    return None if answer is None else _phases(answer["definition"])


async def contract_of(native: Native, name: str, project: Json) -> Mapping[str, Json]:
    """Return a contract: that of the catalogue, else the one that comes with the profile."""
    answer = await _or_none(native, "get_definition", kind="contract", name=name, project=project)
    content = None if answer is None else answer["definition"].get("content")
    return in_our_dialect(content) if isinstance(content, Mapping) else CONTRACTS[name]


def _phases(definition: Mapping[str, Json]) -> list[Json] | None:
    listed = (definition.get("attributes") or {}).get("phases")
    return (
        None
        if not isinstance(listed, list)
        else [{**_PHASE, **phase} for phase in listed if isinstance(phase, Mapping)]
    )


async def _searched(
    native: Native, kind: str, args: calls.SearchWorkflowsCall | calls.GetRelevantRulesCall, **more: Any
) -> Json:
    values = {name: value for name, value in more.items() if value not in (None, [])}
    page = await native.call(
        "search_definitions",
        kind=kind,
        detail="summary" if args.detail_level == "name" else args.detail_level,  # a name alone has no tags
        limit=args.limit,
        offset=(args.page - 1) * args.limit,
        project=native.project,
        **values,
    )
    if isinstance(args, calls.SearchWorkflowsCall):
        return [_content(kind, definition, args.detail_level, None, hashed=True) for definition in page["definitions"]]
    tags = set(args.tags or ())
    rules = [rule for rule in page["definitions"] if not tags or tags & set(rule.get("tags") or ())]
    if args.redact_policy in (None, "secrets"):
        return [_content(kind, rule, args.detail_level, args.fields, hashed=args.include_hash) for rule in rules]
    whole = args.model_copy(update={"if_none_match": None})
    read = [await _got(native, kind, str(rule["name"]), whole) for rule in rules]
    return [item for item in read if item is not None]


async def _got(native: Native, kind: str, name: str, args: calls.ContentCall) -> Json:
    policy = args.redact_policy or "secrets"
    names: dict[str, Json] = {
        "kind": kind,
        "name": name,
        "detail": args.detail_level,
        "if_none_match": args.if_none_match,
    }
    try:
        read = await _or_none(native, "get_definition", **names, project=native.project, redact="secrets" in policy)
    except NotDone as refused:  # only planners may read secrets; `redacted` tells others that these were taken out
        if refused.failure.code != "forbidden" or "secrets" in policy:
            raise
        read = await _or_none(native, "get_definition", **names, project=native.project, redact=True)
    if read is None:
        return None
    if read.get("not_modified"):
        return {"notModified": True}
    content = _content(kind, read["definition"], args.detail_level, args.fields, hashed=args.include_hash)
    clean = redact(content["item"], PERSONAL if "pii" in policy else {})
    redacted = {**(read.get("redacted") or {}), **clean.counts}
    content = {**content, "item": clean.value}
    return content if not redacted else {**content, "metadata": {**content["metadata"], "redacted": redacted}}


def _content(
    kind: str, document: Mapping[str, Json], detail: str, fields: list[str] | None, *, hashed: bool
) -> dict[str, Json]:
    """Return a definition as clients know it: name only, all but the body, or all."""
    item: dict[str, Json] = {"name": document.get("name")}
    if detail != "name":
        attributes = document.get("attributes") or {}
        item |= {"description": document.get("description"), "tags": document.get("tags") or []}
        item |= _OF_KIND[kind](document, attributes)
        item["content"] = document.get("content") if detail == "full" else ""
    shown = item if fields is None else {name: value for name, value in item.items() if name in {*fields, "name"}}
    metadata = {"updatedAt": document.get("updated_at"), "path": (document.get("attributes") or {}).get("path")}
    return {"item": shown, "metadata": ({"fileHash": document.get("sha256")} if hashed else {}) | metadata}


def _workflow(definition: Mapping[str, Json], _: Mapping[str, Json]) -> dict[str, Json]:
    return {
        "keywords": definition.get("keywords") or [],
        "complexity": definition.get("complexity") or "moderate",
        "phases": _phases(definition) or [],
    }


def _rule(document: Mapping[str, Json], _: Mapping[str, Json]) -> dict[str, Json]:
    return {"globs": document.get("globs") or [], "alwaysApply": bool(document.get("always_apply"))}


def _persona(document: Mapping[str, Json], attributes: Mapping[str, Json]) -> dict[str, Json]:
    return {"version": attributes.get("version") or document.get("version")}


_OF_KIND: Final = {"workflow": _workflow, "rule": _rule, "persona": _persona}


def _project(document: Mapping[str, Json]) -> dict[str, Json]:
    paths = document.get("paths") or [{}]
    first = paths[0]
    return {
        "id": project_number(str(document["project"])),
        "name": document.get("name") or document["project"],
        "path": first.get("path") if isinstance(first, Mapping) else first,
        "isGitRepo": bool(document.get("git")),
        "metadata": document.get("metadata") or None,
    }


def _times(document: Mapping[str, Json]) -> dict[str, Json]:
    created = document.get("created_at")
    return {
        "discoveredAt": created,
        "lastUsedAt": document.get("last_used_at") or document.get("updated_at") or created,
    }


async def _projects(native: Native, most: int) -> list[Mapping[str, Json]]:
    projects: list[Mapping[str, Json]] = []
    async for project in listed(native, "list_projects", "projects"):
        projects.append(project)
        if len(projects) == most:
            break
    return projects


async def _or_none(native: Native, tool: str, **arguments: Json) -> Mapping[str, Json] | None:
    """Return a tool's answer; None where what is asked for is not there."""
    with Tolerated("not_in_catalogue", "unknown_project"):
        return await native.call(tool, **arguments)
    return None
