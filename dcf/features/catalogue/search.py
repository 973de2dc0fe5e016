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


def as_definition_entry(found: CataloguedDefinition, content: Json, revision: int) -> TextEntry:
    """Return the entry of the text index that a definition is. No secret of a known shape is among its words."""
    texts = [
        (found.name, _NAME_WEIGHT),
        (" ".join((*found.tags, *found.keywords)), _LABEL_WEIGHT),
        (found.description, _DESCRIPTION_WEIGHT),
        (" ".join(_texts(content)), _CONTENT_WEIGHT),
    ]
    texts = [(redact(text).value, weight) for text, weight in texts]
    facets = {
        **combined({"kind": found.kind, "of": found.owner.key}),
        "tag": found.tags,
        "always": ("yes" if found.always_apply else "no",),
        "complexity": () if found.complexity is None else (found.complexity,),
    }
    return TextEntry(
        entry_id=found.entry_id,
        at=found.newest.at,
        document=write_definition(found),
        words=read_words(texts),
        facets=facets,
        until=found.until,
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
    keys = (*dict.fromkeys(one.key for one in owners), *([KEPT_OWNER] if with_kept else []))
    return combined_filter({"of": keys, "kind": () if kind is None else (str(kind),)})


def applies(found: CataloguedDefinition, file_types: tuple[str, ...], always: bool | None) -> bool:
    """Return True if a rule is wanted for these files: one of its globs fits, or it always applies.

    `*` crosses slashes. `always` True or False asks for rules that always apply, or not.
    """
    if always is not None and found.always_apply != always:
        return False
    if not file_types or found.always_apply:
        return True
    return any(_fits(one, glob) for one in file_types for glob in found.globs)


def _fits(file_type: str, glob: str) -> bool:
    """Return True if a file, or a glob such as `*.py`, is of those that a rule's glob means."""
    name = file_type if "." in file_type or "/" in file_type else f".{file_type}"
    bare = glob.removeprefix("**/")
    return name == glob or fnmatchcase(name, glob) or fnmatchcase(name, bare) or fnmatchcase(name.lstrip("*"), bare)


def _texts(value: Json) -> list[str]:
    """Return the texts in a JSON value, the first ones of very many."""
    found: list[str] = []
    left = [value]
    while left and len(found) < _MOST_TEXTS:
        one = left.pop()
        if isinstance(one, str):
            found.append(one)
        elif isinstance(one, dict):
            left += [*reversed(one.values())]
        elif isinstance(one, list):
            left += [*reversed(one)]
    return found


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
        found = list(seen_by(self.project, self.session, self.kind, with_kept=self.with_kept))
        found += [FacetFilter(facet="tag", values=(tag,)) for tag in self.tags]
        words = tuple(dict.fromkeys(word for one in self.keywords for word in words_in(one)))
        if self.keywords:
            found.append(FacetFilter(facet=None, values=words))
        if self.complexity is not None:
            found.append(FacetFilter(facet="complexity", values=(self.complexity,)))
        if self.always_apply is not None:
            found.append(FacetFilter(facet="always", values=("yes" if self.always_apply else "no",)))
        return tuple(found)
