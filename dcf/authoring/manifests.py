"""Makes the manifest of a skill from its record and the tools it refers to.

A tool without a schema is a problem: agents would not know how to call it.
"""

from collections.abc import Mapping
from typing import TypeAlias

from dcf.authoring.records import SkillRecord, ToolReference
from dcf.skills.manifest import judge
from dcf.stub.config import StubTool
from dcf.values.json_text import Json
from dcf.values.located import Report, SourcePlace
from dcf.values.text_pieces import clip
from dcf.workflows.validation.pointers import steps_of

Tools: TypeAlias = Mapping[tuple[str, str], StubTool]
"""All tools that the sources define, by server and name."""


def make_manifest(record: SkillRecord, tools: Tools, report: Report) -> dict[str, Json]:
    """Return the manifest of a skill. Problems found by its validation are reported with their place in the source."""
    manifest: dict[str, Json] = {
        "manifestApiVersion": record.api_version,
        "skillPackageId": record.package_id,
        "manifestId": record.manifest_id,
        "skillName": record.name,
        "skillVersion": record.version,
        "description": record.description,
        "tags": list(record.tags),
        "permissions": dict(record.permissions),
        "skillDirectives": record.directives,
        "requiredTools": [_tool(reference, tools, report) for reference in record.tools],
        "requiredDataSources": [
            _without_blanks(
                {
                    "dataSourceId": data_source.ident,
                    "description": data_source.description,
                    "destination": data_source.destination,
                }
            )
            | {"content": {"type": "text_content", "text": data_source.text}}
            for data_source in record.data_sources
        ],
    }
    if record.complexity_profile is not None:
        manifest["complexityProfile"] = record.complexity_profile
    _judge(manifest, record, report)
    return manifest


def file_name(manifest_id: str) -> str:
    """Return the file name of a manifest."""
    return f"{manifest_id.replace('@', '-')}.json"


def _tool(reference: ToolReference, tools: Tools, report: Report) -> dict[str, Json]:
    known = tools.get((reference.server, reference.tool))
    description = reference.description or ("" if known is None else known.description)
    definition = {"type": "mcp_server", "serverId": reference.server, "toolName": reference.tool}
    schema = {
        "name": reference.tool,
        "description": description,
        "parameters": _parameters(reference, known, report),
    }
    return {
        "toolName": reference.tool,
        "description": description,
        "definition": definition,
        "json_schema": schema,
        "required": reference.required,
    }


def _parameters(reference: ToolReference, known: StubTool | None, report: Report) -> Json:
    if known is None:
        if reference.schema is None and reference.server and reference.tool:
            shown = clip(f"{reference.server}:{reference.tool}")
            hint = "Define it among the tools with its schema, or correct the reference."
            report.refuse(reference.place, "unknown_tool", f"No tool '{shown}' is defined.", hint)
        return _schema_inside(reference.schema)
    parameters = dict(known.params_schema)
    if reference.schema is not None and _schema_inside(reference.schema) != parameters:
        hint = "Keep the schema in one place; that of the tool is enough."
        report.refuse(reference.place, "two_schemas", f"The tool '{clip(known.key)}' has another schema.", hint)
    return parameters


def _schema_inside(schema: Json) -> Json:
    """Return the parameters of a whole tool schema, as older tables contain it; return other schemas unchanged."""
    if isinstance(schema, dict) and isinstance(schema.get("parameters"), dict):
        return schema["parameters"]
    return schema


def _judge(manifest: Mapping[str, Json], record: SkillRecord, report: Report) -> None:
    judgement = judge(manifest)
    reported = {(problem.place.file, problem.place.line) for problem in report.problems}
    for finding in judgement.problems:
        steps = steps_of(finding.path)
        place = record.place
        if steps[:1] == ["requiredTools"] and len(steps) > 1:
            place = record.tools[int(steps[1])].place
        elif steps[:1] == ["requiredDataSources"] and len(steps) > 1:
            place = record.data_sources[int(steps[1])].place
        if (place.file, place.line) in reported:
            continue  # the source's own problem is reported already and caused this one
        where = SourcePlace(place.file, place.line, finding.path[1:] or place.column)
        report.refuse(where, finding.code, finding.message, finding.hint)
    for warning in judgement.warnings:
        report.warn(record.place, warning)


def _without_blanks(members: Mapping[str, str]) -> dict[str, Json]:
    return {name: value for name, value in members.items() if value}
