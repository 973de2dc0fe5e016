"""Notes, questions and answers in runs. Each names what it reads and the pure decision (`core/notes`, `questions`).

This module must not decide or send Redis commands.
"""

from collections.abc import Callable
from functools import partial

from dcf.core.definitions.scopes import entry_epoch_of, with_scopes
from dcf.core.documents.decision import ReadSet, Snapshot
from dcf.core.documents.model import StateDoc
from dcf.core.documents.operations import RunDecision, RunRequest
from dcf.core.documents.parts import WHOLE
from dcf.features.journal.model import ENTRIES, TAIL
from dcf.features.questions import asking, notes, refusals
from dcf.features.questions.asking import Ask, QuestionAnswer
from dcf.features.questions.correcting import Corrections
from dcf.features.questions.model import NO_TALK, TALK, Questions, questioned_of
from dcf.features.questions.notes import Note
from dcf.runs.control_plane import ControlPlane
from dcf.runs.operating import Operated, within_quota
from dcf.runs.requests import run_request
from dcf.values.digest import fingerprint
from dcf.values.json_text import Json
from dcf.values.records import replace


class Talking:
    """The messages of workers, people and planners. `corrections` are those of results."""

    def __init__(self, plane: ControlPlane) -> None:
        self.corrections = Corrections(plane)
        self._plane = plane
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

        decide = partial(notes.leave_note, request=request, note=note)
        return self._plane.operations.on_run(workflow_id, reads, within_quota(decide))

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
            return refusals.UNKNOWN_QUESTION.refuse(question_id=reply.question_id)
        return self._on_state(
            workflow_id, question.state, request, lambda snapshot: asking.answer(snapshot, request, reply, question)
        )

    def talk(self, workflow_id: str) -> Questions:
        """Return the questions of a run. Raise UnknownRun."""
        return self._plane.operations.read(workflow_id, ReadSet(parts=TALK.wanted(WHOLE))).part(TALK) or NO_TALK

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

        return self._plane.operations.on_state(workflow_id, path, reads, within_quota(decide))
