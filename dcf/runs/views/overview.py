"""Reads what the page of a run shows at first, in few round trips however large the run is. Never writes.

Of a large Map it reads the first open iterations and the counts of those that ended, never all of them. `RunViews`
answers tools and commands, which show less at once and more in pages.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from dcf.asl.machine import Machine, Map
from dcf.asl.state_paths import join, open_scope
from dcf.core.definitions import needs
from dcf.core.definitions.model import Definition
from dcf.core.definitions.scopes import fenced, with_scopes
from dcf.core.documents import codec
from dcf.core.documents.decision import ReadSet, Snapshot, Tally
from dcf.core.documents.model import StateDoc, Status
from dcf.core.documents.usage_sums import run_sums_shown
from dcf.errors import UnknownRun
from dcf.runs.control_plane import ControlPlane
from dcf.runs.views.inner_states import tree
from dcf.runs.views.status import StateView, view_of
from dcf.runs.views.survey import current
from dcf.values.json_text import Json
from dcf.values.records import record, replace
from dcf.workflows.drawing import Share

MOST_OPEN: Final = 300
"""Open states of a run that are looked for, those first that next need attention."""

MOST_INSIDE: Final = 600
"""States in iterations that are read: a run whose Maps have more in all is shown by counts."""

_MOST_STATIC: Final = 1_200


@record(frozen=True, slots=True, kw_only=True)
class Glance:
    """A run at `now` (server microseconds): its meta document, its workflow, and the status of its states by path.

    `states` come in the order of the workflow, those inside a Parallel or Map behind it. `tallies` are the counts of
    Parallel and Map that were opened. `is_whole`: no state is left out. `open_count` is of all open states, of which
    the first `MOST_OPEN` were looked for. All that happened up to `newest_event` is in it.
    """

    workflow_id: str
    now: int
    meta: Mapping[str, Json]
    definition: Definition
    states: Mapping[str, StateView]
    tallies: Mapping[str, Tally]
    open_count: int
    newest_event: str | None
    is_whole: bool

    @property
    def shares(self) -> dict[str, Share]:
        """The progress of Maps, for a picture."""
        return {
            path: Share(size=doc.scope.size, done=tally.done, failed=tally.failed)
            for path, tally in self.tallies.items()
            if (doc := self.states[path].doc).scope is not None and isinstance(self._state(path), Map)
        }

    @property
    def statuses(self) -> dict[str, str]:
        """The statuses of states, for a picture."""
        return {path: state.doc.status.value for path, state in self.states.items()}

    @property
    def failures(self) -> list[StateView]:
        """The states that failed; of a Parallel or Map the states inside that made it fail, if they were read."""
        failed = {path: view for path, view in self.states.items() if view.doc.status is Status.FAILED}
        return [view for path, view in failed.items() if not any(inner.startswith(f"{path}/") for inner in failed)]

    def _state(self, path: str) -> object:
        place = needs.place_of(self.definition, path)
        return None if place is None else place.state


def glance(plane: ControlPlane, workflow_id: str) -> Glance:
    """Return what there is to see of a run. Raise UnknownRun."""
    store, transactions = plane.transactions.store, plane.transactions
    look = store.look(workflow_id, ReadSet(whole_meta=True, usage=True), MOST_OPEN)
    head, listed = look.snapshot, look.open_states
    meta = head.meta
    if meta is None or head.meta_document is None:
        raise UnknownRun(workflow_id)
    run = transactions.run(workflow_id)
    if not run.is_that_of(meta) or run.definition.units is not None:  # an open run may have more states by now
        run = transactions.load(workflow_id)
    definition = run.definition
    inside = [path for path in listed if "/" in path and needs.place_of(definition, path) is not None]
    paths = with_scopes((*_static(definition.machine), *inside))
    scopes = tuple(path for path in paths if _machines(definition, path))
    snapshot = store.read(workflow_id, ReadSet(states=paths, tallies=scopes))
    members = _members(definition, snapshot)
    more = tuple(path for path in members or () if path not in snapshot.states)
    if more:
        rest = store.read(
            workflow_id, ReadSet(states=more, tallies=tuple(path for path in more if _machines(definition, path)))
        )
        snapshot = replace(
            snapshot, states={**snapshot.states, **rest.states}, tallies={**snapshot.tallies, **rest.tallies}
        )
    docs = current(fenced(snapshot).states)
    order = _in_order(docs)
    return Glance(
        workflow_id=workflow_id,
        now=head.now,
        meta=dict(codec.whole_meta(head.meta_document)) | ({"usage": run_sums_shown(head.usage)} if head.usage else {}),
        definition=definition,
        states={path: view_of(replace(snapshot, states=docs), path, docs[path], meta) for path in order},
        tallies={
            path: snapshot.tallies[path] for path in order if docs[path].scope is not None and path in snapshot.tallies
        },
        open_count=look.open_count,
        newest_event=look.newest_event,
        is_whole=members is not None and look.open_count <= len(listed),
    )


def _static(machine: Machine, scope: str = "") -> Iterator[str]:
    """Yield the paths that are known from the workflow alone: all but those inside a Map."""
    pending = [(scope, machine)]
    left = _MOST_STATIC
    while pending and left > 0:
        around, item = pending.pop(0)
        for name, state in item.states.items():
            path = join(around, name)
            left -= 1
            yield path
            if state.machines and not isinstance(state, Map):
                pending += [(open_scope(path, at), inner) for at, inner in enumerate(state.machines)]


def _machines(definition: Definition, path: str) -> tuple[Machine, ...]:
    place = needs.place_of(definition, path)
    return () if place is None else place.state.machines


def _members(definition: Definition, snapshot: Snapshot) -> list[str] | None:
    """Return the paths of the states in all iterations of the Maps that were read; None if they are too many."""
    paths: list[str] = []
    for owner, doc in snapshot.states.items():
        place = needs.place_of(definition, owner)
        if place is None or doc.scope is None or not isinstance(place.state, Map):
            continue
        (inner,) = place.state.machines
        if len(paths) + doc.scope.size * len(inner.states) > MOST_INSIDE:
            return None
        paths += [join(open_scope(owner, at), name) for at in range(doc.scope.size) for name in inner.states]
    return paths


def _in_order(docs: Mapping[str, StateDoc]) -> list[str]:
    """Return the paths with those inside a Parallel or Map behind it."""
    return [row.path for row in tree(docs, {}) if row.path is not None]
