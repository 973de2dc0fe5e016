"""Sends a signal into a run: to the state that waits for one of its name, or kept for the state that will. Pure.

The sender has looked which state waits (`features/external/operations.py`), without holding anything. So both decisions
compare what was seen with what is, and answer `MOVED` if a state began or ceased to wait meanwhile.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from dcf.asl.machine import Machine, Task, every_state
from dcf.asl.surroundings import KeptSignal
from dcf.asl.tasks.signals import literal_name
from dcf.core.completing.conclusion import Conclusion, concluded, why_not
from dcf.core.completing.waiting_refusals import (
    NO_SIGNAL_AWAITED,
    NO_SUCH_SIGNAL,
    SIGNALS_FULL,
    STATES_MOVED,
    TOO_LARGE_SIGNAL,
)
from dcf.core.definitions.model import Definition
from dcf.core.documents.decision import Decision, Event, Snapshot, WriteSet
from dcf.core.documents.model import RunStatus, StateDoc
from dcf.core.documents.operations import RunAnswer, RunDecision, RunRequest, decided_once
from dcf.core.documents.refusals import RUN_OVER
from dcf.core.documents.signals import MOST_KEPT, MOST_KEPT_BYTES, Signals
from dcf.values.json_text import Json, byte_length
from dcf.values.records import record
from dcf.values.refusal import Refusal

SIGNAL: Final = "signal"
"""The cause of the state's end, in the history."""

MOVED: Final = STATES_MOVED.refuse()
"""Answer of a decision that no longer fits the documents; it is made again after another look."""


@record(frozen=True, slots=True, kw_only=True)
class Signal:
    """A signal to send."""

    name: str
    payload: Json

    def arguments(self) -> dict[str, Json]:
        """Return what is asked for, for its fingerprint."""
        return {"name": self.name, "payload": self.payload}


@decided_once
def deliver(
    snapshot: Snapshot,
    request: RunRequest,
    signal: Signal,
    waits: tuple[str, int],
    definition: Definition,
    context: Mapping[str, Json],
) -> RunDecision:
    """End the state that waits for the signal, in the visit that was seen (path and epoch)."""
    state, epoch = waits
    if _status(snapshot) is not RunStatus.RUNNING:
        return Decision(answer=RUN_OVER.refuse(status=_status(snapshot)))
    if why_not(snapshot, state, epoch) is not None:
        return Decision(answer=MOVED)
    number = _signals(snapshot).received + 1
    details: dict[str, Json] = {"signal": signal.name, "number": number}
    wish = Conclusion(state=state, epoch=epoch, by=SIGNAL, output=signal.payload, told=details)
    ended = concluded(snapshot, request, wish, definition, context)
    if not isinstance(ended.answer, RunAnswer) or ended.changes is None:
        return ended
    writes, answer = ended.changes, ended.answer.answer
    left = writes.signals[-1] if writes.signals else _signals(snapshot)  # what follows may have taken or awaited others
    events = [_received(request, signal, number), *writes.events]
    return replace(
        ended,
        answer=replace(ended.answer, answer={**answer, "signal": signal.name, "number": number, "kept": False}),
        changes=replace(writes, events=events, signals=[replace(left, received=number)]),
    )


@decided_once
def keep(snapshot: Snapshot, request: RunRequest, signal: Signal, seen: int, definition: Definition) -> RunDecision:
    """Keep the signal for a state to come; `seen` is how often states had begun to wait when none was found."""
    signals, now = _signals(snapshot), snapshot.now
    if _status(snapshot) is not RunStatus.RUNNING:
        return Decision(answer=RUN_OVER.refuse(status=_status(snapshot)))
    if signals.waits != seen:
        return Decision(answer=MOVED)
    after = with_kept(signals, signal, now, definition.machine)
    if isinstance(after, Refusal):
        return Decision(answer=after)
    number = after.received
    answer: dict[str, Json] = {
        "run_status": RunStatus.RUNNING.value,
        "signal": signal.name,
        "number": number,
        "kept": True,
        "hint": _KEPT,
    }
    return Decision(
        answer=RunAnswer(answer=answer, at=now),
        changes=WriteSet(signals=[after], events=[_received(request, signal, number, kept=True)]),
    )


def with_kept(signals: Signals, signal: Signal, now: int, machine: Machine) -> Signals | Refusal:
    """Return the signals of the run with this signal stored. Refuse a signal that no state can ever receive."""
    refusal = _unless_awaited(machine, signal.name) or _unless_full(signals, signal)
    if refusal is not None:
        return refusal
    number = signals.received + 1
    new = KeptSignal(number=number, name=signal.name, payload=signal.payload, at=now)
    return replace(signals, received=number, kept=(*signals.kept, new))


def longest_waiting(docs: Mapping[str, StateDoc], inputs: Mapping[str, Json], name: str) -> tuple[str, int] | None:
    """Return the state that has waited for the signal for longest, with its epoch; None if none of these waits."""
    waiting = [
        (doc.started_at or 0, path, doc.lease.epoch)
        for path, doc in docs.items()
        if doc.waits_outside and doc.kind == "Signal" and _name_in(inputs.get(path)) == name
    ]
    return min(waiting)[1:] if waiting else None


def _name_in(state_input: Json) -> Json:
    return state_input.get("name") if isinstance(state_input, dict) else None


def awaited_names(machine: Machine) -> Iterator[str | None]:
    """Yield the name of each signal that a Task of the workflow waits for; None where it follows from data."""
    for _, state in every_state(machine):
        if isinstance(state, Task) and state.served_by.kind == SIGNAL:
            yield literal_name(state.flow.parameters)


def _unless_awaited(machine: Machine, name: str) -> Refusal | None:
    names = set(awaited_names(machine))
    if None in names or name in names:
        return None
    if not names:
        return NO_SIGNAL_AWAITED.refuse(name=name)
    return NO_SUCH_SIGNAL.refuse(name=name, known=sorted(known for known in names if known is not None))


def _unless_full(signals: Signals, signal: Signal) -> Refusal | None:
    if len(signals.kept) >= MOST_KEPT:
        return SIGNALS_FULL.refuse(most=MOST_KEPT)
    size = byte_length(signal.payload)
    if size + sum(byte_length(signal_kept.payload) for signal_kept in signals.kept) > MOST_KEPT_BYTES:
        return TOO_LARGE_SIGNAL.refuse(most=MOST_KEPT_BYTES)
    return None


def _received(request: RunRequest, signal: Signal, number: int, *, kept: bool = False) -> Event:
    details: dict[str, Json] = {"signal": signal.name, "number": number}
    return Event(type="SignalReceived", data=request.told(**details, **({"kept": True} if kept else {})))


def _signals(snapshot: Snapshot) -> Signals:
    assert snapshot.signals is not None, "a signal is sent with those of the run read"
    return snapshot.signals


def _status(snapshot: Snapshot) -> RunStatus:
    return snapshot.existing_meta.status


_KEPT: Final = "No state waits for it yet; the next one that does takes it. Signals of one name are taken in order."
