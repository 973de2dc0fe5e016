"""Says what the events bring that ask people."""

from collections.abc import Mapping
from typing import Final

from dcf.core.documents.decision import Snapshot
from dcf.core.documents.model import StateDoc
from dcf.core.documents.notices import NoticeKind
from dcf.features.people.answering import waits_for_person
from dcf.features.people.model import asking_of
from dcf.runs.notifying.contents import NoticeContent
from dcf.store.events.outbox import OutboxEntry
from dcf.values.json_text import Json


def _is_moot(entry: OutboxEntry, snapshot: Snapshot) -> bool:
    doc = snapshot.states.get(entry.state or entry.about or "")
    return doc is None or not waits_for_person(doc)


def _title(doc: StateDoc | None) -> Mapping[str, Json]:
    asking = None if doc is None else asking_of(doc)
    return {"title": "" if asking is None else asking.title}


CONTENT: Final = NoticeContent(kinds=frozenset({NoticeKind.ASKED.value}), is_moot=_is_moot, fields=_title)
