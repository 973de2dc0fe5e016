"""Finds the parts of an ended run that can continue: the states in which control stopped, and the scopes around them.

Of a Parallel or Map, succeeded branches stay as they are. A branch continues in the state that did not succeed. An
iteration starts from its beginning if its turn had not come, or if no state recorded its input. Pure: `retrying` does
the writes.
"""

from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Final

from dcf.asl.places import machine_of
from dcf.asl.state_paths import join, open_scope
from dcf.asl.steps import Entry
from dcf.core.definitions.model import Definition
from dcf.core.documents.model import StateDoc, Status
from dcf.values.records import record

_FINE: Final = frozenset({Status.SUCCEEDED, Status.SKIPPED})


@record(frozen=True, slots=True, kw_only=True)
class BranchPlace:
    """A branch of a Parallel or an iteration of a Map."""

    owner: str
    index: int

    @property
    def scope(self) -> str:
        """The path of what runs in it."""
        return open_scope(self.owner, self.index)


@record(frozen=True, slots=True)
class Plan:
    """The parts that continue: `scopes` by path with the branches that are done, `states` with their recorded entry.

    `fresh` are branches that start from their beginning now. Those in `dropped` lose all documents, since they start
    from their beginning now or when their turn comes. `lost` are states without a recorded entry outside of branches.
    """

    scopes: dict[str, frozenset[int]] = field(default_factory=dict)
    states: dict[str, Entry] = field(default_factory=dict)
    fresh: list[BranchPlace] = field(default_factory=list)
    dropped: list[BranchPlace] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)

    @property
    def is_empty(self) -> bool:
        """True if no part continues."""
        return not (self.scopes or self.states or self.lost)


def standing(docs: Mapping[str, StateDoc]) -> list[str]:
    """Return the states of one machine in which control stopped, of the visit that the documents are of."""
    return [path for path, doc in docs.items() if _stands(path, doc, docs)]


def may_hold_branches(doc: StateDoc) -> bool:
    """Return True for a Parallel or Map that was open, and does not wait to be entered again."""
    return doc.is_scope and doc.scope is not None and doc.not_before is None


def branches(definition: Definition, owner: str, size: int) -> Iterator[tuple[BranchPlace, tuple[str, ...]]]:
    """Yield the branches of a scope with the paths of their states."""
    for index in range(size):
        branch = BranchPlace(owner=owner, index=index)
        names = machine_of(definition.machine, branch.scope).states
        yield branch, tuple(join(branch.scope, name) for name in names)


def halted(definition: Definition, owner: str, docs: Mapping[str, StateDoc]) -> dict[BranchPlace, dict[str, StateDoc]]:
    """Return the branches that were begun in a scope's last visit, each with the states in which it stopped.

    A branch that is done has none. Branches that were done at an earlier reopening are left out.
    """
    doc = docs[owner]
    assert doc.scope is not None, "only a scope that was opened has branches"
    indices = _indices(doc)
    visit = _visit(definition, owner, doc.scope.size, docs)
    docs_by_branch: dict[BranchPlace, dict[str, StateDoc]] = {}
    for branch, paths in branches(definition, owner, doc.scope.size):
        mine = {path: docs[path] for path in paths if path in docs and docs[path].scope_epoch == visit}
        if mine and branch.index not in indices:
            docs_by_branch[branch] = {path: mine[path] for path in standing(mine)}
    return docs_by_branch


def plan(definition: Definition, docs: Mapping[str, StateDoc], entries: Mapping[str, Entry]) -> Plan:
    """Return the parts that continue; `docs` are all documents that exist, `entries` all recorded entries."""
    made = Plan()
    for path in standing({path: docs[path] for path in definition.paths if path in docs}):
        _add(made, definition, path, docs, entries)
    return made


def _add(
    made: Plan, definition: Definition, path: str, docs: Mapping[str, StateDoc], entries: Mapping[str, Entry]
) -> None:
    """Add a state in which control stopped, with the parts inside it that continue."""
    if not _goes_on_inside(definition, path, docs):
        if path in entries:
            made.states[path] = entries[path]
            made.dropped.extend(_all_branches(path, docs[path]))
        else:
            made.lost.append(path)
        return
    scope, docs_by_branch = docs[path].scope, halted(definition, path, docs)
    assert scope is not None, "just looked"
    done = _indices(docs[path]) | {branch.index for branch, stands in docs_by_branch.items() if not stands}
    made.scopes[path] = frozenset(done)
    for lane in range(min(scope.concurrency, scope.size)):
        waiting = [BranchPlace(owner=path, index=index) for index in range(lane, scope.size, scope.concurrency)]
        for turn, branch in enumerate(branch for branch in waiting if branch.index not in done):
            if turn == 0:
                _add_branch(made, definition, branch, docs_by_branch.get(branch), docs, entries)
            elif branch in docs_by_branch:
                made.dropped.append(branch)


def _add_branch(
    made: Plan,
    definition: Definition,
    branch: BranchPlace,
    stands: Mapping[str, StateDoc] | None,
    docs: Mapping[str, StateDoc],
    entries: Mapping[str, Entry],
) -> None:
    """Let a branch continue where it stopped, or start from its beginning if no entry is recorded there."""
    if stands is None:
        made.fresh.append(branch)
        return
    if any(path not in entries and not _goes_on_inside(definition, path, docs) for path in stands):
        made.dropped.append(branch)
        made.fresh.append(branch)
        return
    for path in stands:
        _add(made, definition, path, docs, entries)


def _all_branches(path: str, doc: StateDoc) -> list[BranchPlace]:
    """Return the branches of a scope that is entered again as a whole."""
    return [] if doc.scope is None else [BranchPlace(owner=path, index=index) for index in range(doc.scope.size)]


def _goes_on_inside(definition: Definition, path: str, docs: Mapping[str, StateDoc]) -> bool:
    """Return True for a scope in which something was begun in its last visit; any other is entered again as a whole."""
    doc = docs[path]
    return may_hold_branches(doc) and doc.scope is not None and _visit(definition, path, doc.scope.size, docs) >= 0


def _stands(path: str, doc: StateDoc, docs: Mapping[str, StateDoc]) -> bool:
    """Return True if control came here and went no further."""
    if doc.status in _FINE or not doc.is_ready or not doc.lease.epoch:
        return False
    return doc.status is not Status.FAILED or not _is_caught(path, doc, docs)


def _is_caught(path: str, doc: StateDoc, docs: Mapping[str, StateDoc]) -> bool:
    """Return True if the failure led to another state: that one was entered with its epoch."""
    return any(other.waits_for.get(path) == doc.lease.epoch for other in docs.values())


def _visit(definition: Definition, owner: str, size: int, docs: Mapping[str, StateDoc]) -> int:
    """Return the epoch that the scope had in its last visit; -1 if nothing was opened in it.

    The scope's document has a later one once it ended, and those inside keep that of their visit.
    """
    epochs = (
        docs[path].scope_epoch or 0 for _, paths in branches(definition, owner, size) for path in paths if path in docs
    )
    last, entered = max(epochs, default=0), max(docs[owner].waits_for.values(), default=0)
    return last if last and last >= entered else -1


def _indices(doc: StateDoc) -> set[int]:
    """Return the branches that were done when the scope was reopened last."""
    done = () if doc.scope is None else doc.scope.done
    return {index for first, last in done for index in range(first, last + 1)}
