"""Turns what workers, people and planner tell each other into events: notes, questions and answers. Pure.

Their texts are others', so each event names who wrote them, and says that they are data (`provenance`).
"""

from collections.abc import Mapping

from dcf.core.decision import Snapshot
from dcf.core.model import RunStatus
from dcf.core.notices import NoticeKind, talk_kind
from dcf.store.outbox import OutboxEntry
from dcf.values.json_text import Json


def thing_of(entry: OutboxEntry) -> str:
    """Return what the event is about, as its id names it: an inbox keeps one event about a thing, the newest.

    Each note, question and answer is a thing of its own.
    """
    about = entry.state or entry.about or "run"
    return about if talk_kind(entry.type) is None else f"{about}?{entry.type}"


def is_moot(entry: OutboxEntry, snapshot: Snapshot) -> bool:
    """Return True if a question waits for no answer any more, or its answer is about a visit that is over."""
    kind, meta = talk_kind(entry.type), snapshot.meta
    if kind == NoticeKind.NOTE:
        return False
    if kind == NoticeKind.BLOCKED:
        issue = entry.type.partition(".")[2]
        return meta is None or all(one.issue != issue for one in meta.blocked_by)
    doc = snapshot.states.get(entry.about or "")
    is_running = meta is not None and meta.status is RunStatus.RUNNING
    if not is_running or doc is None or doc.status.is_terminal or doc.questions is None:
        return True
    if kind == NoticeKind.ANSWERED:
        return doc.entry_epoch != entry.epoch
    return not doc.questions.waits_for(entry.type.partition(".")[2])


def told(event: Mapping[str, Json], entry: OutboxEntry, kind: str, mark: Mapping[str, Json]) -> dict[str, Json]:
    """Return the event with its text and who wrote it."""
    content = dict(entry.content or {})
    return {**event, "type": kind, **content, "provenance": {**mark, "from": content.get("from", "dcf")}}
