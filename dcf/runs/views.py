"""Where runs stand, read for whoever shows it: command line, tools, agents' assignments, pages. Only reads.

Nobody above reads a run's documents in another way, so they all tell the same. What is read is bounded, and no call
takes more round trips for a wide Map than for a narrow one.
"""

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from dcf.asl.machine import Map, Parallel
from dcf.asl.state_paths import join, name_of
from dcf.core import needs
from dcf.core.decision import Reads
from dcf.core.definition import Definition
from dcf.core.model import RunStatus
from dcf.core.scopes import fenced, with_scopes
from dcf.errors import InvalidArgument, NotFound, StoreUnsuitable
from dcf.runs.control_plane import ControlPlane
from dcf.runs.insides import pick
from dcf.runs.standing import RunSummary, RunView, StateView, view_of
from dcf.runs.survey import Survey, survey
from dcf.store.history import Happening, History
from dcf.store.index import RunIndex
from dcf.store.runs import RunStore

EACH: Final = 10
"""Open branches or iterations that a person is shown of each Parallel or Map."""

MOST: Final = 200
"""Open states inside Parallel and Map that a person is shown at all."""

_CHUNK: Final = 200
"""States read in one packet."""

_FOLLOW_S: Final = 0.2


class RunViews:
    """Reads where runs stand."""

    def __init__(self, plane: ControlPlane, store: RunStore, index: RunIndex, history: History) -> None:
        self._plane = plane
        self._store = store
        self._index = index
        self._history = history

    def probe(self) -> None:
        """Ask Redis something small; raise StoreUnavailable where it does not answer."""
        self._index.newest(1)

    def live_count(self) -> int:
        """Count the runs that the clock looks at."""
        return len(self._index.live())

    def newest(self, limit: int) -> list[RunSummary]:
        """Summarise the newest runs, newest first; index entries without a run are left out."""
        found = map(self._summary, self._index.newest(limit))
        return [one for one in found if one is not None]

    def read(self, workflow_id: str, states: Sequence[str] = (), *, whole_meta: bool = True) -> RunView:
        """Read where a run and these states stand, under the names they are asked by; raise UnknownRun, UnknownState.

        A state inside a Parallel or Map that has not opened it is left out.
        """
        paths = {state: self._plane.path(workflow_id, state) for state in states}
        found = self._plane.read(workflow_id, tuple(paths.values()), whole_meta=whole_meta)
        assert found.meta is not None, "read() raises for a run that does not exist"
        docs = {state: found.states[path] for state, path in paths.items() if path in found.states}
        return RunView(
            meta=found.meta,
            now=found.now,
            states={state: view_of(found, paths[state], doc, found.meta) for state, doc in docs.items()},
            document=found.meta_document or {},
        )

    def overview(self, workflow_id: str, *, each: int = EACH, most: int = MOST) -> RunView:
        """Read a run with the states of its workflow and what is open inside them.

        Of each Parallel and Map `each` open branches or iterations are read, and at most `most` states inside.
        """
        run = self._plane.read(workflow_id, ())
        assert run.meta is not None, "read() raises for a run that does not exist"
        definition = self._plane.run(workflow_id).definition
        picked = pick(self._inside(workflow_id, definition), each=each, most=most)
        shown = (*definition.paths, *picked.paths)
        scopes = tuple(path for path in shown if _is_scope(definition, path))
        reads = Reads(states=with_scopes(shown), outputs=definition.paths, tallies=scopes)
        found = fenced(self._store.read(workflow_id, reads))
        views = (view_of(found, path, found.states[path], run.meta) for path in shown if path in found.states)
        return RunView(
            meta=run.meta,
            now=found.now,
            states={one.path: one for one in views if "/" not in one.path or not one.doc.status.is_terminal},
            document=run.meta_document or {},
            more=picked.more,
        )

    def each_state(
        self, workflow_id: str, named: Sequence[str] = (), *, after: str | None = None, at_once: int = _CHUNK
    ) -> Iterator[tuple[str, StateView]]:
        """Read states one after another, by name, some at a time: those named, or the workflow's own and what is open.

        `after` is the path of the last one that was seen before. What is open inside changes meanwhile; it comes in
        the order of its paths, so that the last path says where to go on all the same.
        """
        paths = self._following(workflow_id, tuple(named), after)
        size = min(at_once, _CHUNK)
        for start in range(0, len(paths), size):
            yield from self.read(workflow_id, paths[start : start + size], whole_meta=False).states.items()

    def paths_of(self, workflow_id: str, names: Iterable[str]) -> tuple[str, ...]:
        """List the paths of the states of these names: inside Parallel and Map, of those that are open."""
        wanted = dict.fromkeys(names)
        known = self._plane.run(workflow_id).definition.machine.states
        own = [join("", name) for name in wanted if name in known]
        if len(own) < len(wanted):
            open_states = self._store.open_states(workflow_id)
            own += [path for path in open_states if "/" in path and name_of(path) in wanted]
        return tuple(own)

    def survey(self, workflow_id: str, most: int) -> Survey:
        """Read how every state of a run stands, also what has ended inside, looking for at most `most` documents."""
        run = self.read(workflow_id)
        definition = self._plane.run(workflow_id).definition
        inside = self._inside(workflow_id, definition)
        found = survey(self._store, workflow_id, definition, inside, most)
        return replace(found, meta=run.document)

    def happenings(self, workflow_id: str, *, follow: bool) -> Iterator[Happening]:
        """Read the history page by page; to follow it ends when nothing is left after the run was seen to be over."""
        last = "0"
        while True:
            is_over = self.read(workflow_id).status is not RunStatus.RUNNING
            page = self._history.after(workflow_id, last)
            for happening in page:
                last = happening.event_id
                yield happening
            if not page and (is_over or not follow):
                return
            if not page:
                time.sleep(_FOLLOW_S)

    def key_names(self, workflow_id: str, states: Iterable[str]) -> list[str]:
        """Name the keys of a run's meta document, its definition and its states."""
        keys = self._store.keys(workflow_id)
        return [keys.meta, keys.definition, *map(keys.state, states)]

    def input_key(self, workflow_id: str, path: str) -> str:
        """Name the key of what a state was given."""
        return self._store.keys(workflow_id).input(path)

    def _summary(self, workflow_id: str) -> RunSummary | None:
        """Read one line of the list; a run whose keys were damaged by hand must not hide the others."""
        try:
            paths = self._plane.run(workflow_id).definition.paths
            found = self._store.read(workflow_id, Reads(states=paths, whole_meta=True))
        except NotFound:
            return None
        except StoreUnsuitable:
            return RunSummary(workflow_id=workflow_id, status="unreadable")
        if found.meta is None:
            return None
        meta = found.meta_document or {}
        return RunSummary(
            workflow_id=workflow_id,
            status=found.meta.status,
            workflow_name=meta.get("workflow_name"),
            states_done=sum(doc.status.is_terminal for doc in found.states.values()),
            states=len(found.states),
            created_at=meta.get("created_at"),
            finished_at=meta.get("finished_at"),
        )

    def _inside(self, workflow_id: str, definition: Definition) -> list[str]:
        """List the open states that the workflow has, by when they next need attention."""
        found = self._store.open_states(workflow_id)
        return [path for path in found if needs.place_of(definition, path) is not None]

    def _following(self, workflow_id: str, named: tuple[str, ...], after: str | None) -> Sequence[str]:
        definition = self._plane.run(workflow_id).definition
        own = named or definition.paths
        inside = [] if named else sorted(set(self._store.open_states(workflow_id)).difference(own))
        if after is None:
            return [*own, *inside]
        if after in own:
            return [*own[own.index(after) + 1 :], *inside]
        if named or "/" not in after or needs.place_of(definition, after) is None:
            raise InvalidArgument("cursor is not one that an answer to this call gave.", "Begin again without cursor.")
        return [path for path in inside if path > after]


def _is_scope(definition: Definition, path: str) -> bool:
    place = needs.place_of(definition, path)
    return place is not None and isinstance(place.state, Parallel | Map)
