"""The journal of a run: adds entries, resolves issues, reads pages. Decides nothing (`features/journal/writing.py`)."""

from collections.abc import Iterator
from functools import partial

from dcf.core.definitions.scopes import with_scopes
from dcf.core.documents.decision import ReadSet
from dcf.errors import UnknownRun
from dcf.features.journal import writing
from dcf.features.journal.model import ENTRIES, UNSEEN, EntryKind, JournalEntry
from dcf.features.journal.query import JournalPage, JournalQuery
from dcf.features.journal.refusals import UNKNOWN_ISSUE
from dcf.features.journal.storage import JournalReader
from dcf.features.journal.writing import AddEntry, EntryAdded, ResolveIssue
from dcf.runs.control_plane import ControlPlane
from dcf.runs.operating import Operated, within_quota
from dcf.runs.requests import run_request
from dcf.store.access.authors import current_author
from dcf.values.records import replace
from dcf.values.refusal import Refusal

_ALL = 1_000_000


class Journal:
    """The notes of agents and people of runs."""

    def __init__(self, plane: ControlPlane, reader: JournalReader) -> None:
        self._plane = plane
        self._reader = reader

    def add_journal_entry(self, workflow_id: str, wish: AddEntry) -> EntryAdded | Refusal:
        """Add an entry; the same one under the same key is added once. Raise UnknownRun or UnknownState."""
        path = None if wish.state is None else self._plane.place(workflow_id, wish.state).path
        expected = replace(wish, state=path, caller=current_author())
        states = () if path is None else (path,)
        reads = ReadSet(
            states=with_scopes(states), agents=states, whole_meta=True, parts=ENTRIES.wanted((expected.entry_id,))
        )

        decide = within_quota(partial(writing.add_entry, wish=expected))
        return self._plane.operations.answer(workflow_id, self._plane.transactions.on_run(workflow_id, reads, decide))

    def resolve_issue(
        self, workflow_id: str, wish: ResolveIssue, *, reason: str | None = None, request_id: str | None = None
    ) -> Operated:
        """Resolve an issue; the run continues if it was the last that blocked it. Raise UnknownRun."""
        request = run_request("resolve_issue", reason, request_id, wish.arguments())
        reads = ReadSet(
            run_receipts=(request.key,), open_states=(0, _ALL), whole_meta=True, parts=ENTRIES.wanted((wish.issue,))
        )

        decide = partial(writing.resolve_issue, request=request, wish=wish)
        return self._plane.operations.on_run(workflow_id, reads, decide)

    def issue(self, workflow_id: str, issue: str) -> JournalEntry | Refusal:
        """Return an issue of the journal, open or resolved; refuse an unknown one. Raise UnknownRun."""
        snapshot = self._plane.operations.read(workflow_id, ReadSet(parts=ENTRIES.wanted((issue,))))
        entry = (snapshot.part(ENTRIES) or UNSEEN).entries.get(issue)
        return UNKNOWN_ISSUE.refuse(issue=issue) if entry is None or entry.kind is not EntryKind.ISSUE else entry

    def each_entry(self, workflow_id: str, query: JournalQuery) -> Iterator[JournalEntry]:
        """Yield the entries that are wanted, page after page."""
        while True:
            page = self.read_journal(workflow_id, query)
            yield from page.entries
            if page.next_cursor is None:
                return
            query = replace(query, cursor=page.next_cursor)

    def read_journal(self, workflow_id: str, query: JournalQuery) -> JournalPage:
        """Return a page of the journal. Raise UnknownRun or UnknownState."""
        if query.state is not None:
            query = replace(query, state=self._plane.place(workflow_id, query.state).path)
        page = self._reader.page(workflow_id, query)
        if page is None:
            raise UnknownRun(workflow_id)
        return page
