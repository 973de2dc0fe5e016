"""Reads skills and stub tools from YAML files: `**/*.skill.yaml`, and `tools.yaml` or `tools/*.tools.yaml`.

`tools/_index.yaml` may list the tool files and their order. A tool file in that directory that it does not list is then
a problem, so that no tool is forgotten.
"""

from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Final

from dcf.authoring.files import SourceFiles
from dcf.authoring.records import SkillEntry, ToolEntry
from dcf.authoring.yaml_text import read_yaml
from dcf.values.located import Located, LocatedFields, Members, Report, SourcePlace

INDEX: Final = "tools/_index.yaml"
_METADATA: Final = ("manifestId", "packageId", "name", "version", "description", "tags")
_SPEC: Final = ("permissions", "directives", "tools", "dataSources", "complexityProfile")
_DEFAULTS: Final = {"response": "defaultResponse", "rateLimit": "rateLimit"}
_SAME: Final = ("response", "responseTemplate", "latencyMsOverride", "errorMode", "flakyRate", "weight")
_CASE: Final = {"id": "caseId", **dict(zip(_SAME, _SAME, strict=True))}
_TOOL: Final = {
    "version": "version",
    "description": "description",
    "params": "paramsSchema",
    "result": "resultSchema",
}


def skill_files(files: SourceFiles) -> list[str]:
    """Return the names of the skill files."""
    return files.find("**/*.skill.yaml", "**/*.skill.yml")


def tool_files(files: SourceFiles) -> list[str]:
    """Return the names of the tool files, in the order of the index if there is one."""
    tool_paths = files.find("tools/*.tools.yaml", "tools/*.tools.yml")
    own = files.find("tools.yaml")
    if not files.has(INDEX):
        return own + tool_paths
    listed = _listed(files)
    for name in sorted(set(tool_paths) - set(listed)):
        message = f"{INDEX} does not list this file."
        files.report.refuse(SourcePlace(name), "unlisted_file", message, "Add it to files, or remove it.")
    return own + listed


def read_skills(files: SourceFiles) -> list[SkillEntry]:
    """Read all skills."""
    return [entry for name in skill_files(files) if (entry := _read_skill(files, name)) is not None]


def read_tools(files: SourceFiles) -> list[ToolEntry]:
    """Read all stub tools."""
    return [entry for name in tool_files(files) for entry in _read_tools(files, name)]


def document(files: SourceFiles, name: str, version: str, kind: str, *known: str) -> LocatedFields | None:
    """Read a file that must have this apiVersion and kind; None if it is not readable as YAML."""
    text = files.read(name)
    node = None if text is None else read_yaml(text, name, files.report)
    if node is None:
        return None
    fields = LocatedFields(node, files.report, ("apiVersion", "kind", *known))
    if fields.require("apiVersion", "kind"):
        fields.choice("apiVersion", (version,), version)
        fields.choice("kind", (kind,), kind)
    return fields


def servers(fields: LocatedFields) -> Iterator[ToolEntry]:
    """Yield the stub tools below `servers` of a file."""
    for server, part in fields.pairs("servers"):
        inner = LocatedFields(part, fields.report, ("description", "tools"))
        for name, node in inner.pairs("tools"):
            yield ToolEntry(server, name, _tool(node, fields.report))


def references(fields: LocatedFields) -> Located:
    """Read the `tools` of a skill; each refers to a tool as `ref: server:tool`."""
    references = [_reference(node, fields.report) for node in fields.items("tools")]
    return Located(references, fields.place_of("tools"))


def _listed(files: SourceFiles) -> list[str]:
    fields = document(files, INDEX, "tools-index/v1", "ToolsIndex", "files")
    folder = PurePosixPath(INDEX).parent
    return [] if fields is None else [str(folder / name) for name in fields.texts("files")]


def _read_skill(files: SourceFiles, name: str) -> SkillEntry | None:
    fields = document(files, name, "skill/v1", "Skill", "metadata", "spec")
    if fields is None or not fields.require("metadata", "spec"):
        return None
    metadata = LocatedFields(fields.part("metadata"), files.report, _METADATA)
    spec = LocatedFields(fields.part("spec"), files.report, _SPEC)
    members: Members = {**metadata.members, **spec.members}
    if "tools" in spec:
        members["tools"] = references(spec)
    return SkillEntry(Located(members, fields.place), str(PurePosixPath(name).parent))


def _reference(node: Located, report: Report) -> Located:
    fields = LocatedFields(node, report, ("ref", "required", "description"))
    fields.require("ref")
    place = fields.place_of("ref")
    server, separator, tool = fields.text("ref", longest=200).partition(":")
    if "ref" in fields and not (server and separator and tool):
        report.refuse(place, "invalid_ref", "The ref names no server and tool.", "Write ref: server:tool.")
    members = {name: part for name, part in fields.members.items() if name in {"required", "description"}}
    return Located(members | {"server": Located(server, place), "tool": Located(tool, place)}, node.place)


def _read_tools(files: SourceFiles, name: str) -> list[ToolEntry]:
    fields = document(files, name, "tools/v1", "ToolsRegistry", "servers")
    return [] if fields is None or not fields.require("servers") else list(servers(fields))


def _tool(node: Located, report: Report) -> Located:
    """Return a tool with its fields renamed to those of the stub's configuration."""
    fields = LocatedFields(node, report, (*_TOOL, "defaults", "cases"))
    defaults = LocatedFields(fields.part("defaults"), report, (*_DEFAULTS, "latencyMs"))
    members = _renamed(fields.members, _TOOL) | _renamed(defaults.members, _DEFAULTS)
    if "latencyMs" in defaults:
        latency = defaults.members["latencyMs"]
        members["latencyMs"] = Located({"default": latency}, latency.place)
    cases = [_case(case, report) for case in fields.items("cases")]
    return Located(members | {"cases": Located(cases, fields.place_of("cases"))}, node.place)


def _case(node: Located, report: Report) -> Located:
    fields = LocatedFields(node, report, (*_CASE, "match"))
    match = LocatedFields(fields.part("match"), report, ("strategy", "path", "value"))
    matched = _renamed(match.members, {"strategy": "strategy", "path": "expr", "value": "value"})
    return Located(_renamed(fields.members, _CASE) | {"match": Located(matched, match.place)}, node.place)


def _renamed(members: Members, names: Mapping[str, str]) -> Members:
    return {names[name]: part for name, part in members.items() if name in names}
