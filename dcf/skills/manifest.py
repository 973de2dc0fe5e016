"""Skill manifests as frozen records, and their validation. Reads no files and resolves no references.

`judge` reports all problems of any value; `read_manifest` raises them.
"""

from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Final, Literal

from dcf.core.documents.stored_values import list_of
from dcf.errors import InvalidArgument, InvalidDefinition
from dcf.values.digest import definition_sha256
from dcf.values.json_text import Json, parse
from dcf.values.record_json.codec import RecordCodec
from dcf.values.records import record
from dcf.values.text_pieces import clip
from dcf.workflows.validation.schema import check_schema, is_schema, schema_text
from dcf.workflows.validation.verdict import EXIT_CODES, MAX_FINDINGS, Finding, Stage, found

SCHEMA_NAME: Final = "letta_skill_manifest_v2.0.0.json"
MAX_MANIFEST: Final = 1024 * 1024
"""Largest manifest, in UTF-8 bytes."""

Egress = Literal["none", "intranet", "internet"]
Risk = Literal["low", "medium", "high", "critical"]


@record(frozen=True, slots=True, kw_only=True)
class ToolNeed:
    """A tool that a skill needs. `schema` holds its name, description and parameters, if the manifest has them."""

    name: str
    description: str
    definition: Mapping[str, Json]
    required: bool = True
    schema: Mapping[str, Json] | None = None


_TOOL: Final = RecordCodec(
    ToolNeed, named={"name": "toolName", "schema": "json_schema"}, strict=True, added="required schema"
)


@record(frozen=True, slots=True, kw_only=True)
class DataNeed:
    """A text that a skill brings into the agent's context."""

    source_id: str
    text: str
    destination: str
    description: str = ""


@record(frozen=True, slots=True, kw_only=True)
class Manifest:
    """A valid manifest. `sha256` is a hash of the whole document."""

    manifest_id: str
    name: str
    version: str
    directives: str
    description: str
    egress: Egress
    secrets: tuple[str, ...]
    risk: Risk
    tools: tuple[ToolNeed, ...]
    data: tuple[DataNeed, ...]
    sha256: str
    document: Mapping[str, Json]


@record(frozen=True, slots=True, kw_only=True)
class Judgement:
    """Result of validating a manifest."""

    problems: tuple[Finding, ...] = ()
    warnings: tuple[str, ...] = field(default=())

    @property
    def ok(self) -> bool:
        """True if there are no problems."""
        return not self.problems

    @property
    def exit_code(self) -> int:
        """Exit code of the command line: 0 valid, 1 schema, 2 static check, 4 no JSON; the first problem counts."""
        return EXIT_CODES[self.problems[0].stage] if self.problems else 0

    def texts(self, stage: Stage) -> list[str]:
        """Return the problems of one stage as texts."""
        return [schema_text(problem) for problem in self.problems if problem.stage == stage]


def judge(value: Json, schema: Mapping[str, Json] | None = None, name: str = "The manifest") -> Judgement:
    """Validate a manifest, given as JSON text or as a native value. Never raises because of the manifest."""
    try:
        document = parse(value, name=name, max_bytes=MAX_MANIFEST)
    except InvalidArgument as error:
        hint = "Give a JSON object, or UTF-8 text that holds one."
        return Judgement(problems=(found("input", "", "invalid_json", error.message, hint),))
    form = check_schema(document, schema, SCHEMA_NAME)
    static = list(_static(document)) if isinstance(document, dict) else []
    doubts = tuple(_doubts(document)) if not form and not static else ()
    return Judgement(problems=tuple([*form, *static][:MAX_FINDINGS]), warnings=doubts)


def read_manifest(value: Json, schema: Mapping[str, Json] | None = None, name: str = "The manifest") -> Manifest:
    """Parse a manifest, given as JSON text or as a native value; raise InvalidDefinition with every problem."""
    document = parse(value, name=name, max_bytes=MAX_MANIFEST)
    judgement = judge(document, schema)
    if not judgement.ok:
        raise InvalidDefinition(judgement.problems)
    permissions = document.get("permissions", {})
    return Manifest(
        manifest_id=document["manifestId"],
        name=document["skillName"],
        version=document["skillVersion"],
        directives=document["skillDirectives"],
        description=document.get("description", ""),
        egress=permissions.get("egress", "none"),
        secrets=tuple(permissions.get("secrets", ())),
        risk=permissions.get("riskLevel", "low"),
        tools=tuple(map(_TOOL.read, document.get("requiredTools", ()))),
        data=tuple(map(_data, document.get("requiredDataSources", ()))),
        sha256=definition_sha256(document),
        document=document,
    )


def _data(entry: Mapping[str, Json]) -> DataNeed:
    return DataNeed(
        source_id=entry["dataSourceId"],
        text=entry["content"]["text"],
        destination=entry["destination"],
        description=entry.get("description", ""),
    )


def _static(document: Mapping[str, Json]) -> Iterator[Finding]:
    """Check what JSON Schema cannot express."""
    yield from _repeated(document, "requiredTools", "toolName", "duplicate_tool", "tool")
    yield from _repeated(document, "requiredDataSources", "dataSourceId", "duplicate_data_source", "data source")
    for at, tool in _entries(document, "requiredTools"):
        described = tool.get("json_schema")
        parameters = described.get("parameters") if isinstance(described, dict) else None
        if isinstance(parameters, dict) and not is_schema(parameters):
            path = f"/requiredTools/{at}/json_schema/parameters"
            hint = "Write a JSON Schema of an object, as in MCP's inputSchema."
            yield found("static", path, "invalid_tool_schema", "The parameters are no valid JSON Schema.", hint)


def _repeated(document: Mapping[str, Json], field_name: str, key: str, code: str, noun: str) -> Iterator[Finding]:
    seen: dict[str, int] = {}
    for at, entry in _entries(document, field_name):
        name = entry.get(key)
        if not isinstance(name, str):
            continue
        first = seen.setdefault(name.casefold(), at)
        if first != at:
            message = f"The {noun} '{clip(name)}' is there twice (upper and lower case are the same), first at {first}."
            yield found("static", f"/{field_name}/{at}/{key}", code, message, "Remove or rename one of the two.")


def _entries(document: Mapping[str, Json], name: str) -> Iterator[tuple[int, dict[str, Json]]]:
    return ((at, entry) for at, entry in enumerate(list_of(document.get(name))) if isinstance(entry, dict))


def _doubts(document: Mapping[str, Json]) -> Iterator[str]:
    expected = f"skill.{document['skillName']}@{document['skillVersion']}"
    if document["manifestId"] != expected:
        yield f"manifestId is usually '{clip(expected)}'."
    for _, tool in _entries(document, "requiredTools"):
        name, definition = tool["toolName"], tool["definition"]
        if definition.get("toolName", name) != name:
            yield f"The tool '{clip(name)}' is called '{clip(definition['toolName'])}' by its server."
        if definition["type"] == "mcp_server" and "json_schema" not in tool:
            yield f"The tool '{clip(name)}' has no json_schema; agents see only what its server says."
