"""From what the language says comes next to the documents, events, notices and timers that make it so.

Every state but Task is executed inside the transaction that reaches it; entered Tasks are opened for whoever is
assigned. Used by creation (the start), by completion and by failure alike. It may not decide who may write.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from dcf.asl.engine import Advance, Enter, Failed, Succeeded, Visit
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

    `epoch` is the fencing number of the completion that causes it: entered states start from it, so that it grows
    along every path of control. `visited_before` are documents of states that may be entered again.
    """

    now: int
    epoch: int
    meta: Meta
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
        """Record the silent states passed, then where control stands now."""
        for visit in advance.visits:
            self._pass(visit)
        match advance.outcome:
            case Enter() as enter:
                self._enter(enter, claimant)
            case Succeeded() as end:
                self._end(RunStatus.SUCCEEDED, {"output": end.output}, Event(type="RunSucceeded"))
            case Failed() as failure:
                self._fail(failure)

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

    def _pass(self, visit: Visit) -> None:
        self.states[visit.state] = self._opened(visit.state, visit.source, Status.SUCCEEDED)
        self.outputs[visit.state] = visit.output
        self.events.append(Event(type="StateSucceeded", state=visit.state, data=self._origin(visit.source)))

    def _enter(self, enter: Enter, claimant: Claimant | None) -> None:
        doc = self._opened(enter.state, enter.source, Status.PENDING)
        self.entered = (enter.state,)
        self.inputs[enter.state] = StateInput(raw=enter.raw, effective=enter.effective)
        self.events.append(Event(type="StateEntered", state=enter.state, data=self._origin(enter.source)))
        if claimant is not None and self.meta.may_take(enter.state, claimant.owner):
            self._claim(enter.state, doc, claimant)
            return
        self.states[enter.state] = doc
        self.timers[enter.state] = NEVER if enter.source is None else self.now + REMINDER_DELAY
        if enter.source is not None:
            self.notices.append(
                Notice(
                    type="state_ready",
                    state=enter.state,
                    epoch=self.epoch,
                    source=enter.source,
                    reason="upstream_done",
                )
            )

    def _claim(self, state: str, doc: StateDoc, claimant: Claimant) -> None:
        lease = granted(doc.lease, owner=claimant.owner, token=claimant.token, ttl_s=claimant.ttl_s, now=self.now)
        taken = replace(doc, status=Status.RUNNING, attempts=1, lease=lease, started_at=self.now)
        self.states[state] = taken
        self.claimed = state
        self.timers[state] = self.now + claimant.ttl_s * SECOND
        self.events.append(acquired_event(state, taken, takeover=False))

    def _fail(self, failure: Failed) -> None:
        if failure.state not in self.states:
            self.states[failure.state] = self._opened(failure.state, None, Status.FAILED)
        failed = replace(
            self.states[failure.state],
            status=Status.FAILED,
            finished_at=self.now,
            last_error=f"{failure.error or 'error'}: {failure.cause or ''}",
        )
        self.states[failure.state] = failed
        told = {"error": failure.error, "cause": failure.cause}
        self.events.append(Event(type="StateFailed", state=failure.state, data={"epoch": self.epoch, **told}))
        self._end(RunStatus.FAILED, told, Event(type="RunFailed", state=failure.state, data=told))

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
