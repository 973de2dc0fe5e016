"""Methods of the clients for the verbs of the toolset skills. Derived from their descriptions."""

from collections.abc import Mapping

from dcf.client.arguments import name_or_object
from dcf.client.calls import call_tool
from dcf.client.exchange import Conversation
from dcf.values.json_text import Json
from dcf.verbs.records.skills import ListedSkills, LoadedSkill, UnloadedSkill, ValidatedManifest


def validate_skill_manifest(
    skill: str | Mapping[str, Json], *, schema_path: str | None = None
) -> Conversation[ValidatedManifest]:
    """Validate a skill manifest before it is used: repeat until exit_code is 0.

    Checks its form and what a form cannot say (a tool that is there twice); `problems` lists all that is wrong, each
    with a JSON Pointer and what to do.
    """
    return call_tool(
        ValidatedManifest, "validate_skill_manifest", skill_json=name_or_object(skill, "skill"), schema_path=schema_path
    )


def get_skillset(
    *,
    manifests_dir: str | None = None,
    schema_path: str | None = None,
    include_previews: bool = True,
    preview_chars: int | None = None,
    cursor: str | None = None,
    limit: int = 1000,
) -> Conversation[ListedSkills]:
    """Get the skills that agents can be given: call this before you write a workflow.

    Each item says what the skill does, its tools, and its names; bind a Task to it by one of its aliases.
    """
    return call_tool(
        ListedSkills,
        "get_skillset",
        manifests_dir=manifests_dir,
        schema_path=schema_path,
        include_previews=include_previews,
        preview_chars=preview_chars,
        cursor=cursor,
        limit=limit,
    )


def get_skillset_from_catalog(
    *,
    catalog_path: str | None = None,
    schema_path: str | None = None,
    include_previews: bool = True,
    preview_chars: int | None = None,
    cursor: str | None = None,
    limit: int = 1000,
) -> Conversation[ListedSkills]:
    """Get the skills that a catalogue names, where only some of all manifests are meant for you."""
    return call_tool(
        ListedSkills,
        "get_skillset_from_catalog",
        catalog_path=catalog_path,
        schema_path=schema_path,
        include_previews=include_previews,
        preview_chars=preview_chars,
        cursor=cursor,
        limit=limit,
    )


def load_skill(
    skill: str | Mapping[str, Json], agent_id: str, *, workflow_id: str | None = None, state: str | None = None
) -> Conversation[LoadedSkill]:
    """Give an agent a skill before it works on a state that needs it: directives, tools and data, all or nothing."""
    return call_tool(
        LoadedSkill,
        "load_skill",
        skill_json=name_or_object(skill, "skill"),
        agent_id=agent_id,
        workflow_id=workflow_id,
        state=state,
    )


def unload_skill(manifest_id: str, agent_id: str) -> Conversation[UnloadedSkill]:
    """Take a skill from an agent when its state is done; what another skill uses stays."""
    return call_tool(UnloadedSkill, "unload_skill", manifest_id=manifest_id, agent_id=agent_id)
