"""Lists the skill manifests of a directory or a catalogue, including invalid ones. It must not write files."""

from collections.abc import Iterator, Mapping
from dataclasses import field
from pathlib import Path
from typing import Final

from dcf.core.documents.stored_values import list_of, object_of, text_of
from dcf.errors import InvalidArgument
from dcf.skills.library import Library
from dcf.skills.manifest import MAX_MANIFEST, judge
from dcf.values.json_text import Json
from dcf.values.records import record
from dcf.workflows.validation.files import ImportReader, Unreadable
from dcf.workflows.validation.manifests import aliases_of, manifests_in

_CUT: Final = "\N{HORIZONTAL ELLIPSIS}"
_MAX_ERRORS: Final = 10
_NEEDED: Final = ("manifestId", "skillName", "skillVersion")


@record(frozen=True, slots=True, kw_only=True)
class Skillset:
    """The items, sorted by name, version and id, and warnings about entries of the catalogue."""

    items: list[dict[str, Json]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def list_directory(library: Library, schema: Mapping[str, Json] | None, preview: int | None) -> Skillset:
    """List the manifests of a directory, with the first `preview` characters of their directives; None for none."""
    skillset = Skillset()
    for entry in library.entries():
        name = Path(entry.path).name
        if entry.error is not None:
            skillset.items.append(_broken(name, entry.error))
        skillset.items.extend(_item(document, name, schema, preview) for document in entry.documents)
    skillset.items.sort(key=_order)
    return skillset


def list_catalog(catalog: Path, root: Path, schema: Mapping[str, Json] | None, preview: int | None) -> Skillset:
    """List the manifests in a catalogue; their files must be below `root` or the directory of the catalogue."""
    reader = ImportReader(base=catalog.parent, others=(root,))
    try:
        content, _ = reader.read(catalog.name, None)
    except Unreadable as error:
        raise InvalidArgument(f"The catalogue cannot be used: {error}", _SET_CATALOG) from None
    skills = content.get("skills") if isinstance(content, dict) else None
    if not isinstance(skills, list):
        raise InvalidArgument("Catalog missing 'skills' array.", _SET_CATALOG)
    skillset = Skillset()
    for at, entry in enumerate(skills):
        path = entry.get("path") if isinstance(entry, dict) else None
        if not isinstance(path, str) or not path:
            skillset.warnings.append(f"Entry {at} of the catalogue names no path.")
            continue
        skillset.items.extend(_catalogued(reader, path, schema, preview))
    skillset.items.sort(key=_order)
    return skillset


_SET_CATALOG: Final = "Generate the catalogue, or set DCF_SKILLS_CATALOG; `get_skillset` needs none."


def _catalogued(
    reader: ImportReader, path: str, schema: Mapping[str, Json] | None, preview: int | None
) -> Iterator[dict[str, Json]]:
    try:
        content, _ = ImportReader(base=reader.base, others=reader.others, left=MAX_MANIFEST).read(path, None)
        documents = manifests_in(content)
    except Unreadable as error:
        yield _broken(path, str(error))
        return
    for document in documents:
        yield _item(document, path, schema, preview)


def _item(
    document: Mapping[str, Json], path: str, schema: Mapping[str, Json] | None, preview: int | None
) -> dict[str, Json]:
    judgement = judge(dict(document), schema)
    missing = [name for name in _NEEDED if not isinstance(document.get(name), str)]
    errors = [f"{problem.path or '<root>'}: {problem.message}" for problem in judgement.problems[:_MAX_ERRORS]]
    return _facts(document, path) | {
        "aliases": [] if missing else list(dict.fromkeys(aliases_of(document))),
        "directives_preview": None if preview is None else _preview(document.get("skillDirectives"), preview),
        "valid_schema": judgement.ok,
        "errors": [f"Missing required fields: {', '.join(missing)}", *errors] if missing else errors,
        "warnings": list(judgement.warnings),
    }


def _broken(path: str, error: str) -> dict[str, Json]:
    return _facts({}, path) | {"errors": [f"ManifestLoadError: {error}"]}


def _facts(document: Mapping[str, Json], path: str) -> dict[str, Json]:
    """Return what is known of a manifest before it was checked."""
    tools, data = list_of(document.get("requiredTools")), list_of(document.get("requiredDataSources"))
    permissions = object_of(document.get("permissions"))
    return {
        **{name: document.get(name) for name in ("manifestId", "skillPackageId", "skillName", "skillVersion")},
        "manifestApiVersion": document.get("manifestApiVersion"),
        "aliases": [],
        "description": text_of(document.get("description")),
        "tags": list_of(document.get("tags")),
        "permissions": {"egress": permissions.get("egress", "none"), "secrets": list_of(permissions.get("secrets"))},
        "toolNames": [tool.get("toolName") for tool in tools if isinstance(tool, dict)],
        "toolCount": len(tools),
        "dataSourceCount": len(data),
        "directives_preview": None,
        "path": path,
        "valid_schema": False,
        "errors": [],
        "warnings": [],
    }


def _preview(directives: Json, length: int) -> str:
    line = " ".join(text_of(directives).split())
    return line if len(line) <= length else line[:length] + _CUT


def _order(item: Mapping[str, Json]) -> tuple[str, str, str]:
    name, version, ident = (text_of(item[key]) for key in ("skillName", "skillVersion", "manifestId"))
    return name.lower(), version, ident
