"""Exports a run for reading elsewhere: its documents and its history, in bounded pages. Never writes.

Of a run that is not over each page shows the run as it is when that page is read.
"""

from collections.abc import Callable, Iterator
from typing import Final

from dcf.asl.state_paths import ancestors
from dcf.core.documents import codec
from dcf.core.documents.decision import ReadSet
from dcf.core.listing.cursors import unknown_cursor
from dcf.core.listing.events import EventQuery, check_cursor
from dcf.errors import UnknownRun
from dcf.features.diagnosis.operations import Diagnosis
from dcf.features.export.form import head_of
from dcf.features.export.records import ExportedRecords
from dcf.runs.control_plane import ControlPlane
from dcf.runs.views.histories import Histories
from dcf.runs.views.reading import RunViews
from dcf.runs.views.status import StateView
from dcf.store.events.history import Happening
from dcf.store.transaction.runs import RunStore
from dcf.values.instants import to_text
from dcf.values.json_paths import MISSING
from dcf.values.json_text import Json
from dcf.values.record_json.codec import json_method
from dcf.values.records import record, replace
from dcf.version import __version__

_KINDS: Final = ("state", "event", "entry", "artifact")
"""The parts of an export except its head, in this order."""


@record(frozen=True, slots=True, kw_only=True)
class ExportPage:
    """A part of an export; the first has the head. `next_cursor` is set where there is more."""

    head: dict[str, Json] | None
    states: dict[str, Json]
    events: list[Json]
    journal: list[Json]
    artifacts: list[Json]
    next_cursor: str | None = None

    as_json = json_method()

    def add(self, kind: str, place: str, part: Json) -> None:
        """Add a part."""
        if kind == "state":
            self.states[place] = part
        else:
            {"event": self.events, "entry": self.journal, "artifact": self.artifacts}[kind].append(part)


@record(frozen=True, slots=True, kw_only=True)
class Exports:
    """Reads runs for exports."""

    plane: ControlPlane
    store: RunStore
    views: RunViews
    histories: Histories
    diagnosis: Diagnosis
    records: ExportedRecords

    def head(self, workflow_id: str) -> dict[str, Json]:
        """Return the documents of the run as a whole, and why it is where it is. Raise UnknownRun."""
        snapshot = self.store.read(workflow_id, ReadSet(whole_meta=True, audit=True))
        stored = self.store.definition(workflow_id)
        if snapshot.meta_document is None:
            raise UnknownRun(workflow_id)
        return head_of(
            dcf=__version__,
            at=to_text(snapshot.now),
            meta=codec.whole_meta(snapshot.meta_document),
            definition=None if stored is None else stored[0],
            audit=snapshot.audit,
            explanation=self.diagnosis.explain(workflow_id).as_json(),
            usage=self.records.usage(workflow_id),
        )

    def page(self, workflow_id: str, cursor: str | None, limit: int, takes: Callable[[Json], bool]) -> ExportPage:
        """Return a page of at most `limit` parts (states, events, entries, artifacts), as long as `takes` takes them.

        A cursor is the last part of the page before: its kind, a colon, and its place.
        """
        kind, _, last = (cursor or f"{_KINDS[0]}:").partition(":")
        if kind not in _KINDS or (cursor is not None and not last):
            raise unknown_cursor()
        head = self.head(workflow_id) if cursor is None else None
        page = ExportPage(head=head, states={}, events=[], journal=[], artifacts=[])
        count = 0
        takes(head)
        for part_kind in _KINDS[_KINDS.index(kind) :]:
            for place, part in self._each(part_kind, workflow_id, last if part_kind == kind and last else None):
                has_room = takes([place, part]) or not count  # so that every page has a part
                if count == limit or not has_room:
                    return replace(page, next_cursor=cursor)
                page.add(part_kind, place, part)
                cursor, count = f"{part_kind}:{place}", count + 1
        return page

    def _each(self, kind: str, workflow_id: str, after: str | None) -> Iterator[tuple[str, Json]]:
        """Yield the parts of a kind that come after a place, each behind its own."""
        match kind:
            case "state":
                yield from self.states(workflow_id, after)
            case "event":
                for event in self.events(workflow_id, check_cursor(after)):
                    yield event.event_id, event.as_json()
            case "entry":
                yield from self.records.entries(workflow_id, after)
            case _:
                yield from self.records.kept(workflow_id, after)

    def states(self, workflow_id: str, after: str | None = None) -> Iterator[tuple[str, dict[str, Json]]]:
        """Yield every state that has a document, each followed by those inside it, ended ones too; those after a path.

        Raise InvalidArgument if there is no such path.
        """
        used = self.records.usage_of_states(workflow_id)
        for path, state in self._states(workflow_id, after):
            yield path, state | ({"usage": used[path]} if path in used else {})

    def _states(self, workflow_id: str, after: str | None) -> Iterator[tuple[str, dict[str, Json]]]:
        own = self.plane.run(workflow_id).definition.paths
        chain = () if after is None else _chain(after)
        if chain and chain[0] not in own:
            raise unknown_cursor()
        if chain:
            yield from self._inside(workflow_id, chain)
        rest = own[own.index(chain[0]) + 1 :] if chain else own
        for path, view in self.views.each_state(workflow_id, rest) if rest else ():
            yield from self._with_inside(workflow_id, path, view)

    def events(self, workflow_id: str, after: str | None = None) -> Iterator[Happening]:
        """Yield the history, oldest first."""
        yield from self.histories.follow(workflow_id, EventQuery(), cursor=after)

    def beside(self, workflow_id: str) -> tuple[Iterator[Json], Iterator[Json]]:
        """Return the entries of the journal and the artifacts, the oldest first."""
        entries, artifacts = self.records.entries(workflow_id, None), self.records.kept(workflow_id, None)
        return (entry for _, entry in entries), (artifact for _, artifact in artifacts)

    def _inside(self, workflow_id: str, chain: tuple[str, ...]) -> Iterator[tuple[str, dict[str, Json]]]:
        """Yield what is inside the first state of the chain, after the others: each of these is inside the one before.

        Those are where the page before ended, so that the states inside the last of them come first.
        """
        owner, *rest = chain
        if rest:
            yield from self._inside(workflow_id, tuple(rest))
        if not self.plane.place(workflow_id, owner).state.machines:
            return
        for path, view in self.views.each_inside(workflow_id, owner, after=rest[0] if rest else None):
            yield from self._with_inside(workflow_id, path, view)

    def _with_inside(self, workflow_id: str, path: str, view: StateView) -> Iterator[tuple[str, dict[str, Json]]]:
        """Yield a state, and what is inside it if it is a Parallel or Map that was opened."""
        if view.doc.scope is None:
            yield path, exported(view)
            return
        tallies = self.store.read(workflow_id, ReadSet(tallies=(path,))).tallies
        yield path, exported(replace(view, tally=tallies.get(path)))
        yield from self._inside(workflow_id, (path,))


def exported(view: StateView) -> dict[str, Json]:
    """Return a state in the form of an export: its public document, and input and output if there are any."""
    shown = view.as_json()
    if view.given is not MISSING:
        shown["input"] = view.given
    if view.output is not MISSING:
        shown["output"] = view.output
    return shown


def _chain(path: str) -> tuple[str, ...]:
    try:
        return (*ancestors(path), path)
    except KeyError:
        raise unknown_cursor() from None
