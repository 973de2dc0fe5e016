"""Finds the scopes (Parallel and Map states) around a state, and what the engine needs to know of them.

The document of a scope fences everything inside it: every write inside watches that document, and the document changes
only when the scope ends. Ended branches are counted in another key, so that siblings do not conflict. Pure; decides
nothing about leases.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping

from dcf.asl.state_paths import ancestors
from dcf.asl.steps import Advance, Closed, Entry, OpenScope, Unread, Visit
from dcf.core.documents.decision import More, Snapshot
from dcf.core.documents.model import Lease, Meta, StateDoc, Status
from dcf.values.instants import from_text
from dcf.values.records import replace

NOTHING_KEPT = Entry(raw=None, variables={}, entered_at="")
"""Placeholder for an entry that was not read; see `missing`."""

SCOPE_OVER = "The Parallel or Map around it was over before it was done."


def with_scopes(paths: Iterable[str]) -> tuple[str, ...]:
    """Return these states and all scopes around them, each once."""
    result: dict[str, None] = {}
    for path in paths:
        result[path] = None
        if "/" in path:
            result.update(dict.fromkeys(ancestors(path)))
    return tuple(result)


def entry_epoch_of(path: str, doc_of: Callable[[str], StateDoc | None], meta: Meta) -> int:
    """Return the epoch of what entered a state; for the first one of a run, when the run was created.

    The first state of a branch or iteration was entered with the Parallel or Map around it. `doc_of` gives documents.
    """
    for scope in (path, *reversed(ancestors(path))):
        doc = doc_of(scope)
        if doc is not None and doc.entry_epoch:
            return doc.entry_epoch
    return from_text(meta.created_at) or 0


def fenced(snapshot: Snapshot) -> Snapshot:
    """Show states as cancelled if a scope around them has ended, even if that is not written to them yet.

    The scopes around a state must have been read with it.
    """
    void = {
        path: doc
        for path, doc in snapshot.states.items()
        if "/" in path and not doc.status.is_terminal and not _is_live(path, doc, snapshot.states)
    }
    if not void:
        return snapshot
    shown = {path: cancelled(doc, snapshot.now) if path in void else doc for path, doc in snapshot.states.items()}
    return replace(snapshot, states=shown, void=void)


def cancelled(doc: StateDoc, now: int) -> StateDoc:
    """Return the document of a state, cancelled because its scope has ended."""
    return replace(
        doc, status=Status.CANCELLED, finished_at=now, last_error=SCOPE_OVER, lease=Lease(epoch=doc.lease.epoch)
    )


def visits_of(snapshot: Snapshot, path: str) -> dict[str, Visit]:
    """Return the scopes around a state as the engine needs them, by path."""
    return {owner: opened_scope(snapshot, owner) for owner in ancestors(path)} if "/" in path else {}


def opened_scope(snapshot: Snapshot, path: str) -> OpenScope:
    """Return an open scope as the engine needs it; what was not read is left empty."""
    doc, scope = snapshot.states[path], snapshot.scopes.get(path)
    assert doc.scope is not None, "an open state has open scopes around it"
    return OpenScope(
        path=path,
        source=None,
        entry=NOTHING_KEPT if scope is None else scope.entry,
        kind="Map" if doc.kind == "Map" else "Parallel",
        effective=None if scope is None else scope.effective,
        items={index: value for (owner, index), value in snapshot.items.items() if owner == path},
        size=doc.scope.size,
        concurrency=doc.scope.concurrency,
        tolerance=doc.scope.tolerance,
        done=doc.scope.done,
    )


def missing(snapshot: Snapshot, path: str, advance: Advance) -> More | None:
    """Return More if the engine lacked something: a Map's item, or the recorded entries of scopes that it closed."""
    unread = [step for step in advance.steps if isinstance(step, Unread)]
    if unread:
        return More(items=tuple(item for step in unread for item in _lane(snapshot, step)))
    if "/" not in path:
        return None
    around = ancestors(path)
    closed = [step.path for step in advance.steps if isinstance(step, Closed) and step.path in around]
    return None if snapshot.scopes.keys() >= set(closed) else More(scopes=around)


def _lane(snapshot: Snapshot, step: Unread) -> Iterator[tuple[str, int]]:
    """Yield the items to read for one concurrent slot of a Map, from the missing one on.

    The number doubles with each try, since iterations may end as soon as they begin.
    """
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
