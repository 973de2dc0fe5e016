"""What commits leave to do: scopes to join, close, open or sweep, and what a run that ended leaves open.

Each is a transaction of its own, done by whoever committed; whoever dies before leaves it to the clock, which looks
at every open scope. It decides nothing.
"""

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeAlias

from dcf.asl.machine import Machine, Map, Parallel
from dcf.asl.places import machine_of, resolve
from dcf.asl.state_paths import ancestors, join, open_scope
from dcf.asl.steps import NeedItems
from dcf.core import finalization, joining, needs
from dcf.core.decision import Decision, More, Reads, Snapshot
from dcf.core.definition import Definition
from dcf.core.joining import NOTHING_JOINED, Completer, FollowUp, Joined
from dcf.core.json_text import Json
from dcf.core.model import RunStatus
from dcf.core.scopes import with_scopes
from dcf.errors import StateError
from dcf.ports import ItemSource
from dcf.store.runs import Committed
from dcf.transactions import Run, Transactions

_MOST = 1_000
"""Transactions after one commit; a run that goes on by itself beyond that is left to the clock."""

_SWEPT_AT_ONCE = 100
_READ_AT_ONCE = 1_000

Outcome: TypeAlias = Joined | None
GoOn: TypeAlias = Callable[[Snapshot, str, Definition, Mapping[str, Json]], Decision[Joined | More | None]]


class FollowUps:
    """Does what commits left to do."""

    def __init__(self, transactions: Transactions, items: ItemSource) -> None:
        self._transactions = transactions
        self._items = items

    def after(self, workflow_id: str, committed: Committed[object], by: Completer | None = None) -> Joined:
        """Do all that a commit left to do, and what that leaves to do; tell what came of it together."""
        done, joined = 0, NOTHING_JOINED
        pending = deque(_left_by(committed))
        while pending and done < _MOST:
            step = self._do(workflow_id, pending.popleft(), by)
            joined = _together(joined, step.answer)
            pending.extend(_left_by(step))
            by = None if joined.claimed is not None else by
            done += 1
        return joined

    def look(self, workflow_id: str, path: str) -> Joined:
        """See, as the clock, whether something is to be done about an open scope, and do it."""
        reads = Reads(states=with_scopes([path]), tallies=(path,))
        snapshot = self._transactions.store.read(workflow_id, reads)
        doc = snapshot.states.get(path)
        wanted = None if doc is None else joining.follow_up(path, doc.scope, snapshot.tallies[path])
        if wanted is None:
            return NOTHING_JOINED
        done = self._do(workflow_id, wanted, None)
        return _together(self.after(workflow_id, done), done.answer)

    def look_around(self, workflow_id: str, path: str) -> Joined:
        """See whether something is to be done about the scopes around a state."""
        found = NOTHING_JOINED
        for owner in reversed(ancestors(path)):
            found = _together(found, self.look(workflow_id, owner))
        return found

    def inside(self, workflow_id: str) -> tuple[list[str], list[str], list[str]]:
        """List the paths of all that ever stood inside Parallel and Map: states, scopes, branches and iterations."""
        states: list[str] = []
        scopes: list[str] = []
        branches: list[str] = []
        pending = list(self._scopes_in(workflow_id, self._transactions.run(workflow_id).definition.paths))
        while pending:
            path, size = pending.pop()
            scopes.append(path)
            names = [open_scope(path, index) for index in range(size)]
            branches += names
            found = [join(name, state) for name in names for state in self._machine(workflow_id, name).states]
            states += found
            pending += self._scopes_in(workflow_id, found)
        return states, scopes, branches

    def _scopes_in(self, workflow_id: str, paths: Sequence[str]) -> Iterator[tuple[str, int]]:
        """Find those of the states that opened something, and how much at most."""
        machine = self._transactions.run(workflow_id).definition.machine
        scopes = tuple(path for path in paths if isinstance(resolve(machine, path).state, Parallel | Map))
        for start in range(0, len(scopes), _READ_AT_ONCE):
            page = scopes[start : start + _READ_AT_ONCE]
            found = self._transactions.store.read(workflow_id, Reads(states=page)).states
            yield from ((path, doc.scope.peak) for path, doc in found.items() if doc.scope is not None)

    def _machine(self, workflow_id: str, scope: str) -> Machine:
        return machine_of(self._transactions.run(workflow_id).definition.machine, scope)

    def skip_unreached(self, workflow_id: str) -> None:
        """Close what control never reached in a run that ended by itself; anybody may repeat it."""
        open_states = self._transactions.store.open_states(workflow_id)

        def reads(run: Run) -> Reads:
            return Reads(states=with_scopes((*run.definition.paths, *open_states)))

        self._transactions.by_definition(workflow_id, reads, lambda _, snapshot: finalization.skip_unreached(snapshot))

    def _do(self, workflow_id: str, wanted: FollowUp, by: Completer | None) -> Committed[Outcome]:
        match wanted.what:
            case "join":
                return self._go_on(workflow_id, wanted, partial(joining.join, by=by), by)
            case "overflow":
                return self._go_on(workflow_id, wanted, partial(joining.overflow, by=by), by)
            case "read":
                return self._supply(workflow_id, wanted, by)
            case "sweep":
                self._sweep(workflow_id, wanted.path)
            case "skip":
                self.skip_unreached(workflow_id)
        return Committed(answer=None)

    def _go_on(self, workflow_id: str, wanted: FollowUp, decide: GoOn, by: Completer | None) -> Committed[Outcome]:
        claims = by is not None and by.claimant is not None

        def reads(run: Run) -> Reads:
            told = None if by is None else by.path
            return needs.to_join(run.definition, wanted.path, wanted.size, told, claims=claims)

        def guarded(run: Run, snapshot: Snapshot) -> Decision[Outcome | More]:
            return decide(snapshot, wanted.path, run.definition, run.context)

        return self._transactions.by_definition(workflow_id, reads, guarded, wanted.path)

    def _supply(self, workflow_id: str, wanted: FollowUp, by: Completer | None) -> Committed[Outcome]:
        """Read the items between two transactions: no file is read while others wait."""
        needed = self._wanted_items(workflow_id, wanted.path)
        if needed is None:
            return Committed(answer=None)
        try:
            found = self._items.read(needed)
        except StateError as error:
            found = error
        return self._go_on(workflow_id, wanted, partial(joining.supply, found=found, by=by), by)

    def _wanted_items(self, workflow_id: str, path: str) -> NeedItems | None:
        def reads(run: Run) -> Reads:
            return needs.to_join(run.definition, path, 0)

        def decide(run: Run, snapshot: Snapshot) -> Decision[NeedItems | None]:
            return Decision(answer=joining.wanted_items(snapshot, path, run.definition, run.context))

        return self._transactions.by_definition(workflow_id, reads, decide, path).answer

    def _sweep(self, workflow_id: str, owner: str) -> None:
        """Write down what a closed scope left open; until then it is only shown as cancelled."""
        left = joining.inside(self._transactions.store.open_states(workflow_id), owner)
        for start in range(0, len(left), _SWEPT_AT_ONCE):
            page = left[start : start + _SWEPT_AT_ONCE]
            self._transactions.on_run(workflow_id, Reads(states=with_scopes(page)), joining.sweep)


def _left_by(committed: Committed[object]) -> tuple[FollowUp, ...]:
    return () if committed.changes is None else joining.follow_ups(committed.changes, committed.counts)


def _together(before: Joined, answer: object) -> Joined:
    """Put what came of several transactions together."""
    if not isinstance(answer, Joined):
        return before
    return replace(
        before,
        claimed=before.claimed or answer.claimed,
        run_status=answer.run_status if answer.run_status is not RunStatus.RUNNING else before.run_status,
        next_states=(*before.next_states, *answer.next_states),
    )
