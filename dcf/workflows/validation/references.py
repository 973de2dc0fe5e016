"""Stage 2, second half: checks that the agents and skills named by Tasks exist, at every level of nesting. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Final

from dcf.asl.resources import read_resource
from dcf.asl.syntax.fields import token
from dcf.core.documents.stored_values import list_of, object_of
from dcf.values.json_text import Json
from dcf.values.records import record
from dcf.values.text_pieces import clip
from dcf.workflows.validation.imports import Imported, ImportedAgents
from dcf.workflows.validation.manifests import look_up
from dcf.workflows.validation.verdict import Finding, found

_IMPORT: Final = (
    'Describe the agent in the document ("af_v2_entities": {"agents": [{"name": "<name>"}]}), import its .af file '
    '("af_imports": [{"uri": "<file>.af"}]), put the file into the directory of templates (DCF_AGENTS_DIR), or correct '
    "the reference."
)
_IMPORT_SKILL: Final = (
    'Import its manifest: "skill_imports": [{"uri": "<file>.json"}], with the path that `get_skillset` shows; or '
    "correct the id, as skill://name@version."
)
_NAME_BY_ID: Final = (
    'Name an existing agent by its id: "agent_ref": {"id": "<agent id>"}; or leave AgentBinding out, and say who does '
    "it in `agents_map_json`; a template is imported in af_imports and named in agent_template_ref."
)


@record(frozen=True, slots=True, kw_only=True)
class References:
    """The agents and skills that the Tasks refer to."""

    unresolved_agent_refs: list[Json] = field(default_factory=list)
    unresolved_skill_ids: list[str] = field(default_factory=list)
    state_skill_map: dict[str, list[Json]] = field(default_factory=dict)
    problems: list[Finding] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def check_references(machine: Json, imported: Imported) -> References:
    """Look up every agent and skill that the Tasks of a machine, as written, refer to."""
    references = References()
    for path, name, task in tasks_of(machine, "/asl"):
        binding = task.get("AgentBinding")
        if isinstance(binding, dict):
            _check_agents(f"{path}/AgentBinding", binding, imported, references)
            _check_skills(f"{path}/AgentBinding/skills", name, binding.get("skills"), imported, references)
        _check_skills(f"{path}/Skills", name, task.get("Skills"), imported, references)
    return references


def tasks_of(machine: Json, path: str) -> Iterator[tuple[str, str, dict[str, Json]]]:
    """List the Tasks of a machine as written, including those of nested machines, in document order."""
    return (document for document in states_of(machine, path) if document[2].get("Type") == "Task")


def states_of(machine: Json, path: str) -> Iterator[tuple[str, str, dict[str, Json]]]:
    """List the states of a machine as written, with their pointers and names, including those of nested machines."""
    pending = [(path, machine)]
    while pending:
        where, inner = pending.pop()
        found_inside: list[tuple[str, Json]] = []
        for name, state in object_of(object_of(inner).get("States")).items():
            here = f"{where}/States/{token(name)}"
            if isinstance(state, dict):
                yield here, name, state
                found_inside += _machines_inside(here, state)
        pending += reversed(found_inside)


def is_worked(task: Mapping[str, Json]) -> bool:
    """Return True for a Task, as written, that agents work on, and not only something outside."""
    resource = task.get("Resource")
    return read_resource(resource if isinstance(resource, str) else None).is_worked


def _machines_inside(path: str, state: Mapping[str, Json]) -> Iterator[tuple[str, Json]]:
    for at, branch in enumerate(list_of(state.get("Branches"))):
        yield f"{path}/Branches/{at}", branch
    for name in ("ItemProcessor", "Iterator"):
        if name in state:
            yield f"{path}/{name}", state[name]


def _check_agents(path: str, binding: Mapping[str, Json], imported: Imported, references: References) -> None:
    named = {name: binding[name] for name in ("agent_template_ref", "agent_ref") if _named(binding.get(name))}
    if not named:
        message = "The binding names no agent."
        hint = (
            'Name an existing agent: "agent_ref": {"id": "<agent id>"}; or leave AgentBinding out, and say who does it '
            "in `agents_map_json`."
        )
        _unresolved(references, path, None, "missing_agent", message, hint)
    for name, reference in named.items():
        indexes = (imported.agents,) if name == "agent_template_ref" else (imported.declared, imported.agents)
        if not _check_agent(f"{path}/{name}", reference, indexes, references) and not _is_on_disk(reference, imported):
            _report_missing(f"{path}/{name}", reference, references, may_be_declared=name == "agent_ref")


def _named(reference: Json) -> bool:
    return isinstance(reference, dict) and any(isinstance(reference.get(key), str) for key in ("id", "name"))


def _check_agent(
    path: str, reference: Mapping[str, Json], indexes: tuple[ImportedAgents, ...], references: References
) -> bool:
    """Return True if one of the indexes has the agent; two agents for one reference are a problem."""
    ident, name = (reference.get(key) if isinstance(reference.get(key), str) else None for key in ("id", "name"))
    shown = clip(str(name or ident))
    for index in indexes:
        hits = {index.by_id.get(ident or ""), index.by_name.get(name or "")} - {None}
        if len(hits) > 1:
            message = f"The id and the name '{shown}' belong to two different agents."
            _unresolved(references, path, reference, "ambiguous_agent", message, "Keep the one that is meant.")
        if hits:
            if index.twice & {ident, name}:
                references.warnings.append(f"{path}: several agents are called '{shown}'; the first is used.")
            return True
    return False


def _is_on_disk(reference: Mapping[str, Json], imported: Imported) -> bool:
    ident, name = (reference.get(key) if isinstance(reference.get(key), str) else None for key in ("id", "name"))
    return imported.on_disk is not None and imported.on_disk.bundle(str(name or ident)) is not None


def _report_missing(path: str, reference: Mapping[str, Json], references: References, *, may_be_declared: bool) -> None:
    shown = clip(str(reference.get("name") or reference.get("id")))
    declared = " nor listed in agents" if may_be_declared else ""
    message = f"The agent '{shown}' is in no file of af_imports{declared}."
    hint = _NAME_BY_ID if may_be_declared else _IMPORT
    _unresolved(references, path, reference, "unresolved_agent", message, hint)


def _unresolved(
    references: References, path: str, reference: Mapping[str, Json] | None, code: str, message: str, hint: str
) -> None:
    named = {key: (reference or {}).get(key) for key in ("id", "name")}
    references.unresolved_agent_refs.append({"where": path, "ref": named})
    references.problems.append(found("references", path, code, message, hint))


def _check_skills(path: str, state: str, skills: Json, imported: Imported, references: References) -> None:
    mapped = references.state_skill_map.get(state, [])
    for at, skill in enumerate(list_of(skills)):
        if not isinstance(skill, str):
            continue
        manifest = look_up(imported.skills, skill)
        if manifest is not None:
            entry = {"skill": skill, "manifestId": manifest}
            if entry not in mapped:
                mapped = references.state_skill_map.setdefault(state, [])
                mapped.append(entry)
            continue
        if skill not in references.unresolved_skill_ids:
            references.unresolved_skill_ids.append(skill)
        message = f"The skill '{clip(skill)}' is in no file of skill_imports."
        references.problems.append(found("references", f"{path}/{at}", "unresolved_skill", message, _IMPORT_SKILL))
