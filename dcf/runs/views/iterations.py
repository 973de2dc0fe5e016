"""Reads the branches or iterations of a Parallel or Map in pages, each as one status. Never writes.

A Map may have tens of thousands of iterations, so a page reads those that it shows, and the counts of all.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from dcf.asl.machine import Machine
from dcf.asl.state_paths import join, open_scope, split, split_scope, within
from dcf.core.definitions import needs
from dcf.core.definitions.model import Definition
from dcf.core.definitions.scopes import fenced, with_scopes
from dcf.core.documents.decision import ReadSet, Snapshot, Tally
from dcf.core.documents.model import StateDoc, Status
from dcf.core.listing.events import EventQuery
from dcf.errors import InvalidArgument, UnknownRun
from dcf.runs.control_plane import ControlPlane
from dcf.runs.views.histories import Histories
from dcf.runs.views.survey import current
from dcf.values.records import record

_MOST_READ: Final = 600
_LONGEST: Final = 200
_SHORTEST: Final = 10
_FAILED_EVENTS: Final = 200


@record(frozen=True, slots=True, kw_only=True)
class Iteration:
    """A branch or iteration. `path` is the state in it to look at; None if it has not begun. `tries` are all leases."""

    index: int
    status: str
    path: str | None = None
    tries: int = 0
    error: str | None = None


@record(frozen=True, slots=True, kw_only=True)
class Iterations:
    """A page of `size` iterations from `first` on, `most` at a time. `failed` are some of those that failed."""

    owner: str
    kind: str
    size: int
    tally: Tally
    first: int
    most: int
    rows: tuple[Iteration, ...]
    failed: tuple[Iteration, ...] = ()


def iterations(
    plane: ControlPlane, histories: Histories, definition: Definition, workflow_id: str, owner: str, first: int
) -> Iterations:
    """Return a page. Raise InvalidArgument for a state that is no Parallel or Map, UnknownRun if there is no run."""
    place = needs.place_of(definition, owner)
    if place is None or not place.state.machines:
        raise InvalidArgument("This state is no Parallel or Map.", "Choose one in the table of the run.")
    machines = place.state.machines
    most = max(_SHORTEST, min(_LONGEST, _MOST_READ // max(len(machine.states) for machine in machines)))
    snapshot = plane.transactions.store.read(workflow_id, ReadSet(states=with_scopes([owner]), tallies=(owner,)))
    if snapshot.meta is None:
        raise UnknownRun(workflow_id)
    scope = snapshot.states[owner].scope if owner in snapshot.states else None
    size, tally = (0 if scope is None else scope.size), snapshot.tallies.get(owner, Tally())
    begin = max(0, min(first, size - 1)) // most * most
    shown = _read(plane, workflow_id, owner, machines, range(begin, min(size, begin + most)))
    lately = _failed_lately(histories, workflow_id, owner, size, most) if tally.failed else ()
    failed = [
        iteration for iteration in _read(plane, workflow_id, owner, machines, lately) if iteration.status == "failed"
    ]
    return Iterations(
        owner=owner,
        kind=place.state.kind(),
        size=size,
        tally=tally,
        first=begin,
        most=most,
        rows=shown,
        failed=tuple(failed),
    )


def _read(
    plane: ControlPlane, workflow_id: str, owner: str, machines: Sequence[Machine], indexes: Sequence[int]
) -> tuple[Iteration, ...]:
    """Read these iterations in one round trip."""
    inside = {at: machines[at if len(machines) > 1 else 0] for at in indexes}
    paths = [join(open_scope(owner, at), name) for at, machine in inside.items() for name in machine.states]
    if not paths:
        return ()
    docs = _current(plane.transactions.store.read(workflow_id, ReadSet(states=with_scopes(paths))))
    return tuple(_iteration(at, open_scope(owner, at), machine, docs) for at, machine in inside.items())


def _current(snapshot: Snapshot) -> Mapping[str, StateDoc]:
    return current(fenced(snapshot).states)


def _iteration(index: int, scope: str, machine: Machine, docs: Mapping[str, StateDoc]) -> Iteration:
    """Fold the states of an iteration: open states count first, then the way in which it ended."""
    there = {path: docs[path] for name in machine.states if (path := join(scope, name)) in docs}
    if not there:
        return Iteration(index=index, status="pending")
    path = min(there, key=lambda name: _rank(there[name], machine, name))
    return Iteration(
        index=index,
        status=there[path].status.value,
        path=path,
        tries=sum(doc.attempts for doc in there.values()),
        error=there[path].last_error,
    )


def _rank(doc: StateDoc, machine: Machine, path: str) -> int:
    """Return the place of a state among those of its iteration: an end that was reached outdoes a caught failure."""
    state = machine.states[split(path)[1]]
    if doc.status is Status.RUNNING:
        return 0
    if doc.status is Status.PENDING:
        return 1
    if doc.status is Status.SUCCEEDED and (state.is_end or state.next is None):
        return 2
    return 3 if doc.status is Status.FAILED else 4


def _failed_lately(histories: Histories, workflow_id: str, owner: str, size: int, most: int) -> tuple[int, ...]:
    """Return the iterations in which a state failed, by the last events that report failures."""
    query = EventQuery(types=frozenset({"StateFailed"}), newest_first=True)
    events = histories.page(workflow_id, query, limit=_FAILED_EVENTS).events
    indexes = dict.fromkeys(
        _index(event.state, owner) for event in events if event.state and within(event.state, owner)
    )
    return tuple(sorted(_within(indexes, size)))[:most]


def _within(indexes: Iterable[int], size: int) -> Iterable[int]:
    return (index for index in indexes if index < size)


def _index(path: str, owner: str) -> int:
    """Return the number of the iteration of this Parallel or Map that a state is in."""
    scope = split(path)[0]
    while True:
        around, index = split_scope(scope)
        if around == owner:
            return index
        scope = split(around)[0]
