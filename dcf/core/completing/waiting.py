"""How a Task is opened that waits for something outside, and what every open Task gets of its timeouts. Pure.

The people of a human task are notified at once, also before the run is started: they need no lease, and may take their
time. A stored signal ends its Task in the step that enters it. A Task that waits for a child run adds the notice that
starts the run.
"""

from dataclasses import replace
from typing import Final

from dcf.asl.steps import OpenTask, Retried, TakenSignal
from dcf.core.documents.attached import ATTACHED
from dcf.core.documents.decision import Event, Notice, WriteSet
from dcf.core.documents.model import Lease, StateDoc, StateInput, Status
from dcf.core.documents.notices import NoticeKind, start_child
from dcf.core.documents.signals import Signals
from dcf.values.instants import SECOND

ASKED: Final = "human_task"
"""Reason of the notices to the first people of a human task."""

NO_LOOK: Final = 2**53
"""A timer that never fires: the state stays listed as open, and the timer loop need not check it."""

CHILD_DELAY: Final = 60 * SECOND
"""Interval at which the timer loop reads the status of a child run, in case that its start or its end was lost."""


def limited(doc: StateDoc, step: OpenTask, now: int, epoch: int) -> StateDoc:
    """Return the document of an entered Task with its timeouts, and what its task token names."""
    if step.gets_token:
        doc = replace(doc, visit=epoch)
    if step.timeout_s is None and step.heartbeat_s is None:
        return doc
    deadline = None if step.timeout_s is None else now + step.timeout_s * SECOND
    return replace(doc, deadline=deadline, timeout_s=step.timeout_s, heartbeat_s=step.heartbeat_s)


def retried(doc: StateDoc, step: Retried, task: OpenTask | None, now: int, epoch: int, error: str) -> StateDoc:
    """Return the document of a failed state that is retried; without a `task` for a worker, control enters it again."""
    return replace(
        doc,
        status=Status.PENDING,
        finished_at=None,
        not_before=step.not_before,
        delay_s=-(-(step.not_before - now) // SECOND),
        last_error=error,
        kind=None if task is not None else doc.kind if doc.is_scope else "Task",
        lease=Lease(epoch=max(doc.lease.epoch, epoch)),
        deadline=None if task is None or task.timeout_s is None else step.not_before + task.timeout_s * SECOND,
        timeout_s=None if task is None else task.timeout_s,
        retries=doc.retries + 1,
        tries_from=doc.attempts,
        visit=epoch if task is not None and task.gets_token else None,
        attached=doc.attached and doc.lasting,
    )


def await_callback(writes: WriteSet, state: str, doc: StateDoc, now: int) -> StateDoc:
    """Let a state wait whose holder has handed its task token out; the holder's output is dropped, as AWS drops it."""
    waits = begun(doc, "Callback", now)
    writes.states[state], writes.timers[state] = waits, next_look(waits, now)
    data = {"epoch": doc.lease.epoch, "owner": doc.lease.owner_agent_id}
    writes.events.append(Event(type="CallbackAwaited", state=state, data=data))
    return waits


def begun(doc: StateDoc, kind: str, now: int, task: OpenTask | None = None) -> StateDoc:
    """Return the document of a Task that waits from now on; a heartbeat is due from now on too.

    `kind` says what it waits for (`asl/resources.py: WAITING`). A `task` that was entered just now begins with
    the values that capabilities attach to it. No agent holds its lease.
    """
    if task is not None:
        for begin in ATTACHED.begun:
            value = begin(task, now)
            doc = doc if value is None else doc.attaching(value)
    lease = replace(doc.lease, token=None, owner_agent_id=None, ts=now, ttl_s=None, expires_at=None, awaits_sign=False)
    started_at = doc.started_at or now
    return replace(doc, status=Status.RUNNING, kind=kind, lease=lease, started_at=started_at, claim=None, reminders=0)


def asking_notices(state: str, doc: StateDoc) -> list[Notice]:
    """Return a notice to each person and group that a state waits for from now on; none if it waits for no person."""
    return [person_notice(name, state, doc, ASKED) for value in doc.attached for name in value.asked_first]


def person_notice(name: str, state: str, doc: StateDoc, reason: str) -> Notice:
    """Return a notice to a person or group that a state waits for them."""
    return Notice(type=NoticeKind.ASKED.value, state=state, epoch=doc.lease.epoch, reason=reason, agent_id=name)


def next_look(doc: StateDoc, now: int) -> int:
    """Return when the timer loop must check a state that waits for something outside: when a timeout of it passes.

    A state that waits for a child run is checked at an interval.
    """
    return doc.attention(now + CHILD_DELAY if doc.kind == "Child" else NO_LOOK)


def begin_waiting(writes: WriteSet, step: OpenTask, doc: StateDoc, now: int, signals: Signals | None) -> Signals | None:
    """Let a state wait from now on. Return the run's signals after that."""
    assert step.waits_as is not None, "the caller looked"
    waits = begun(doc, step.waits_as, now, step)
    writes.states[step.path], writes.timers[step.path] = waits, next_look(waits, now)
    writes.notices.extend((*start_child(step.path, waits), *asking_notices(step.path, waits)))
    if step.waits_as == "Signal":
        assert signals is not None, "a transaction that may enter such a state reads the signals"
        writes.signals.append(signals.awaited())
    return writes.signals[-1] if writes.signals else signals


def take_signal(
    writes: WriteSet, step: TakenSignal, doc: StateDoc, state_input: StateInput, signals: Signals | None
) -> Signals:
    """Record that a state was entered and took a kept signal; the step after this one ends it."""
    assert signals is not None, "it was among those that were read"
    epoch, origin = doc.lease.epoch, {"source": step.source} if step.source else {}
    writes.states[step.path], writes.inputs[step.path] = doc, state_input
    writes.outputs[step.path] = step.signal.payload
    data = {"epoch": epoch, "how": "output", "via": "signal", "signal": step.signal.name, "number": step.signal.number}
    writes.events.append(Event(type="StateEntered", state=step.path, data={"epoch": epoch, **origin}))
    writes.events.append(Event(type="StateConcluded", state=step.path, data=data))
    writes.signals.append(signals.without(step.signal.number))
    return writes.signals[-1]
