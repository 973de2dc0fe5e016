"""Ends a Task that waits for something outside of dcf, with the output or failure that has come. Pure.

A callback, a person's answer, a signal and the end of a child run all end their Task by `conclude`: the same
transaction enters the states that follow, as after a holder's write. The callers decide who may conclude a state.
"""

from collections.abc import Mapping
from dataclasses import field, replace

from dcf.core.completing.ending import End, end, ended_answer
from dcf.core.completing.waiting_refusals import NO_LONGER_WAITS
from dcf.core.definitions.model import Definition
from dcf.core.documents.decision import Decision, Event, More, Snapshot
from dcf.core.documents.model import RunStatus
from dcf.core.documents.operations import RunAnswer, RunDecision, RunRequest, once
from dcf.core.documents.refusals import MOVED_ON, RUN_OVER, STATE_TERMINAL
from dcf.values.json_text import Json
from dcf.values.records import record
from dcf.values.refusal import Refusal


@record(frozen=True, slots=True, kw_only=True)
class Conclusion:
    """The result for the visit of a state that has this epoch: `output`, or a failure if there is an `error`.

    `failed` says which; an ASL failure may have neither name nor cause. Retry and Catch apply to it. `by` says in the
    history what ended the state ("callback", "person", "signal", "child"), and `told` adds to that. `stops`: the child
    run of the state, if it has one, is told to stop.
    """

    state: str
    epoch: int
    by: str
    failed: bool = False
    output: Json = None
    error: str | None = None
    cause: str | None = None
    told: Mapping[str, Json] = field(default_factory=dict)
    stops: bool = True

    def arguments(self) -> dict[str, Json]:
        """Return the arguments of the request, for its fingerprint."""
        result = [self.failed, self.output, self.error, self.cause]
        return {"state": self.state, "epoch": self.epoch, "told": result}


def conclude(
    snapshot: Snapshot, request: RunRequest, wish: Conclusion, definition: Definition, context: Mapping[str, Json]
) -> RunDecision:
    """End the state; refuse if it no longer waits or if this is another visit of it."""
    return once(snapshot, request, lambda: concluded(snapshot, request, wish, definition, context))


def why_not(snapshot: Snapshot, state: str, epoch: int) -> Refusal | None:
    """Return why the visit of a state that has this epoch cannot be concluded; None if it waits."""
    meta, doc = snapshot.existing_meta, snapshot.states[state]
    if meta.status is not RunStatus.RUNNING:
        return RUN_OVER.refuse(status=meta.status)
    if doc.status.is_terminal:
        return STATE_TERMINAL.refuse(state=state, doc=doc)
    if not doc.waits_outside:
        return NO_LONGER_WAITS.refuse(state=state, doc=doc)
    return None if doc.lease.epoch == epoch else MOVED_ON.refuse(state=state, doc=doc, epoch=epoch)


def concluded(
    snapshot: Snapshot, request: RunRequest, wish: Conclusion, definition: Definition, context: Mapping[str, Json]
) -> RunDecision:
    """Decide like `conclude`, for a caller that has looked itself whether the request was applied before."""
    refusal = why_not(snapshot, wish.state, wish.epoch)
    if refusal is not None:
        return Decision(answer=refusal)
    return ended(snapshot, request, wish, definition, context)


def ended(
    snapshot: Snapshot, request: RunRequest, wish: Conclusion, definition: Definition, context: Mapping[str, Json]
) -> RunDecision:
    """End the state; the caller looked whether it may be ended."""
    epoch = snapshot.states[wish.state].lease.next_epoch(snapshot.now)
    ending = End(
        state=wish.state,
        how="error" if wish.failed else "output",
        event=_event(request, wish, epoch),
        output=wish.output,
        error=wish.error,
        cause=wish.cause,
        handled=True,
        stops=wish.stops,
    )
    step = end(snapshot, ending, epoch, definition, context)
    if isinstance(step, More):
        return Decision(answer=step)
    done = step.decision(RunAnswer(answer=ended_answer(step, wish.state), at=snapshot.now))
    return replace(done, changes=step.writes)


def _event(request: RunRequest, wish: Conclusion, epoch: int) -> Event:
    """Return the history entry that says what ended the state, and how."""
    data: dict[str, Json] = {"epoch": epoch, "how": "error" if wish.failed else "output", "via": wish.by, **wish.told}
    return Event(type="StateConcluded", state=wish.state, data=request.told(**data))
