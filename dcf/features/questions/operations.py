"""Notes, questions and answers in runs. Each names what it reads and the pure decision (`core/notes`, `questions`).

This module must not decide or send Redis commands.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from dcf.core.definitions.scopes import entry_epoch_of, with_scopes
from dcf.core.documents.decision import Decision, More, ReadSet, Snapshot
from dcf.core.documents.model import StateDoc
from dcf.core.documents.operations import RunAnswer, RunDecision, RunRequest
from dcf.core.documents.parts import WHOLE
from dcf.core.documents.refusals import unless_full
from dcf.errors import UnknownRun
from dcf.features.journal.model import ENTRIES, TAIL
from dcf.features.questions import asking, notes, refusals
from dcf.features.questions.asking import Ask, QuestionAnswer
from dcf.features.questions.correcting import Corrections
from dcf.features.questions.model import NO_TALK, TALK, Questions, questioned_of
from dcf.features.questions.notes import Note
from dcf.runs.control_plane import ControlPlane
from dcf.runs.requests import run_request
from dcf.store.access.authors import current_account
from dcf.values.digest import fingerprint
from dcf.values.json_text import Json
from dcf.values.records import replace
from dcf.values.refusal import Refusal

if TYPE_CHECKING:
    from dcf.store.transaction.runs import Committed

Operated: TypeAlias = RunAnswer | Refusal


class Talking:
    """The messages of workers, people and planners. `corrections` are those of results."""

    def __init__(self, plane: ControlPlane) -> None:
        self.corrections = Corrections(plane)
        self._plane = plane
        self._transactions = plane.transactions
        self._follow_ups = plane.follow_ups
        self._store = plane.transactions.store

    def leave_note(
        self, workflow_id: str, note: Note, *, reason: str | None = None, request_id: str | None = None
    ) -> Operated:
        """Leave a note for the planner. A repetition with the same request id has no effect. Raise UnknownRun."""
        path = None if note.state is None else self._plane.place(workflow_id, note.state).path
        note = replace(note, state=path)
        request = run_request("leave_note", reason, request_id, note.arguments())
        states = () if path is None else (path,)
        reads = ReadSet(
            states=with_scopes(states),
            agents=states,
            parts={**TALK.wanted(WHOLE), **ENTRIES.wanted((TAIL,))},
            whole_meta=True,
            run_receipts=(request.key,),
        )

        def decide(snapshot: Snapshot) -> RunDecision:
            return _unless_full(notes.leave_note(snapshot, request, note))

        committed = self._transactions.on_run(workflow_id, reads, decide)
        self._follow_ups.after(workflow_id, committed)
        assert not isinstance(committed.answer, More), "this decision knows what it reads"
        return committed.answer

    def ask_question(
        self, workflow_id: str, wish: Ask, *, reason: str | None = None, request_id: str | None = None
    ) -> Operated:
        """Ask as the holder of a lease. The same question with the same lease is asked once."""
        wish = replace(wish, state=self._plane.path(workflow_id, wish.state))
        known_by = request_id or fingerprint(f"{wish.token}\n{wish.state}\n{wish.text}")
        request = run_request("ask_question", reason, known_by, wish.arguments())
        return self._on_state(workflow_id, wish.state, request, lambda snapshot: asking.ask(snapshot, request, wish))

    def answer_question(
        self, workflow_id: str, reply: QuestionAnswer, *, reason: str | None = None, request_id: str | None = None
    ) -> Operated:
        """Answer a question. A repetition with the same request id gets the first answer. Raise UnknownRun."""
        request = run_request("answer_question", reason, request_id, reply.arguments())
        question = self.talk(workflow_id).question(reply.question_id)
        if question is None:
            return refusals.unknown_question(reply.question_id)
        return self._on_state(
            workflow_id, question.state, request, lambda snapshot: asking.answer(snapshot, request, reply, question)
        )

    def talk(self, workflow_id: str) -> Questions:
        """Return the questions of a run. Raise UnknownRun."""
        snapshot = self._store.read(workflow_id, ReadSet(parts=TALK.wanted(WHOLE)))
        if snapshot.meta is None:
            raise UnknownRun(workflow_id)
        return snapshot.part(TALK) or NO_TALK

    def questions_of(self, workflow_id: str, state: str, doc: StateDoc) -> list[dict[str, Json]]:
        """Return the questions of this visit of a state, for its present worker.

        `doc` is its document; if it names no question, no read is needed.
        """
        if questioned_of(doc) is None:
            return []
        path = self._plane.path(workflow_id, state)
        snapshot = self._store.read(workflow_id, ReadSet(states=with_scopes([path]), parts=TALK.wanted(WHOLE)))
        if snapshot.meta is None:
            return []
        visit = entry_epoch_of(path, snapshot.states.get, snapshot.meta)
        waiting = questioned_of(snapshot.states.get(path, doc))
        # After a retry of the run earlier questions no longer wait; the visit is the same.
        return [
            asking.shown(question)
            for question in asking.of_visit(snapshot.part(TALK) or NO_TALK, path, visit)
            if not question.is_open or (waiting is not None and waiting.waits_for(question.question_id))
        ]

    def _on_state(
        self, workflow_id: str, path: str, request: RunRequest, decide: Callable[[Snapshot], RunDecision]
    ) -> Operated:
        reads = ReadSet(states=with_scopes([path]), parts=TALK.wanted(WHOLE), run_receipts=(request.key,))

        def guarded(snapshot: Snapshot) -> RunDecision:
            return _unless_full(decide(snapshot))

        committed: Committed[Operated] = self._transactions.on_state(workflow_id, path, reads, guarded)
        self._follow_ups.after(workflow_id, committed)
        return committed.answer


def _unless_full(decision: RunDecision) -> RunDecision:
    """Refuse what a key would write that holds as many bytes as it may."""
    full = unless_full(current_account()) if decision.changes is not None else None
    return decision if full is None else Decision(answer=full)
