"""The record of a skill, from which its manifest is made, whatever kind of source it comes from.

Each kind of source yields an object with these fields, each with its place: manifestId, apiVersion, packageId, name,
version, description, tags, permissions, directives, tools [{server, tool, required, description, schema}],
dataSources [{id, description, destination, text | file}], complexityProfile.
"""

from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Final, NamedTuple

from dcf.authoring.files import SourceFiles
from dcf.values.json_text import Json
from dcf.values.located import Located, LocatedFields, SourcePlace
from dcf.values.records import record

MAX_DATA: Final = 500_000
"""Longest data source, in characters."""

DESTINATIONS: Final = ("archival_memory", "working_memory")
EGRESS: Final = ("none", "intranet", "internet")
RISK_LEVELS: Final = ("low", "medium", "high", "critical")
API_VERSION: Final = "v2.0.0"
API_VERSION_WITH_PROFILE: Final = "v2.1.0"

_FIELDS: Final = (
    "manifestId",
    "apiVersion",
    "packageId",
    "name",
    "version",
    "description",
    "tags",
    "permissions",
    "directives",
    "tools",
    "dataSources",
    "complexityProfile",
)


class SkillEntry(NamedTuple):
    """A skill as read from a source. Files that it names are looked up in `folder`."""

    node: Located
    folder: str = ""


class ToolEntry(NamedTuple):
    """A stub tool as read from a source; `node` has the fields of the stub's configuration."""

    server: str
    name: str
    node: Located


@record(frozen=True, slots=True, kw_only=True)
class ToolReference:
    """A tool that a skill needs. `schema` is the schema of its parameters, if the skill has its own."""

    server: str
    tool: str
    required: bool
    description: str
    schema: Json
    place: SourcePlace


@record(frozen=True, slots=True, kw_only=True)
class DataSource:
    """A text that a skill brings into the agent's context."""

    ident: str
    description: str
    destination: str
    text: str
    place: SourcePlace


@record(frozen=True, slots=True, kw_only=True)
class SkillRecord:
    """One skill, as its source describes it."""

    place: SourcePlace
    manifest_id: str
    package_id: str | None
    name: str
    version: str
    description: str
    tags: tuple[str, ...]
    permissions: Mapping[str, Json]
    directives: str
    tools: tuple[ToolReference, ...]
    data_sources: tuple[DataSource, ...]
    complexity_profile: Json

    @property
    def api_version(self) -> str:
        """Version of the manifest format."""
        return API_VERSION if self.complexity_profile is None else API_VERSION_WITH_PROFILE


def read_skill(entry: SkillEntry, files: SourceFiles) -> SkillRecord:
    """Read a skill. Use the record only if the report of `files` has no problems."""
    fields = LocatedFields(entry.node, files.report, _FIELDS)
    fields.require("name", "version", "directives")
    name, version = fields.text("name", longest=128), fields.text("version", longest=100)
    record = SkillRecord(
        place=fields.place,
        manifest_id=fields.text("manifestId", f"skill.{name}@{version}", longest=200),
        package_id=fields.text("packageId", longest=200) or None,
        name=name,
        version=version,
        description=fields.text("description", longest=2000).strip(),
        tags=fields.texts("tags"),
        permissions=_permissions(fields),
        directives=fields.text("directives").strip(),
        tools=tuple(_references(fields)),
        data_sources=tuple(_data_sources(fields, entry.folder, files)),
        complexity_profile=fields.members["complexityProfile"].plain() if "complexityProfile" in fields else None,
    )
    if fields.text("apiVersion", record.api_version) != record.api_version:
        message = f"The manifest of this skill has the version {record.api_version}."
        hint = "Leave the version out; only a skill with a complexityProfile has another."
        files.report.refuse(fields.place_of("apiVersion"), "wrong_version", message, hint)
    return record


def _permissions(fields: LocatedFields) -> dict[str, Json]:
    inner = LocatedFields(fields.part("permissions"), fields.report, ("egress", "secrets", "riskLevel"))
    permissions: dict[str, Json] = {
        "egress": inner.choice("egress", EGRESS, "none"),
        "secrets": list(inner.texts("secrets")),
    }
    if "riskLevel" in inner:
        permissions["riskLevel"] = inner.choice("riskLevel", RISK_LEVELS, "low")
    return permissions


def _references(fields: LocatedFields) -> Iterator[ToolReference]:
    for node in fields.items("tools"):
        inner = LocatedFields(node, fields.report, ("server", "tool", "required", "description", "schema"))
        inner.require("server", "tool")
        yield ToolReference(
            server=inner.text("server", longest=100),
            tool=inner.text("tool", longest=100),
            required=inner.flag("required", default=True),
            description=inner.text("description", longest=4000).strip(),
            schema=inner.members["schema"].plain() if "schema" in inner else None,
            place=node.place,
        )


def _data_sources(fields: LocatedFields, folder: str, files: SourceFiles) -> Iterator[DataSource]:
    seen: set[str] = set()
    for node in fields.items("dataSources"):
        inner = LocatedFields(node, fields.report, ("id", "description", "destination", "text", "file"))
        inner.require("id")
        ident = inner.text("id", longest=100)
        if ident in seen:
            hint = "Give each data source of a skill its own id."
            fields.report.refuse(node.place, "duplicate_data_source", f"The id '{ident}' is there twice.", hint)
        seen.add(ident)
        yield DataSource(
            ident=ident,
            description=inner.text("description", longest=2000).strip(),
            destination=inner.choice("destination", DESTINATIONS, DESTINATIONS[0]),
            text=_text_of(inner, folder, files),
            place=node.place,
        )


def _text_of(fields: LocatedFields, folder: str, files: SourceFiles) -> str:
    """Return the text that is written there, or that of the file it names; exactly one must be given."""
    if ("text" in fields) == ("file" in fields):
        message = "A data source has either text or file."
        fields.report.refuse(fields.place, "text_or_file", message, "Write one of them.")
        return ""
    if "text" in fields:
        text = fields.text("text", longest=MAX_DATA)
    else:
        name = str(PurePosixPath(folder) / fields.text("file", longest=500))
        read = files.read(name, named_at=fields.place_of("file"), max_bytes=4 * MAX_DATA)
        if read is None:
            return ""
        text = read
        if len(text) > MAX_DATA:
            message = f"The file has more than {MAX_DATA} characters."
            fields.report.refuse(fields.place_of("file"), "too_long", message, "Divide it.")
    if not text.strip():
        fields.report.refuse(fields.place, "empty_text", "The data source has no text.", "Write some, or remove it.")
    return text.strip()
