"""Indexes files of a project when somebody asks for it, and finds them by their words.

Nothing here opens a file: the caller reads the files where they are. The last indexing of a project replaces the one
before; unchanged pieces are not written again.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from dcf.core.text.entries import FacetFilter, Hit, TextSearch, combined_filter
from dcf.core.text.query import TextQuery
from dcf.features.project_files.model import (
    MOST_PIECES,
    FileKind,
    FilePiece,
    FoundFile,
    ProjectFile,
    as_entry,
    owner_of,
    pieces_of,
)
from dcf.features.project_files.refusals import TOO_MANY_PIECES
from dcf.store.connection.connections import Connections
from dcf.store.text_index.index import Full, TextIndex
from dcf.values.records import record
from dcf.values.refusal import Refusal

INDEX: Final = "files"
_PAGE: Final = 500


@record(frozen=True, slots=True, kw_only=True)
class Indexed:
    """The outcome of an indexing: how many files there were, and how many pieces it wrote, left alone, removed."""

    files: int
    written: int
    unchanged: int
    removed: int


class ProjectFiles:
    """The indexed files of the projects of one Redis."""

    def __init__(self, connections: Connections, *, wait_replicas: int = 0, most: int = MOST_PIECES) -> None:
        self._index = TextIndex(connections, INDEX, most=most, wait_replicas=wait_replicas)

    def index(self, project: str, files: Iterable[ProjectFile]) -> Indexed | Refusal:
        """Index these files in place of those that the project had. A repetition continues where this one ended."""
        before = {hit.entry_id: str(hit.document.get("content")) for hit in self._entries(project)}
        indexed, paths, written, now = set[str](), set[str](), 0, self._index.now()
        for piece in (piece for file in files for piece in pieces_of(file)):
            paths.add(piece.path)
            entry_id = piece.entry_id(project)
            indexed.add(entry_id)
            if before.get(entry_id) == piece.content:
                continue
            refusal = self._put(piece, project, now)
            if refusal is not None:
                return refusal
            written += 1
        removed = before.keys() - indexed
        for entry_id in removed:
            self._index.remove(entry_id)
        return Indexed(files=len(paths), written=written, unchanged=len(indexed) - written, removed=len(removed))

    def search(self, query: TextQuery, project: str | None, kinds: Sequence[FileKind], limit: int) -> list[FoundFile]:
        """Return the best pieces of files of these kinds, of a project or of all."""
        owners = () if project is None else (owner_of(project),)
        filters = combined_filter({"of": owners, "kind": tuple(kinds)})
        hits = self._index.search(TextSearch(limit=limit, query=query, filters=filters)).hits
        stored = self._index.get_all([hit.entry_id for hit in hits])[0] if hits else []
        return [
            FoundFile(
                path=str(hit.document["path"]),
                kind=hit.document["kind"],
                line=int(hit.document["line"]),
                text=entry.body,
                score=hit.score,
            )
            for hit, entry in zip(hits, stored, strict=True)
            if entry is not None
        ]

    def _put(self, piece: FilePiece, project: str, now: int) -> Refusal | None:
        outcome = self._index.put(as_entry(piece, project, now), replaces="any")
        if isinstance(outcome, Full):
            return TOO_MANY_PIECES.refuse(most=outcome.most)
        return outcome if isinstance(outcome, Refusal) else None

    def _entries(self, project: str) -> Iterator[Hit]:
        of, cursor = FacetFilter(facet="of", values=(owner_of(project),)), None
        while True:
            page = self._index.search(TextSearch(limit=_PAGE, filters=(of,), cursor=cursor))
            yield from page.hits
            cursor = page.next_cursor
            if cursor is None:
                return
