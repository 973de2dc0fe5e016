"""From what the language says comes next to the documents, events, notices and timers that make it so.

Every state but Task is executed inside the transaction that reaches it; entered Tasks are opened for whoever is
assigned. Used by creation (the start), by completion and by failure alike. It may not decide who may write.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
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
    Retried,
    Step,
    Succeeded,
    WriteResults,
)
from dcf.asl.surroundings import Clock
from dcf.core.answers import Leased
from dcf.core.attention import JOIN_DELAY, NEVER, REMINDER_DELAY
from dcf.core.decision import Changes, Decision, Event, Notice, Remaining, Tally
from dcf.core.lease import acquired_event, granted
from dcf.core.model import Lease, Meta, RunStatus, ScopeBounds, StateDoc, StateInput, Status
from dcf.core.scopes import cancelled
from dcf.values.digest import next_token
from dcf.values.instants import SECOND, to_text
from dcf.values.json_text import Json

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True, kw_only=True)
class Claimant:
    """Who wants to lease the next state in the same transaction; `token` is that of the lease it ends."""

    owner: str
    token: str
    ttl_s: int


@dataclass(slots=True, kw_only=True)
class Transition:
    """What one advance writes (`writes`) and leaves to do (`remaining`), collected step by step.

    `stateful` keeps everything about entered states, since what follows may read it. `epoch` is the fencing number of
    the completion that causes it: entered states start from it, so that it grows along every path of control.
    `visited_before` are documents of states that may be entered again, and of the scopes around. A run that is
    `starting` announces nothing: kicking it off does.
    """

    now: int
    epoch: int
    meta: Meta
    stateful: bool = False
    starting: bool = False
    visited_before: Mapping[str, StateDoc] = field(default_factory=dict)
    writes: Changes = field(default_factory=Changes)
    remaining: Remaining = field(default_factory=Remaining)
    run_status: RunStatus = RunStatus.RUNNING
    entered: tuple[str, ...] = ()
    claimed: str | None = None

    def apply(self, advance: Advance, claimant: Claimant | None = None) -> None:
        """Record the steps taken, in order, then the end of the run if that is where they led."""
        for step in advance.steps:
            self._take(step, claimant)
        match advance.outcome:
            case Succeeded() as end:
                self._end(RunStatus.SUCCEEDED, {"output": end.output}, Event(type="RunSucceeded"))
            case Failed() as failure:
                self.fail_run(failure.error, failure.cause, failure.state)

    def fail_run(self, error: str | None, cause: str | None, state: str | None = None) -> None:
        """Record that the run failed, in a state if it was one."""
        told = {"error": error, "cause": cause}
        self._end(RunStatus.FAILED, told, Event(type="RunFailed", state=state, data=told))

    def decision(self, answer: Answer) -> Decision[Answer]:
        """Answer, and write everything that was collected."""
        run_over = self.run_status is not RunStatus.RUNNING
        return Decision(answer=answer, changes=self.writes, remaining=replace(self.remaining, run_over=run_over))

    def claim(self) -> Leased | None:
        """Tell which of the entered states was leased on the way."""
        if self.claimed is None:
            return None
        given = self.writes.inputs[self.claimed].effective
        return Leased(outcome="lease_acquired", state=self.claimed, doc=self.writes.states[self.claimed], given=given)

    def current(self, path: str) -> StateDoc | None:
        """Find a state's document as it is by now."""
        return self.writes.states.get(path) or self.visited_before.get(path)

    def _take(self, step: Step, claimant: Claimant | None) -> None:
        match step:
            case Passed():
                self._pass(step)
            case OpenTask():
                self._enter(step, claimant)
            case OpenWait():
                self._wait(step)
            case Entered():
                opened = self._opened(step.path, step.source, Status.RUNNING, step.entry)
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
        """Record what only a Parallel or Map does."""
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
        """Open a Parallel or Map; one that waited for its items was entered before."""
        doc = self.current(step.path)
        entered = doc is not None and doc.status is Status.RUNNING and doc.kind == step.kind and doc.scope is None
        if doc is None or not entered:
            opened = self._opened(step.path, step.source, Status.RUNNING, step.entry)
            doc = replace(opened, kind=step.kind, started_at=self.now)
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
        """Enter a Map whose items must be read first."""
        doc = self._opened(step.path, step.source, Status.RUNNING, step.entry)
        self.writes.states[step.path] = replace(doc, kind="Map", started_at=self.now)
        self.writes.inputs[step.path] = self._given(step.entry, step.entry.raw, keep=True)
        self.writes.timers[step.path] = self.now + JOIN_DELAY
        self._tell("StateEntered", step.path, self._origin(step.source))
        self.remaining.reading[step.path] = doc.lease.epoch

    def _count(self, scope: str, ended: Tally) -> None:
        owner = split_scope(scope)[0]
        before, doc = self.writes.ended.get(owner, Tally()), self.current(owner)
        assert doc is not None, "a branch ends in an open scope"
        self.writes.ended[owner] = replace(ended, done=before.done + ended.done, failed=before.failed + ended.failed)
        self.remaining.counting[owner] = doc

    def _void(self, owner: str) -> None:
        """Take back what this very transition set going inside a scope that is over now."""
        writes = self.writes
        for path, doc in writes.states.items():
            if within(path, owner) and not doc.status.is_terminal:
                writes.states[path] = cancelled(doc, self.now)
                writes.timers[path] = None
        for listed in (writes.items, writes.ended, self.remaining.reading, self.remaining.waking):
            for path in [path for path in listed if path == owner or within(path, owner)]:
                del listed[path]
        writes.opened[:] = [path for path in writes.opened if path != owner and not within(path, owner)]
        writes.notices[:] = [told for told in writes.notices if told.state is None or not within(told.state, owner)]
        self.entered = tuple(path for path in self.entered if not within(path, owner))
        if self.claimed is not None and within(self.claimed, owner):
            self.claimed = None

    def _succeed(self, step: Ended) -> None:
        """Close a Wait, Parallel or Map that is over; a Task was closed by whoever wrote its result."""
        doc = self.current(step.path)
        assert doc is not None, "only what was entered ends"
        if doc.status is Status.RUNNING:
            self.writes.states[step.path] = replace(doc, status=Status.SUCCEEDED, finished_at=self.now, not_before=None)
        if step.path in self.writes.opened:  # and over at once: nobody will count or open anything inside
            self.writes.opened.remove(step.path)
            self.writes.ended.pop(step.path, None)
            self.writes.items.pop(step.path, None)
        if doc.is_scope:
            self.writes.outputs[step.path] = step.output
        self.writes.timers[step.path] = None
        self._tell("StateSucceeded", step.path, {"epoch": self.epoch})

    def _enter(self, step: OpenTask, claimant: Claimant | None) -> None:
        doc = self._opened(step.path, step.source, Status.PENDING, step.entry)
        if step.timeout_s is not None or step.heartbeat_s is not None:
            deadline = None if step.timeout_s is None else self.now + step.timeout_s * SECOND
            doc = replace(doc, deadline=deadline, heartbeat_s=step.heartbeat_s)
        self.entered = (*self.entered, step.path)
        self.writes.inputs[step.path] = self._given(step.entry, step.effective)
        self._tell("StateEntered", step.path, self._origin(step.source))
        if claimant is not None and self._may_claim(step.path, claimant):
            self._claim(step.path, doc, claimant)
            return
        self.writes.states[step.path] = doc
        self.writes.timers[step.path] = doc.attention(NEVER if self.starting else self.now + REMINDER_DELAY)
        if not self.starting:
            told = Notice(
                type="state_ready", state=step.path, epoch=self.epoch, source=step.source, reason="upstream_done"
            )
            self.writes.notices.append(told)

    def _may_claim(self, path: str, claimant: Claimant) -> bool:
        """Tell whether the claimant may have the state; what was not read of assignments is not taken for nobody's."""
        known = name_of(path) in self.meta.agents
        return known and self.claimed is None and self.meta.may_take(path, claimant.owner)

    def _wait(self, step: OpenWait) -> None:
        """Enter a Wait, or leave a state that is not begun yet to the transaction that follows, or to the clock."""
        doc = self._opened(step.path, step.source, Status.RUNNING, step.entry)
        self.writes.states[step.path] = replace(doc, kind="Wait", started_at=self.now, not_before=step.until)
        self.writes.timers[step.path] = step.until
        is_left = step.until <= self.now
        self.writes.inputs[step.path] = self._given(step.entry, step.entry.raw, keep=is_left)
        if is_left:
            self.remaining.waking[step.path] = doc.lease.epoch
        else:
            self._tell("StateEntered", step.path, self._origin(step.source))

    def _retry(self, step: Retried) -> None:
        """Give a failed Task back until its time has come; the clock then announces it, or enters the state again."""
        doc, task = self.current(step.path), step.task
        assert doc is not None, "only what was entered is tried again"
        again = replace(
            doc,
            status=Status.PENDING,
            finished_at=None,
            not_before=step.not_before,
            last_error=_last_error(step),
            kind=None if task is not None else doc.kind or "Task",
            lease=Lease(epoch=max(doc.lease.epoch, self.epoch)),
            deadline=None if task is None or task.timeout_s is None else step.not_before + task.timeout_s * SECOND,
            retries=step.entry.retries,
            passed=step.entry.passed,
            last={**doc.last, "tries_from": doc.attempts},
        )
        self.writes.states[step.path] = again
        effective = step.entry.raw if task is None else task.effective
        self.writes.inputs[step.path] = self._given(step.entry, effective, keep=task is None)
        self.writes.timers[step.path] = step.not_before
        told = {"epoch": self.epoch, "error": step.error, "cause": step.cause, "retry": sum(step.entry.retries)}
        self._tell("StateRetried", step.path, told)

    def _given(self, entry: Entry, effective: Json, *, keep: bool = False) -> StateInput:
        """Make what is stored of an entry; `keep` it whole where what an earlier visit kept may still be there."""
        return StateInput(entry=entry, effective=effective, stateful=self.stateful or keep)

    def _claim(self, state: str, doc: StateDoc, claimant: Claimant) -> None:
        token = next_token(claimant.token, state)
        lease = granted(doc.lease, owner=claimant.owner, token=token, ttl_s=claimant.ttl_s, now=self.now)
        taken = replace(doc, status=Status.RUNNING, attempts=1, lease=lease, started_at=self.now)
        self.writes.states[state] = taken
        self.claimed = state
        self.writes.timers[state] = taken.attention(self.now + claimant.ttl_s * SECOND)
        self.writes.events.append(acquired_event(state, taken, takeover=False))

    def _fail(self, step: Caught | Broke) -> None:
        """Close a state that failed, whether or not somebody catches it."""
        doc = self.current(step.path) or self._opened(step.path, None, Status.FAILED)
        self.writes.states[step.path] = replace(
            doc,
            status=Status.FAILED,
            lease=Lease(epoch=max(doc.lease.epoch, self.epoch)),
            started_at=doc.started_at or self.now,
            finished_at=self.now,
            not_before=None,
            last_error=_last_error(step),
        )
        self.writes.timers[step.path] = None
        told = {"epoch": self.epoch, "error": step.error, "cause": step.cause}
        caught = {"caught_by": step.next} if isinstance(step, Caught) else {}
        self._tell("StateFailed", step.path, told | caught)

    def _end(self, status: RunStatus, result: dict[str, Json], event: Event) -> None:
        self.run_status = status
        self.writes.meta.update({"status": status.value, "finished_at": to_text(self.now), **result})
        self.writes.events.append(event)
        self.writes.notices.append(Notice(type="run_finished", state=None, epoch=self.epoch, reason=status.value))

    def _opened(self, state: str, source: str | None, status: Status, entry: Entry | None = None) -> StateDoc:
        """Begin a fresh visit of a state: everything of an earlier one goes but its last replies and foreign fields.

        A visit that waited to be begun, or to be tried again, still knows where control came from.
        """
        earlier = self.current(state) or StateDoc()
        goes_on = earlier.kind is not None and not earlier.status.is_terminal
        came_from = earlier.waits_for if goes_on else {}
        finished = self.now if status.is_terminal else None
        return StateDoc(
            status=status,
            attempts=1 if finished else 0,
            lease=Lease(epoch=max(self.epoch, earlier.lease.epoch)),
            started_at=finished,
            finished_at=finished,
            waits_for={source: self.epoch} if source else came_from,
            scope_epoch=self._scope_epoch(state),
            retries=() if entry is None else entry.retries,
            passed=0 if entry is None else entry.passed,
            last={word: told for word, told in earlier.last.items() if word != "tries_from"},
            extra=earlier.extra,
        )

    def _scope_epoch(self, path: str) -> int | None:
        if "/" not in path:
            return None
        around = self.current(ancestors(path)[-1])
        assert around is not None, "a nested state is entered from an open scope"
        return around.lease.epoch

    def _tell(self, type_: str, path: str, told: Mapping[str, Json]) -> None:
        self.writes.events.append(Event(type=type_, state=path, data=told))

    def _origin(self, source: str | None) -> dict[str, Json]:
        return {"epoch": self.epoch} | ({"source": source} if source else {})


def _last_error(step: Retried | Caught | Broke) -> str:
    return ": ".join(filter(None, (step.error or "failed", step.cause)))


def clock_of(now: int, epoch: int) -> Clock:
    """Make the engine's clock for a step; the fencing number seeds what looks random in it."""
    return Clock(now=to_text(now), micros=now, seed=str(epoch))
