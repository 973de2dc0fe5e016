"""How definitions of the catalogue are found: by words, by whose they are, and rules by their files. Pure."""

from fnmatch import fnmatchcase
from typing import Final

from dcf.core.text.entries import FacetFilter, TextEntry, combined, combined_filter
from dcf.core.text.tokens import read_words, words_in
from dcf.features.catalogue.model import EVERYBODY, CataloguedDefinition, DefinitionKind, Owner, write_definition
from dcf.values.json_text import Json, dump
from dcf.values.records import record
from dcf.values.secret_shapes import redact

_NAME_WEIGHT: Final = 8
_LABEL_WEIGHT: Final = 4
_DESCRIPTION_WEIGHT: Final = 2
_CONTENT_WEIGHT: Final = 1
_MOST_TEXTS: Final = 2_000


def as_definition_entry(definition: CataloguedDefinition, content: Json, revision: int) -> TextEntry:
    """Return the entry of the text index that a definition is. No secret of a known shape is among its words."""
    texts = [
        (definition.name, _NAME_WEIGHT),
        (" ".join((*definition.tags, *definition.keywords)), _LABEL_WEIGHT),
        (definition.description, _DESCRIPTION_WEIGHT),
        (" ".join(_texts(content)), _CONTENT_WEIGHT),
    ]
    texts = [(redact(text).value, weight) for text, weight in texts]
    facets = {
        **combined({"kind": definition.kind, "of": definition.owner.key}),
        "tag": definition.tags,
        "always": ("yes" if definition.always_apply else "no",),
        "complexity": () if definition.complexity is None else (definition.complexity,),
    }
    return TextEntry(
        entry_id=definition.entry_id,
        at=definition.newest.at,
        document=write_definition(definition),
        words=read_words(texts),
        facets=facets,
        until=definition.until,
        revision=revision,
        body=dump(content),
    )


KEPT_OWNER: Final = "kept"
"""The value of the facet that says whose a definition is, for workflows that runs of no project were started from.

Those that runs of a project were started from are the project's own.
"""


def seen_by(
    project: str | None, session: str | None, kind: DefinitionKind | None, *, with_kept: bool
) -> tuple[FacetFilter, ...]:
    """Return the filter for what somebody of a project and a session sees, of a kind or of all."""
    owners = [Owner(project=project, session=session), Owner(project=project), EVERYBODY]
    keys = (*dict.fromkeys(owner.key for owner in owners), *([KEPT_OWNER] if with_kept else []))
    return combined_filter({"of": keys, "kind": () if kind is None else (str(kind),)})


def applies(definition: CataloguedDefinition, file_types: tuple[str, ...], always: bool | None) -> bool:
    """Return True if a rule is wanted for these files: one of its globs fits, or it always applies.

    `*` crosses slashes. `always` True or False asks for rules that always apply, or not.
    """
    if always is not None and definition.always_apply != always:
        return False
    if not file_types or definition.always_apply:
        return True
    return any(_fits(file_type, glob) for file_type in file_types for glob in definition.globs)


def _fits(file_type: str, glob: str) -> bool:
    """Return True if a file, or a glob such as `*.py`, is of those that a rule's glob means."""
    name = file_type if "." in file_type or "/" in file_type else f".{file_type}"
    bare = glob.removeprefix("**/")
    return name == glob or fnmatchcase(name, glob) or fnmatchcase(name, bare) or fnmatchcase(name.lstrip("*"), bare)


def _texts(value: Json) -> list[str]:
    """Return the texts in a JSON value, the first ones of very many."""
    texts: list[str] = []
    left = [value]
    while left and len(texts) < _MOST_TEXTS:
        part = left.pop()
        if isinstance(part, str):
            texts.append(part)
        elif isinstance(part, dict):
            left += [*reversed(part.values())]
        elif isinstance(part, list):
            left += [*reversed(part)]
    return texts


@record(frozen=True, slots=True, kw_only=True)
class DefinitionQuery:
    """Request for a page of definitions: all tags, any keyword, every word of the text. Rules also by files.

    The definitions of `project` and `session` are seen in addition to those for everybody. `with_kept`: workflows that
    runs of no project were started from, too; those of the project are seen anyway.
    """

    limit: int
    kind: DefinitionKind | None = None
    text: str | None = None
    tags: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()
    complexity: str | None = None
    file_types: tuple[str, ...] = ()
    always_apply: bool | None = None
    project: str | None = None
    session: str | None = None
    with_kept: bool = True
    offset: int = 0
    cursor: str | None = None

    @property
    def filters(self) -> tuple[FacetFilter, ...]:
        """The filters as the text index knows them."""
        filters = list(seen_by(self.project, self.session, self.kind, with_kept=self.with_kept))
        filters += [FacetFilter(facet="tag", values=(tag,)) for tag in self.tags]
        words = tuple(dict.fromkeys(word for keyword in self.keywords for word in words_in(keyword)))
        if self.keywords:
            filters.append(FacetFilter(facet=None, values=words))
        if self.complexity is not None:
            filters.append(FacetFilter(facet="complexity", values=(self.complexity,)))
        if self.always_apply is not None:
            filters.append(FacetFilter(facet="always", values=("yes" if self.always_apply else "no",)))
        return tuple(filters)
