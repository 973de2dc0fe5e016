"""Turns an advance of the engine into documents, events, notifications and timers.

All states but Tasks run inside the transaction that reaches them; entered Tasks are opened for the assigned agents.
Used by creation, completion and failure alike. Does not decide who may write.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from dcf.asl.state_paths import ancestors, name_of, split_scope, within
from dcf.asl.steps import (
    Advance,
    BranchEnded,
    BranchFailed,
    Broke,
    Caught,
    Closed,
    Ended,
    Entered,
    Entry,
    Failed,
    NeedItems,
    OpenScope,
    OpenTask,
    OpenWait,
    Passed,
    Paused,
    Retried,
    Step,
    Succeeded,
    TakenSignal,
    WriteResults,
)
from dcf.asl.surroundings import Clock
from dcf.core.completing.waiting import begin_waiting, limited, retried, take_signal
from dcf.core.definitions.scopes import cancelled, entry_epoch_of
from dcf.core.documents.answers import Leased
from dcf.core.documents.decision import Decision, Event, Notice, Remaining, Tally, WriteSet
from dcf.core.documents.model import Lease, Meta, RunStatus, ScopeBounds, StateDoc, StateInput, Status
from dcf.core.documents.notices import NoticeKind, ready_after, tell_parent
from dcf.core.documents.signals import Signals
from dcf.core.leasing.attention import JOIN_DELAY, NEVER, REMINDER_DELAY
from dcf.core.leasing.lease import acquired_event, granted
from dcf.core.lifecycle.growing_timeouts import NOT_PAUSED
from dcf.values.digest import next_token
from dcf.values.instants import SECOND, to_text
from dcf.values.json_text import Json
from dcf.values.records import record, replace

Answer = TypeVar("Answer")

_UNVISITED = StateDoc()


@record(frozen=True, slots=True, kw_only=True)
class Claimant:
    """Request to lease the next states in the same transaction, at most `most` of them.

    `token` is that of the lease being completed, and `key` its key.
    """

    owner: str
    token: str
    ttl_s: int
    most: int = 1
    key: str | None = None


@dataclass(slots=True, kw_only=True)
class Transition:
    """The writes of one advance (`writes`) and the work it leaves (`remaining`), collected step by step.

    `stateful` keeps the full entry of each state, since later states may read it; `revisits` removes what is not kept,
    since a state may be entered more than once. `epoch` is the fencing number of the completion: entered states start
    from it, so that epochs grow along every path. `left` are states that the claimant may take beyond its number.
    `visited_before` are documents of states that may be entered again, and of the scopes around. While the run is
    `starting`, nothing is announced; `kick_off` does. `signals` are those of the run, if they were read.
    `given` are inputs that were recorded before, of units that are leased now.
    """

    now: int
    epoch: int
    meta: Meta
    stateful: bool = False
    revisits: bool = False
    starting: bool = False
    visited_before: Mapping[str, StateDoc] = field(default_factory=dict)
    writes: WriteSet = field(default_factory=WriteSet)
    remaining: Remaining = field(default_factory=Remaining)
    run_status: RunStatus = RunStatus.RUNNING
    signals: Signals | None = None
    given: dict[str, Json] = field(default_factory=dict)
    entered: tuple[str, ...] = ()
    claimed: tuple[str, ...] = ()
    left: tuple[str, ...] = ()

    def apply(self, advance: Advance, claimant: Claimant | None = None) -> None:
        """Record the steps in order, then the end of the run if they led there."""
        for step in advance.steps:
            self._take(step, claimant)
        match advance.outcome:
            case Succeeded() as end:
                self.succeed_run(end.output)
            case Failed() as failure:
                self.fail_run(failure.error, failure.cause, failure.state)

    def succeed_run(self, output: Json) -> None:
        """Record that the run succeeded; while an issue blocks it, that it will once the last one is resolved."""
        if not self.meta.blocked_by:
            self._end(RunStatus.SUCCEEDED, {"output": output}, Event(type="RunSucceeded"))
            return
        self.writes.meta["held_end"] = {"output": output}
        issues: list[Json] = [blocker.issue for blocker in self.meta.blocked_by]
        self.writes.events.append(Event(type="RunEndHeld", data={"issues": issues}))

    def fail_run(self, error: str | None, cause: str | None, state: str | None = None) -> None:
        """Record that the run failed, and in which state, if it was one."""
        data = {"error": error, "cause": cause}
        self._end(RunStatus.FAILED, data, Event(type="RunFailed", state=state, data=data))

    def decision(self, answer: Answer) -> Decision[Answer]:
        """Return the decision: this answer, and everything that was collected."""
        is_over = self.run_status is not RunStatus.RUNNING
        remaining = replace(self.remaining, run_over=True) if is_over else self.remaining
        return Decision(answer=answer, changes=self.writes, remaining=remaining)

    def claims(self) -> tuple[Leased, ...]:
        """Return the leases that were granted to the claimant on entered states."""
        states, inputs = self.writes.states, self.writes.inputs
        granted = [
            Leased(
                outcome="lease_acquired",
                state=state,
                doc=states[state],
                given=inputs[state].effective if state in inputs else self.given[state],
                entry_epoch=entry_epoch_of(state, self.current, self.meta),
            )
            for state in self.claimed
        ]
        return tuple(granted)

    def current(self, path: str) -> StateDoc | None:
        """Return a state's document as it is after the steps so far; None if it was not read or written."""
        return self.writes.states.get(path) or self.visited_before.get(path)

    def _take(self, step: Step, claimant: Claimant | None) -> None:
        match step:
            case Passed():
                self._pass(step)
            case OpenTask():
                self._enter(step, claimant)
            case TakenSignal():
                doc = self._opened(step.path, step.source, Status.RUNNING)
                task_input = self._given(step.entry, step.effective)
                self.signals = take_signal(self.writes, step, doc, task_input, self.signals)
            case OpenWait():
                self._wait(step)
            case Paused():
                self._pause(step)
            case Entered():
                opened = self._opened(step.path, step.source, Status.RUNNING)
                self.writes.states[step.path] = replace(opened, attempts=1, started_at=self.now)
            case Ended():
                self._succeed(step)
            case Retried():
                self._retry(step)
            case Caught() | Broke():
                self._fail(step)
            case _:
                self._take_of_scope(step)

    def _take_of_scope(self, step: Step) -> None:
        """Record a step that concerns a Parallel or Map."""
        match step:
            case OpenScope():
                self._open(step)
            case NeedItems():
                self._await_items(step)
            case BranchEnded(scope=scope, output=output):
                self.writes.outputs[scope] = output
                self._count(scope, Tally(done=1))
            case BranchFailed(scope=scope, error=error, cause=cause):
                self.writes.outputs.pop(scope, None)
                self.writes.dropped.append(scope)
                self._count(scope, Tally(done=1, failed=1, error=error, cause=cause))
            case Closed(path=path):
                self._void(path)
                self.remaining.closed.append(path)
            case WriteResults(path=path, results=results):
                self.writes.results[path] = results

    def _pass(self, step: Passed) -> None:
        self.writes.states[step.path] = self._opened(step.path, step.source, Status.SUCCEEDED)
        self.writes.outputs[step.path] = step.output
        self._tell("StateSucceeded", step.path, self._origin(step.source))

    def _open(self, step: OpenScope) -> None:
        """Open a Parallel or Map. A Map that waited for its items was entered before."""
        doc = self.current(step.path)
        entered = doc is not None and doc.status is Status.RUNNING and doc.kind == step.kind and doc.scope is None
        if doc is None or not entered:
            doc = replace(self._opened(step.path, step.source, Status.RUNNING), kind=step.kind, started_at=self.now)
            self._tell("StateEntered", step.path, self._origin(step.source))
        scope = ScopeBounds(size=step.size, concurrency=step.concurrency, tolerance=step.tolerance)
        self.writes.states[step.path] = replace(doc, scope=scope)
        self.writes.inputs[step.path] = self._given(step.entry, step.effective)
        self.writes.timers[step.path] = self.now + JOIN_DELAY
        self.writes.opened.append(step.path)
        self.writes.sizes[step.path] = max(step.size, self.writes.sizes.get(step.path, 0))  # even if it is over at once
        if step.kind == "Map":
            self.writes.items[step.path] = list(step.items)

    def _await_items(self, step: NeedItems) -> None:
        """Enter a Map whose items must be read before it opens."""
        doc = self._opened(step.path, step.source, Status.RUNNING)
        self.writes.states[step.path] = replace(doc, kind="Map", started_at=self.now)
        self.writes.inputs[step.path] = self._given(step.entry, step.entry.raw)
        self.writes.timers[step.path] = self.now + JOIN_DELAY
        self._tell("StateEntered", step.path, self._origin(step.source))
        self.remaining.reading[step.path] = doc.lease.epoch

    def _count(self, scope: str, ended: Tally) -> None:
        owner = split_scope(scope)[0]
        before, doc = self.writes.ended.get(owner), self.current(owner)
        assert doc is not None, "a branch ends in an open scope"
        self.writes.ended[owner] = ended if before is None else before.plus(ended)
        self.remaining.counting[owner] = doc

    def _void(self, owner: str) -> None:
        """Cancel what this transition opened inside a scope that has ended."""
        writes = self.writes
        for path, doc in writes.states.items():
            if within(path, owner) and not doc.status.is_terminal:
                writes.states[path] = cancelled(doc, self.now)
                writes.timers[path] = None
        for listed in (writes.items, writes.ended, self.remaining.reading, self.remaining.paused):
            for path in [path for path in listed if path == owner or within(path, owner)]:
                del listed[path]
        writes.opened[:] = [path for path in writes.opened if path != owner and not within(path, owner)]
        writes.notices[:] = [
            notice for notice in writes.notices if notice.state is None or not within(notice.state, owner)
        ]
        self.entered = tuple(path for path in self.entered if not within(path, owner))
        self.claimed = tuple(path for path in self.claimed if not within(path, owner))
        self.left = tuple(path for path in self.left if not within(path, owner))

    def _succeed(self, step: Ended) -> None:
        """Close a Wait, Parallel or Map that has ended. A Task is closed by its holder's write."""
        doc = self.current(step.path)
        assert doc is not None, "only what was entered ends"
        if doc.status is Status.RUNNING:
            self.writes.states[step.path] = replace(
                doc, status=Status.SUCCEEDED, finished_at=self.now, not_before=None, delay_s=None
            )
        if step.path in self.writes.opened:  # opened and ended in this transition: nothing inside is counted
            self.writes.opened.remove(step.path)
            self.writes.ended.pop(step.path, None)
            self.writes.items.pop(step.path, None)
        if doc.is_scope:
            self.writes.outputs[step.path] = step.output
        self.writes.timers[step.path] = None
        self._tell("StateSucceeded", step.path, {"epoch": self.epoch})

    def _enter(self, step: OpenTask, claimant: Claimant | None) -> None:
        taker = claimant if claimant is not None and self._may_claim(step, claimant) else None
        if taker is not None and len(self.claimed) >= taker.most:
            self.left, taker = (*self.left, step.path), None
        doc = limited(self._opened(step.path, step.source, Status.PENDING, taker), step, self.now, self.epoch)
        self.entered = (*self.entered, step.path)
        self.writes.inputs[step.path] = self._given(step.entry, step.effective)
        self._tell("StateEntered", step.path, self._origin(step.source))
        self.writes.states[step.path] = doc
        if step.waits_as is not None:
            self.signals = begin_waiting(self.writes, step, doc, self.now, self.signals)
            return
        if taker is not None:
            self.claimed = (*self.claimed, step.path)
            self.writes.timers[step.path] = doc.attention(self.now + taker.ttl_s * SECOND)
            self.writes.events.append(acquired_event(step.path, doc, takeover=False))
            return
        self.writes.timers[step.path] = doc.attention(NEVER if self.starting else self.now + REMINDER_DELAY)
        if not self.starting:
            self.writes.notices.append(ready_after(step.path, self.epoch, step.source))

    def _may_claim(self, step: OpenTask, claimant: Claimant) -> bool:
        """Return True if the claimant may lease the state. An assignment that was not read does not count as none."""
        known = name_of(step.path) in self.meta.agents and not self.meta.is_halted and step.waits_as is None
        return known and self.meta.may_take(step.path, claimant.owner)

    def _wait(self, step: OpenWait) -> None:
        doc = self._opened(step.path, step.source, Status.RUNNING)
        self.writes.states[step.path] = replace(doc, kind="Wait", started_at=self.now, not_before=step.until)
        self.writes.inputs[step.path] = self._given(step.entry, step.entry.raw)
        self.writes.timers[step.path] = step.until
        if step.until <= self.now:
            self._go_on_at_once(step.path, doc)
        self._tell("StateEntered", step.path, self._origin(step.source))

    def _pause(self, step: Paused) -> None:
        """Record where the chain paused. A transaction of its own enters the state and continues the chain."""
        doc = self._opened(step.path, step.source, Status.PENDING)
        self.writes.states[step.path] = replace(doc, kind=step.kind, not_before=self.now)
        self.writes.inputs[step.path] = self._given(step.entry, step.entry.raw)
        self._go_on_at_once(step.path, doc)

    def _go_on_at_once(self, path: str, doc: StateDoc) -> None:
        """Add the follow-up that continues at once. The committing process does it; if it dies, the timer loop does."""
        self.writes.timers[path] = self.now + JOIN_DELAY
        self.remaining.paused[path] = doc.lease.epoch

    def _retry(self, step: Retried) -> None:
        """Set a failed state to be tried again at a later time; the timer loop then announces or enters it."""
        doc = self.current(step.path)
        assert doc is not None, "only what was entered is tried again"
        task = None if step.task is None or step.task.waits_as is not None else step.task  # others are entered again
        self.writes.states[step.path] = retried(doc, step, task, self.now, self.epoch, _last_error(step))
        self.writes.inputs[step.path] = self._given(step.entry, step.entry.raw if task is None else task.effective)
        self.writes.timers[step.path] = step.not_before
        data = {"epoch": self.epoch, "error": step.error, "cause": step.cause, "retry": doc.retries + 1}
        data["not_before"] = to_text(step.not_before)
        self._tell("StateRetried", step.path, data)

    def _given(self, entry: Entry, effective: Json) -> StateInput:
        return StateInput(entry=entry, effective=effective, stateful=self.stateful, revisits=self.revisits)

    def _fail(self, step: Caught | Broke) -> None:
        """Close a failed state, caught or not."""
        doc = self.current(step.path) or self._opened(step.path, None, Status.FAILED)
        self.writes.states[step.path] = replace(
            doc,
            status=Status.FAILED,
            lease=Lease(epoch=max(doc.lease.epoch, self.epoch)),
            started_at=doc.started_at or self.now,
            finished_at=self.now,
            not_before=None,
            delay_s=None,
            last_error=_last_error(step),
        )
        self.writes.timers[step.path] = None
        data = {"epoch": self.epoch, "error": step.error, "cause": step.cause}
        caught = {"caught_by": step.next} if isinstance(step, Caught) else {}
        self._tell("StateFailed", step.path, data | caught)

    def _end(self, status: RunStatus, result: dict[str, Json], event: Event) -> None:
        self.run_status = status
        self.writes.meta.update({"status": status.value, "finished_at": to_text(self.now), **result})
        if self.meta.is_paused:
            self.writes.meta.update(NOT_PAUSED)
        self.writes.events.append(event)
        notice = Notice(type=NoticeKind.FINISHED.value, state=None, epoch=self.epoch, reason=status.value)
        self.writes.notices.extend((notice, *tell_parent(self.meta, self.epoch)))

    def _opened(self, state: str, source: str | None, status: Status, claimant: Claimant | None = None) -> StateDoc:
        """Return the document of a new visit, already leased if there is a claimant.

        Of an earlier visit only the latest receipt, the epoch and unknown fields are kept.
        """
        earlier = self.current(state) or _UNVISITED
        if earlier.claim is not None:  # the cancellation of the earlier visit was not written yet
            self.writes.claims[earlier.claim] = None
        lease = Lease(epoch=max(self.epoch, earlier.lease.epoch))
        begun = status.is_terminal
        if claimant is not None:
            token = next_token(claimant.token, state)
            owner, ttl_s, key = claimant.owner, claimant.ttl_s, claimant.key
            lease = granted(lease, owner=owner, token=token, ttl_s=ttl_s, now=self.now, key=key)
            status, begun = Status.RUNNING, True
        return StateDoc(
            status=status,
            attempts=1 if begun else 0,
            lease=lease,
            started_at=self.now if begun else None,
            finished_at=self.now if status.is_terminal else None,
            waits_for={source: self.epoch} if source else {},
            scope_epoch=self._scope_epoch(state) if "/" in state else None,
            receipt=earlier.receipt,
            extra=earlier.extra,
        )

    def _scope_epoch(self, path: str) -> int:
        around = self.current(ancestors(path)[-1])
        assert around is not None, "a nested state is entered from an open scope"
        return around.lease.epoch

    def _tell(self, type_: str, path: str, data: Mapping[str, Json]) -> None:
        self.writes.events.append(Event(type=type_, state=path, data=data))

    def _origin(self, source: str | None) -> dict[str, Json]:
        return {"epoch": self.epoch} | ({"source": source} if source else {})


def _last_error(step: Retried | Caught | Broke) -> str:
    return ": ".join(filter(None, (step.error or "failed", step.cause)))


def clock_of(now: int, epoch: int, signals: Signals | None = None) -> Clock:
    """Return the engine's clock for a step; the epoch seeds its random numbers, so that repeating gives the same."""
    return Clock(now=to_text(now), micros=now, seed=str(epoch), signals={} if signals is None else signals.by_name)
