"""Follow-up work of commits: join, close, open or sweep scopes, continue paused chains, close the rest of ended runs.

Each is a transaction of its own, done by the process that committed. If that process dies first, the timer loop does
it: it checks every open scope and every state before which a chain paused. Commits with notifications are passed to the
delivery. This module must not make decisions.
"""

import logging
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TypeAlias

from dcf.asl.items.reading import reader_failure
from dcf.asl.places import machine_of
from dcf.asl.state_paths import ancestors, join, open_scope
from dcf.asl.steps import NeedItems
from dcf.core.completing import joining
from dcf.core.completing.joining import NOTHING_JOINED, Completer, FollowUp, Joined
from dcf.core.definitions import needs
from dcf.core.definitions.model import Definition
from dcf.core.definitions.scopes import with_scopes
from dcf.core.documents.answers import Created
from dcf.core.documents.decision import Decision, More, Notice, ReadSet, Snapshot
from dcf.core.documents.model import RunStatus
from dcf.core.lifecycle import finalization
from dcf.core.lifecycle.creation import Create
from dcf.errors import Conflict, RunOnHold, StateError
from dcf.ports import ItemSource
from dcf.runs.transactions import Run, Transactions
from dcf.store.transaction.runs import Committed
from dcf.values.json_text import Json
from dcf.values.records import replace
from dcf.values.refusal import Refusal

_log = logging.getLogger(__name__)

_MOST = 1_000
"""Most transactions after one commit; beyond that the timer loop continues the run."""

_SWEPT_AT_ONCE = 100

TellAtOnce: TypeAlias = Callable[[str, Sequence[Notice], Snapshot, str], object]
"""Tells agents other than the writer of the states of a run that these notices are about, in the commit's thread."""

FollowedUp: TypeAlias = Joined | None
GoOn: TypeAlias = Callable[[Snapshot, str, Definition, Mapping[str, Json]], Decision[Joined | More | None]]


class FollowUps:
    """Does the follow-up work of commits."""

    def __init__(self, transactions: Transactions, items: ItemSource) -> None:
        self._transactions = transactions
        self._items = items
        self.hand_over: Callable[[str], object] | None = None
        self.at_once: TellAtOnce | None = None

    def after(self, workflow_id: str, committed: Committed[object], by: Completer | None = None) -> Joined:
        """Do the follow-up work of a commit, and the work that this leaves in turn. Return the combined result."""
        done, joined = 0, NOTHING_JOINED
        writer = None if by is None else by.owner
        self.deliver(workflow_id, committed, writer)
        pending = deque(joining.follow_ups(committed.remaining, committed.counts))
        while pending and done < _MOST:
            try:
                step = self._do(workflow_id, pending.popleft(), by)
            except (Conflict, RunOnHold):
                break  # the claim is granted; the timer loop does the rest
            self.deliver(workflow_id, step, writer)
            joined = _together(joined, step.answer)
            pending.extend(joining.follow_ups(step.remaining, step.counts))
            by = None if joined.claims else by
            done += 1
        return joined

    def after_creation(self, request: Create, committed: Committed[Created | Refusal]) -> Created | Refusal:
        """Do what follows the creation of a run, or of a repetition that found the run. Return the answer."""
        answer = committed.answer
        if isinstance(answer, Created):
            if not answer.existed:
                self._transactions.keep(request, answer)  # replaces a cached earlier run of this name
            self.after(request.workflow_id, committed)
            is_over = answer.meta.get("status") != RunStatus.RUNNING
            if answer.existed and is_over and answer.meta.get("finalized_at") is None:
                self.skip_unreached(request.workflow_id)  # the process that created it may have died before this
        return answer

    def look(self, workflow_id: str, path: str, by: Completer | None = None) -> Joined:
        """Do the due work on an open scope, if any. Called by the timer loop."""
        reads = ReadSet(states=with_scopes([path]), tallies=(path,))
        snapshot = self._transactions.store.read(workflow_id, reads)
        doc = snapshot.states.get(path)
        follow_up = None if doc is None else joining.follow_up(path, doc, snapshot.tallies[path])
        if follow_up is None:
            return NOTHING_JOINED
        done = self._do(workflow_id, follow_up, by)
        return _together(self.after(workflow_id, done, by), done.answer)

    def look_around(self, workflow_id: str, path: str, by: Completer | None) -> Joined:
        """Do the due work on the scopes around a state, if any."""
        joined = NOTHING_JOINED
        for owner in reversed(ancestors(path)):
            joined = _together(joined, self.look(workflow_id, owner, by))
        return joined

    def inside(self, workflow_id: str) -> tuple[list[str], list[str], list[str]]:
        """Return the paths of all states, scopes, branches and iterations that ever existed inside Parallel and Map."""
        machine = self._transactions.load(workflow_id).definition.machine
        scopes = self._transactions.store.scopes(workflow_id)
        branches = [open_scope(path, index) for path, size in scopes.items() for index in range(size)]
        states = [join(branch, name) for branch in branches for name in machine_of(machine, branch).states]
        return states, list(scopes), branches

    def skip_unreached(self, workflow_id: str) -> None:
        """Mark the unreached states of an ended run as skipped, and close open states in scopes. Safe to repeat."""

        def reads(run: Run) -> ReadSet:
            return ReadSet(states=run.definition.paths)

        done = self._transactions.by_definition(
            workflow_id, reads, lambda _, snapshot: finalization.skip_unreached(snapshot)
        )
        self.deliver(workflow_id, done)
        self._in_pages(workflow_id, "", finalization.skip_unreached)

    def deliver(self, workflow_id: str, committed: Committed[object], writer: str | None = None) -> None:
        """Have the notifications of a commit delivered, if this process delivers; those for other agents, at once."""
        if not committed.notices or self.hand_over is None:
            return
        if self.at_once is not None and writer is not None and committed.seen is not None:
            self.at_once(workflow_id, committed.notices, committed.seen, writer)
        self.hand_over(workflow_id)

    def _do(self, workflow_id: str, follow_up: FollowUp, by: Completer | None) -> Committed[FollowedUp]:
        match follow_up.what:
            case "join":
                return self._go_on(workflow_id, follow_up, partial(joining.join, by=by), by)
            case "overflow":
                return self._go_on(workflow_id, follow_up, partial(joining.overflow, by=by), by)
            case "read":
                return self._supply(workflow_id, follow_up, by)
            case "wake":
                return self._go_on(workflow_id, follow_up, partial(joining.wake, by=by), by)
            case "sweep":
                self._in_pages(workflow_id, follow_up.path, joining.sweep)
            case "skip":
                self.skip_unreached(workflow_id)
        return Committed(answer=None)

    def _go_on(
        self, workflow_id: str, follow_up: FollowUp, decide: GoOn, by: Completer | None
    ) -> Committed[FollowedUp]:
        claims = by is not None and by.claimant is not None

        def reads(run: Run) -> ReadSet:
            path = None if by is None else by.path
            opens = follow_up.what == "read"
            return needs.to_join(run.definition, follow_up.path, follow_up.size, path, claims=claims, opens=opens)

        def guarded(run: Run, snapshot: Snapshot) -> Decision[FollowedUp | More]:
            if not joining.is_visit(snapshot, follow_up):
                return Decision(answer=None)
            return decide(snapshot, follow_up.path, run.definition, run.context)

        return self._transactions.by_definition(workflow_id, reads, guarded, follow_up.path)

    def _supply(self, workflow_id: str, follow_up: FollowUp, by: Completer | None) -> Committed[FollowedUp]:
        """Read a Map's items between two transactions, since no file may be read inside one."""
        needed = self._wanted_items(workflow_id, follow_up)
        if needed is None:
            return Committed(answer=None)
        supplied = self._read(needed)
        return self._go_on(workflow_id, follow_up, partial(joining.supply, found=supplied, by=by), by)

    def _read(self, needed: NeedItems) -> Json | StateError:
        try:
            return self._items.read(needed)
        except StateError as error:
            return error
        except Exception:  # noqa: BLE001 - whatever a source of items raises fails the Map, not the timer loop
            _log.exception("items of %s", needed.path)
            return reader_failure("The items could not be read.")

    def _wanted_items(self, workflow_id: str, follow_up: FollowUp) -> NeedItems | None:
        def reads(run: Run) -> ReadSet:
            return needs.to_join(run.definition, follow_up.path, 0)

        def decide(run: Run, snapshot: Snapshot) -> Decision[NeedItems | None]:
            if not joining.is_visit(snapshot, follow_up):
                return Decision(answer=None)
            return Decision(answer=joining.wanted_items(snapshot, follow_up.path, run.definition, run.context))

        return self._transactions.by_definition(workflow_id, reads, decide, follow_up.path).answer

    def _in_pages(self, workflow_id: str, owner: str, decide: Callable[[Snapshot], Decision[int]]) -> None:
        """Decide on the open states inside a scope (or inside any scope), a page at a time."""
        left = joining.inside(self._transactions.store.open_states(workflow_id), owner)
        for start in range(0, len(left), _SWEPT_AT_ONCE):
            page = left[start : start + _SWEPT_AT_ONCE]
            self.deliver(workflow_id, self._transactions.on_run(workflow_id, ReadSet(states=with_scopes(page)), decide))


def _together(before: Joined, answer: object) -> Joined:
    """Combine the results of two transactions."""
    if not isinstance(answer, Joined):
        return before
    return replace(
        before,
        claims=(*before.claims, *answer.claims),
        run_status=answer.run_status if answer.run_status is not RunStatus.RUNNING else before.run_status,
        next_states=(*before.next_states, *answer.next_states),
    )
