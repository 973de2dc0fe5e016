"""Starting runs: from a document or a kept definition, in one transaction that creates and kicks off.

It names the documents to read, and the pure decision about them. It must not make decisions.
"""

from dataclasses import replace
from functools import partial

from dcf.core.definitions.model import Definition, read_definition
from dcf.core.documents.answers import Created
from dcf.core.documents.decision import Decision, ReadSet, Snapshot
from dcf.core.documents.premises import Premise, resting_on, with_premise
from dcf.core.lifecycle.repeating import Rerun, link, repeated, request_to_rerun
from dcf.core.lifecycle.starting import Start, read_reference, start
from dcf.errors import UnknownDefinition, UnknownRun
from dcf.runs.follow_ups import FollowUps
from dcf.runs.transactions import Transactions, with_secret
from dcf.store.connection.connections import Connection
from dcf.store.lists.definitions import KeptDefinitions, WantedDefinition
from dcf.values.refusal import Refusal

_ALL = 1_000_000


class Starting:
    """Starts runs, and keeps the definitions that they were started from."""

    def __init__(self, transactions: Transactions, follow_ups: FollowUps, definitions: KeptDefinitions) -> None:
        self._transactions = transactions
        self._follow_ups = follow_ups
        self._definitions = definitions

    def definition(self, reference: str, project: str | None = None) -> Definition:
        """Return a kept definition by `name@version`, `name` or its hash: the project's own, else one of no project.

        Raise UnknownDefinition if there is none; one of another project is not there.
        """
        return self.resolve(reference, project).definition

    def resolve(self, reference: str, project: str | None, document: Definition | None = None) -> WantedDefinition:
        """Return this document, or else a kept definition as `definition` does, and where it is to be kept."""
        if document is not None:
            return WantedDefinition(definition=document, project=project, version=document.version)
        read = read_reference(reference)
        for kept_in in dict.fromkeys((project, None)):
            stored = self._definitions.find(read, kept_in)
            if stored is not None:
                return WantedDefinition(definition=read_definition(stored), project=kept_in, version=read.version)
        raise UnknownDefinition

    def keep(self, definition: Definition, project: str | None = None) -> Refusal | None:
        """Keep a definition that runs of a project are to be started from; refuse another of its name and version."""
        return self._definitions.keep(definition, project)

    def keep_in(self, entry: WantedDefinition, connection: Connection) -> Refusal | None:
        """Keep a definition in an attempt of a transaction that depends on it."""
        return self._definitions.keep_in(entry, connection)

    def tell(self, entry: WantedDefinition) -> None:
        """Have a definition listed that was kept in an attempt."""
        self._definitions.tell(entry)

    def start(
        self, start_request: Start, premise: Premise | None = None, *, to_keep: WantedDefinition | None = None
    ) -> Created | Refusal:
        """Create a run and kick it off. Repeating the same request returns the run that exists.

        If there is a premise and it does not hold, nothing is written. `to_keep` is the definition of the run, if it is
        stored with the run, so that more runs are started from it later.
        """
        wish = with_secret(start_request.wish)
        start_request = replace(start_request, wish=wish)
        known = () if start_request.request is None else (start_request.request.key,)
        reads = with_premise(ReadSet(open_states=(0, _ALL), whole_meta=True, run_receipts=known), premise)

        def decide(snapshot: Snapshot) -> Decision[Created | Refusal]:
            return resting_on(premise, snapshot, lambda: start(snapshot, start_request))

        ground = None if to_keep is None else partial(self.keep_in, to_keep)
        committed = self._transactions.store.create(wish.workflow_id, reads, decide, wish.size, ground)
        if to_keep is not None and not isinstance(committed.answer, Refusal):
            self.tell(to_keep)
        return self._follow_ups.after_creation(wish, committed)

    def rerun(self, workflow_id: str, rerun: Rerun, request_id: str | None = None) -> Created | Refusal:
        """Repeat a run as a new one, and link both. A repetition that finds the new run adds missing links."""
        definition = self._transactions.current_run(workflow_id).definition
        paths: tuple[str, ...] = ()
        entries: tuple[str, ...] = ()
        if rerun.from_state is not None:
            path = self._transactions.place(workflow_id, rerun.from_state).path
            paths, entries = definition.paths, (path,)
        reads = ReadSet(whole_meta=True, states=paths, outputs=paths, entries=entries)
        snapshot = self._transactions.store.read(workflow_id, reads)
        if snapshot.meta is None:
            raise UnknownRun(workflow_id)
        wish = repeated(snapshot, workflow_id, rerun, definition)
        if isinstance(wish, Refusal):
            return wish
        request = None if request_id is None else request_to_rerun(workflow_id, rerun, request_id)
        answer = self.start(Start(wish=wish, request=request, reason=rerun.reason))
        if isinstance(answer, Created):
            decide = partial(link, to=wish.workflow_id, asked=rerun)
            self._transactions.on_run(workflow_id, ReadSet(whole_meta=True), decide)
        return answer
