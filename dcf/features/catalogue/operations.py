"""The operations on the catalogue of definitions. Names what is read, and what decides.

A definition is an entry of a text index with the content of its newest version. Before a newer one takes its place, its
content is kept in an entry of its own, so that no version is lost whenever a process dies: at worst the newest is kept
twice. Workflows that runs were started from (`store/lists/definitions.py`) and skills (`skills/library.py`) are shown
where they are, and not copied: of the former the index has a reference to find it by.
"""

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Final, TypeAlias

from dcf.core.definitions.forms import asl_of
from dcf.core.definitions.model import Definition, read_definition
from dcf.core.lifecycle.starting import Reference
from dcf.core.listing.cursors import unknown_cursor
from dcf.core.text.entries import SearchPage, TextEntry, TextSearch, combined, read_page
from dcf.core.text.query import read_query
from dcf.core.text.tokens import Words, read_words
from dcf.errors import Conflict, NotInCatalogue
from dcf.features.catalogue import skills as catalogued_skills
from dcf.features.catalogue.model import (
    EVERYBODY,
    MOST_DEFINITIONS,
    CataloguedDefinition,
    DefinitionKind,
    NewDefinition,
    Owner,
    Version,
    body_id,
    check_definition,
    entry_id,
    next_definition,
    outside_definition,
    pin_of,
    read_definition_ref,
    read_stored_definition,
    taken_version,
    write_definition,
)
from dcf.features.catalogue.search import KEPT_OWNER, DefinitionQuery, applies, as_definition_entry
from dcf.features.findings.refusals import CATALOGUE_FULL, KEPT_ELSEWHERE, VERSION_EXISTS
from dcf.skills.library import Library
from dcf.store.connection.connections import Connections
from dcf.store.lists.definitions import KEPT_S, KeptDefinitions
from dcf.store.text_index.index import Full, Stored, TextIndex
from dcf.values.digest import content_fingerprint
from dcf.values.instants import SECOND
from dcf.values.json_text import Json, byte_length, load
from dcf.values.records import record
from dcf.values.refusal import Refusal

INDEX: Final = "catalogue"
KEPT: Final = "kept"
"""Source of a workflow that runs were started from."""

_NUMBER: Final = re.compile(r"[0-9]{1,6}\Z", re.ASCII)
_TRIES: Final = 20
_MOST_RULES: Final = 1000
"""Rules that are looked at for the files that they are for."""


@record(frozen=True, slots=True, kw_only=True)
class DefinitionKept:
    """A definition that is in the catalogue now; `changed`: this call made a version of it."""

    definition: CataloguedDefinition
    changed: bool


@record(frozen=True, slots=True, kw_only=True)
class DefinitionFound:
    """A definition in one of its versions, with its content."""

    definition: CataloguedDefinition
    version: Version
    content: Json


DefinitionsPage: TypeAlias = SearchPage[tuple[CataloguedDefinition, int]]
"""A page of definitions with their scores."""


class DefinitionCatalogue:
    """The catalogue of one Redis. `kept` are the workflows that runs were started from, `skills` the skills' files."""

    def __init__(
        self,
        connections: Connections,
        kept: KeptDefinitions,
        skills: Library,
        *,
        wait_replicas: int = 0,
        most: int = MOST_DEFINITIONS,
    ) -> None:
        self._index = TextIndex(connections, INDEX, most=most, expires=True, wait_replicas=wait_replicas)
        self._kept = kept
        self._skills = skills

    def put(self, wish: NewDefinition) -> DefinitionKept | Refusal:
        """Keep a definition. With the content of the newest version it makes no other one."""
        check_definition(wish)
        if wish.kind is DefinitionKind.SKILL:
            return KEPT_ELSEWHERE.refuse()
        for _ in range(_TRIES):
            stored, now = self._index.get(wish.entry_id)
            there = None if stored is None else read_stored_definition(stored.document)
            taken = taken_version(wish, there)
            if taken is not None:
                return VERSION_EXISTS.refuse(name=wish.name, version=taken.version)
            made = next_definition(wish, there, now)
            is_new = there is None or made.versions != there.versions
            if made == there:
                return DefinitionKept(definition=made, changed=False)
            outcome = self._replace(made, wish.content, stored, there if is_new else None)
            if outcome is None:
                self._drop_oldest(there, made)
                return DefinitionKept(definition=made, changed=is_new)
            if isinstance(outcome, Full):
                return CATALOGUE_FULL.refuse(most=outcome.most)
            if isinstance(outcome, Refusal):
                return outcome
        raise Conflict("Others kept changing the same definition; nothing was written.")

    def get(
        self,
        kind: DefinitionKind,
        name: str,
        *,
        version: str | None = None,
        sha256: str | None = None,
        project: str | None = None,
        session: str | None = None,
        with_kept: bool = True,
    ) -> DefinitionFound:
        """Return a definition: the session's, else the project's, else that for everybody. Raise NotInCatalogue."""
        if kind is DefinitionKind.SKILL:
            there, content = catalogued_skills.read(self._skills, name, version)
            return DefinitionFound(definition=there, version=there.newest, content=content)
        owners = [Owner(project=project, session=session), Owner(project=project), EVERYBODY]
        ids = list(dict.fromkeys(entry_id(kind, name, owner) for owner in owners))
        stored_all, now = self._index.get_all(ids)
        for stored in stored_all:
            if stored is None:
                continue
            there = read_stored_definition(stored.document)
            chosen = there.version(version, sha256)
            if chosen is not None and (there.until is None or there.until > now):
                return self._whole(there, chosen, stored)
        if kind is DefinitionKind.WORKFLOW:
            reference = Reference(name=name, version=version) if sha256 is None else Reference(sha256=sha256)
            for kept_in in dict.fromkeys((*([project] if project else []), *([None] if with_kept else []))):
                document = self._kept.find(reference, kept_in)
                if document is not None:
                    there = _of_workflow(read_definition(document), 0, owner=Owner(project=kept_in))
                    return DefinitionFound(definition=there, version=there.newest, content=document)
        raise NotInCatalogue(str(kind), name)

    def pin(self, reference: str | None, project: str | None) -> dict[str, Json] | None:
        """Return what a run keeps of the definition that a reference names now. Raise NotInCatalogue."""
        if reference is None:
            return None
        kind, name, version = read_definition_ref(reference)
        pinned = self.get(kind, name, version=version, project=project)
        return pin_of(pinned.definition, pinned.version)

    def search(self, query: DefinitionQuery) -> DefinitionsPage:
        """Return a page: the best first, without words the newest. Raise InvalidArgument for a foreign cursor."""
        if query.kind is DefinitionKind.SKILL:
            return _paged([*catalogued_skills.search(self._skills, query.text, query.tags, query.keywords)], query)
        if query.file_types:
            return self._rules(query)
        text_search = TextSearch(
            limit=query.limit,
            query=read_query(query.text),
            filters=query.filters,
            offset=query.offset,
            cursor=query.cursor,
        )
        return read_page(self._index.search(text_search), read_stored_definition)

    def contents(self, definitions: Iterable[CataloguedDefinition]) -> list[Json]:
        """Return the contents of the newest versions of definitions; None if one is deleted, or kept elsewhere."""
        ids = [definition.entry_id for definition in definitions]
        entries = self._index.get_all(ids)[0] if ids else []
        return [None if stored is None or not stored.body else load(stored.body) for stored in entries]

    def delete(self, kind: DefinitionKind, name: str, owner: Owner) -> bool:
        """Delete a definition with all its versions; return False if it was gone already."""
        stored, _ = self._index.get(entry_id(kind, name, owner))
        if stored is None:
            return False
        there = read_stored_definition(stored.document)
        existed = self._index.remove(there.entry_id)
        for version in there.versions:
            self._index.remove(body_id(there, version.sha256))
        return existed

    def list_kept(self, definition: Definition, project: str | None = None) -> None:
        """Enter the reference to a workflow that was kept; it goes when the workflow does, unless renewed.

        A full catalogue keeps no run from being started: the workflow is then found by its name only.
        """
        now = self._index.now()
        owner = Owner(project=project)
        catalogued_definition = _of_workflow(definition, now, now + KEPT_S * SECOND, owner)
        whose = KEPT_OWNER if project is None else owner.key
        name = definition.name if project is None else f"{definition.name}\n{whose}"
        texts = [
            (catalogued_definition.name, 8),
            (catalogued_definition.description, 2),
            (" ".join(definition.skills), 1),
        ]
        entry = TextEntry(
            entry_id="k-" + content_fingerprint(name),
            at=now,
            document=write_definition(catalogued_definition),
            words=read_words(texts),
            facets={**combined({"kind": catalogued_definition.kind, "of": whose}), "always": ("no",)},
            until=catalogued_definition.until,
        )
        self._index.put(entry, replaces="any", is_counted=False)

    def _replace(
        self, made: CataloguedDefinition, content: Json, stored: Stored | None, replaced: CataloguedDefinition | None
    ) -> object:
        """Write a definition in place of the one that was read, after the content of the version that it replaces."""
        if stored is not None and replaced is not None:
            was_put = self._index.put(_body(replaced, stored.body), replaces="any")
            if was_put is not None:
                return was_put
        revision = 1 if stored is None else stored.revision + 1
        before = None if stored is None else stored.revision
        return self._index.put(as_definition_entry(made, content, revision), replaces=before)

    def _drop_oldest(self, before: CataloguedDefinition | None, made: CataloguedDefinition) -> None:
        """Remove the contents of versions that are no longer listed."""
        listed = {item.sha256 for item in made.versions}
        for version in () if before is None else before.versions:
            if version.sha256 not in listed:
                self._index.remove(body_id(made, version.sha256))

    def _whole(self, there: CataloguedDefinition, version: Version, stored: Stored) -> DefinitionFound:
        if version.sha256 == there.newest.sha256:
            return DefinitionFound(definition=there, version=version, content=load(stored.body))
        older, _ = self._index.get(body_id(there, version.sha256))
        if older is None:
            raise NotInCatalogue(str(there.kind), there.name)
        was = read_stored_definition(older.document)
        return DefinitionFound(definition=was, version=version, content=load(older.body))

    def _rules(self, query: DefinitionQuery) -> DefinitionsPage:
        """Return the definitions for these files: of the newest of those that the other filters find."""
        text_search = TextSearch(limit=_MOST_RULES, query=read_query(query.text), filters=query.filters)
        page = read_page(self._index.search(text_search), read_stored_definition)
        fit = [rule for rule in page.hits if applies(rule[0], query.file_types, query.always_apply)]
        return replace(_paged(fit, query), exact=page.next_cursor is None)


def _paged(definitions: list[tuple[CataloguedDefinition, int]], query: DefinitionQuery) -> DefinitionsPage:
    """Return a page of a list that is whole."""
    begin = query.offset if query.cursor is None else _number(query.cursor)
    end = begin + query.limit
    further = str(end) if definitions[end:] else None
    return SearchPage(hits=tuple(definitions[begin:end]), total=len(definitions), next_cursor=further)


def _number(cursor: str) -> int:
    if not _NUMBER.match(cursor):
        raise unknown_cursor()
    return int(cursor)


def _body(definition: CataloguedDefinition, body: str) -> TextEntry:
    """Return the entry that keeps the content of a version which is no longer the newest; no search finds it."""
    return TextEntry(
        entry_id=body_id(definition, definition.newest.sha256),
        at=definition.newest.at,
        document=write_definition(definition),
        words=Words(),
        until=definition.until,
        body=body,
    )


def _of_workflow(
    definition: Definition, at: int, until: int | None = None, owner: Owner = EVERYBODY
) -> CataloguedDefinition:
    """Return what the catalogue shows of a workflow that is kept."""
    comment = asl_of(dict(definition.document)).get("Comment")
    return outside_definition(
        DefinitionKind.WORKFLOW,
        definition.name,
        Version(version=definition.version or "", sha256=definition.sha256, at=at, author=KEPT),
        KEPT,
        description=comment if isinstance(comment, str) else "",
        size=byte_length(definition.identity),
        until=until,
        owner=owner,
    )
