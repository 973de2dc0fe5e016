"""Being inside a Parallel or Map: who is around a state, whether they are still open, and what of them the engine sees.

The document of a Parallel or Map is the fence of everything inside it: whoever writes inside watches it, and it
changes only when the scope is over. Counting what has ended happens beside it, so that siblings never wait for each
other. Pure; it decides nothing about leases.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from dcf.asl.state_paths import ancestors
from dcf.asl.steps import Advance, Closed, Entry, OpenScope, Unread, Visit
from dcf.core.decision import More, Snapshot
from dcf.core.model import Lease, StateDoc, Status

NOTHING_KEPT = Entry(raw=None, variables={}, entered_at="")
"""Stands for an entry that was not read; see `missing`."""

SCOPE_OVER = "The Parallel or Map around it was over before it was done."


def with_scopes(paths: Iterable[str]) -> tuple[str, ...]:
    """Add to some states all scopes around them, each once."""
    found: dict[str, None] = {}
    for path in paths:
        found[path] = None
        if "/" in path:
            found.update(dict.fromkeys(ancestors(path)))
    return tuple(found)


def fenced(snapshot: Snapshot) -> Snapshot:
    """Show states inside scopes that are over as what they are: cancelled, even before anybody wrote that down.

    The scopes around a state must have been read with it.
    """
    void = frozenset(
        path
        for path, doc in snapshot.states.items()
        if "/" in path and not doc.status.is_terminal and not _is_live(path, doc, snapshot.states)
    )
    if not void:
        return snapshot
    shown = {path: cancelled(doc, snapshot.now) if path in void else doc for path, doc in snapshot.states.items()}
    return replace(snapshot, states=shown, void=void)


def cancelled(doc: StateDoc, now: int) -> StateDoc:
    """Close a state whose scope is over."""
    return replace(
        doc, status=Status.CANCELLED, finished_at=now, last_error=SCOPE_OVER, lease=Lease(epoch=doc.lease.epoch)
    )


def entry_of(snapshot: Snapshot, path: str, kept: Entry | None) -> Entry:
    """Make the record of a visit from what was kept of it, if that was read, and the counters in its document."""
    doc = snapshot.states[path]
    return replace(NOTHING_KEPT if kept is None else kept, retries=doc.retries, passed=doc.passed)


def visits_of(snapshot: Snapshot, path: str) -> dict[str, Visit]:
    """Make what the engine must know of the scopes around a state."""
    return {owner: opened_scope(snapshot, owner) for owner in ancestors(path)} if "/" in path else {}


def opened_scope(snapshot: Snapshot, path: str) -> OpenScope:
    """Make the record of an open scope; what was not read of it is left empty."""
    doc, kept = snapshot.states[path], snapshot.scopes.get(path)
    assert doc.scope is not None, "an open state has open scopes around it"
    return OpenScope(
        path=path,
        source=None,
        entry=entry_of(snapshot, path, None if kept is None else kept.entry),
        kind="Map" if doc.kind == "Map" else "Parallel",
        effective=None if kept is None else kept.effective,
        items={index: value for (owner, index), value in snapshot.items.items() if owner == path},
        size=doc.scope.size,
        concurrency=doc.scope.concurrency,
        tolerance=doc.scope.tolerance,
    )


def missing(snapshot: Snapshot, path: str, advance: Advance) -> More | None:
    """Ask for what the engine was not given and needed: an item, or the records of scopes that it closed."""
    unread = [step for step in advance.steps if isinstance(step, Unread)]
    if unread:
        return More(items=tuple(item for step in unread for item in _lane(snapshot, step)))
    around = ancestors(path) if "/" in path else ()
    closed = {step.path for step in advance.steps if isinstance(step, Closed)}
    guessed = any(owner in closed and owner not in snapshot.scopes for owner in around)
    return More(scopes=around) if guessed else None


def _lane(snapshot: Snapshot, step: Unread) -> Iterator[tuple[str, int]]:
    """List the items of a lane from one on, twice as many each time: iterations may be over as soon as they begin."""
    scope = snapshot.states[step.path].scope
    known = sum(path == step.path for path, _ in snapshot.items)
    if scope is not None:
        lane = range(step.index, scope.size, scope.concurrency)
        yield from ((step.path, index) for index in lane[: known + 1])


def _is_live(path: str, doc: StateDoc, states: Mapping[str, StateDoc]) -> bool:
    owner = ancestors(path)[-1]
    around = states.get(owner)
    if around is None or not around.is_open_scope or doc.scope_epoch != around.lease.epoch:
        return False
    return "/" not in owner or _is_live(owner, around, states)
