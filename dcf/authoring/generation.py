"""Generates manifests, their catalogue and the stub's configuration from sources, or reports all problems."""

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from dcf.authoring import agent_skills, csv_source, yaml_source
from dcf.authoring.files import SourceFiles
from dcf.authoring.manifests import file_name, make_manifest
from dcf.authoring.output import Output
from dcf.authoring.records import SkillEntry, SkillRecord, ToolEntry, read_skill
from dcf.stub.config import StubConfig, StubTool, read_tool
from dcf.values.json_text import Json
from dcf.values.located import Located, Report, SourcePlace, SourceProblem
from dcf.values.records import record

_MAX_CATALOG: Final = 4 * 1024 * 1024


@record(frozen=True, slots=True, kw_only=True)
class GeneratedManifest:
    """A manifest and the record it was made from."""

    record: SkillRecord
    document: Mapping[str, Json]

    @property
    def file(self) -> str:
        """Name of the manifest's file."""
        return file_name(self.record.manifest_id)


@record(frozen=True, slots=True, kw_only=True)
class Generation:
    """The result of generating. If there are problems, the rest must not be used."""

    problems: tuple[SourceProblem, ...]
    warnings: tuple[str, ...]
    manifests: tuple[GeneratedManifest, ...]
    config: StubConfig

    @property
    def ok(self) -> bool:
        """True if there are no problems."""
        return not self.problems


def generate(root: Path) -> Generation:
    """Generate from all sources below a directory: CSV tables, YAML files, Agent Skills folders."""
    files = SourceFiles(root, Report())
    skills, tools = agent_skills.read(files)
    skills += yaml_source.read_skills(files)
    tools += yaml_source.read_tools(files)
    if files.has(csv_source.SKILLS):
        references = csv_source.REFERENCES if files.has(csv_source.REFERENCES) else None
        skills += csv_source.read_skills(files, csv_source.SKILLS, references)
    if files.has(csv_source.TOOLS):
        cases = csv_source.CASES if files.has(csv_source.CASES) else None
        tools += csv_source.read_tools(files, csv_source.TOOLS, cases)
    if not (skills or tools or files.report.problems):
        hint = "Write skills.csv, a *.skill.yaml file, or a folder with SKILL.md."
        files.report.refuse(SourcePlace(root.name or "."), "no_sources", "The directory holds no sources.", hint)
    return _generation(skills, tools, files)


def generate_manifests(root: Path, skills_csv: str, references_csv: str, tools_csv: str) -> Generation:
    """Generate manifests from the named CSV tables below a directory."""
    files = SourceFiles(root, Report())
    skills = csv_source.read_skills(files, skills_csv, references_csv)
    return _generation(skills, csv_source.read_tools(files, tools_csv, None), files)


def generate_stub(root: Path, tools_csv: str, cases_csv: str) -> Generation:
    """Generate the stub's configuration from the named CSV tables below a directory."""
    files = SourceFiles(root, Report())
    return _generation([], csv_source.read_tools(files, tools_csv, cases_csv), files)


def manifest_outputs(generation: Generation, out_dir: Path, catalog: Path) -> list[Output]:
    """Return the files of the manifests and of their catalogue."""
    outputs = [Output(out_dir / manifest.file, json_file(manifest.document)) for manifest in generation.manifests]
    folder = Path(os.path.relpath(out_dir, catalog.parent)).as_posix()
    skills = [
        {
            "manifestId": manifest.record.manifest_id,
            "skillName": manifest.record.name,
            "skillVersion": manifest.record.version,
            "path": f"{folder}/{manifest.file}",
            "description": manifest.record.description,
        }
        for manifest in generation.manifests
    ]
    return [*outputs, Output(catalog, json_file({"skills": skills}))]


def stub_output(generation: Generation, path: Path) -> Output:
    """Return the file of the stub's configuration."""
    return Output(path, json_file(generation.config.as_json()))


def stale_manifests(outputs: Sequence[Output], out_dir: Path, catalog: Path) -> list[Path]:
    """Return manifests that an earlier generation wrote and this one does not; other files are never listed."""
    written = {output.path.name for output in outputs}
    try:
        with catalog.open("rb") as file:
            document = json.loads(file.read(_MAX_CATALOG))
        names = {Path(entry["path"]).name for entry in document["skills"]}
    except (OSError, ValueError, RecursionError, KeyError, TypeError):
        return []
    return sorted(out_dir / name for name in names - written if name.endswith(".json") and (out_dir / name).is_file())


def json_file(document: Mapping[str, Json]) -> str:
    """Write a document as indented JSON, for people too."""
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _generation(skills: Iterable[SkillEntry], entries: Iterable[ToolEntry], files: SourceFiles) -> Generation:
    report = files.report
    tools = _tools(entries, report)
    records = [read_skill(entry, files) for entry in skills]
    _check_unique(records, report)
    manifests = [GeneratedManifest(record=record, document=make_manifest(record, tools, report)) for record in records]
    servers: dict[str, dict[str, StubTool]] = {}
    for (server, name), tool in sorted(tools.items()):
        servers.setdefault(server, {})[name] = tool
    return Generation(
        problems=tuple(report.problems),
        warnings=tuple(report.warnings),
        manifests=tuple(sorted(manifests, key=lambda manifest: manifest.record.manifest_id)),
        config=StubConfig(servers=servers),
    )


def _tools(entries: Iterable[ToolEntry], report: Report) -> dict[tuple[str, str], StubTool]:
    stub_tools: dict[tuple[str, str], StubTool] = {}
    first: dict[tuple[str, str], Located] = {}
    for entry in entries:
        key = (entry.server, entry.name)
        known = first.setdefault(key, entry.node)
        if known is not entry.node:
            message = f"The tool '{':'.join(key)[:160]}' is defined before, at {known.place}."
            report.refuse(entry.node.place, "duplicate_tool", message, "Keep one of them.")
            continue
        if isinstance(entry.node.value, dict) and "paramsSchema" not in entry.node.value:
            message = "The tool has no schema of its parameters."
            hint = 'Write one; {"type": "object", "properties": {}} says that it takes none.'
            report.refuse(entry.node.place, "missing_schema", message, hint)
        stub_tools[key] = read_tool(*key, entry.node, report)
    return stub_tools


def _check_unique(records: Iterable[SkillRecord], report: Report) -> None:
    """Report two skills with one id, or one name and version. Case is ignored, as some file systems ignore it."""
    seen: dict[str, SourcePlace] = {}
    for skill in records:
        for name in (skill.manifest_id.casefold(), f"{skill.name}@{skill.version}".casefold()):
            first = seen.setdefault(name, skill.place)
            if first is not skill.place:
                message = f"The skill '{name[:200]}' is written before, at {first}."
                report.refuse(skill.place, "duplicate_skill", message, "Keep one, or raise its version.")
                break
