"""Stage 2, first half: loads the agents and skills that a document imports, and indexes them by all their names."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Final

from dcf.core.documents.stored_values import list_of, object_of, objects_of
from dcf.values.json_text import Json
from dcf.values.records import record
from dcf.values.text_pieces import clip
from dcf.workflows.validation.files import ImportReader, Unreadable
from dcf.workflows.validation.manifests import aliases_of, manifests_in
from dcf.workflows.validation.templates import EMBEDDED, TemplateDirectory
from dcf.workflows.validation.verdict import Finding, found

_HINTS: Final = {
    "import_refused": "Put the file below the directory for imports and name it by its path from there.",
    "import_not_found": "Correct the path; it begins at the directory for imports.",
    "integrity_mismatch": "Import the file that was meant, or update integrity.",
}
_DEFAULT_HINT: Final = "Correct the file or the import."


@record(frozen=True, slots=True, kw_only=True)
class ImportedAgents:
    """The agents by id and by name, each with the ids in its bundle; among equal names the first wins."""

    by_id: dict[str, str] = field(default_factory=dict)
    by_name: dict[str, str] = field(default_factory=dict)
    twice: set[str] = field(default_factory=set)

    def add(self, where: str, ident: Json, name: Json) -> None:
        """Index an agent; `where` distinguishes it from an agent of the same name in another file."""
        for index, key in ((self.by_id, ident), (self.by_name, name)):
            if not isinstance(key, str) or not key:
                continue
            if index.setdefault(key, where) != where:
                self.twice.add(key)

    def __len__(self) -> int:
        return len(self.by_id) + len(self.by_name)


@record(frozen=True, slots=True, kw_only=True)
class Imported:
    """The agents and skills that a document can refer to, and the outcome of each import.

    `on_disk` has the templates that a reference finds when the document has none of its name.
    """

    agents: ImportedAgents = field(default_factory=ImportedAgents)
    declared: ImportedAgents = field(default_factory=ImportedAgents)
    on_disk: TemplateDirectory | None = None
    skills: dict[str, str] = field(default_factory=dict)
    records: dict[str, list[Json]] = field(default_factory=lambda: {"af_imports": [], "skill_imports": []})
    problems: list[Finding] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def load_imports(
    document: Mapping[str, Json], agents_dirs: Sequence[Path], skills_dir: Path, templates_dir: Path | None
) -> Imported:
    """Load every import of a document; the first directory that has an agent file wins.

    Agents are known in the order of create_worker_agents: the document's own, imported, on disk, in `agents`.
    """
    imported = Imported(on_disk=None if templates_dir is None else TemplateDirectory(base=templates_dir))
    _load_embedded(document, imported)
    _load(document, "af_imports", agents_dirs, imported, _index_bundle)
    _load(document, "skill_imports", (skills_dir,), imported, _index_manifests)
    for at, agent in enumerate(objects_of(document.get("agents"))):
        reference = object_of(agent.get("agent_ref"))
        imported.declared.add(f"agents/{at}", reference.get("id"), reference.get("name"))
        imported.declared.add(f"agents/{at}", None, agent.get("agent_name"))
        if "instructions" in agent or "agent_config" in agent:  # it says what an agent is made from
            imported.agents.add(f"agents/{at}", None, agent.get("agent_name"))
    return imported


_Index = Callable[[str, Json, Imported], dict[str, Json]]
"""Indexes the content of a file and returns the record of the import; raises Unreadable."""


def _load(document: Mapping[str, Json], name: str, bases: Sequence[Path], imported: Imported, index: _Index) -> None:
    reader = ImportReader(base=bases[0], others=tuple(bases[1:]))
    for at, entry in enumerate(list_of(document.get(name))):
        if not isinstance(entry, dict) or not isinstance(entry.get("uri"), str):
            continue
        integrity = entry.get("integrity")
        record: dict[str, Json] = {"uri": entry["uri"], "status": "ok", "error": None}
        try:
            content, digest = reader.read(entry["uri"], integrity if isinstance(integrity, str) else None)
            record |= index(f"{name}/{at}", content, imported) | {"sha256": digest}
        except Unreadable as error:
            record |= {"status": "error", "error": str(error)}
            field_name = "integrity" if "integrity" in error.code else "uri"
            message = f"Import '{clip(entry['uri'])}': {error}"
            hint = _HINTS.get(error.code, _DEFAULT_HINT)
            imported.problems.append(found("imports", f"/{name}/{at}/{field_name}", error.code, message, hint))
        imported.records[name].append(record)


def _load_embedded(document: Mapping[str, Json], imported: Imported) -> None:
    if EMBEDDED not in document:
        return
    try:
        _index_bundle(EMBEDDED, document[EMBEDDED], imported)
    except Unreadable as error:
        hint = "Give it as in an agent file: an object with the array 'agents'."
        imported.problems.append(found("imports", f"/{EMBEDDED}", error.code, str(error), hint))


def _index_bundle(where: str, content: Json, imported: Imported) -> dict[str, Json]:
    agents = content.get("agents") if isinstance(content, dict) else None
    if not isinstance(agents, list):
        raise Unreadable("import_not_usable", "The file is no agent file: it has no array 'agents'.")
    for at, agent in enumerate(objects_of(agents)):
        imported.agents.add(f"{where}#{at}", agent.get("id"), agent.get("name"))
    tools = [tool["name"] for tool in objects_of(content.get("tools")) if isinstance(tool.get("name"), str)]
    return {"agents": len(agents), "tools": len(tools)}


def _index_manifests(_: str, content: Json, imported: Imported) -> dict[str, Json]:
    manifests = manifests_in(content)
    for manifest in manifests:
        for alias in aliases_of(manifest):
            known = imported.skills.setdefault(alias, manifest["manifestId"])
            if known != manifest["manifestId"]:
                shown = f"'{clip(alias)}' is both '{clip(known)}' and '{clip(manifest['manifestId'])}'"
                imported.warnings.append(f"The skill {shown}; the first is used.")
    return {"skills": len(manifests)}
