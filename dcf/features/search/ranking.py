"""Ranks what a search over everything found: what is known, files of projects, what runs wrote and have to do. Pure.

All use one query language and one scale: the weight of the best place of each word, as a share of the largest weight.
What is kept in an index is found however much there is. Journals, artifacts, outputs and units have none, since an
index of them would cost every write: of them the newest are looked through, within a bound, and the answer says how far
that went.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from enum import StrEnum
from typing import Final

from dcf.core.text.query import TextQuery
from dcf.core.text.stems import beginning_of
from dcf.core.text.tokens import read_words
from dcf.errors import InvalidArgument
from dcf.features.artifacts.model import Artifact
from dcf.features.growing.model import BRIEF_FIELDS, Unit
from dcf.features.journal.model import EntryKind, JournalEntry
from dcf.features.project_files.model import FileKind, FoundFile
from dcf.values.instants import to_text
from dcf.values.json_text import Json, dump, without_nulls
from dcf.values.record_json.codec import json_method
from dcf.values.records import record
from dcf.values.secret_shapes import redact
from dcf.values.text_pieces import clip

LARGEST_WEIGHT: Final = 8
"""The weight of a word in a title or a name; indexes use the same."""

MOST_HITS: Final = 50
"""Most results of one search."""

_DETAIL_WEIGHT: Final = 1
_TEXT_WEIGHT: Final = 4
_SNIPPET: Final = 200
_BEFORE: Final = 60
_TITLE: Final = 100
_WORDS: Final = 2_000


class Corpus(StrEnum):
    """What is searched."""

    DEFINITION = "definition"
    FINDING = "finding"
    JOURNAL = "journal"
    ARTIFACT = "artifact"
    OUTPUT = "output"
    UNIT = "unit"
    DOCUMENT = "document"
    BLUEPRINT = "blueprint"
    CODE = "code"


@record(frozen=True, slots=True, kw_only=True)
class SearchRequest:
    """Request for the best results. `run`: only of this run; `project`: only what belongs to it, or to everybody.

    `with_kept`: workflows that runs of no project were started from, too.
    """

    text: str
    limit: int
    corpora: tuple[Corpus, ...] = tuple(Corpus)
    project: str | None = None
    run: str | None = None
    with_kept: bool = True


@record(frozen=True, slots=True, kw_only=True)
class SearchHit:
    """One result. `entity_id` is its id where it lives; `where` names run and state, or kind and name."""

    type: Corpus
    entity_id: str
    title: str
    snippet: str
    score: float
    at: int = 0
    where: dict[str, Json] = field(default_factory=dict)

    as_json = json_method("type entity_id title snippet score **where", named={"entity_id": "id"})


FILES: Final[Mapping[Corpus, FileKind]] = {
    Corpus.DOCUMENT: "document",
    Corpus.BLUEPRINT: "blueprint",
    Corpus.CODE: "code",
}
"""What is found in indexed files of projects, with the kind that such a file has."""


@record(frozen=True, slots=True, kw_only=True)
class OutputText:
    """The output of a state of a run as text, or the beginning of it."""

    workflow_id: str
    state: str
    text: str


def read_corpora(names: Iterable[str]) -> tuple[Corpus, ...]:
    """Return what is to be searched, all of it if nothing is named; raise InvalidArgument for what there is not."""
    corpora = tuple(dict.fromkeys(names))
    unknown = [name for name in corpora if name not in frozenset(Corpus)]
    if unknown:
        raise InvalidArgument(f"There is nothing of type '{unknown[0][:20]}'.", f"Types are: {', '.join(Corpus)}.")
    return tuple(Corpus(name) for name in corpora) or tuple(Corpus)


def ranked(hits: Iterable[SearchHit], limit: int) -> list[SearchHit]:
    """Return the best, of equal ones the newest first."""
    return sorted(hits, key=lambda hit: (-hit.score, -hit.at, hit.type.value, hit.entity_id))[:limit]


def share(score: int, query: TextQuery) -> float:
    """Return a score of an index as a share of the best there could be."""
    return round(min(1.0, score / (LARGEST_WEIGHT * max(1, len(query.words)))), 3)


def entry_hit(workflow_id: str, entry: JournalEntry, query: TextQuery) -> SearchHit | None:
    """Return an entry of a journal as a result; None if it does not have what is asked for."""
    details = dump(dict(entry.details)) if entry.details else ""
    is_issue = entry.kind is EntryKind.ISSUE
    word = "open issue" if entry.is_open else "resolved issue" if is_issue else entry.kind.value
    title = f"{word} of {entry.agent}, {to_text(entry.at)[:10]}"
    texts = [(entry.text, _TEXT_WEIGHT), (entry.state or "", _TEXT_WEIGHT), (details, _DETAIL_WEIGHT)]
    shown = entry.text if _score([(entry.text, 1)], query) is not None else f"{entry.text} {details}"
    where = {"workflow_id": workflow_id, "state": entry.state}
    return _hit(Corpus.JOURNAL, entry.entry_id, title, texts, query, shown=shown, where=where, at=entry.at)


def artifact_hit(workflow_id: str, artifact: Artifact, query: TextQuery) -> SearchHit | None:
    """Return an artifact as a result, found by its name, state, type and metadata; None if those do not have it."""
    kind = artifact.kind
    text = f"{kind.content_type} {dump(dict(kind.metadata)) if kind.metadata else ''}"
    texts = [(kind.name, LARGEST_WEIGHT), (kind.state or "", _TEXT_WEIGHT), (text, _DETAIL_WEIGHT)]
    where, at = {"workflow_id": workflow_id, "state": kind.state}, artifact.created_at
    return _hit(Corpus.ARTIFACT, artifact.artifact_id, kind.name, texts, query, shown=text, where=where, at=at)


def output_hit(output: OutputText, query: TextQuery) -> SearchHit | None:
    """Return an output as a result; None if it does not have what is asked for."""
    entity_id, title = f"{output.workflow_id}/{output.state}", f"output of {output.state}"
    texts = [(output.state, LARGEST_WEIGHT), (output.text, _DETAIL_WEIGHT)]
    where = {"workflow_id": output.workflow_id, "state": output.state}
    return _hit(Corpus.OUTPUT, entity_id, title, texts, query, shown=output.text, where=where)


def unit_hit(workflow_id: str, unit: Unit, query: TextQuery) -> SearchHit | None:
    """Return a unit of an open run as a result, found by its title and by the assignment of its worker."""
    if unit.is_group:
        return None
    title, instructions = unit.title or unit.name, str(unit.told.get(BRIEF_FIELDS["instructions"]) or "")
    areas = " ".join(unit.areas)
    texts = [(title, LARGEST_WEIGHT), (instructions, _TEXT_WEIGHT), (areas, _DETAIL_WEIGHT)]
    shown, where = instructions or areas or title, {"workflow_id": workflow_id, "state": unit.name}
    return _hit(Corpus.UNIT, f"{workflow_id}/{unit.name}", title, texts, query, shown=shown, where=where)


def _hit(
    corpus: Corpus,
    entity_id: str,
    title: str,
    texts: Sequence[tuple[str, int]],
    query: TextQuery,
    *,
    shown: str,
    where: Mapping[str, Json],
    at: int = 0,
) -> SearchHit | None:
    """Return what was looked through as a result, with a part of what is shown of it; None if it does not fit."""
    score = _score(texts, query)
    if score is None:
        return None
    return SearchHit(
        type=corpus,
        entity_id=entity_id,
        title=clip(title, _TITLE),
        snippet=snippet(shown, query),
        score=share(score, query),
        at=at,
        where=without_nulls(where),
    )


def file_hit(found_file: FoundFile, query: TextQuery) -> SearchHit:
    """Return a piece of a file as a result."""
    return SearchHit(
        type=next(corpus for corpus, kind in FILES.items() if kind == found_file.kind),
        entity_id=f"{found_file.path}:{found_file.line}",
        title=clip(found_file.path, _TITLE),
        snippet=snippet(found_file.text, query),
        score=share(found_file.score, query),
        where={"name": found_file.path},
    )


def snippet(text: str, query: TextQuery) -> str:
    """Return the part of a text around the first word of the query, on one line, without secrets of known shapes."""
    flat = " ".join(text.split())
    low = flat.casefold()
    places = [place for place in (_place(low, word) for word in query.words) if place >= 0]
    start = max(0, min(places, default=0) - _BEFORE)
    return str(redact(clip(("…" if start else "") + flat[start:], _SNIPPET)).value)


def _score(texts: Sequence[tuple[str, int]], query: TextQuery) -> int | None:
    whole = " ".join(text for text, _ in texts).casefold()
    if not all(beginning_of(word) in whole for word in query.needed):
        return None  # what has not even the letters of a word need not be taken apart
    words = read_words(texts, most=_WORDS)
    return query.score(dict(words.found_by), words.sequence)


def _place(text: str, word: str) -> int:
    """Return the place of a word, or a form of it, in a text; -1 if neither is there."""
    place, beginning = text.find(word), beginning_of(word)
    return text.find(beginning) if place < 0 and beginning else place
