"""Skills as the catalogue shows them: read from the server's files each time, and kept nowhere else."""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from dcf.core.text.query import read_query
from dcf.core.text.stems import stem_of
from dcf.core.text.tokens import read_words, words_in
from dcf.errors import NotInCatalogue, SkillUnknown
from dcf.features.catalogue.model import CataloguedDefinition, DefinitionKind, Version, outside_definition
from dcf.skills.library import Library
from dcf.values.digest import definition_sha256
from dcf.values.json_text import Json, byte_length

SOURCE: Final = "skills"
_PART: Final = re.compile(r"[0-9]+|[^0-9.+-]+", re.ASCII)


def search(
    library: Library, text: str | None, tags: tuple[str, ...], keywords: tuple[str, ...]
) -> Iterator[tuple[CataloguedDefinition, int]]:
    """Yield the skills with all tags, any keyword and every word, each with its score; the best first, then by name."""
    query, any_of = read_query(text), {stem_of(word) for keyword in keywords for word in words_in(keyword)}
    hits: list[tuple[CataloguedDefinition, int]] = []
    for document in _documents(library):
        shown = _shown(document)
        words = read_words(
            [(shown.name, 8), (" ".join(shown.tags), 4), (shown.description, 2), (_directives(document), 1)]
        )
        score = query.score(dict(words.found_by), words.sequence)
        is_wanted = set(tags) <= set(shown.tags) and (not keywords or any_of & words.found_by.keys())
        if score is not None and is_wanted:
            hits.append((shown, score))
    yield from sorted(hits, key=lambda hit: (-hit[1], hit[0].name, hit[0].newest.version))


def read(library: Library, name: str, version: str | None) -> tuple[CataloguedDefinition, Json]:
    """Return a skill by its name, its manifestId or `name@version`, with its manifest. Raise NotInCatalogue.

    Of several versions the newest that is no pre-release, where no version is asked for.
    """
    try:
        document = library.document(name if version is None else f"{name}@{version}")
    except SkillUnknown:
        document = None if version is not None else _newest(library, name)
    if not isinstance(document, dict):
        raise NotInCatalogue(DefinitionKind.SKILL, name)
    return _shown(document), document


def _newest(library: Library, name: str) -> Json:
    versions = [document for document in _documents(library) if document.get("skillName") == name]
    return max(versions, key=lambda version: _order(str(version.get("skillVersion"))), default=None)


def _order(version: str) -> tuple[bool, list[tuple[int, str]]]:
    parts = [(int(part), "") if part.isdecimal() else (-1, part) for part in _PART.findall(version)]
    return "-" not in version, parts


def _documents(library: Library) -> list[dict[str, Json]]:
    entries = library.entries() if library.directory.is_dir() else []
    return [document for entry in entries for document in entry.documents]


def _shown(document: Mapping[str, Json]) -> CataloguedDefinition:
    name, version = (document.get(name) for name in ("skillName", "skillVersion"))
    tags = document.get("tags")
    description = document.get("description")
    label = Version(
        version=version if isinstance(version, str) else "",
        sha256=definition_sha256(dict(document)),
        at=0,
        author=SOURCE,
    )
    return outside_definition(
        DefinitionKind.SKILL,
        name if isinstance(name, str) else str(document["manifestId"]),
        label,
        SOURCE,
        description=description if isinstance(description, str) else "",
        tags=tuple(tag for tag in tags if isinstance(tag, str)) if isinstance(tags, list) else (),
        size=byte_length(dict(document)),
    )


def _directives(document: Mapping[str, Json]) -> str:
    directives = document.get("skillDirectives")
    return directives if isinstance(directives, str) else ""
