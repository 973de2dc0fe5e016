"""Reads the status of runs for the command line, tools, agents' assignments and pages. Never writes.

All of these callers read runs through this module, so they agree. The size of each read is bounded, however many
iterations a Map has.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Final

from dcf.asl.state_paths import join, name_of
from dcf.core.definitions import needs
from dcf.core.definitions.model import Definition
from dcf.core.definitions.scopes import fenced, with_scopes
from dcf.core.documents import codec
from dcf.core.documents.decision import ReadSet, Snapshot
from dcf.core.documents.signals import NO_SIGNALS
from dcf.core.documents.usage_sums import run_sums_shown
from dcf.core.listing.cursors import unknown_cursor
from dcf.errors import InvalidArgument
from dcf.runs.control_plane import ControlPlane
from dcf.runs.views.inner_states import EACH, MOST, members, pick
from dcf.runs.views.status import RunView, StateView, view_of
from dcf.store.events.notified import NEVER_TOLD, Told, ToldRecords
from dcf.store.transaction.runs import RunStore
from dcf.values.instants import to_text
from dcf.values.json_text import Json
from dcf.values.records import replace

if TYPE_CHECKING:
    from dcf.runs.views.survey import Survey

_CHUNK: Final = 200
"""States read per round trip."""


def _used(snapshot: Snapshot) -> dict[str, Json]:
    """Return the run's usage, as a field next to its meta document; empty if no usage was reported."""
    return {"usage": run_sums_shown(snapshot.usage)} if snapshot.usage else {}


class RunViews:
    """Reads the status of runs."""

    def __init__(self, plane: ControlPlane, store: RunStore, told: ToldRecords) -> None:
        self._plane = plane
        self._store = store
        self._told = told

    def read(
        self, workflow_id: str, states: Sequence[str] = (), *, whole_meta: bool = True, with_data: bool = True
    ) -> RunView:
        """Return the status of a run and of these states, keyed by the given names. Raise UnknownRun or UnknownState.

        A state inside a Parallel or Map that has not opened it yet is left out. `with_data`: inputs and outputs as
        well.
        """
        paths = {state: self._plane.path(workflow_id, state) for state in states}
        snapshot = self._plane.read(workflow_id, tuple(paths.values()), whole_meta=whole_meta, with_data=with_data)
        docs = {state: snapshot.states[path] for state, path in paths.items() if path in snapshot.states}
        return RunView(
            meta=snapshot.existing_meta,
            now=snapshot.now,
            states={state: view_of(snapshot, paths[state], doc, snapshot.existing_meta) for state, doc in docs.items()},
            document=dict(codec.whole_meta(snapshot.meta_document or {}))
            | _used(snapshot)
            | self._signals(workflow_id, asked=whole_meta),
        )

    def overview(self, workflow_id: str, *, each: int = EACH, most: int = MOST) -> RunView:
        """Return the status of a run with the states of its workflow and the open states inside them.

        At most `each` open branches or iterations are read of each Parallel and Map, and at most `most` states inside.
        """
        run = self._plane.read(workflow_id, ())
        definition = self._plane.run(workflow_id).definition
        picked = pick(self._inside(workflow_id, definition), each=each, most=most)
        shown = (*definition.paths, *picked.paths)
        scopes = tuple(path for path in shown if _is_scope(definition, path))
        reads = ReadSet(states=with_scopes(shown), outputs=definition.paths, tallies=scopes)
        snapshot = fenced(self._store.read(workflow_id, reads))
        deliveries = self._told.read(workflow_id, shown)
        views = (
            replace(
                view_of(snapshot, path, snapshot.states[path], run.existing_meta), told=deliveries.get(path, NEVER_TOLD)
            )
            for path in shown
            if path in snapshot.states
        )
        return RunView(
            meta=run.existing_meta,
            now=snapshot.now,
            states={view.path: view for view in views if "/" not in view.path or not view.doc.status.is_terminal},
            document=dict(codec.whole_meta(run.meta_document or {})) | _used(run) | self._signals(workflow_id),
            more=picked.more,
        )

    def told(self, workflow_id: str, path: str) -> Told:
        """Return how the agents of a state were notified of it."""
        return self._told.read(workflow_id, [path]).get(path, NEVER_TOLD)

    def _signals(self, workflow_id: str, *, asked: bool = True) -> dict[str, Json]:
        """Return the signals that a run stores, without their payloads; empty if there are none."""
        if not asked or not self._plane.transactions.run(workflow_id).definition.takes_signals:
            return {}
        signals = (self._store.read(workflow_id, ReadSet(signals=True)).signals or NO_SIGNALS).kept
        shown: list[Json] = [
            {"number": signal.number, "name": signal.name, "at": to_text(signal.at)} for signal in signals
        ]
        return {"signals": shown} if shown else {}

    def each_state(
        self,
        workflow_id: str,
        named: Sequence[str] = (),
        *,
        after: str | None = None,
        at_once: int = _CHUNK,
        with_data: bool = True,
    ) -> Iterator[tuple[str, StateView]]:
        """Yield states with their names, read in chunks: those given, or the workflow's own and the open ones inside.

        `after` is the path of the last state of the page before. The open states may change between pages; they come in
        the order of their paths, so that `after` is valid all the same.
        """
        paths = self._following(workflow_id, tuple(named), after)
        size = min(at_once, _CHUNK)
        for start in range(0, len(paths), size):
            page = self.read(workflow_id, paths[start : start + size], whole_meta=False, with_data=with_data)
            yield from page.states.items()

    def each_inside(
        self, workflow_id: str, scope: str, *, after: str | None = None, at_once: int = _CHUNK, with_data: bool = True
    ) -> Iterator[tuple[str, StateView]]:
        """Yield the states in the branches or iterations of a Parallel or Map, those that have ended as well.

        They come by branch or iteration. States that control never reached have no document and are left out.
        """
        place = self._plane.place(workflow_id, scope)
        if not place.state.machines:
            raise InvalidArgument(f"State '{place.path}' is no Parallel or Map.", "Name one in `inside`.")
        around = self.read(workflow_id, (place.path,), whole_meta=False).states.get(place.path)
        bounds = None if around is None else around.doc.scope
        if bounds is None:
            return
        try:
            paths = members(place.path, place.state.machines, bounds.size, after)
            last_seen = -1
            while page := list(islice(paths, min(at_once, _CHUNK))):
                states = self.read(
                    workflow_id, [path for _, path in page], whole_meta=False, with_data=with_data
                ).states
                for index, path in page:
                    if path in states:
                        last_seen = index
                        yield path, states[path]
                if page[-1][0] - last_seen > bounds.concurrency:
                    return  # iteration i + concurrency begins only when iteration i has ended
        except (KeyError, ValueError):
            raise unknown_cursor() from None

    def paths_of(self, workflow_id: str, definition: Definition, names: Iterable[str]) -> tuple[str, ...]:
        """Return the paths of the states of these names; inside Parallel and Map, of the open ones only."""
        names_wanted = dict.fromkeys(names)
        known = definition.machine.states
        own = [join("", name) for name in names_wanted if name in known]
        if len(own) < len(names_wanted):
            open_states = self._store.open_states(workflow_id)
            own += [path for path in open_states if "/" in path and name_of(path) in names_wanted]
        return tuple(own)

    def survey(self, workflow_id: str, most: int) -> "Survey":
        """Return the status of every state, ended ones inside scopes included, from at most `most` documents."""
        from dcf.runs.views.survey import survey  # noqa: PLC0415 - only pictures need it

        run = self.read(workflow_id)
        definition = self._plane.run(workflow_id).definition
        inside = self._inside(workflow_id, definition)
        overview = survey(self._store, workflow_id, definition, inside, most)
        return replace(overview, meta=run.document)

    def key_names(self, workflow_id: str, states: Iterable[str]) -> list[str]:
        """Return the keys of a run's meta document, its definition and its states."""
        keys = self._store.keys(workflow_id)
        return [keys.meta, keys.definition, *map(keys.state, states)]

    def input_key(self, workflow_id: str, path: str) -> str:
        """Return the key of a state's input."""
        return self._store.keys(workflow_id).input(path)

    def _inside(self, workflow_id: str, definition: Definition) -> list[str]:
        """Return the open states inside Parallel and Map, in the order in which they next need attention."""
        statuses = self._store.open_states(workflow_id)
        return [path for path in statuses if needs.place_of(definition, path) is not None]

    def _following(self, workflow_id: str, named: tuple[str, ...], after: str | None) -> Sequence[str]:
        definition = self._plane.run(workflow_id).definition
        own = named or definition.paths
        inside = [] if named else sorted(set(self._store.open_states(workflow_id)).difference(own))
        if after is None:
            return [*own, *inside]
        if after in own:
            return [*own[own.index(after) + 1 :], *inside]
        if named or "/" not in after or needs.place_of(definition, after) is None:
            raise unknown_cursor()
        return [path for path in inside if path > after]


def _is_scope(definition: Definition, path: str) -> bool:
    place = needs.place_of(definition, path)
    return place is not None and bool(place.state.machines)
