"""The verbs of a run: each names what it reads and the pure decision that is made on it.

Nothing is decided here and no Redis command is known here; `store.transact` carries the decision out.
"""

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias, TypeVar

from dcf.asl.machine import Task
from dcf.core import attention, claim, creation, finalization, kickoff, lease, progress
from dcf.core.answers import Created, Finalized, Leased, NothingReady, Owed, Refusal, Released, Updated
from dcf.core.context import context_of
from dcf.core.decision import Decision, Reads, Snapshot
from dcf.core.definition import Definition, read_definition
from dcf.core.json_text import Json
from dcf.core.model import RunStatus, Status
from dcf.errors import StoreUnsuitable, UnknownRun, UnknownState
from dcf.store.index import RunIndex
from dcf.store.runs import RunStore

Answer = TypeVar("Answer")

_PAGE = 32
"""Open states looked at in one round trip when a state is claimed."""

_CACHED_RUNS = 1024

Ending: TypeAlias = Callable[[Snapshot, str, Definition, Mapping[str, Json]], Decision[RunStatus | None]]
_ENDINGS: Mapping[str, Ending] = {
    "exhausted": progress.exhaust,
    "timed_out": progress.time_out,
    "waited": progress.wake,
}
"""What becomes of a state by what the clock found."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What never changes in a run, so a process may keep it."""

    definition: Definition
    sha256: str
    context: Mapping[str, Json]


class ControlPlane:
    """Create, read, lease, write and close runs. Stateless but for a cache of definitions."""

    def __init__(self, store: RunStore, index: RunIndex) -> None:
        self.store = store
        self.index = index
        self._runs: dict[str, Run] = {}

    def create(self, request: creation.Create) -> Created | Refusal:
        """Seed a run; the same request again finds it."""
        self.index.add(request.workflow_id)
        answer = self.store.transact(
            request.workflow_id, Reads(whole_meta=True), partial(creation.create, request=request)
        )
        if isinstance(answer, Created):
            if not answer.existed:
                self._runs.pop(request.workflow_id, None)  # an earlier run of this name may have expired
            if answer.meta.get("status") != RunStatus.RUNNING and answer.meta.get("finalized_at") is None:
                self.skip_unreached(request.workflow_id)
        return answer

    def run(self, workflow_id: str) -> Run:
        """Return the fixed part of a run, from the cache or the store."""
        known = self._runs.get(workflow_id)
        return known if known is not None else self._load(workflow_id)

    def read(self, workflow_id: str, states: tuple[str, ...] | None = None, *, whole_meta: bool = True) -> Snapshot:
        """Documents of a run as they are now; all states unless some are named."""
        run = self.run(workflow_id)
        while True:
            known = run.definition.machine.states
            names = tuple(known) if states is None else tuple(name for name in states if name in known)
            reads = Reads(states=names, inputs=names, outputs=names, agents=names, whole_meta=whole_meta)
            snapshot = self.store.read(workflow_id, reads)
            if snapshot.meta is not None and snapshot.meta.definition_sha256 == run.sha256:
                break
            run = self._load(workflow_id)
        missing = next((name for name in states or () if name not in known), None)
        if missing is not None:
            raise UnknownState(workflow_id, missing)
        return snapshot

    def acquire(self, workflow_id: str, request: lease.Acquire) -> Leased | Refusal:
        """Take the lease on a state."""
        state = request.state
        reads = Reads(states=(state,), inputs=(state,), agents=(state,))
        answer = self._on_state(workflow_id, state, reads, partial(lease.acquire, request=request))
        if isinstance(answer, Refusal) and answer.code == "attempts_exhausted":
            self.exhaust(workflow_id, state)
        return answer

    def renew(self, workflow_id: str, request: lease.Renew) -> Leased | Refusal:
        """Keep the lease longer."""
        reads = Reads(states=(request.state,))
        return self._on_state(workflow_id, request.state, reads, partial(lease.renew, request=request))

    def release(self, workflow_id: str, request: lease.Release) -> Released | Refusal:
        """Give the state back."""
        reads = Reads(states=(request.state,))
        return self._on_state(workflow_id, request.state, reads, partial(lease.release, request=request))

    def claim(self, workflow_id: str, wish: lease.Acquire) -> Leased | NothingReady | Refusal:
        """Lease the next ready state that this agent may take."""
        offset = 0
        while True:
            reads = Reads(open_states=(offset, _PAGE))
            answer = self._on_run(workflow_id, reads, partial(_unless_takeover, wish=wish))
            if isinstance(answer, _Takeover):
                taken = self.acquire(workflow_id, replace(wish, state=answer.state))
                if isinstance(taken, Leased):
                    return taken
                continue  # somebody was faster: look again
            if not isinstance(answer, NothingReady) or answer.examined < _PAGE:
                return answer
            offset += _PAGE

    def update(self, workflow_id: str, request: progress.Update) -> Updated | Refusal:
        """Apply a holder's write; completing decides what comes next in the same transaction."""
        if request.request_id is None:  # so that a lost reply does not make us apply it twice
            request = replace(request, request_id=secrets.token_hex(8))

        def reads(run: Run) -> Reads:
            return _update_reads(run.definition, request)

        def decide(run: Run, snapshot: Snapshot) -> Decision[Updated | Refusal]:
            definition = _with_document(workflow_id, request.state, run, snapshot)
            return progress.update(snapshot, request, definition, run.context)

        answer = self._by_definition(workflow_id, reads, decide)
        if isinstance(answer, Updated) and answer.run_status is not RunStatus.RUNNING and not answer.repeated:
            self.skip_unreached(workflow_id)
        return answer

    def exhaust(self, workflow_id: str, state: str) -> None:
        """Fail a state that used up its attempts, if it still is so."""
        self._end_by_itself(workflow_id, state, progress.exhaust)

    def kick_off(self, workflow_id: str, reason: str) -> Owed | Refusal:
        """Owe the start notifications."""

        def reads(run: Run) -> Reads:
            return Reads(states=run.definition.machine.task_successors(None), whole_meta=True)

        return self._by_definition(workflow_id, reads, lambda _, snapshot: kickoff.kick_off(snapshot, reason))

    def look(self, workflow_id: str, state: str) -> Owed:
        """Look, as the clock, at an open state whose time has come."""
        reads = Reads(states=(state,), timers=(state,))
        answer = self.store.transact(workflow_id, reads, partial(attention.look, state=state))
        ending = _ENDINGS.get(answer.fired)
        if ending is not None:
            self._end_by_itself(workflow_id, state, ending)
        return answer

    def finalize(self, workflow_id: str, request: finalization.Finalize) -> Finalized:
        """Close the run and write its audit record, once."""

        def reads(run: Run) -> Reads:
            return Reads(states=tuple(run.definition.machine.states), whole_meta=True, audit=True)

        return self._by_definition(workflow_id, reads, lambda _, snapshot: finalization.finalize(snapshot, request))

    def skip_unreached(self, workflow_id: str) -> None:
        """Close what control never reached in a run that ended by itself; anybody may repeat it."""

        def reads(run: Run) -> Reads:
            return Reads(states=tuple(run.definition.machine.states))

        self._by_definition(workflow_id, reads, lambda _, snapshot: finalization.skip_unreached(snapshot))

    def _on_run(self, workflow_id: str, reads: Reads, decide: Callable[[Snapshot], Decision[Answer]]) -> Answer:
        def guarded(snapshot: Snapshot) -> Decision[Answer]:
            if snapshot.meta is None:
                raise UnknownRun(workflow_id)
            return decide(snapshot)

        return self.store.transact(workflow_id, reads, guarded)

    def _on_state(
        self, workflow_id: str, state: str, reads: Reads, decide: Callable[[Snapshot], Decision[Answer]]
    ) -> Answer:
        def guarded(snapshot: Snapshot) -> Decision[Answer]:
            if state not in snapshot.states:
                _with_document(workflow_id, state, self._load(workflow_id), snapshot)
            return decide(snapshot)

        return self._on_run(workflow_id, reads, guarded)

    def _end_by_itself(self, workflow_id: str, state: str, end: Ending) -> None:
        """End a state that nobody writes the end of, if its time has really come."""

        def decide(run: Run, snapshot: Snapshot) -> Decision[RunStatus | None]:
            definition = _with_document(workflow_id, state, run, snapshot)
            return end(snapshot, state, definition, run.context)

        def reads(run: Run) -> Reads:
            return Reads(states=(state, *_again(run.definition, state)), entries=(state,))

        ended = self._by_definition(workflow_id, reads, decide)
        if ended is not None and ended is not RunStatus.RUNNING:
            self.skip_unreached(workflow_id)

    def _by_definition(
        self,
        workflow_id: str,
        reads: Callable[[Run], Reads],
        decide: Callable[[Run, Snapshot], Decision[Answer]],
    ) -> Answer:
        """Read and decide by the run's definition; if the cache holds a run of the past, load the present one."""
        run = self.run(workflow_id)
        while True:
            answer = self._on_run(workflow_id, reads(run), partial(_unless_outdated, run, decide))
            if not isinstance(answer, _Outdated):
                return answer
            run = self._load(workflow_id)

    def _load(self, workflow_id: str) -> Run:
        found = self.store.definition(workflow_id)
        if found is None:
            self._runs.pop(workflow_id, None)
            raise UnknownRun(workflow_id)
        document, facts = found
        definition = read_definition(document)
        context = context_of(workflow_id, definition.name, facts.get("input"), str(facts.get("created_at")))
        run = Run(definition=definition, sha256=str(facts.get("definition_sha256")), context=context)
        if len(self._runs) >= _CACHED_RUNS:
            self._runs.clear()
        self._runs[workflow_id] = run
        return run


@dataclass(frozen=True, slots=True)
class _Takeover:
    """In place of an answer: the state to claim has a holder, be it a late one, who may be writing its document."""

    state: str


def _unless_takeover(snapshot: Snapshot, wish: lease.Acquire) -> Decision[Leased | NothingReady | Refusal | _Takeover]:
    """Claim what nobody holds; a claim watches the set of open states, not the document that a holder may write."""
    decision = claim.claim(snapshot, wish)
    answer = decision.answer
    if isinstance(answer, Leased) and snapshot.states[answer.state].lease.token not in {None, wish.token}:
        return Decision(answer=_Takeover(answer.state))
    return decision


class _Outdated:
    """In place of an answer: the run has another definition than the one it was to be decided by."""


def _unless_outdated(
    run: Run, decide: Callable[[Run, Snapshot], Decision[Answer]], snapshot: Snapshot
) -> Decision[Answer | _Outdated]:
    assert snapshot.meta is not None, "checked by the caller"
    if snapshot.meta.definition_sha256 != run.sha256:
        return Decision(answer=_Outdated())
    return decide(run, snapshot)


def _with_document(workflow_id: str, state: str, run: Run, snapshot: Snapshot) -> Definition:
    """Return the run's definition, if it has this state and the state its document."""
    if state not in run.definition.machine.states:
        raise UnknownState(workflow_id, state)
    if state not in snapshot.states:
        raise StoreUnsuitable(
            f"The document of state '{state}' of run '{workflow_id}' is missing or is no JSON.",
            "Look at the key with TYPE and JSON.GET; somebody changed it by hand.",
        )
    return run.definition


def _update_reads(definition: Definition, request: progress.Update) -> Reads:
    """Choose the own document, and of the rest only what this completion can need."""
    state, machine = request.state, definition.machine
    if state not in machine.states:
        return Reads()
    settles = request.status in (Status.SUCCEEDED, Status.FAILED)
    followers = machine.task_successors(state) if settles else ()
    is_task = isinstance(machine.states[state], Task)
    return Reads(
        states=(state, *(_again(definition, state) if settles else ())),
        entries=(state,) if settles and is_task and definition.needs_entry(state) else (),
        outputs=() if request.has_output or not settles else (state,),
        agents=followers if request.claim_ttl_s is not None else (),
    )


def _again(definition: Definition, state: str) -> tuple[str, ...]:
    """List the followers that may have been visited before, so that their stored replies are kept."""
    known = state in definition.machine.states
    followers = definition.machine.task_successors(state) if known else ()
    return tuple(name for name in followers if name in definition.revisitable and name != state)
