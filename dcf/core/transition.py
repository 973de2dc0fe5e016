"""From what the language says comes next to the documents, events, notices and timers that make it so.

Every state but Task is executed inside the transaction that reaches it; entered Tasks are opened for whoever is
assigned. Used by creation (the start), by completion and by failure alike. It may not decide who may write.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from dcf.asl.state_paths import split
from dcf.asl.steps import (
    Advance,
    Broke,
    Caught,
    Ended,
    Entered,
    Entry,
    Failed,
    OpenTask,
    OpenWait,
    Passed,
    Retried,
    Step,
    Succeeded,
)
from dcf.asl.surroundings import Clock
from dcf.core.attention import NEVER, REMINDER_DELAY
from dcf.core.decision import Changes, Event, Notice
from dcf.core.instants import SECOND, to_text
from dcf.core.json_text import Json
from dcf.core.lease import acquired_event, granted
from dcf.core.model import Lease, Meta, RunStatus, StateDoc, StateInput, Status


@dataclass(frozen=True, slots=True, kw_only=True)
class Claimant:
    """Who wants to lease the next state in the same transaction."""

    owner: str
    token: str
    ttl_s: int


@dataclass(slots=True, kw_only=True)
class Transition:
    """What one advance writes, collected step by step.

    `stateful` keeps everything about entered states, since what follows may read it. `epoch` is the fencing number of
    the completion that causes it: entered states start from it, so that it grows along every path of control.
    `visited_before` are documents of states that may be entered again.
    """

    now: int
    epoch: int
    meta: Meta
    stateful: bool = False
    visited_before: Mapping[str, StateDoc] = field(default_factory=dict)
    states: dict[str, StateDoc] = field(default_factory=dict)
    inputs: dict[str, StateInput] = field(default_factory=dict)
    outputs: dict[str, Json] = field(default_factory=dict)
    meta_patch: dict[str, Json] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    notices: list[Notice] = field(default_factory=list)
    timers: dict[str, int | None] = field(default_factory=dict)
    run_status: RunStatus = RunStatus.RUNNING
    entered: tuple[str, ...] = ()
    claimed: str | None = None

    def apply(self, advance: Advance, claimant: Claimant | None = None) -> None:
        """Record the steps taken, in order, then the end of the run if that is where they led."""
        for step in advance.steps:
            self._take(_named(step), claimant)
        match advance.outcome:
            case Succeeded() as end:
                self._end(RunStatus.SUCCEEDED, {"output": end.output}, Event(type="RunSucceeded"))
            case Failed() as failure:
                told = {"error": failure.error, "cause": failure.cause}
                self._end(RunStatus.FAILED, told, Event(type="RunFailed", state=name_of(failure.state), data=told))

    def changes(self) -> Changes:
        """Everything collected, as one set of changes."""
        return Changes(
            meta=self.meta_patch,
            states=self.states,
            inputs=self.inputs,
            outputs=self.outputs,
            events=tuple(self.events),
            notices=tuple(self.notices),
            timers=self.timers,
        )

    def _take(self, step: Step, claimant: Claimant | None) -> None:
        match step:
            case Passed():
                self._pass(step)
            case OpenTask():
                self._enter(step, claimant)
            case OpenWait():
                self._wait(step)
            case Entered():
                opened = self._opened(step.path, step.source, Status.RUNNING)
                self.states[step.path] = replace(opened, attempts=1, started_at=self.now)
            case Ended():
                self._succeed(step)
            case Retried():
                self._retry(step)
            case Caught() | Broke():
                self._fail(step)
            case _:
                raise AssertionError(f"{type(step).__name__} is refused when the run is created")

    def _pass(self, step: Passed) -> None:
        self.states[step.path] = self._opened(step.path, step.source, Status.SUCCEEDED)
        self.outputs[step.path] = step.output
        self.events.append(Event(type="StateSucceeded", state=step.path, data=self._origin(step.source)))

    def _succeed(self, step: Ended) -> None:
        """Close a Wait that is over; a Task was closed by whoever wrote its result."""
        doc = self.states[step.path]
        if doc.status is Status.RUNNING:
            self.states[step.path] = replace(doc, status=Status.SUCCEEDED, finished_at=self.now, not_before=None)
        self.timers[step.path] = None
        self.events.append(Event(type="StateSucceeded", state=step.path, data={"epoch": self.epoch}))

    def _enter(self, step: OpenTask, claimant: Claimant | None) -> None:
        doc = self._opened(step.path, step.source, Status.PENDING)
        if step.timeout_s is not None or step.heartbeat_s is not None:
            deadline = None if step.timeout_s is None else self.now + step.timeout_s * SECOND
            doc = replace(doc, deadline=deadline, heartbeat_s=step.heartbeat_s)
        self.entered = (*self.entered, step.path)
        self.inputs[step.path] = self._given(step.entry, step.effective)
        self.events.append(Event(type="StateEntered", state=step.path, data=self._origin(step.source)))
        if claimant is not None and self.claimed is None and self.meta.may_take(step.path, claimant.owner):
            self._claim(step.path, doc, claimant)
            return
        self.states[step.path] = doc
        self.timers[step.path] = doc.attention(NEVER if step.source is None else self.now + REMINDER_DELAY)
        if step.source is not None:
            told = Notice(
                type="state_ready", state=step.path, epoch=self.epoch, source=step.source, reason="upstream_done"
            )
            self.notices.append(told)

    def _wait(self, step: OpenWait) -> None:
        doc = self._opened(step.path, step.source, Status.RUNNING)
        self.states[step.path] = replace(doc, kind="Wait", started_at=self.now, not_before=step.until)
        self.inputs[step.path] = self._given(step.entry, step.entry.raw)
        self.timers[step.path] = step.until
        self.events.append(Event(type="StateEntered", state=step.path, data=self._origin(step.source)))

    def _retry(self, step: Retried) -> None:
        """Give a failed Task back until its time has come; the clock then announces it."""
        doc, task = self.states[step.path], step.task
        retried = int(doc.last.get("retried", 0)) + 1
        again = replace(
            doc,
            status=Status.PENDING,
            finished_at=None,
            not_before=step.not_before,
            last_error=_last_error(step),
            deadline=None if task is None or task.timeout_s is None else step.not_before + task.timeout_s * SECOND,
            last={**doc.last, "retried": retried, "tries_from": doc.attempts},
        )
        self.states[step.path] = again
        if task is not None:
            self.inputs[step.path] = self._given(step.entry, task.effective)
        self.timers[step.path] = step.not_before
        told = {"epoch": self.epoch, "error": step.error, "cause": step.cause, "retry": retried}
        self.events.append(Event(type="StateRetried", state=step.path, data=told))

    def _given(self, entry: Entry, effective: Json) -> StateInput:
        return StateInput(entry=entry, effective=effective, stateful=self.stateful)

    def _claim(self, state: str, doc: StateDoc, claimant: Claimant) -> None:
        lease = granted(doc.lease, owner=claimant.owner, token=claimant.token, ttl_s=claimant.ttl_s, now=self.now)
        taken = replace(doc, status=Status.RUNNING, attempts=1, lease=lease, started_at=self.now)
        self.states[state] = taken
        self.claimed = state
        self.timers[state] = taken.attention(self.now + claimant.ttl_s * SECOND)
        self.events.append(acquired_event(state, taken, takeover=False))

    def _fail(self, step: Caught | Broke) -> None:
        """Close a state that failed, whether or not somebody catches it."""
        doc = self.states.get(step.path) or self._opened(step.path, None, Status.FAILED)
        self.states[step.path] = replace(
            doc,
            status=Status.FAILED,
            started_at=doc.started_at or self.now,
            finished_at=self.now,
            not_before=None,
            last_error=_last_error(step),
        )
        self.timers[step.path] = None
        told = {"epoch": self.epoch, "error": step.error, "cause": step.cause}
        caught = {"caught_by": step.next} if isinstance(step, Caught) else {}
        self.events.append(Event(type="StateFailed", state=step.path, data=told | caught))

    def _end(self, status: RunStatus, result: dict[str, Json], event: Event) -> None:
        self.run_status = status
        self.meta_patch = {"status": status.value, "finished_at": to_text(self.now), **result}
        self.events.append(event)
        self.notices.append(Notice(type="run_finished", state=None, epoch=self.epoch, reason=status.value))

    def _opened(self, state: str, source: str | None, status: Status) -> StateDoc:
        """Begin a fresh visit of a state: everything of an earlier one goes but its last replies and foreign fields."""
        earlier = self.states.get(state) or self.visited_before.get(state) or StateDoc()
        finished = self.now if status.is_terminal else None
        return StateDoc(
            status=status,
            attempts=1 if finished else 0,
            lease=Lease(epoch=max(self.epoch, earlier.lease.epoch)),
            started_at=finished,
            finished_at=finished,
            waits_for={source: self.epoch} if source else {},
            last=earlier.last,
            extra=earlier.extra,
        )

    def _origin(self, source: str | None) -> dict[str, Json]:
        return {"epoch": self.epoch} | ({"source": source} if source else {})


def name_of(path: str) -> str:
    """Return the name of the root state at a path; the two differ only where the name needs encoding."""
    return split(path)[1] if "%" in path else path


def _last_error(step: Retried | Caught | Broke) -> str:
    return f"{step.error or 'error'}: {step.cause or ''}"


def _named(step: Step) -> Step:
    """Return the step with names for paths, which is the same but for names that need encoding."""
    found: Any = step
    paths = {field: getattr(found, field, None) for field in ("path", "source")}
    encoded = {field: name_of(path) for field, path in paths.items() if path is not None and "%" in path}
    named: Step = replace(found, **encoded) if encoded else step
    return named


def clock_of(now: int, epoch: int) -> Clock:
    """Make the engine's clock for a step; the fencing number seeds what looks random in it."""
    return Clock(now=to_text(now), micros=now, seed=str(epoch))
