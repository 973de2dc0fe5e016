"""A run in memory for the tests of the core: decisions are made on it and their changes are carried out at once."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from dcf.asl.steps import Entry
from dcf.core.completing import progress
from dcf.core.completing.updates import Update
from dcf.core.definitions.context import context_of
from dcf.core.definitions.model import Definition, read_definition
from dcf.core.documents.answers import Created, Finalized, Leased, NothingReady, Owed, Released, Updated
from dcf.core.documents.codec import read_meta, read_state, write_state
from dcf.core.documents.decision import Decision, Event, More, Notice, Snapshot, WriteSet
from dcf.core.documents.model import Lease, Meta, Receipt, RunReceipt, RunStatus, StateDoc, Status
from dcf.core.leasing import attention, claim, lease
from dcf.core.leasing.lost_leases import LostLease
from dcf.core.lifecycle import creation, finalization, kickoff
from dcf.features import installed_decisions  # noqa: F401 - decisions ask what is installed
from dcf.values.instants import SECOND
from dcf.values.json_text import dump, load
from dcf.values.refusal import Refusal

Answer = TypeVar("Answer")

NOW = 1_700_000_000 * SECOND
TTL = 60

A_THEN_B = {"A": {"Type": "Task", "Next": "B"}, "B": {"Type": "Task", "End": True}}

LOOP = {
    "A": {"Type": "Task", "Next": "Pick"},
    "B": {"Type": "Task", "Next": "Pick"},
    "Pick": {
        "Type": "Choice",
        "Choices": [
            {"Variable": "$.go", "StringEquals": "A", "Next": "A"},
            {"Variable": "$.go", "StringEquals": "B", "Next": "B"},
        ],
        "Default": "Done",
    },
    "Done": {"Type": "Succeed"},
}
"""Every output {"go": name} says which task comes next; any other name ends the run."""


def definition(states: dict[str, Any] | None = None, start_at: str = "A", **more: Any) -> Definition:
    return read_definition({"workflow_name": "w", "asl": {"StartAt": start_at, "States": states or A_THEN_B}, **more})


def meta(status: RunStatus = RunStatus.RUNNING, **more: Any) -> Meta:
    return Meta(status=status, definition_sha256="d", **more)


class AllReceipts(dict[tuple[str, str], Receipt | None]):
    """Receipts of which every one was read."""

    def __contains__(self, place: object) -> bool:
        return True


def snapshot(doc: StateDoc, *, now: int = NOW, about: Meta | None = None) -> Snapshot:
    """One state, A, and what is known of its run."""
    return Snapshot(
        now=now,
        meta=about or meta(),
        states={"A": doc},
        inputs={"A": {"x": 1}},
        timers={"A": now},
        receipts=AllReceipts(),
    )


def held(token: str = "t1", owner: str = "ann", *, epoch: int = NOW, now: int = NOW, **more: Any) -> StateDoc:
    """A running state, leased to its first holder."""
    mine = Lease(token=token, owner_agent_id=owner, ts=now, ttl_s=TTL, epoch=epoch, expires_at=now + TTL * SECOND)
    usual: dict[str, Any] = {"status": Status.RUNNING, "attempts": 1, "lease": mine, "started_at": now}
    return StateDoc(**usual | more)


def stored(doc: StateDoc) -> StateDoc:
    """The document as the store gives it back."""
    return read_state(load(dump(write_state(doc))))


@dataclass(kw_only=True)
class MemoryRun:
    """The documents of one run; `last_changes` are those of the latest decision."""

    definition: Definition
    now: int = NOW
    meta_document: dict[str, Any] | None = None
    states: dict[str, StateDoc] = field(default_factory=dict)
    inputs: dict[str, Any] = field(default_factory=dict)
    entries: dict[str, Entry] = field(default_factory=dict)
    outputs: dict[str, Any] = field(default_factory=dict)
    audit: Mapping[str, Any] | None = None
    events: list[Event] = field(default_factory=list)
    notices: list[Notice] = field(default_factory=list)
    timers: dict[str, int] = field(default_factory=dict)
    receipts: dict[tuple[str, str], Receipt] = field(default_factory=dict)
    run_receipts: dict[str, RunReceipt] = field(default_factory=dict)
    last_changes: WriteSet | None = None

    @property
    def status(self) -> str:
        assert self.meta_document is not None
        return str(self.meta_document["status"])

    def snapshot(self) -> Snapshot:
        return Snapshot(
            now=self.now,
            meta=self._meta(),
            states=dict(self.states),
            inputs=dict(self.inputs),
            entries=dict(self.entries),
            outputs=dict(self.outputs),
            timers=dict(self.timers),
            receipts=AllReceipts(self.receipts),
            run_receipts=self.run_receipts,
            page=len(self.states),
            meta_document=self.meta_document,
            audit=self.audit,
        )

    def _meta(self) -> Meta | None:
        """Read meta with the assignments of all states, those that have none included."""
        if self.meta_document is None:
            return None
        meta = read_meta(self.meta_document)
        return replace(meta, agents={**dict.fromkeys(self.states, ()), **meta.agents})

    def commit(self, decision: Decision[Answer]) -> Answer:
        """Carry out a decision as one transaction would."""
        self.last_changes = changes = decision.changes
        if changes is None:
            return decision.answer
        if changes.meta_document is not None:
            self.meta_document = dict(changes.meta_document)
        self.meta_document = {**(self.meta_document or {}), **changes.meta}
        self.states |= {name: stored(doc) for name, doc in changes.states.items()}
        self.inputs |= {name: value.effective for name, value in changes.inputs.items()}
        self.entries |= {name: value.entry for name, value in changes.inputs.items()}
        self.outputs |= changes.outputs
        self.audit = changes.audit or self.audit
        self.receipts |= changes.receipts
        self.run_receipts |= changes.run_receipts
        self.events += changes.events
        self.notices += changes.notices
        due = {**self.timers, **changes.timers}
        due |= {name: at for name, at in changes.sooner.items() if at < (due.get(name) or 0)}
        self.timers = {name: at for name, at in due.items() if at is not None}
        return decision.answer

    def types(self) -> list[str]:
        """The history, type and state."""
        return [event.type if event.state is None else f"{event.type} {event.state}" for event in self.events]

    def create(self, request: creation.Create) -> Created | Refusal:
        return self.commit(creation.create(self.snapshot(), request))

    def acquire(self, state: str, token: str, owner: str = "ann", ttl_s: int = TTL, **more: Any) -> Leased | Refusal:
        return self.take(lease.Acquire(state=state, owner=owner, token=token, ttl_s=ttl_s, **more))

    def take(self, request: lease.Acquire) -> Leased | Refusal:
        answer = self.commit(lease.acquire(self.snapshot(), request))
        assert not isinstance(answer, LostLease), "no lease is excusable"
        return answer

    def claim(self, token: str, owner: str = "ann") -> Leased | claim.MaybeExpired | NothingReady | Refusal:
        wish = lease.Acquire(state="", owner=owner, token=token, ttl_s=TTL, claims=True)
        return self.commit(claim.claim(self.snapshot(), wish))

    def renew(self, request: lease.Renew) -> Leased | Refusal:
        return self.commit(lease.renew(self.snapshot(), request))

    def release(self, request: lease.Release) -> Released | Refusal:
        answer = self.commit(lease.release(self.snapshot(), request))
        assert not isinstance(answer, More), "everything is read"
        return answer

    def update(self, state: str, token: str | None, **more: Any) -> Updated | Refusal:
        return self.write(Update(state=state, token=token, **more))

    def complete(self, state: str, token: str, output: Any, **more: Any) -> Updated | Refusal:
        return self.update(state, token, status=Status.SUCCEEDED, has_output=True, output=output, **more)

    def write(self, request: Update) -> Updated | Refusal:
        answer = self.commit(progress.update(self.snapshot(), request, self.definition, self._context()))
        assert not isinstance(answer, More), "everything is read"
        return answer

    def exhaust(self, state: str) -> RunStatus | None:
        answer = self.commit(progress.exhaust(self.snapshot(), state, self.definition, self._context()))
        assert not isinstance(answer, More), "everything is read"
        return answer

    def look(self, state: str) -> Owed:
        answer = self.commit(attention.look(self.snapshot(), state))
        assert not isinstance(answer, LostLease), "no lease is excusable"
        return answer

    def look_in_time(self, state: str) -> Owed:
        """Advance to the time at which the timer loop must look."""
        self.now = self.timers[state]
        return self.look(state)

    def kick_off(self, reason: str = "initial") -> Owed | Refusal:
        starts = self.definition.machine.task_successors(None)
        snapshot = self.snapshot()
        return self.commit(kickoff.kick_off(replace(snapshot, states={n: snapshot.states[n] for n in starts}), reason))

    def finalize(self, **more: Any) -> Finalized:
        request = finalization.Finalize(workflow_id="w1", **more)
        answer = self.commit(finalization.finalize(self.snapshot(), request))
        assert isinstance(answer, Finalized)
        return answer

    def skip_unreached(self) -> int:
        return self.commit(finalization.skip_unreached(self.snapshot()))

    def _context(self) -> Mapping[str, Any]:
        return context_of(
            "w1", self.definition.name, (self.meta_document or {}).get("input"), "2026-01-01T00:00:00Z", "secret"
        )


def wish(known: Definition, **more: Any) -> creation.Create:
    """A wish to create the run `w1` of a definition."""
    usual: dict[str, Any] = {
        "workflow_id": "w1",
        "definition": known,
        "run_input": {},
        "agents": {},
        "planner_agent_id": None,
        "retention_s": None,
        "max_attempts": 10,
    }
    return creation.Create(**usual | more)


def run(states: dict[str, Any] | None = None, start_at: str = "A", **more: Any) -> MemoryRun:
    """A run that has just been created."""
    made = MemoryRun(definition=definition(states, start_at))
    assert isinstance(made.create(wish(made.definition, **more)), Created)
    return made


def code(answer: object) -> str:
    """The code of a refusal."""
    assert isinstance(answer, Refusal), answer
    return answer.code


def leased(answer: object) -> Leased:
    assert isinstance(answer, Leased), answer
    return answer


def updated(answer: object) -> Updated:
    assert isinstance(answer, Updated), answer
    return answer
