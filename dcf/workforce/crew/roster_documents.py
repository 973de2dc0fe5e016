"""Reads and changes the documents of rosters, which record the agents created for a run. `roster` decides."""

from collections.abc import Callable
from typing import TypeVar

from dcf.store.connection.documents import Documents, Verdict
from dcf.store.keys import table as keys
from dcf.values.json_text import Json
from dcf.workforce.crew.roster import LIFE_S, Roster, read_roster, write_roster

Answer = TypeVar("Answer")


class RosterDocuments:
    """Rosters by run."""

    def __init__(self, documents: Documents) -> None:
        self._documents = documents

    def read(self, workflow_id: str) -> Roster:
        """Return the roster of the run."""
        document, _ = self._documents.read(keys.workers(workflow_id))
        return read_roster(document)

    def transact(self, workflow_id: str, decide: Callable[[Roster, int], tuple[Roster, Answer]]) -> Answer:
        """Change the roster by a pure decision on it and the server's time in microseconds."""

        def judge(document: Json, now: int) -> Verdict[Answer]:
            before = read_roster(document)
            after, answer = decide(before, now)
            return Verdict(answer=answer, changed=after is not before, write=write_roster(after), life_s=LIFE_S)

        return self._documents.transact(keys.workers(workflow_id), judge)
