"""Reads skills from Agent Skills folders: SKILL.md with frontmatter and body, and references/*.md.

The standard's fields give description and directives; each reference becomes a data source. The other fields are in
`dcf.yaml` next to SKILL.md (the sidecar), since the standard cannot express them: the dotted name, tags, permissions,
tools, and stub tools with their cases.
"""

import re
from pathlib import PurePosixPath
from typing import Final

from dcf.authoring.files import SourceFiles
from dcf.authoring.front_matter import split
from dcf.authoring.records import SkillEntry, ToolEntry
from dcf.authoring.yaml_source import document, references, servers
from dcf.values.located import Located, LocatedFields, Members, SourcePlace

SKILL_FILE: Final = "SKILL.md"
SIDECAR: Final = "dcf.yaml"

_NAME: Final = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_LONGEST_NAME: Final = 64
_FRONTMATTER: Final = ("name", "description", "license", "compatibility", "metadata", "allowed-tools")
_SIDECAR: Final = ("manifestId", "packageId", "name", "version", "tags", "permissions", "complexityProfile")


def skill_folders(files: SourceFiles) -> list[str]:
    """Return the folders that contain a SKILL.md."""
    return [str(PurePosixPath(name).parent) for name in files.find(f"**/{SKILL_FILE}")]


def read(files: SourceFiles) -> tuple[list[SkillEntry], list[ToolEntry]]:
    """Read all folders: the skills, and the stub tools that their sidecars define."""
    skills: list[SkillEntry] = []
    tools: list[ToolEntry] = []
    for folder in skill_folders(files):
        entries = _read_folder(files, folder)
        if entries is not None:
            skills.append(entries[0])
            tools += entries[1]
    return skills, tools


def _read_folder(files: SourceFiles, folder: str) -> tuple[SkillEntry, list[ToolEntry]] | None:
    name = str(PurePosixPath(folder) / SKILL_FILE)
    text = files.read(name)
    parts = None if text is None else split(text, name, files.report)
    if parts is None:
        return None
    front, body = parts
    fields = LocatedFields(front, files.report, _FRONTMATTER)
    _check_front(fields, folder, files)
    members: Members = {"name": fields.members.get("name", front), "directives": body}
    if "description" in fields:
        members["description"] = fields.members["description"]
    metadata = fields.part("metadata")
    if isinstance(metadata.value, dict) and "version" in metadata.value:
        members["version"] = metadata.value["version"]
    sidecar_members, tools, described = _read_sidecar(files, folder)
    members |= sidecar_members
    members["dataSources"] = Located(_data_sources(files, folder, described), front.place)
    return SkillEntry(Located(members, front.place), folder), tools


def _check_front(fields: LocatedFields, folder: str, files: SourceFiles) -> None:
    """Check the fields that the standard requires, and warn about parts that a manifest cannot hold."""
    fields.require("name", "description")
    name = fields.text("name", longest=_LONGEST_NAME)
    if "name" in fields and not _NAME.fullmatch(name):
        hint = "Write lower-case letters, digits and single hyphens."
        files.report.refuse(fields.place_of("name"), "invalid_name", f"'{name[:80]}' is no name of a skill.", hint)
    elif "name" in fields and name != PurePosixPath(folder).name:
        message = f"The folder is not called '{name}'."
        files.report.refuse(fields.place_of("name"), "wrong_folder", message, "Give both the same name.")
    fields.text("description", longest=1024)
    if "allowed-tools" in fields:
        files.report.warn(
            fields.place_of("allowed-tools"), f"allowed-tools is not carried over; name tools in {SIDECAR}."
        )
    for kind in ("scripts", "assets"):
        if files.find(f"{folder}/{kind}/**/*"):
            files.report.warn(fields.place, f"{kind}/ is not carried over; a manifest has no place for it.")


def _read_sidecar(files: SourceFiles, folder: str) -> tuple[Members, list[ToolEntry], dict[str, Located]]:
    name = str(PurePosixPath(folder) / SIDECAR)
    if not files.has(name):
        return {}, [], {}
    fields = document(files, name, "skill-sidecar/v1", "SkillSidecar", *_SIDECAR, "tools", "references", "servers")
    if fields is None:
        return {}, [], {}
    members = {key: part for key, part in fields.members.items() if key in _SIDECAR}
    if "tools" in fields:
        members["tools"] = references(fields)
    return members, list(servers(fields)), dict(fields.pairs("references"))


def _data_sources(files: SourceFiles, folder: str, described: dict[str, Located]) -> list[Located]:
    """Make a data source of each reference. The sidecar may describe one further, by its file's name."""
    sources = []
    names = files.find(f"{folder}/references/**/*.md")
    by_stem = {PurePosixPath(name).stem: name for name in names}
    for stem in described.keys() - by_stem.keys():
        message = f"There is no references/{stem[:80]}.md."
        files.report.refuse(described[stem].place, "unknown_reference", message, "Add it, or remove this entry.")
    for name in names:
        path = PurePosixPath(name)
        place = SourcePlace(name)
        extra = LocatedFields(
            described.get(path.stem, Located({}, place)), files.report, ("description", "destination")
        )
        members: Members = {
            **extra.members,
            "id": Located(path.stem, place),
            "file": Located(str(path.relative_to(folder)), place),
        }
        sources.append(Located(members, place))
    return sources
