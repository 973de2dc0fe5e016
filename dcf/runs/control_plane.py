"""The verbs of a run: each names what it reads and the pure decision that is made on it.

Nothing is decided here and no Redis command is known here; `transactions` carries the decision out, and `follow_ups`
does what it left to do. States are named by name or, inside Parallel and Map, by path.
"""

import random
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias, TypeVar

from dcf.asl.places import Place
from dcf.core import attention, claim, creation, finalization, joining, kickoff, lease, needs, progress
from dcf.core.answers import Created, Finalized, Fired, Leased, NothingReady, Owed, Released, Updated
from dcf.core.decision import Decision, More, Reads, Snapshot
from dcf.core.definition import Definition
from dcf.core.joining import NOTHING_JOINED, Joined, completer_of
from dcf.core.model import RunStatus
from dcf.core.scopes import fenced, with_scopes
from dcf.errors import UnknownState
from dcf.ports import ItemSource, NoItems
from dcf.runs.follow_ups import FollowUps
from dcf.runs.transactions import Run, Transactions
from dcf.store.index import RunIndex
from dcf.store.runs import Committed, RunStore
from dcf.values.json_text import Json
from dcf.values.refusal import Refusal

Answer = TypeVar("Answer")

_PAGES = (4, 32, 128)
"""Open states looked at in one round trip when a state is claimed: what is ready comes first, as a rule."""

_ALL = 1_000_000
_NO_ITEMS = NoItems()

Ending: TypeAlias = Callable[
    [Snapshot, str, Definition, Mapping[str, Json]], Decision[RunStatus | Joined | More | None]
]
_ENDINGS: Mapping[Fired | None, Ending] = {
    "exhausted": progress.exhaust,
    "timed_out": progress.time_out,
    "waited": joining.wake,
}
"""What becomes of a state by what the clock found."""


class ControlPlane:
    """Create, read, lease, write and close runs. Stateless but for a cache of definitions."""

    def __init__(self, store: RunStore, index: RunIndex, items: ItemSource = _NO_ITEMS) -> None:
        self.store = store
        self.index = index
        self._transactions = Transactions(store)
        self._follow_ups = FollowUps(self._transactions, items)

    def create(self, request: creation.Create) -> Created | Refusal:
        """Seed a run; the same request again finds it."""
        self.index.add(request.workflow_id)
        committed = self.store.commit(
            request.workflow_id, Reads(whole_meta=True), partial(creation.create, request=request)
        )
        answer = committed.answer
        if isinstance(answer, Created):
            if not answer.existed:
                self._transactions.keep(request, answer)  # in place of an earlier run of this name
            self._follow_ups.after(request.workflow_id, committed)
            is_over = answer.meta.get("status") != RunStatus.RUNNING
            if answer.existed and is_over and answer.meta.get("finalized_at") is None:
                self.skip_unreached(request.workflow_id)  # should whoever created it have died before it did
        return answer

    def run(self, workflow_id: str) -> Run:
        """Return the fixed part of a run, from the cache or the store."""
        return self._transactions.run(workflow_id)

    def path(self, workflow_id: str, state: str) -> str:
        """Return the path of the state that a caller names."""
        return self._transactions.path(workflow_id, state)

    def place(self, workflow_id: str, state: str) -> Place:
        """Return where in its workflow a state stands; raise UnknownState when it has none of this name or path."""
        return self._transactions.place(workflow_id, state)

    def read(self, workflow_id: str, states: tuple[str, ...] | None = None, *, whole_meta: bool = True) -> Snapshot:
        """Documents of a run as they are now: of the states named, or of all and of what is open inside them."""
        run = self.run(workflow_id)
        while True:
            paths = self._paths(workflow_id, run, states)
            missing = next((path for path in paths if needs.place_of(run.definition, path) is None), None)
            around = with_scopes(paths)
            reads = Reads(states=around, inputs=paths, outputs=paths, agents=paths, whole_meta=whole_meta)
            snapshot = self.store.read(workflow_id, reads)
            if snapshot.meta is not None and run.is_that_of(snapshot.meta):
                break
            run = self._transactions.load(workflow_id)
        if missing is not None:
            raise UnknownState(workflow_id, missing)
        # Under the names that the caller used; what was only read to judge the scopes is left out.
        shown = fenced(snapshot)
        names = dict(zip(paths, states, strict=True)) if states is not None else dict(zip(paths, paths, strict=True))
        return replace(
            shown,
            states={name: shown.states[path] for path, name in names.items() if path in shown.states},
            inputs={name: shown.inputs[path] for path, name in names.items() if path in shown.inputs},
            outputs={name: shown.outputs[path] for path, name in names.items() if path in shown.outputs},
        )

    def acquire(self, workflow_id: str, request: lease.Acquire) -> Leased | Refusal:
        """Take the lease on a state."""
        path = self.path(workflow_id, request.state)
        reads = Reads(states=with_scopes([path]), inputs=(path,), agents=(path,))
        decide = partial(lease.acquire, request=replace(request, state=path))
        answer = self._transactions.on_state(workflow_id, path, reads, decide).answer
        if isinstance(answer, Refusal) and answer.code == "attempts_exhausted":
            self.exhaust(workflow_id, path)
        return answer

    def renew(self, workflow_id: str, request: lease.Renew) -> Leased | Refusal:
        """Keep the lease longer."""
        path = self.path(workflow_id, request.state)
        decide = partial(lease.renew, request=replace(request, state=path))
        return self._transactions.on_state(workflow_id, path, Reads(states=with_scopes([path])), decide).answer

    def release(self, workflow_id: str, request: lease.Release) -> Released | Refusal:
        """Give the state back."""
        path = self.path(workflow_id, request.state)
        decide = partial(lease.release, request=replace(request, state=path))
        return self._transactions.on_state(workflow_id, path, Reads(states=with_scopes([path])), decide).answer

    def claim(self, workflow_id: str, wish: lease.Acquire) -> Leased | NothingReady | Refusal:
        """Lease the next ready state that this agent may take."""
        wish = replace(wish, claims=True)
        offset, page = 0, 0
        while True:
            length = _PAGES[min(page, len(_PAGES) - 1)]
            reads = Reads(open_states=(offset, length), claim=wish.token)
            answer = self._transactions.on_run(workflow_id, reads, _Claiming(wish)).answer
            if isinstance(answer, _Contested):
                taken = self._take_any(workflow_id, wish, answer)
                if taken is not None:
                    return taken
                continue  # others were faster: look again
            if not isinstance(answer, NothingReady) or answer.examined < length:
                return answer
            offset, page = offset + length, page + 1

    def _take_any(self, workflow_id: str, wish: lease.Acquire, contested: "_Contested") -> Leased | None:
        """Lease one of the states that others may be after as well, each by its own document."""
        for path in random.sample(contested.states, len(contested.states)):  # nosec B311 - an order, no secret
            taken = self.acquire(workflow_id, replace(wish, state=path))
            if isinstance(taken, Leased):
                return taken
        return None

    def update(self, workflow_id: str, request: progress.Update) -> Updated | Refusal:
        """Apply a holder's write; completing decides what comes next in the same transaction."""
        path = self.path(workflow_id, request.state)
        if path != request.state:
            request = replace(request, state=path)
        if request.needs_id:  # so that a lost reply does not make us apply it twice
            request = replace(request, request_id=secrets.token_hex(8))

        def decide(run: Run, snapshot: Snapshot) -> Decision[Updated | Refusal | More]:
            return progress.update(snapshot, request, run.definition, run.context)

        committed: Committed[Updated | Refusal] = self._transactions.by_definition(
            workflow_id, lambda run: needs.to_update(run.definition, request), decide, path
        )
        return self._followed_up(workflow_id, request, committed)

    def exhaust(self, workflow_id: str, path: str) -> None:
        """Fail a state that used up its attempts, if it still is so."""
        self._end_by_itself(workflow_id, path, progress.exhaust)

    def kick_off(self, workflow_id: str, reason: str) -> Owed | Refusal:
        """Owe the start notifications."""

        def decide(run: Run, snapshot: Snapshot) -> Decision[Owed | Refusal]:
            return kickoff.kick_off(snapshot, reason, run.definition.machine.timeout_s)

        reads = Reads(open_states=(0, _ALL), whole_meta=True)
        done: Committed[Owed | Refusal] = self._transactions.by_definition(workflow_id, lambda _: reads, decide)
        return done.answer

    def look(self, workflow_id: str, path: str) -> Owed:
        """Look, as the clock, at an open state whose time has come."""
        reads = Reads(states=with_scopes([path]), timers=(path,))
        answer = self.store.transact(workflow_id, reads, lambda snapshot: attention.look(fenced(snapshot), path))
        ending = _ENDINGS.get(answer.fired)
        if ending is not None:
            self._end_by_itself(workflow_id, path, ending, answer.size)
        if answer.fired == "scope":
            self._follow_ups.look(workflow_id, path)
        return answer

    def hasten(self, workflow_id: str, state: str) -> Owed:
        """Have a ready state announced again at the clock's next look."""
        path = self.path(workflow_id, state)
        decide = partial(attention.hasten, state=path)
        return self._transactions.on_state(workflow_id, path, Reads(states=with_scopes([path])), decide).answer

    def time_out(self, workflow_id: str) -> None:
        """Fail, as the clock, a run whose own time is over."""

        def decide(run: Run, snapshot: Snapshot) -> Decision[RunStatus | None]:
            return progress.time_out_run(snapshot, run.definition)

        committed = self._transactions.by_definition(workflow_id, lambda _: Reads(whole_meta=True), decide)
        self._follow_ups.after(workflow_id, committed)

    def finalize(self, workflow_id: str, request: finalization.Finalize) -> Finalized:
        """Close the run and write its audit record, once."""

        def reads(run: Run) -> Reads:
            return Reads(states=run.definition.paths, whole_meta=True, audit=True)

        def decide(_: Run, snapshot: Snapshot) -> Decision[Finalized]:
            return finalization.finalize(snapshot, request)

        answer = self._transactions.by_definition(workflow_id, reads, decide).answer
        if request.close_open_states and not answer.repeated:
            self.skip_unreached(workflow_id)  # what is open inside scopes, however much; meta is its fence by now
        return answer

    def skip_unreached(self, workflow_id: str) -> None:
        """Close what control never reached in a run that ended; anybody may repeat it."""
        self._follow_ups.skip_unreached(workflow_id)

    def inside(self, workflow_id: str) -> tuple[list[str], list[str], list[str]]:
        """List the paths of all that ever stood inside Parallel and Map: states, scopes, branches and iterations."""
        return self._follow_ups.inside(workflow_id)

    def _followed_up(
        self, workflow_id: str, request: progress.Update, committed: Committed[Updated | Refusal]
    ) -> Updated | Refusal:
        """Do what an update left to do; what was entered or leased by that counts as its doing."""
        answer = committed.answer
        if not isinstance(answer, Updated):
            return answer
        joined = self._follow_ups.after(workflow_id, committed, completer_of(request, answer))
        if answer.repeated and "/" in request.state:  # whoever did it first may have died before it joined
            joined = self._follow_ups.look_around(workflow_id, request.state, completer_of(request, answer))
        if joined == NOTHING_JOINED:
            return answer
        return replace(
            answer,
            run_status=answer.run_status if joined.run_status is RunStatus.RUNNING else joined.run_status,
            next_states=(*answer.next_states, *joined.next_states),
            claimed=answer.claimed or joined.claimed,
        )

    def _paths(self, workflow_id: str, run: Run, states: tuple[str, ...] | None) -> tuple[str, ...]:
        if states is not None:
            return tuple(self.path(workflow_id, state) for state in states)
        return tuple(dict.fromkeys((*run.definition.paths, *self.store.open_states(workflow_id))))

    def _end_by_itself(self, workflow_id: str, path: str, end: Ending, size: int | None = None) -> None:
        """End a state that nobody writes the end of, if its time has really come."""

        def decide(run: Run, snapshot: Snapshot) -> Decision[RunStatus | Joined | More | None]:
            return end(snapshot, path, run.definition, run.context)

        committed = self._transactions.by_definition(
            workflow_id, lambda run: needs.to_end(run.definition, path, size), decide, path
        )
        self._follow_ups.after(workflow_id, committed)


@dataclass(frozen=True, slots=True)
class _Contested:
    """In place of an answer: states that others may be writing, each to be taken by itself."""

    states: tuple[str, ...]


class _Claiming:
    """Claims what nobody holds, watching the set of open states and no document.

    That set changes with every step of the run, so where several work on it at once this is tried once; after that,
    and for a state with a late holder, who may be writing its document, the states are taken one by one.
    """

    def __init__(self, wish: lease.Acquire) -> None:
        self._wish = wish
        self._tried = False

    def __call__(self, snapshot: Snapshot) -> Decision[Leased | NothingReady | Refusal | _Contested]:
        decision = claim.claim(snapshot, self._wish)
        answer = decision.answer
        if not isinstance(answer, Leased) or decision.changes is None:
            return decision
        if self._tried:
            return Decision(answer=_Contested(claim.claimable(snapshot, self._wish.owner)))
        if snapshot.states[answer.state].lease.token is not None:
            return Decision(answer=_Contested((answer.state,)))
        self._tried = True
        return decision
