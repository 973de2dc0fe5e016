"""Leaves a note for the planner of a run: in the history and the journal, and in the planner's inbox. Pure.

The text is another's, so its event is marked as data. Notes are few and short, since the history is kept as long as
the run, and a planner reads all of them.
"""

from dcf.core.documents.decision import Decision, Event, Notice, Snapshot, WriteSet
from dcf.core.documents.model import Meta, RunStatus
from dcf.core.documents.notices import NoticeKind, notice_about
from dcf.core.documents.operations import RunAnswer, RunDecision, RunRequest, decided_once
from dcf.core.documents.refusals import RUN_OVER
from dcf.features.journal.authors import check_text, has_part
from dcf.features.journal.model import ENTRIES, UNSEEN, EntryKind, JournalEntry, content_of, entry_id_of
from dcf.features.journal.refusals import NO_PART
from dcf.features.questions import refusals
from dcf.features.questions.model import LONGEST_TEXT, MOST_NOTES, NO_TALK, TALK
from dcf.values.json_text import Json
from dcf.values.records import record, replace
from dcf.values.refusal import Refusal


@record(frozen=True, slots=True, kw_only=True)
class Note:
    """A note of an agent (or person), about a state or the whole run. `is_operator`: it may be about any run."""

    text: str
    by: str
    state: str | None = None
    is_operator: bool = False

    def __post_init__(self) -> None:
        check_text(self.text, "text", LONGEST_TEXT)

    def arguments(self) -> dict[str, Json]:
        """Return what is said, for its fingerprint."""
        return {"text": self.text, "by": self.by, "state": self.state}


@decided_once
def leave_note(snapshot: Snapshot, request: RunRequest, note: Note) -> RunDecision:
    """Keep the note, and owe it to the planner, if there is one and another agent left it."""
    meta, talk = snapshot.existing_meta, snapshot.part(TALK) or NO_TALK
    refusal = _why_not(snapshot, meta, note)
    if refusal is not None:
        return Decision(answer=refusal)
    number = talk.notes + 1
    planner = meta.planner_agent_id if meta.planner_agent_id != note.by else None
    data: dict[str, Json] = {"note": number, "agent": note.by, "text": note.text}
    answer: dict[str, Json] = {"note": number, "notes_left": MOST_NOTES - number, "planner_agent_id": planner}
    return Decision(
        answer=RunAnswer(answer=answer, at=snapshot.now),
        changes=WriteSet(
            parts={
                **TALK.written(replace(talk, notes=number)),
                **ENTRIES.written((_entry(snapshot, note, number),)),
            },
            events=[Event(type="NoteLeft", state=note.state, data=request.told(**data))],
            notices=[] if planner is None else [_notice(note, number, snapshot.now)],
        ),
    )


def _entry(snapshot: Snapshot, note: Note, number: int) -> JournalEntry:
    """Return the note as an entry of the journal, where readers find all that was written down."""
    key, details = f"note:{number}", {"note": number}
    return JournalEntry(
        entry_id=entry_id_of(key),
        kind=EntryKind.NOTE,
        text=note.text,
        agent=note.by,
        at=max(snapshot.now, (snapshot.part(ENTRIES) or UNSEEN).last_at + 1),
        content=content_of(EntryKind.NOTE, note.text, note.by, note.state, details),
        state=note.state,
        details=details,
        key=key,
    )


def _why_not(snapshot: Snapshot, meta: Meta, note: Note) -> Refusal | None:
    if meta.status is not RunStatus.RUNNING:
        return RUN_OVER.refuse(status=meta.status)
    if not (note.is_operator or has_part(snapshot, meta, note.by, note.state)):
        return NO_PART.refuse(agent_id=note.by)
    talk = snapshot.part(TALK) or NO_TALK
    return refusals.TOO_MANY_NOTES.refuse() if talk.notes >= MOST_NOTES else None


def _notice(note: Note, number: int, now: int) -> Notice:
    """Return what is owed to the planner."""
    content: dict[str, Json] = {"note": number, "from": note.by, "text": note.text}
    return notice_about(NoticeKind.NOTE, number, note.state, now, content)
