"""Ends one state without a write of its holder: by hand, or by a callback, an answer, a signal or a child run. Pure.

The state is left by the same transition as after a holder's write, so what follows is entered, counted and announced as
always. The present holder, if there is one, is fenced out: its lease ends here, and it is told to stop. The callers
(`resolving`, `conclusion`) decide who may end a state, and what the answer is.
"""

from collections.abc import Mapping
from dataclasses import field, replace
from typing import Final, Literal, TypeAlias

from dcf.asl import engine
from dcf.asl.steps import Advance
from dcf.core.completing.advancing import open_transition, take, visits_to_leave
from dcf.core.completing.transition import Transition, clock_of
from dcf.core.definitions.model import Definition
from dcf.core.documents import receipts
from dcf.core.documents.decision import Event, More, Snapshot
from dcf.core.documents.model import Lease, RunStatus, StateDoc, Status
from dcf.core.documents.notices import stop_notices
from dcf.core.extensions import EXTENSIONS
from dcf.core.leasing.lease import forgotten_claim
from dcf.values.json_text import Json
from dcf.values.records import record

How: TypeAlias = Literal["output", "error", "skip"]
"""How a state is ended: with this output, with a failure, or with its input as its output."""


_MOST_NAMED: Final = 20
"""Most next states that an answer names; it is stored."""


@record(frozen=True, slots=True, kw_only=True)
class End:
    """How to end which state. `handled`: a failure is retried and caught as if its holder had failed, not final.

    `event` says it in the history; `meta` are fields of the meta document to write with it. `stops`: who works for the
    state is told to stop, its holder or its child run.
    """

    state: str
    how: How
    event: Event
    output: Json = None
    error: str | None = None
    cause: str | None = None
    handled: bool = False
    stops: bool = True
    meta: Mapping[str, Json] = field(default_factory=dict)


def end(
    snapshot: Snapshot, wish: End, epoch: int, definition: Definition, context: Mapping[str, Json]
) -> Transition | More:
    """End the state and enter what follows, in one transaction; answer More if something was not read.

    `epoch` is the one that the state has from then on.
    """
    state, doc, now = wish.state, snapshot.states[wish.state], snapshot.now
    advance = _advance(snapshot, wish, definition, context, epoch)
    step = open_transition(snapshot, state, epoch, definition)
    writes = step.writes
    writes.states[state] = _left(doc, wish, epoch, now)
    if definition.units is not None and wish.how == "skip":
        writes.states[state] = replace(writes.states[state], status=Status.SKIPPED)
    writes.timers[state] = None
    writes.claims.update(forgotten_claim(doc))
    writes.receipts.update(receipts.lost(state, doc, now))
    writes.events.append(wish.event)
    writes.meta.update(wish.meta)
    if is_task(doc) and wish.how != "error":
        writes.outputs[state] = wish.output if wish.how == "output" else snapshot.entries[state].raw
    more = take(step, snapshot, state, advance, definition, context)
    if more is None and definition.units is not None and wish.how != "error":
        more = EXTENSIONS.flow.follow(step, snapshot, definition, state, None)
    if more is not None:
        return more
    if wish.stops:  # only now: closing a scope drops the notices of what is inside
        writes.notices.extend(stop_notices({state: doc}))
    return step


def ended_answer(step: Transition, state: str) -> dict[str, Json]:
    """Return the answer about a state that was ended: its status, that of the run, and the states that follow."""
    return {
        "state": state,
        "state_status": step.writes.states[state].status.value,
        "run_status": step.run_status.value,
        "next_states": list(step.entered[:_MOST_NAMED]),
        "hint": _ENDED if step.run_status is RunStatus.RUNNING else _OVER,
    }


def is_task(doc: StateDoc) -> bool:
    """Return True for a Task, also if its retry is to enter it again, or if it waits for something outside."""
    return doc.kind in (None, "Task") or doc.waits_outside


def _advance(snapshot: Snapshot, wish: End, definition: Definition, context: Mapping[str, Json], epoch: int) -> Advance:
    state, doc, machine = wish.state, snapshot.states[wish.state], definition.machine
    if definition.units is not None:
        is_well = wish.how != "error"
        output = wish.output if wish.how == "output" else None
        flow = EXTENSIONS.flow
        return flow.succeeded(state, output) if is_well else flow.failed(state, wish.error, wish.cause)
    visits, clock = visits_to_leave(snapshot, state), clock_of(snapshot.now, epoch, snapshot.signals)
    if wish.how == "error":
        fail = engine.fail if wish.handled and is_task(doc) else engine.break_off
        return fail(machine, state, visits, wish.error, wish.cause, context, clock)
    if not is_task(doc):
        return engine.wake(machine, state, visits, context, clock)
    if wish.how == "skip":
        return engine.skip(machine, state, visits, context, clock)
    return engine.complete(machine, state, visits, wish.output, context, clock)


def _left(doc: StateDoc, wish: End, epoch: int, now: int) -> StateDoc:
    """Return the state without its holder. A Task that succeeds is closed here, all else by the transition."""
    free = replace(doc, lease=Lease(epoch=epoch), claim=None, reminders=0, attached=doc.attached and doc.lasting)
    free = replace(free, kind=None) if doc.is_judged else free
    if wish.how == "error" or not is_task(doc):
        return free
    return replace(
        free,
        status=Status.SUCCEEDED,
        kind=None,
        started_at=doc.started_at or now,
        finished_at=now,
        not_before=None,
        delay_s=None,
    )


_ENDED: Final = "The run continues with the next states; `read_workflow_control_plane` shows them."
_OVER: Final = "The run has ended; `finalize_workflow` writes its audit record."
