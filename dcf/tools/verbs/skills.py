"""Tools on skills: list them, validate a manifest, load a skill into an agent and unload it."""

from itertools import takewhile
from pathlib import Path
from typing import Any, Final

from pydantic import Field

from dcf.application.application import Application
from dcf.core.access.model import Scope
from dcf.data import find_file
from dcf.errors import DcfError
from dcf.skills.connections import as_instructions
from dcf.skills.listing import Skillset, list_catalog, list_directory
from dcf.skills.manifest import SCHEMA_NAME, Judgement, judge
from dcf.verbs.answers.paging import Limit, Place, Room
from dcf.verbs.callers import current_caller, require_part
from dcf.verbs.project_bounds import refuse_other_agents
from dcf.verbs.registry import (
    ONLY_CONFIGURED,
    AgentId,
    Answer,
    Arguments,
    JsonObject,
    StateName,
    WorkflowId,
    refuse_other,
    tool,
)
from dcf.verbs.unlisted import UNLISTED
from dcf.workflows.validation.schema import configured_schema
from dcf.workflows.validation.verdict import EXIT_CODES, found

_SHOWN: Final = 50
_SKILL: Final = "The skill: skill://name@version, its manifestId, its file, or the manifest itself."
_OTHER: Final = EXIT_CODES["input"]


class ValidateSkillManifest(Arguments):
    """Validate a skill manifest before it is used: repeat until exit_code is 0.

    Checks its form and what a form cannot say (a tool that is there twice); `problems` lists all that is wrong, each
    with a JSON Pointer and what to do.
    """

    skill_json: JsonObject = Field(
        description="The manifest: an object, JSON text, a skill:// name, or a file's path.",
        examples=["skill://calculate.pricing@0.1.0"],
    )
    schema_path: str | None = Field(
        default=None, max_length=1000, description=ONLY_CONFIGURED.format("schema"), json_schema_extra=UNLISTED
    )


class SkillManifestValidated(Answer):
    """The verdict, the seed's pattern A: exit_code is 0 valid, 1 schema, 2 static checks, 4 other."""

    ok: bool = False
    exit_code: int = _OTHER
    schema_errors: list[str] = Field(default_factory=list)
    static_errors: list[str] = Field(default_factory=list)
    warnings: list[str] = Field(default_factory=list)
    problems: list[dict[str, str]] = Field(default_factory=list)


@tool(
    toolset="skills",
    scope=Scope.READ,
    profiles=("operator",),
    arguments=ValidateSkillManifest,
    answer=SkillManifestValidated,
    read_only=True,
    of_no_run=True,
)
def validate_skill_manifest(app: Application, args: ValidateSkillManifest) -> SkillManifestValidated:
    """Validate a manifest."""
    _refuse_other_schema(app, args.schema_path)
    judgement = _judged(app, args.skill_json)
    shown: dict[str, Any] = {
        "ok": judgement.ok,
        "exit_code": judgement.exit_code,
        "schema_errors": judgement.texts("schema"),
        "static_errors": judgement.texts("static"),
        "warnings": list(judgement.warnings),
        "problems": [one.as_json() for one in judgement.problems[:_SHOWN]],
    }
    if judgement.ok:
        return SkillManifestValidated(status="The manifest is valid.", **shown)
    first = judgement.problems[0]
    code = "invalid_argument" if first.stage == "input" else "invalid_definition"
    more = f" There are {len(judgement.problems) - 1} more in problems." if len(judgement.problems) > 1 else ""
    return SkillManifestValidated(error=f"{code}: {first.message}{more}", code=code, hint=first.hint, **shown)


def _judged(app: Application, given: Any) -> Judgement:
    try:
        return judge(app.library.document(given), app.library.schema, "skill_json")
    except DcfError as error:
        return Judgement(problems=(found("input", "", error.code, error.message, error.hint),))


class GetSkillset(Arguments):
    """Get the skills that agents can be given: call this before you write a workflow.

    Each item says what the skill does, its tools, and its names; bind a Task to it by one of its aliases.
    """

    manifests_dir: str | None = Field(
        default=None,
        max_length=1000,
        description=ONLY_CONFIGURED.format("directory of manifests"),
        json_schema_extra=UNLISTED,
    )
    schema_path: str | None = Field(
        default=None, max_length=1000, description=ONLY_CONFIGURED.format("schema"), json_schema_extra=UNLISTED
    )
    include_previews: bool = Field(default=True, description="Show the beginning of each skill's directives.")
    preview_chars: int | None = Field(
        default=None, ge=1, le=10_000, description="Length of the previews in characters (1 to 10000)."
    )
    cursor: Place = None
    limit: Limit = 1000


class GetSkillsetFromCatalog(Arguments):
    """Get the skills that a catalogue names, where only some of all manifests are meant for you."""

    catalog_path: str | None = Field(
        default=None, max_length=1000, description=ONLY_CONFIGURED.format("catalogue"), json_schema_extra=UNLISTED
    )
    schema_path: str | None = Field(
        default=None, max_length=1000, description=ONLY_CONFIGURED.format("schema"), json_schema_extra=UNLISTED
    )
    include_previews: bool = Field(default=True, description="Show the beginning of each skill's directives.")
    preview_chars: int | None = Field(
        default=None, ge=1, le=10_000, description="Length of the previews in characters (1 to 10000)."
    )
    cursor: Place = None
    limit: Limit = 1000


class SkillsetAnswer(Answer):
    """The skills, sorted by name and version; a broken manifest is an item with `errors`."""

    ok: bool = False
    exit_code: int = _OTHER
    available_skills: list[dict[str, Any]] = Field(default_factory=list)
    warnings: list[str] = Field(default_factory=list)
    next_cursor: str | None = None


@tool(
    toolset="skills",
    scope=Scope.READ,
    profiles=("planner",),
    arguments=GetSkillset,
    answer=SkillsetAnswer,
    read_only=True,
    of_no_run=True,
)
def get_skillset(app: Application, args: GetSkillset) -> SkillsetAnswer:
    """List the manifests of the directory."""
    refuse_other("manifests_dir", args.manifests_dir, app.settings.manifests_dir)
    _refuse_other_schema(app, args.schema_path)
    return _listed(app, args, list_directory(app.library, app.library.schema, _preview(app, args)))


@tool(
    toolset="skills",
    scope=Scope.READ,
    profiles=("operator",),
    arguments=GetSkillsetFromCatalog,
    answer=SkillsetAnswer,
    read_only=True,
    of_no_run=True,
)
def get_skillset_from_catalog(app: Application, args: GetSkillsetFromCatalog) -> SkillsetAnswer:
    """List the manifests of the catalogue."""
    catalog = app.settings.skills_catalog
    refuse_other("catalog_path", args.catalog_path, catalog)
    _refuse_other_schema(app, args.schema_path)
    place = find_file(catalog) or catalog
    return _listed(app, args, list_catalog(place, app.library.directory, app.library.schema, _preview(app, args)))


def _ids(directives: str | None, tools: list[str], data: list[str]) -> dict[str, list[str]]:
    return {"memory_block_ids": [] if directives is None else [directives], "tool_ids": tools, "data_block_ids": data}


_WHOSE: Final = "Whose skill it is; usually your own id."


class LoadSkill(Arguments):
    """Give an agent a skill before it works on a state that needs it: directives, tools and data, all or nothing."""

    skill_json: JsonObject = Field(description=_SKILL, examples=["skill://calculate.pricing@0.1.0"])
    agent_id: AgentId = Field(description=_WHOSE)
    workflow_id: WorkflowId | None = Field(default=None, description="Run of the state the skill is for.")
    state: StateName | None = Field(default=None, description="That state; you are woken about it again.")


class SkillLoaded(Answer):
    """What the agent got; `already_loaded` when it had the skill before this call.

    An agent that is not given texts and tools where it lives reads them here: follow `directives`, know `texts`, and
    call the tools at `mcp_servers` over a connection of your own.
    """

    only_when_set = ("directives", "texts", "mcp_servers")

    ok: bool = False
    exit_code: int = _OTHER
    manifest_id: str | None = None
    agent_id: str | None = None
    already_loaded: bool = False
    added: dict[str, list[str]] = Field(default_factory=lambda: _ids(None, [], []))
    directives: str | None = None
    texts: list[str] | None = None
    mcp_servers: list[dict[str, Any]] | None = None
    warnings: list[str] = Field(default_factory=list)
    problems: list[dict[str, str]] = Field(default_factory=list)


@tool(
    toolset="skills",
    scope=Scope.WORK,
    profiles=("worker",),
    arguments=LoadSkill,
    answer=SkillLoaded,
    audit=("agent_id", "manifest_id"),
    of_no_run=True,
)
def load_skill(app: Application, args: LoadSkill) -> SkillLoaded:
    """Load one skill."""
    if args.workflow_id is not None:
        app.control_plane.run(args.workflow_id)  # raises early when there is no such run
        if args.state is not None:
            require_part(app, args.workflow_id, args.state)
    refuse_other_agents(app, current_caller(), args.agent_id)
    manifest = app.library.resolve(args.skill_json)
    loaded = app.equipment.load(args.agent_id, manifest)
    is_equipped = app.platforms.equips(args.agent_id)
    comes_later = not (loaded.already or app.platforms.equipper_of(args.agent_id).tools_at_once)
    if comes_later and args.workflow_id is not None and args.state is not None:
        app.control_plane.hasten(args.workflow_id, args.state)
    held = loaded.holding
    word = "is loaded already" if loaded.already else "loaded"
    return SkillLoaded(
        status=f"Skill '{held.name}' v{held.version} {word} (manifest {held.manifest_id}).",
        ok=True,
        exit_code=0,
        manifest_id=held.manifest_id,
        agent_id=args.agent_id,
        already_loaded=loaded.already,
        added=_ids(held.directives_id, held.tool_ids, held.data_ids),
        warnings=list(loaded.warnings),
        **({} if is_equipped else as_instructions(manifest, loaded.plan)),
    )


class UnloadSkill(Arguments):
    """Take a skill from an agent when its state is done; what another skill uses stays."""

    manifest_id: str = Field(
        min_length=1,
        max_length=400,
        description="The manifestId of the skill, or skill://name@version.",
        examples=["calculate.pricing@0.1.0"],
    )
    agent_id: AgentId = Field(description=_WHOSE)


class SkillUnloaded(Answer):
    """What was removed."""

    manifest_id: str | None = None
    agent_id: str | None = None
    removed: dict[str, list[str]] = Field(default_factory=lambda: _ids(None, [], []))
    warnings: list[str] = Field(default_factory=list)


@tool(
    toolset="skills",
    scope=Scope.WORK,
    profiles=("worker", "operator"),
    arguments=UnloadSkill,
    answer=SkillUnloaded,
    audit=("agent_id", "manifest_id"),
    of_no_run=True,
)
def unload_skill(app: Application, args: UnloadSkill) -> SkillUnloaded:
    """Unload one skill."""
    refuse_other_agents(app, current_caller(), args.agent_id)
    done = app.equipment.unload(args.agent_id, args.manifest_id)
    held = done.holding
    if held is None:
        return SkillUnloaded(
            status="The agent does not have this skill; nothing to unload.",
            agent_id=args.agent_id,
            warnings=list(done.warnings),
        )
    detached = [held.tools[name].tool_id for name in held.detach]
    return SkillUnloaded(
        status=f"Unloaded skill '{held.manifest_id}'.",
        manifest_id=held.manifest_id,
        agent_id=args.agent_id,
        removed=_ids(held.directives_id, [one for one in detached if one is not None], held.data_ids),
        warnings=list(done.warnings),
    )


def _listed(app: Application, args: GetSkillset | GetSkillsetFromCatalog, skillset: Skillset) -> SkillsetAnswer:
    count = len(skillset.items)
    start = int(args.cursor or 0)
    rest = skillset.items[start : start + args.limit]
    room = Room(app.settings.max_result_bytes, skillset.warnings)
    shown = list(takewhile(room.takes, rest))
    end = start + len(shown)
    return SkillsetAnswer(
        status=f"There {'is 1 skill' if count == 1 else f'are {count} skills'}.",
        ok=True,
        exit_code=0,
        available_skills=shown,
        warnings=skillset.warnings,
        next_cursor=str(end) if shown and end < count else None,
    )


def _preview(app: Application, args: GetSkillset | GetSkillsetFromCatalog) -> int | None:
    return (args.preview_chars or app.settings.skill_preview_chars) if args.include_previews else None


def _refuse_other_schema(app: Application, given: str | None) -> None:
    schema = configured_schema(app.settings.skill_schema, app.settings.schemas_dir, SCHEMA_NAME)
    refuse_other("schema_path", given, schema or Path("schemas") / SCHEMA_NAME)
