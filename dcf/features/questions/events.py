"""Says which notes, questions, answers and verdicts that are to be delivered are no longer true. Pure."""

from typing import Final

from dcf.core.documents.decision import Snapshot
from dcf.core.documents.model import RunStatus, StateDoc
from dcf.core.documents.notices import GATES, TALK, NoticeKind, talk_kind
from dcf.features.gates.consequences import notice_key
from dcf.features.gates.model import submission_of
from dcf.features.questions.model import questioned_of
from dcf.runs.notifying.contents import NoticeContent
from dcf.store.events.outbox import OutboxEntry


def is_moot(entry: OutboxEntry, snapshot: Snapshot) -> bool:
    """Return True if a question no longer waits for an answer, or its answer is about a visit that has ended."""
    kind, meta = talk_kind(entry.type), snapshot.meta
    if kind == NoticeKind.NOTE:
        return False
    if kind == NoticeKind.BLOCKED:
        issue = entry.type.partition(".")[2]
        return meta is None or all(blocker.issue != issue for blocker in meta.blocked_by)
    doc = snapshot.states.get(entry.about or "")
    is_running = meta is not None and meta.status is RunStatus.RUNNING
    if kind in GATES:
        return not is_running or doc is None or not _is_wanted(entry, kind, doc)
    questioned = None if doc is None else questioned_of(doc)
    if not is_running or doc is None or doc.status.is_terminal or questioned is None:
        return True
    if kind == NoticeKind.ANSWERED:
        return doc.entry_epoch != entry.epoch
    return not questioned.waits_for(entry.type.partition(".")[2])


def _is_wanted(entry: OutboxEntry, kind: str, doc: StateDoc) -> bool:
    """Return True if a verdict is still waited for, or the output that was sent back still is with its worker."""
    submission, about = submission_of(doc), entry.type.partition(".")[2]
    if submission is None or doc.status.is_terminal:
        return False
    if kind == NoticeKind.GATE:
        return doc.is_judged and any(notice_key(submission.number, open_gate) == about for open_gate in submission.open)
    return not doc.is_judged and str(submission.number) == about and doc.lease.epoch == entry.epoch


CONTENT: Final = NoticeContent(kinds=frozenset(TALK), is_moot=is_moot)
