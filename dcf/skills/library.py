"""Finds a skill's manifest by `skill://name@version`, `name@version`, id, file name, or in the JSON given instead.

Reads files only below the configured directory, whatever a caller names. Messages do not contain its path.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeVar

from dcf.core.documents.stored_values import objects_of
from dcf.errors import InvalidArgument, SkillUnknown
from dcf.skills.manifest import MAX_MANIFEST, Manifest, read_manifest
from dcf.values.json_text import Json
from dcf.values.records import record
from dcf.values.text_pieces import clip
from dcf.workflows.validation.files import ImportReader, Unreadable
from dcf.workflows.validation.manifests import SCHEME, aliases_of, look_up, manifests_in

MAX_MANIFESTS: Final = 2_000
"""Most files of a directory that are read."""

_MAX_REFERENCE: Final = 1_000

Value = TypeVar("Value")


@record(frozen=True, slots=True, kw_only=True)
class LibraryEntry:
    """A file of the directory as last read: its manifests, or the error."""

    path: str
    stamp: tuple[int, int]
    documents: tuple[dict[str, Json], ...] = ()
    error: str | None = None


@dataclass(slots=True, kw_only=True)
class Library:
    """The manifests of a directory (`*.json`, without subdirectories). Changed files are read again.

    `schema` replaces the JSON Schema of manifests that ships with dcf.
    """

    directory: Path
    schema: Mapping[str, Json] | None = None
    _entries: dict[str, LibraryEntry] = field(default_factory=dict)

    def entries(self) -> list[LibraryEntry]:
        """Return the files by name; raise InvalidArgument if the directory cannot be read."""
        known, entries = self._entries, {}
        for name, stamp in self._files():
            entry = known.get(name)
            entries[name] = entry if entry is not None and entry.stamp == stamp else self._read(name, stamp)
        self._entries = entries
        return [entries[name] for name in sorted(entries)]

    def resolve(self, reference: Json, imports: Iterable[Mapping[str, Json]] = ()) -> Manifest:
        """Return the manifest that a reference names. `imports`, a workflow's own manifests, are looked up first.

        Raise SkillUnknown, InvalidArgument (not readable) or InvalidDefinition (not a valid manifest).
        """
        return read_manifest(self.document(reference, imports), self.schema, "skill_json")

    def document(self, reference: Json, imports: Iterable[Mapping[str, Json]] = ()) -> Json:
        """Return the manifest that a reference names, without checking it."""
        if not isinstance(reference, str):
            return reference
        text = reference.strip()
        if text.startswith(("{", "[")):
            return text
        if not text or len(text) > _MAX_REFERENCE or not text.isprintable():
            raise InvalidArgument("skill_json is neither JSON nor the name of a skill.", _WRITE_A_NAME)
        entry = look_up(index_of(imports), text) or look_up(index_of(self._documents()), text)
        if entry is not None:
            return entry
        if text.startswith(SCHEME) or not _looks_like_a_path(text):
            raise SkillUnknown(clip(text))
        return self._file(text)

    def _documents(self) -> Iterator[dict[str, Json]]:
        entries = self.entries() if self.directory.is_dir() else []
        return (document for entry in entries for document in entry.documents)

    def _file(self, uri: str) -> Json:
        try:
            content = self._content(uri)
            documents = manifests_in(content) if isinstance(content, dict) and "skills" in content else [content]
        except Unreadable as error:
            raise InvalidArgument(f"The manifest file cannot be used: {error}", _WRITE_A_NAME) from None
        if len(documents) != 1:
            raise InvalidArgument("The file holds several manifests.", "Name one of them by skill://name@version.")
        return documents[0]

    def _content(self, uri: str) -> Json:
        """Read a file of the directory: named from there, or from here, as csv_to_manifests answers it."""
        reader = ImportReader(base=self.directory, left=MAX_MANIFEST)
        try:
            return reader.read(uri, None)[0]
        except Unreadable as error:
            from_here = Path(os.path.realpath(uri))
            if error.code != "import_not_found" or not from_here.is_relative_to(os.path.realpath(self.directory)):
                raise
            return reader.read(str(from_here), None)[0]

    def _files(self) -> Iterator[tuple[str, tuple[int, int]]]:
        try:
            with os.scandir(self.directory) as entries:
                names = sorted(entry.name for entry in entries if entry.name.endswith(".json"))
            for name in names[:MAX_MANIFESTS]:
                status = (self.directory / name).stat()
                yield name, (status.st_mtime_ns, status.st_size)
        except OSError:
            raise InvalidArgument(
                "The directory of skill manifests cannot be read.", "Generate the manifests, or set DCF_MANIFESTS_DIR."
            ) from None

    def _read(self, name: str, stamp: tuple[int, int]) -> LibraryEntry:
        path = str(self.directory / name)
        try:
            content, _ = ImportReader(base=self.directory, left=MAX_MANIFEST).read(name, None)
            return LibraryEntry(path=path, stamp=stamp, documents=tuple(manifests_in(content)))
        except Unreadable as error:
            return LibraryEntry(path=path, stamp=stamp, error=str(error))


def index_of(documents: Iterable[Mapping[str, Json]]) -> dict[str, Json]:
    """Index manifests by all their names; of several with one name the first counts."""
    index: dict[str, Json] = {}
    for document in documents:
        for alias in aliases_of(document):
            index.setdefault(alias, document)
    return index


def imported_manifests(definition: Mapping[str, Json], directory: Path) -> list[dict[str, Json]]:
    """Read the manifests that a workflow imports. Unreadable ones are left out; validation reports them."""
    reader, manifests = ImportReader(base=directory), list[dict[str, Json]]()
    for entry in objects_of(definition.get("skill_imports")):
        uri, integrity = entry.get("uri"), entry.get("integrity")
        if isinstance(uri, str):
            with suppress(Unreadable):
                content, _ = reader.read(uri, integrity if isinstance(integrity, str) else None)
                manifests += manifests_in(content)
    return manifests


_WRITE_A_NAME: Final = "Send the manifest as JSON, or its name as skill://name@version from `get_skillset`."


def _looks_like_a_path(text: str) -> bool:
    return text.startswith("file:") or text.endswith(".json") or "/" in text
