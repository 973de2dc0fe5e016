"""The offers of capabilities to the delivery of notifications: types, and the table of installed offers.

The table is complete before the first call: a process that asks before raises. `features/installed_runs.py` fills
it.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from dcf.core.documents.decision import Snapshot
from dcf.core.documents.model import StateDoc
from dcf.store.events.outbox import OutboxEntry
from dcf.values.json_text import Json
from dcf.values.records import record
from dcf.values.tables import Tables


def _without_fields(_: StateDoc | None) -> Mapping[str, Json]:
    return {}


@record(frozen=True, slots=True, kw_only=True)
class NoticeContent:
    """The content of notifications of these kinds, in addition to the fields of every event.

    `is_moot` returns True if an entry is no longer true; `fields` returns more fields of the event, from the
    document of the state that it is about.
    """

    kinds: frozenset[str]
    is_moot: Callable[[OutboxEntry, Snapshot], bool]
    fields: Callable[[StateDoc | None], Mapping[str, Json]] = _without_fields


class NoticeExtensions(Tables):
    """The contents by kind of notification."""

    filled_by = "dcf.features.installed_runs"
    contents: Mapping[str, NoticeContent]

    def install(self, contents: Iterable[NoticeContent]) -> None:
        """Fill the table."""
        self.contents = {kind: content for content in contents for kind in content.kinds}


NOTICES: Final = NoticeExtensions()
