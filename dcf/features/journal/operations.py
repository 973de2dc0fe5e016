"""The journal of a run: adds entries, resolves issues, reads pages. Decides nothing (`features/journal/writing.py`)."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, TypeAlias

from dcf.core.definitions.scopes import with_scopes
from dcf.core.documents.decision import Decision, More, ReadSet, Snapshot
from dcf.core.documents.operations import RunAnswer, RunDecision
from dcf.core.documents.refusals import unless_full
from dcf.errors import UnknownRun
from dcf.features.journal import writing
from dcf.features.journal.model import ENTRIES, UNSEEN, EntryKind, JournalEntry
from dcf.features.journal.query import JournalPage, JournalQuery
from dcf.features.journal.refusals import unknown_issue
from dcf.features.journal.storage import JournalReader
from dcf.features.journal.writing import AddEntry, EntryAdded, ResolveIssue
from dcf.features.search.storage import RunTexts
from dcf.runs.control_plane import ControlPlane
from dcf.runs.requests import run_request
from dcf.store.access.authors import current_account, current_author
from dcf.values.records import replace
from dcf.values.refusal import Refusal

if TYPE_CHECKING:
    from dcf.store.transaction.runs import Committed

_ALL = 1_000_000
Operated: TypeAlias = RunAnswer | Refusal


class Journal:
    """The notes of agents and people of runs; `texts` reads the outputs of their states."""

    def __init__(self, plane: ControlPlane, reader: JournalReader, texts: RunTexts) -> None:
        self.texts = texts
        self._plane = plane
        self._transactions = plane.transactions
        self._reader = reader

    def add_journal_entry(self, workflow_id: str, wish: AddEntry) -> EntryAdded | Refusal:
        """Add an entry; the same one under the same key is added once. Raise UnknownRun or UnknownState."""
        path = None if wish.state is None else self._plane.place(workflow_id, wish.state).path
        expected = replace(wish, state=path, caller=current_author())
        states = () if path is None else (path,)
        reads = ReadSet(
            states=with_scopes(states), agents=states, whole_meta=True, parts=ENTRIES.wanted((expected.entry_id,))
        )

        def decide(snapshot: Snapshot) -> Decision[EntryAdded | Refusal]:
            decision = writing.add_entry(snapshot, expected)
            full = None if decision.changes is None else unless_full(current_account())
            return decision if full is None else Decision(answer=full)

        committed: Committed[EntryAdded | Refusal] = self._transactions.on_run(workflow_id, reads, decide)
        self._plane.follow_ups.after(workflow_id, committed)
        return committed.answer

    def resolve_issue(
        self, workflow_id: str, wish: ResolveIssue, *, reason: str | None = None, request_id: str | None = None
    ) -> Operated:
        """Resolve an issue; the run continues if it was the last that blocked it. Raise UnknownRun."""
        request = run_request("resolve_issue", reason, request_id, wish.arguments())
        reads = ReadSet(
            run_receipts=(request.key,), open_states=(0, _ALL), whole_meta=True, parts=ENTRIES.wanted((wish.issue,))
        )

        def decide(snapshot: Snapshot) -> RunDecision:
            return writing.resolve_issue(snapshot, request, wish)

        committed = self._transactions.on_run(workflow_id, reads, decide)
        self._plane.follow_ups.after(workflow_id, committed)
        assert not isinstance(committed.answer, More), "this decision knows what it reads"
        return committed.answer

    def issue(self, workflow_id: str, issue: str) -> JournalEntry | Refusal:
        """Return an issue of the journal, open or resolved; refuse an unknown one. Raise UnknownRun."""
        snapshot = self._transactions.store.read(workflow_id, ReadSet(parts=ENTRIES.wanted((issue,))))
        if snapshot.meta is None:
            raise UnknownRun(workflow_id)
        entry = (snapshot.part(ENTRIES) or UNSEEN).entries.get(issue)
        return unknown_issue(issue) if entry is None or entry.kind is not EntryKind.ISSUE else entry

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
