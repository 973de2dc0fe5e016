"""All of a run, part by part, from the place in use: for exports, pictures and timelines.

A run may be larger than memory, so its parts are read when they are wanted: here from Redis, at a server in pages.
"""

from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from dcf.cli import opening
from dcf.cli.places.choice import elsewhere
from dcf.values.json_text import Json
from dcf.values.records import record

if TYPE_CHECKING:
    from dcf.cli.places.place import Place

_KINDS: Final = {"state": "states", "event": "events", "entry": "journal", "artifact": "artifacts"}
"""The beginnings of cursors of `export_run`, each with the member of its answer for these parts, in their order."""

_ORDER: Final = tuple(_KINDS)
_PAGE: Final = 1000


@record(frozen=True, slots=True, kw_only=True)
class RunParts:
    """The run as a whole (`head`), and its other parts in order; each can be read once."""

    head: Mapping[str, Json]
    states: Iterator[tuple[str, dict[str, Json]]]
    events: Iterator[Mapping[str, Json]]
    journal: Iterator[Json]
    artifacts: Iterator[Json]


@contextmanager
def opened(workflow_id: str, *, is_copied: bool = False) -> Iterator[RunParts]:
    """Open a run at the place in use; the audit trail notes who takes a copy, at a server also who only looks."""
    if elsewhere():
        from dcf.cli.places.place import place

        with place() as used:
            yield _Pages(used, workflow_id).parts()
        return
    from dcf.core.access.model import LOCAL

    with opening.application() as application:
        head = application.exports.head(workflow_id)
        if is_copied:
            application.refusals.exported(LOCAL, "export_run", workflow_id)
        journal, artifacts = application.exports.beside(workflow_id)
        yield RunParts(
            head=head,
            states=application.exports.states(workflow_id),
            events=(event.as_json() for event in application.exports.events(workflow_id)),
            journal=journal,
            artifacts=artifacts,
        )


class _Pages:
    """The pages of `export_run`. Parts that were read too early wait in memory."""

    def __init__(self, used: "Place", workflow_id: str) -> None:
        self._used = used
        self._workflow_id = workflow_id
        self._waiting: dict[str, deque[Any]] = {kind: deque() for kind in _ORDER}
        self._cursor: str | None = None
        self._head: Mapping[str, Json] = self._read()["head"]

    def parts(self) -> RunParts:
        """Return the parts, which are read when they are wanted."""
        return RunParts(
            head=self._head,
            states=self._each("state"),
            events=self._each("event"),
            journal=self._each("entry"),
            artifacts=self._each("artifact"),
        )

    def _each(self, kind: str) -> Iterator[Any]:
        waiting = self._waiting[kind]
        while True:
            while waiting:
                yield waiting.popleft()
            if self._is_past(kind):
                return
            self._read()

    def _is_past(self, kind: str) -> bool:
        """Return True if no page to come has parts of this kind."""
        if self._cursor is None:
            return True
        return _ORDER.index(self._cursor.partition(":")[0]) > _ORDER.index(kind)

    def _read(self) -> dict[str, Json]:
        from dcf.cli.reading.answers import ask

        page = ask(self._used, "export_run", workflow_id=self._workflow_id, cursor=self._cursor, limit=_PAGE)
        for kind, name in _KINDS.items():
            self._waiting[kind].extend(page[name].items() if kind == "state" else page[name])
        self._cursor = page["next_cursor"]
        return page
