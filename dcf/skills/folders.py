"""Writes skills as Agent Skills folders (SKILL.md and references/*.md), for clients that read skills as files.

Pure, except that it reads the library. A folder cannot express all of a manifest: dcf handles tools and permissions, so
a folder only names its tools.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from dcf.errors import DcfError
from dcf.skills.library import Library, LibraryEntry
from dcf.skills.manifest import Manifest, read_manifest
from dcf.values.json_text import Json, dump
from dcf.values.records import record

MAIN: Final = "SKILL.md"
_LONGEST_NAME: Final = 64
_LONGEST_DESCRIPTION: Final = 1024
_DIGITS: Final = re.compile(r"\d+")


@record(frozen=True, slots=True, kw_only=True)
class SkillFolder:
    """A skill as files, by their paths inside the folder. `frontmatter` is that of SKILL.md."""

    name: str
    description: str
    frontmatter: Mapping[str, Json]
    files: Mapping[str, str]

    def uri(self, path: str = MAIN) -> str:
        """Return the address of a file."""
        return f"skill://{self.name}/{path}"

    def entry(self) -> dict[str, Json]:
        """Return the entry of a list of skills: every file with the digest and size of its bytes."""
        listed = [{"uri": self.uri(path), **_sum_of(text)} for path, text in self.files.items()]
        return {"uri": self.uri(), "frontmatter": dict(self.frontmatter), "resources": listed}


@dataclass(slots=True)
class SkillFolders:
    """The skills of a library as folders: of each name the newest version. Unchanged files are not written again."""

    library: Library
    _known: dict[tuple[str, tuple[int, int]], tuple[tuple[Manifest, SkillFolder], ...]] = field(default_factory=dict)

    def all(self) -> list[SkillFolder]:
        """Return the folders by name. Manifests that are not valid are left out; `get_skillset` tells what is wrong."""
        entries = self.library.entries() if self.library.directory.is_dir() else []
        self._known = {(entry.path, entry.stamp): self._read(entry) for entry in entries}
        newest: dict[str, tuple[Manifest, SkillFolder]] = {}
        for newest_skill in (skill for several in self._known.values() for skill in several):
            before = newest.get(newest_skill[1].name)
            if before is None or _age(before[0].version) < _age(newest_skill[0].version):
                newest[newest_skill[1].name] = newest_skill
        return [newest[name][1] for name in sorted(newest)]

    def find(self, uri: str) -> tuple[SkillFolder, str] | None:
        """Return the folder and the path of a file in it, by its address."""
        for folder in self.all():
            path = uri.removeprefix(folder.uri(""))
            if path in folder.files and uri != path:
                return folder, path
        return None

    def _read(self, entry: LibraryEntry) -> tuple[tuple[Manifest, SkillFolder], ...]:
        known = self._known.get((entry.path, entry.stamp))
        return tuple(_folders(entry, self.library.schema)) if known is None else known


def folder_of(manifest: Manifest) -> SkillFolder | None:
    """Write a skill as a folder; None if nothing of its name can be part of a folder's name."""
    name = re.sub(r"[^a-z0-9]+", "-", manifest.name.lower()).strip("-")[:_LONGEST_NAME].rstrip("-")
    if not name:
        return None
    description = (manifest.description or f"The skill {manifest.name}.")[:_LONGEST_DESCRIPTION]
    metadata = {"manifestId": manifest.manifest_id, "version": manifest.version}
    frontmatter: dict[str, Json] = {"name": name, "description": description, "metadata": metadata}
    references = {
        f"references/{source.source_id}.md": source.text for source in manifest.data if _is_plain(source.source_id)
    }
    parts = (
        _head(frontmatter),
        manifest.directives.strip(),
        _section("Tools", [f"`{tool.name}`: {tool.description}" for tool in manifest.tools]),
        _section("References", [f"[{path}]({path})" for path in references]),
    )
    files = {MAIN: "\n\n".join(filter(None, parts)) + "\n", **references}
    return SkillFolder(name=name, description=description, frontmatter=frontmatter, files=files)


def _folders(entry: LibraryEntry, schema: Mapping[str, Json] | None) -> Iterator[tuple[Manifest, SkillFolder]]:
    for document in entry.documents:
        try:
            manifest = read_manifest(document, schema)
        except DcfError:
            continue
        folder = folder_of(manifest)
        if folder is not None:
            yield manifest, folder


def _head(frontmatter: Mapping[str, Json]) -> str:
    """Write the frontmatter; texts are quoted as in JSON, which YAML reads."""
    return "\n".join(["---", *_lines(frontmatter, ""), "---"])


def _lines(members: Mapping[str, Json], indent: str) -> Iterator[str]:
    for name, value in members.items():
        if isinstance(value, dict):
            yield f"{indent}{name}:"
            yield from _lines(value, f"{indent}  ")
        else:
            yield f"{indent}{name}: {dump(value)}"


def _section(title: str, lines: Sequence[str]) -> str:
    return "\n".join([f"## {title}", "", *(f"- {line}" for line in lines)]) if lines else ""


def _is_plain(name: str) -> bool:
    """Return True for a name that can be used unchanged in a path and an address."""
    return re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]*", name) is not None


def _age(version: str) -> tuple[tuple[int, ...], str]:
    return tuple(map(int, _DIGITS.findall(version))), version


def _sum_of(text: str) -> dict[str, Json]:
    content = text.encode("utf-8")
    return {"digest": f"sha256:{hashlib.sha256(content).hexdigest()}", "size": len(content)}
