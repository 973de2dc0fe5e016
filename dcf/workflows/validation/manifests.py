"""Reads files of skill manifests, and defines the names of a skill: the only rule for every look-up.

Used to validate workflows, to load skills (`dcf.workforce.skills`), and to find the skills that a Task needs.
"""

from collections.abc import Iterator, Mapping
from typing import TypeVar

from dcf.values.json_text import Json
from dcf.workflows.validation.files import Unreadable

SCHEME = "skill://"

Value = TypeVar("Value")


def manifests_in(content: Json) -> list[dict[str, Json]]:
    """Return the manifests in a file: a single one, or `{"skills": [...]}`; raise Unreadable."""
    several = content.get("skills") if isinstance(content, dict) else None
    entries = several if isinstance(several, list) else [content] if several is None else []
    manifests = [entry for entry in entries if isinstance(entry, dict) and _has_id(entry)]
    if not manifests or len(manifests) < len(entries):
        raise Unreadable("import_not_usable", "The file holds something that is no skill manifest with a manifestId.")
    return manifests


def aliases_of(manifest: Mapping[str, Json]) -> Iterator[str]:
    """Yield the names of a skill: its manifestId, its package with and without version, and its name."""
    version = manifest.get("skillVersion")
    package, name = (manifest.get(key) for key in ("skillPackageId", "skillName"))
    yield manifest["manifestId"]
    if isinstance(package, str) and package:
        yield package
        yield f"{SCHEME}{package}@{version}"
    if isinstance(name, str) and name:
        versioned = f"{name}@{version}"
        yield from dict.fromkeys((versioned, versioned.lower(), f"{SCHEME}{versioned}"))


def look_up(index: Mapping[str, Value], reference: str) -> Value | None:
    """Return the skill of a name: by the exact name, or else by name and version in any case."""
    for spelling in (reference, reference.lower(), reference.removeprefix(SCHEME).lower()):
        if spelling in index:
            return index[spelling]
    return None


def _has_id(manifest: Mapping[str, Json]) -> bool:
    return isinstance(manifest.get("manifestId"), str) and bool(manifest["manifestId"])
