"""Reads the status of every state of a run, also inside Parallel and Map, for a diagram, in a bounded number of reads.

Open states are read first, then ended ones, outer scopes before inner ones. States that were not read are counted.
"""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Final

from dcf.asl.machine import Machine, Map
from dcf.asl.places import resolve
from dcf.asl.state_paths import ancestors, join, open_scope, split, split_scope
from dcf.core.definitions.model import Definition
from dcf.core.definitions.scopes import fenced, with_scopes
from dcf.core.documents.decision import ReadSet, Snapshot
from dcf.core.documents.model import ScopeBounds, StateDoc
from dcf.values.json_text import Json
from dcf.values.records import record, replace
from dcf.workflows.drawing import Share

if TYPE_CHECKING:
    from dcf.store.transaction.runs import RunStore

MOST: Final = 4_000
"""Most documents that are looked for to draw one diagram."""

_PAGE: Final = 500

Docs = Mapping[str, StateDoc]


@record(frozen=True, slots=True, kw_only=True)
class Survey:
    """A run to be drawn. `shares` has those of Maps, by path; `left_out` counts documents that were not read."""

    machine: Machine
    meta: Mapping[str, Json]
    statuses: Mapping[str, str]
    shares: Mapping[str, Share]
    left_out: int


class _PageReader:
    """Reads documents of a run page by page, up to a limit."""

    def __init__(self, store: "RunStore", workflow_id: str, most: int) -> None:
        self._store = store
        self._workflow_id = workflow_id
        self._left = most
        self.snapshot = Snapshot(now=0)

    def read(self, paths: Iterable[str]) -> int:
        """Read these documents. Return how many were left out because the limit was reached."""
        unread = (path for path in paths if path not in self.snapshot.states)
        while self._left > 0 and (page := tuple(islice(unread, min(_PAGE, self._left)))):
            self._left -= len(page)
            snapshot = self._store.read(self._workflow_id, ReadSet(states=page))
            self.snapshot = replace(snapshot, states={**self.snapshot.states, **snapshot.states})
        return sum(1 for _ in unread)


def survey(store: "RunStore", workflow_id: str, definition: Definition, inside: Iterable[str], most: int) -> Survey:
    """Return the status of a run's states, from at most `most` documents; the open states `inside` are read first."""
    reader = _PageReader(store, workflow_id, most)
    left_out = reader.read(with_scopes((*definition.paths, *inside)))
    left_out += _read_inside(reader, definition.machine)
    docs = current(fenced(reader.snapshot).states)
    return Survey(
        machine=definition.machine,
        meta={},
        statuses={path: doc.status.value for path, doc in docs.items()},
        shares=_shares(store, workflow_id, definition.machine, docs),
        left_out=left_out,
    )


def current(docs: Docs) -> dict[str, StateDoc]:
    """Return the documents of the current visits; an earlier visit of a scope (before a retry) may have left others."""
    latest: dict[str, int] = {}
    for path, doc in docs.items():
        if "/" in path:
            owner = ancestors(path)[-1]
            latest[owner] = max(latest.get(owner, 0), doc.scope_epoch or 0)
    current: dict[str, StateDoc] = {}
    for path in sorted(docs, key=lambda path: path.count("/")):
        scope = split(path)[0]
        if not scope or _is_of_this_visit(docs[path], *split_scope(scope), current, latest):
            current[path] = docs[path]
    return {path: current[path] for path in docs if path in current}


def _is_of_this_visit(doc: StateDoc, owner: str, index: int, docs: Docs, latest: Mapping[str, int]) -> bool:
    around = docs.get(owner)
    if around is None or around.scope is None or index >= around.scope.size:
        return False
    epoch = around.lease.epoch if around.is_open_scope else latest[owner]
    return (doc.scope_epoch or 0) == epoch


def _read_inside(reader: _PageReader, machine: Machine) -> int:
    """Read the states in opened scopes, the outer ones first. Return how many were left out."""
    left_out = 0
    pending, seen = deque(reader.snapshot.states), set(reader.snapshot.states)
    while pending:
        path = pending.popleft()
        scope = reader.snapshot.states[path].scope
        if scope is None:
            continue
        left_out += _read_members(reader, resolve(machine, path).state.machines, path, scope)
        fresh = [path for path in reader.snapshot.states if path not in seen]
        seen.update(fresh)
        pending.extend(fresh)
    return left_out


def _read_members(reader: _PageReader, inner: Sequence[Machine], path: str, scope: ScopeBounds) -> int:
    """Read the states in the branches or iterations of a scope.

    Iteration i + concurrency begins only when iteration i has ended. So when that many in a row have no document, no
    later iteration has one.
    """
    several = len(inner) > 1
    step = max(1, _PAGE // max(len(machine.states) for machine in inner))
    absent = 0
    for start in range(0, scope.size, step):
        stop = min(scope.size, start + step)
        members = [
            join(open_scope(path, index), name)
            for index in range(start, stop)
            for name in inner[index if several else 0].states
        ]
        unread = reader.read(members)
        if unread:
            return unread + sum(len(inner[index if several else 0].states) for index in range(stop, scope.size))
        absent = 0 if any(member in reader.snapshot.states for member in members) else absent + stop - start
        if absent >= scope.concurrency:
            return 0
    return 0


def _shares(store: "RunStore", workflow_id: str, machine: Machine, docs: Docs) -> dict[str, Share]:
    maps = iter([path for path, doc in docs.items() if doc.scope and isinstance(resolve(machine, path).state, Map)])
    shares: dict[str, Share] = {}
    while page := tuple(islice(maps, _PAGE)):
        for path, tally in store.read(workflow_id, ReadSet(tallies=page)).tallies.items():
            scope = docs[path].scope
            shares[path] = Share(size=scope.size if scope else 0, done=tally.done, failed=tally.failed)
    return shares
