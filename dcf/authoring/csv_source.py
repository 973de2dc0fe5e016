"""Reads skills and stub tools from four CSV tables, with the columns that the seed defines.

    skills.csv           one skill a row
    skill_tool_refs.csv  one tool of one skill a row, by manifestId
    mcp_tools.csv        one stub tool a row
    mcp_cases.csv        one case of one stub tool a row, by serverId and toolName

dcf adds the columns responseTemplate.json and flakyRate of a case, and permissions.riskLevel of a skill.
"""

from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

from dcf.authoring.csv_text import Cell, Row, flag_cell, json_cell, list_cell, number_cell, read_table, text_cell
from dcf.authoring.files import SourceFiles
from dcf.authoring.records import SkillEntry, ToolEntry
from dcf.values.located import Located, LocatedFields, Members, Report

SKILLS: Final = "skills.csv"
REFERENCES: Final = "skill_tool_refs.csv"
TOOLS: Final = "mcp_tools.csv"
CASES: Final = "mcp_cases.csv"

Columns: TypeAlias = Mapping[str, tuple[Cell, str]]
"""How the cells of each column are read, and the field that they become; `permissions.egress` is a field of another."""

_SKILL_COLUMNS: Final[Columns] = {
    "manifestId": (text_cell, "manifestId"),
    "manifestApiVersion": (text_cell, "apiVersion"),
    "skillPackageId": (text_cell, "packageId"),
    "packageId": (text_cell, "packageId"),
    "skillName": (text_cell, "name"),
    "skillVersion": (text_cell, "version"),
    "description": (text_cell, "description"),
    "tags": (list_cell, "tags"),
    "permissions.egress": (text_cell, "permissions.egress"),
    "permissions.secrets": (json_cell, "permissions.secrets"),
    "permissions.riskLevel": (text_cell, "permissions.riskLevel"),
    "skillDirectives": (text_cell, "directives"),
    "dataSources.json": (json_cell, "dataSources"),
}
_REFERENCE_COLUMNS: Final[Columns] = {
    "manifestId": (text_cell, ""),
    "serverId": (text_cell, "server"),
    "toolName": (text_cell, "tool"),
    "required": (flag_cell, "required"),
    "notes": (text_cell, "description"),
    "description": (text_cell, "description"),
    "json_schema": (json_cell, "schema"),
}
_TOOL_COLUMNS: Final[Columns] = {
    "serverId": (text_cell, ""),
    "toolName": (text_cell, ""),
    "version": (text_cell, "version"),
    "description": (text_cell, "description"),
    "paramsSchema.json": (json_cell, "paramsSchema"),
    "resultSchema.json": (json_cell, "resultSchema"),
    "defaultResponse.json": (json_cell, "defaultResponse"),
    "rateLimit.rps": (number_cell, "rateLimit.rps"),
    "latencyMs.default": (number_cell, "latencyMs.default"),
}
_CASE_COLUMNS: Final[Columns] = {
    "serverId": (text_cell, ""),
    "toolName": (text_cell, ""),
    "caseId": (text_cell, "caseId"),
    "match.strategy": (text_cell, "match.strategy"),
    "match.expr": (text_cell, "match.expr"),
    "match.value": (text_cell, "match.value"),
    "response.json": (json_cell, "response"),
    "responseTemplate.json": (json_cell, "responseTemplate"),
    "latencyMs.override": (number_cell, "latencyMsOverride"),
    "errorMode": (text_cell, "errorMode"),
    "flakyRate": (number_cell, "flakyRate"),
    "weight": (number_cell, "weight"),
}


def read_skills(files: SourceFiles, skills_csv: str, references_csv: str | None) -> list[SkillEntry]:
    """Read the skills; with a table of references, also the tools that they refer to."""
    rows = _table(files, skills_csv, _SKILL_COLUMNS, ("manifestId", "skillName", "skillVersion", "skillDirectives"))
    required_columns = ("manifestId", "serverId", "toolName")
    references = [] if references_csv is None else _table(files, references_csv, _REFERENCE_COLUMNS, required_columns)
    by_skill = _grouped(references, ("manifestId",), files.report)
    known = {_key(row, ("manifestId",)) for row in rows}
    for key in by_skill.keys() - known:
        for row in by_skill[key]:
            message = f"There is no skill '{key[0][:80]}' in {skills_csv}."
            files.report.refuse(row.place, "unknown_skill", message, "Add it there, or remove this row.")
    return [_skill(row, by_skill.get(_key(row, ("manifestId",)), []), files.report) for row in rows]


def read_tools(files: SourceFiles, tools_csv: str, cases_csv: str | None) -> list[ToolEntry]:
    """Read the stub tools; with a table of cases, also their cases."""
    key_columns = ("serverId", "toolName")
    rows = _table(files, tools_csv, _TOOL_COLUMNS, (*key_columns, "paramsSchema.json"))
    cases = [] if cases_csv is None else _table(files, cases_csv, _CASE_COLUMNS, (*key_columns, "caseId"))
    by_tool = _grouped(cases, key_columns, files.report)
    for key in by_tool.keys() - {_key(row, key_columns) for row in rows}:
        for row in by_tool[key]:
            message = f"There is no tool '{':'.join(key)[:160]}' in {tools_csv}."
            files.report.refuse(row.place, "unknown_tool", message, "Add it there, or remove this row.")
    return [_tool(row, by_tool.get(_key(row, key_columns), [])) for row in rows if _has(row, key_columns, files.report)]


def _table(files: SourceFiles, name: str, columns: Columns, required: Sequence[str]) -> list[Row]:
    text = files.read(name)
    cells = {column: cell for column, (cell, _) in columns.items()}
    return [] if text is None else read_table(text, name, cells, required, files.report)


def _grouped(rows: Sequence[Row], columns: Sequence[str], report: Report) -> dict[tuple[str, ...], list[Row]]:
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        if _has(row, columns, report):
            groups.setdefault(_key(row, columns), []).append(row)
    return groups


def _has(row: Row, columns: Sequence[str], report: Report) -> bool:
    """Return True if the key columns of a row are filled; report each blank one."""
    return LocatedFields(row, report, row.value).require(*columns)


def _key(row: Row, columns: Sequence[str]) -> tuple[str, ...]:
    return tuple(str(row.value[name].value).strip() if name in row.value else "" for name in columns)


def _skill(row: Row, references: Sequence[Row], report: Report) -> SkillEntry:
    LocatedFields(row, report, row.value).require("manifestId")
    _check_pair(row, "skillPackageId", "packageId", report)
    members = _members(row, _SKILL_COLUMNS)
    members["tools"] = Located([_reference(reference, report) for reference in references], row.place)
    if "dataSources" in members:
        members["dataSources"] = _data_sources(members["dataSources"])
    return SkillEntry(Located(members, row.place))


def _reference(row: Row, report: Report) -> Located:
    _check_pair(row, "notes", "description", report)
    return Located(_members(row, _REFERENCE_COLUMNS), row.place)


def _data_sources(cell: Located) -> Located:
    """Read data sources, in their short form or in the form of a manifest."""
    if not isinstance(cell.value, list):
        return cell
    return Located([_data_source(entry) for entry in cell.value], cell.place)


def _data_source(entry: Located) -> Located:
    if not isinstance(entry.value, dict) or "dataSourceId" not in entry.value:
        return entry
    members = dict(entry.value)
    members["id"] = members.pop("dataSourceId")
    content = members.get("content")
    if content is not None and isinstance(content.value, dict) and content.value.keys() == {"type", "text"}:
        del members["content"]
        members["text"] = content.value["text"]
    return Located(members, entry.place)


def _tool(row: Row, cases: Sequence[Row]) -> ToolEntry:
    server, name = _key(row, ("serverId", "toolName"))
    members = _members(row, _TOOL_COLUMNS)
    members["cases"] = Located([_case(case) for case in cases], row.place)
    return ToolEntry(server, name, Located(members, row.place))


def _case(row: Row) -> Located:
    empty: Members = {"match": Located({}, row.place)}
    return Located(empty | _members(row, _CASE_COLUMNS), row.place)


def _members(row: Row, columns: Columns) -> Members:
    """Return the cells of a row as the fields that they become, those of `a.b` in an object."""
    members: Members = {}
    for column, cell in row.value.items():
        outer, _, inner = columns[column][1].partition(".")
        if inner:
            members.setdefault(outer, Located({}, row.place)).value[inner] = _stripped(cell, column)
        elif outer:
            members[outer] = _stripped(cell, column)
    return members


def _stripped(cell: Located, column: str) -> Located:
    """Strip blanks around a cell, except in columns where they can be meant."""
    if isinstance(cell.value, str) and column not in {"match.value", "skillDirectives"}:
        return Located(cell.value.strip(), cell.place)
    return cell


def _check_pair(row: Row, first: str, second: str, report: Report) -> None:
    """Report a row that fills two columns of the same meaning."""
    if first in row.value and second in row.value:
        message = f"{first} and {second} mean the same, and both are written."
        report.refuse(row.value[second].place, "two_columns", message, "Keep one of them.")
