"""Reads definitions of the catalogue from a directory: Markdown with front matter, and jobs (`job_files`).

`agents/**/*.md` are personas, `rules/**/*.md` rules, `workflows/**/*.md` workflows, and
`contracts/**/*.schema.json` JSON Schemas of the profile `midex`. A file with a problem is left out, and all of its
problems are reported. No file is left out silently. This module must not write files.
"""

from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import Final

from dcf.authoring import job_files
from dcf.authoring.files import MAX_FILE, SourceFiles
from dcf.authoring.front_matter import split
from dcf.core.documents.stored_values import list_of
from dcf.errors import InvalidArgument
from dcf.features.catalogue.model import (
    LONGEST_DESCRIPTION,
    LONGEST_LABEL,
    LONGEST_NAME,
    LONGEST_VERSION,
    DefinitionKind,
    NewDefinition,
    Owner,
    check_definition,
)
from dcf.values.located import Located, LocatedFields, Report, SourcePlace, SourceProblem, read_json
from dcf.values.records import record

AUTHOR: Final = "files"

_FOLDERS: Final = {
    "agents": DefinitionKind.PERSONA,
    "rules": DefinitionKind.RULE,
    "workflows": DefinitionKind.WORKFLOW,
}
_CONTRACTS: Final = "contracts"
_SCHEMA: Final = ".schema.json"
_COMPLEXITIES: Final = ("simple", "moderate", "high")
_LABELS: Final = ("name", "description", "version", "tags", "keywords", "globs", "fileTypes", "complexity")
_KNOWN: Final = (*_LABELS, "alwaysApply", "phases")
_PHASE: Final = ("phase", "agent", "description", "dependsOn", "allowParallel")
_MOST_PHASES: Final = 100
_LONGEST_PHASE: Final = 100


@record(frozen=True, slots=True, kw_only=True)
class CatalogueSources:
    """The definitions of a directory, and all problems of the files that are left out."""

    definitions: tuple[NewDefinition, ...]
    problems: tuple[SourceProblem, ...]
    warnings: tuple[str, ...]


def read_catalogue(root: Path, owner: Owner) -> CatalogueSources:
    """Read all definitions below a directory, for everybody or for a project."""
    definitions: list[NewDefinition] = []
    problems: list[SourceProblem] = []
    warnings: list[str] = []

    def take(name: str, read: Callable[[SourceFiles, str], NewDefinition | None], base: Path) -> None:
        report = Report()
        made = read(SourceFiles(base, report), name)
        if made is not None and not report.problems:
            made = _checked(made, name, report)
        if made is not None and not report.problems:
            definitions.append(made)
        problems.extend(report.problems)
        warnings.extend(report.warnings)

    listing = SourceFiles(root, Report())
    for folder, kind in _FOLDERS.items():
        for name in listing.find(f"{folder}/**/*.md"):
            take(name, lambda files, name, kind=kind: _read_markdown(files, name, kind, owner), root)  # type: ignore[misc]
    for name in listing.find(f"{_CONTRACTS}/**/*{_SCHEMA}"):
        take(name, lambda files, name: _read_contract(files, name, owner), root)
    jobs = root / job_files.HIDDEN
    for name in SourceFiles(jobs, listing.report).find(job_files.PATTERN):
        take(name, lambda files, fields: job_files.read_job(files, fields, owner), jobs)
    problems.extend(listing.report.problems)
    problems.extend(_twice(definitions))
    if not definitions and not problems:
        message = "The directory holds no definitions."
        hint = (
            "Write agents/NAME.md, rules/NAME.md, workflows/NAME.md, contracts/NAME.schema.json, or "
            ".deepwork/jobs/NAME/job.yml."
        )
        place = SourcePlace(root.name or ".")
        problems.append(SourceProblem(place=place, code="no_sources", message=message, hint=hint))
    return CatalogueSources(definitions=tuple(definitions), problems=tuple(problems), warnings=tuple(warnings))


def _read_contract(files: SourceFiles, name: str, owner: Owner) -> NewDefinition | None:
    text = files.read(name)
    document = None if text is None else read_json(text, SourcePlace(name), files.report, max_bytes=MAX_FILE)
    if document is None:
        return None
    contract = PurePosixPath(name).name.removesuffix(_SCHEMA)
    return NewDefinition(
        kind=DefinitionKind.CONTRACT, name=contract, content=document.plain(), author=AUTHOR, owner=owner, source=name
    )


def _read_markdown(files: SourceFiles, name: str, kind: DefinitionKind, owner: Owner) -> NewDefinition | None:
    text = files.read(name)
    parts = None if text is None else split(text, name, files.report)
    if parts is None:
        return None
    front, body = parts
    everything = tuple(front.value) if isinstance(front.value, dict) else ()
    fields = LocatedFields(front, files.report, (*_KNOWN, *everything))
    more = {name: part.plain() for name, part in fields.members.items() if name not in _KNOWN}
    phases = [_phase(phase, files.report) for phase in fields.items("phases", most=_MOST_PHASES)]
    _check_phases(phases, fields)
    return NewDefinition(
        kind=kind,
        name=fields.text("name", PurePosixPath(name).stem, longest=LONGEST_NAME),
        content=body.value,
        author=AUTHOR,
        owner=owner,
        version=fields.text("version", longest=LONGEST_VERSION) or None,
        description=fields.text("description", longest=LONGEST_DESCRIPTION),
        tags=fields.texts("tags", longest=LONGEST_LABEL),
        keywords=fields.texts("keywords", longest=LONGEST_LABEL),
        globs=fields.texts("globs" if "globs" in fields else "fileTypes", longest=LONGEST_LABEL),
        always_apply=fields.flag("alwaysApply", default=False),
        complexity=fields.choice("complexity", _COMPLEXITIES, "moderate") if kind is DefinitionKind.WORKFLOW else None,
        attributes={**more, **({"phases": phases} if phases else {})},
        source=name,
        relabel=True,
    )


def _phase(node: Located, report: Report) -> dict[str, object]:
    fields = LocatedFields(node, report, _PHASE)
    fields.require("phase", "agent")
    return {
        "phase": fields.text("phase", longest=_LONGEST_PHASE),
        "agent": fields.text("agent", longest=LONGEST_NAME),
        "description": fields.text("description", longest=500),
        "dependsOn": list(fields.texts("dependsOn", longest=_LONGEST_PHASE)),
        "allowParallel": fields.flag("allowParallel", default=True),
    }


def _check_phases(phases: list[dict[str, object]], fields: LocatedFields) -> None:
    """Report phases of the same name, and those that wait for what is no phase or for each other."""
    names = [str(phase["phase"]) for phase in phases]
    needs = {str(phase["phase"]): [str(need) for need in list_of(phase["dependsOn"])] for phase in phases}
    place = fields.place_of("phases")
    for name in sorted({name for name in names if names.count(name) > 1}):
        fields.report.refuse(place, "twice", f"There are two phases '{name}'.", "Rename one of them.")
    for name, needed in needs.items():
        for need in sorted(set(needed) - set(names)):
            fields.report.refuse(
                place, "unknown_phase", f"Phase '{name}' depends on '{need}', which is none.", "Correct dependsOn."
            )
    circle = job_files.circle_in(needs)
    if circle is not None:
        fields.report.refuse(place, "circle", f"Phase '{circle}' waits for itself.", "Remove a dependsOn.")


def _checked(made: NewDefinition, name: str, report: Report) -> NewDefinition | None:
    """Return the definition if the catalogue would take it; otherwise report why not."""
    try:
        return check_definition(made)
    except InvalidArgument as error:
        report.refuse(SourcePlace(name), error.code, error.message, error.hint or "Correct the file.")
        return None


def _twice(definitions: list[NewDefinition]) -> list[SourceProblem]:
    """Return a problem for each file with a name that another one of its kind has."""
    seen: dict[tuple[str, str], str | None] = {}
    problems = []
    for document in definitions:
        first = seen.setdefault((str(document.kind), document.name), document.source)
        if first != document.source:
            message = f"{document.source} and {first} are both the {document.kind} '{document.name}'."
            place = SourcePlace(document.source or "")
            problems.append(SourceProblem(place=place, code="twice", message=message, hint="Rename one of them."))
    return problems
