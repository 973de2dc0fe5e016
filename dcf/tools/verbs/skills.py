"""The verbs on skills: list them, validate a manifest, load a skill into an agent and unload it."""

from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias

from dcf.data import find_file
from dcf.errors import DcfError
from dcf.skills.connections import as_instructions
from dcf.skills.listing import Skillset, list_catalog, list_directory
from dcf.skills.manifest import SCHEMA_NAME, Judgement, judge
from dcf.values.refusal import Refusal
from dcf.verbs.answers.paging import Room
from dcf.verbs.callers import current_caller, require_part
from dcf.verbs.derived_tools import add_tools
from dcf.verbs.description.verb import Answered, Argument, RefusedWith, verb
from dcf.verbs.description.words import OptionalRunId, OwnAgentId, PageLimit, StateName
from dcf.verbs.project_bounds import refuse_other_agents
from dcf.verbs.records.skills import ListedSkills, LoadedSkill, UnloadedSkill, ValidatedManifest
from dcf.verbs.registry import ONLY_CONFIGURED, refuse_other
from dcf.workflows.validation.schema import configured_schema
from dcf.workflows.validation.verdict import EXIT_CODES, found

if TYPE_CHECKING:
    from dcf.application.application import Application

_SHOWN: Final = 50
_OTHER: Final = EXIT_CODES["input"]

_EXAMPLE: Final = "skill://calculate.pricing@0.1.0"
_Document: TypeAlias = str | dict[str, Any]
_SchemaPath = Annotated[str | None, Argument(means=ONLY_CONFIGURED.format("schema"), max_length=1000, listed=False)]
_WithPreviews = Annotated[bool, Argument(means="Show the beginning of each skill's directives.")]
_PreviewChars = Annotated[
    int | None, Argument(means="Length of the previews in characters (1 to 10000).", listed=False, ge=1, le=10_000)
]
_Place = Annotated[
    str | None, Argument(means="The next_cursor of the answer before.", plain=True, pattern=r"^[0-9]{1,6}$")
]
"""A cursor that is the number of skills before it."""

_Whose = Annotated[OwnAgentId, Argument(means="Usually your own id.")]


def _ids(directives: str | None, tools: list[str], data: list[str]) -> dict[str, list[str]]:
    return {"memory_block_ids": [] if directives is None else [directives], "tool_ids": tools, "data_block_ids": data}


@verb(
    toolset="skills",
    scope="read",
    lists=("operator",),
    effect="reads",
    says=lambda _: "The manifest is valid.",
    codes=("invalid_definition",),
    in_refusals={
        "ok": False,
        "exit_code": _OTHER,
        "schema_errors": [],
        "static_errors": [],
        "warnings": [],
        "problems": [],
    },
    of_no_run=True,
)
def validate_skill_manifest(
    on: "Application",
    skill: Annotated[
        _Document,
        Argument(
            means="The manifest: an object, JSON text, a skill:// name, or a file's path.",
            example=_EXAMPLE,
            form="document",
            tool="skill_json",
        ),
    ],
    *,
    schema_path: _SchemaPath = None,
) -> Answered[ValidatedManifest] | RefusedWith:
    """Validate a skill manifest before it is used: repeat until exit_code is 0.

    Checks its form and what a form cannot say (a tool that is there twice); ``problems`` lists all that is wrong, each
    with a JSON Pointer and what to do.
    """
    _refuse_other_schema(on, schema_path)
    judgement = _judged(on, skill)
    members: dict[str, Any] = {
        "ok": judgement.ok,
        "exit_code": judgement.exit_code,
        "schema_errors": judgement.texts("schema"),
        "static_errors": judgement.texts("static"),
        "warnings": list(judgement.warnings),
        "problems": [problem.as_json() for problem in judgement.problems[:_SHOWN]],
    }
    if judgement.ok:
        return Answered(ValidatedManifest, members)
    first = judgement.problems[0]
    code = "invalid_argument" if first.stage == "input" else "invalid_definition"
    more = f" There are {len(judgement.problems) - 1} more in problems." if len(judgement.problems) > 1 else ""
    return RefusedWith(Refusal(code=code, message=f"{first.message}{more}", hint=first.hint), members)


def _judged(on: "Application", document: _Document) -> Judgement:
    try:
        return judge(on.library.document(document), on.library.schema, "skill_json")
    except DcfError as error:
        return Judgement(problems=(found("input", "", error.code, error.message, error.hint),))


_NO_SKILLS: Final = {"ok": False, "exit_code": _OTHER, "available_skills": [], "warnings": []}


@verb(toolset="skills", scope="read", lists=("planner",), effect="reads", in_refusals=_NO_SKILLS, of_no_run=True)
def get_skillset(
    on: "Application",
    *,
    manifests_dir: Annotated[
        str | None, Argument(means=ONLY_CONFIGURED.format("directory of manifests"), max_length=1000, listed=False)
    ] = None,
    schema_path: _SchemaPath = None,
    include_previews: _WithPreviews = True,
    preview_chars: _PreviewChars = None,
    cursor: _Place = None,
    limit: PageLimit = 1000,
) -> Answered[ListedSkills]:
    """Get the skills that agents can be given: call this before you write a workflow.

    Each item says what the skill does, its tools, and its names; bind a Task to it by one of its aliases.
    """
    refuse_other("manifests_dir", manifests_dir, on.settings.manifests_dir)
    _refuse_other_schema(on, schema_path)
    chars = _preview(on, preview_chars) if include_previews else None
    return _listed(on, list_directory(on.library, on.library.schema, chars), cursor, limit)


@verb(toolset="skills", scope="read", lists=("operator",), effect="reads", in_refusals=_NO_SKILLS, of_no_run=True)
def get_skillset_from_catalog(
    on: "Application",
    *,
    catalog_path: Annotated[
        str | None, Argument(means=ONLY_CONFIGURED.format("catalogue"), max_length=1000, listed=False)
    ] = None,
    schema_path: _SchemaPath = None,
    include_previews: _WithPreviews = True,
    preview_chars: _PreviewChars = None,
    cursor: _Place = None,
    limit: PageLimit = 1000,
) -> Answered[ListedSkills]:
    """Get the skills that a catalogue names, where only some of all manifests are meant for you."""
    catalog = on.settings.skills_catalog
    refuse_other("catalog_path", catalog_path, catalog)
    _refuse_other_schema(on, schema_path)
    chars = _preview(on, preview_chars) if include_previews else None
    place = find_file(catalog) or catalog
    return _listed(on, list_catalog(place, on.library.directory, on.library.schema, chars), cursor, limit)


@verb(
    toolset="skills",
    scope="work",
    lists=("worker",),
    codes=("unknown_run", "unknown_skill", "invalid_definition", "tool_unavailable", "unknown_agent"),
    audit=("agent_id", "manifest_id"),
    of_no_run=True,
    only_when_set=("directives", "texts", "mcp_servers"),
    in_refusals={
        "ok": False,
        "exit_code": _OTHER,
        "already_loaded": False,
        "added": _ids(None, [], []),
        "warnings": [],
        "problems": [],
    },
)
def load_skill(
    on: "Application",
    skill: Annotated[
        _Document,
        Argument(
            means="skill://name@version, a manifestId, a file, or the manifest itself.",
            example=_EXAMPLE,
            form="document",
            tool="skill_json",
        ),
    ],
    agent_id: _Whose,
    *,
    workflow_id: Annotated[OptionalRunId, Argument(means="Run of the state the skill is for.", plain=True)] = None,
    state: Annotated[StateName | None, Argument(means="That state; you are woken about it again.", plain=True)] = None,
) -> Answered[LoadedSkill]:
    """Give an agent a skill before it works on a state that needs it: directives, tools and data, all or nothing."""
    if workflow_id is not None:
        on.control_plane.run(workflow_id)  # raises early when there is no such run
        if state is not None:
            require_part(on, workflow_id, state)
    refuse_other_agents(on, current_caller(), agent_id)
    manifest = on.library.resolve(skill)
    loaded = on.equipment.load(agent_id, manifest)
    is_equipped = on.platforms.equips(agent_id)
    comes_later = not (loaded.already or on.platforms.equipper_of(agent_id).tools_at_once)
    if comes_later and workflow_id is not None and state is not None:
        on.control_plane.hasten(workflow_id, state)
    holding = loaded.holding
    word = "is loaded already" if loaded.already else "loaded"
    members = {
        "ok": True,
        "exit_code": 0,
        "manifest_id": holding.manifest_id,
        "agent_id": agent_id,
        "already_loaded": loaded.already,
        "added": _ids(holding.directives_id, holding.tool_ids, holding.data_ids),
        "warnings": list(loaded.warnings),
        **({} if is_equipped else as_instructions(manifest, loaded.plan)),
    }
    says = f"Skill '{holding.name}' v{holding.version} {word} (manifest {holding.manifest_id})."
    return Answered(LoadedSkill, members, says=says)


@verb(
    toolset="skills",
    scope="work",
    lists=("worker", "operator"),
    says=lambda answer: (
        "The agent does not have this skill; nothing to unload."
        if answer["manifest_id"] is None
        else f"Unloaded skill '{answer['manifest_id']}'."
    ),
    audit=("agent_id", "manifest_id"),
    of_no_run=True,
    in_refusals={"removed": _ids(None, [], []), "warnings": []},
    codes=("unknown_agent",),
)
def unload_skill(
    on: "Application",
    manifest_id: Annotated[
        str,
        Argument(
            means="The manifestId of the skill, or skill://name@version.",
            example="calculate.pricing@0.1.0",
            min_length=1,
            max_length=400,
        ),
    ],
    agent_id: _Whose,
) -> Answered[UnloadedSkill]:
    """Take a skill from an agent when its state is done; what another skill uses stays."""
    refuse_other_agents(on, current_caller(), agent_id)
    done = on.equipment.unload(agent_id, manifest_id)
    holding = done.holding
    members: dict[str, Any] = {"manifest_id": None, "agent_id": agent_id, "warnings": list(done.warnings)}
    if holding is None:
        return Answered(UnloadedSkill, members)
    detached = [holding.tools[name].tool_id for name in holding.detach]
    removed = _ids(holding.directives_id, [tool_id for tool_id in detached if tool_id is not None], holding.data_ids)
    return Answered(UnloadedSkill, {**members, "manifest_id": holding.manifest_id, "removed": removed})


def _listed(on: "Application", skillset: Skillset, cursor: str | None, limit: int) -> Answered[ListedSkills]:
    count = len(skillset.items)
    start = int(cursor or 0)
    rest = skillset.items[start : start + limit]
    room = Room(on.settings.max_result_bytes, skillset.warnings)
    shown = list(takewhile(room.takes, rest))
    end = start + len(shown)
    members = {
        "ok": True,
        "exit_code": 0,
        "available_skills": shown,
        "warnings": skillset.warnings,
        "next_cursor": str(end) if shown and end < count else None,
    }
    return Answered(ListedSkills, members, says=f"There {'is 1 skill' if count == 1 else f'are {count} skills'}.")


def _preview(on: "Application", chars: int | None) -> int:
    return chars or on.settings.skill_preview_chars


def _refuse_other_schema(on: "Application", path: str | None) -> None:
    schema = configured_schema(on.settings.skill_schema, on.settings.schemas_dir, SCHEMA_NAME)
    refuse_other("schema_path", path, schema or Path("schemas") / SCHEMA_NAME)


add_tools(__name__)
