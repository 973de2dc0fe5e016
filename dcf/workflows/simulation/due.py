"""Decides about the Tasks of a simulated run that wait for something outside.

It decides when the timer loop looks at a Task, what is due then, and what result an answer, a signal, a callback or a
child run gives the Task. The rules are those of a run: this module calls the functions of `dcf.core` that a run calls.
Only the time and the persons are made up. An answer that a run would refuse raises InvalidArgument.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from dcf.asl.machine import Machine, Task
from dcf.asl.places import resolve
from dcf.asl.resources import FOR_CALLBACK, Resource
from dcf.asl.steps import OpenTask
from dcf.asl.tasks.signals import NAME_RULE, is_signal_name
from dcf.core.completing.conclusion import Conclusion
from dcf.core.completing.waiting import begun, limited
from dcf.core.documents.answers import Owed
from dcf.core.documents.decision import Snapshot
from dcf.core.documents.model import Lease, Meta, RunStatus, StateDoc
from dcf.core.documents.parents import Parent
from dcf.core.documents.signals import NO_SIGNALS, Signals
from dcf.core.leasing import attention
from dcf.errors import InvalidArgument
from dcf.features import installed_decisions  # noqa: F401 - the clock asks what is installed
from dcf.features.children import model as children
from dcf.features.children.request import read_child_input
from dcf.features.external import signalling
from dcf.features.external.signalling import Signal
from dcf.features.people import answering
from dcf.features.people.answering import Answerer, HumanAnswer, Produced
from dcf.features.people.description import HumanTask
from dcf.features.people.model import asking_of
from dcf.features.people.producers import CONCLUDED, Producers, led_here
from dcf.values.instants import SECOND, to_text
from dcf.values.json_text import Json
from dcf.values.records import record
from dcf.values.refusal import Refusal
from dcf.workflows.simulation.given import Answer, AskedTask, is_time, refuse_misfit

_RUNNING: Final = Meta(status=RunStatus.RUNNING, definition_sha256="", is_started=True)
_REPLY: Final = frozenset({"choice", "comment", "answer", "answered_by", "group", "at"})
_CLOCK: Final = "clock"
_NO_SIGNALS: Final = InvalidArgument(
    "The signals are no list of signals.", 'Write [{"name": "paid", "payload": {"amount": 7}, "after": 5}].'
)
_NEVER: Final = 2**62
_UNSTARTED: Final = frozenset({children.REFUSED, children.LOST, children.NOT_THERE})


@record(frozen=True, slots=True, kw_only=True)
class SimulatedSignal:
    """A signal that is sent into a simulated run, `after` seconds after its beginning."""

    name: str
    payload: Json = None
    after: float = 0.0


@dataclass(slots=True, kw_only=True)
class Due:
    """Something due at a time: the answer of a task or its timeout, the continuation of a state, a signal.

    "look": the timer loop checks a task that waits for something outside.
    """

    at: int
    kind: Literal["task", "wake", "expires", "look", "signal"]
    path: str = ""
    task: OpenTask | None = None
    answer: Answer | None = None
    signal: SimulatedSignal | None = None


@dataclass(slots=True, kw_only=True)
class _Waiting:
    """A Task that waits: its document, as a run has it, and the answer that comes at a time, if one does."""

    task: OpenTask
    doc: StateDoc
    resource: Resource
    asked_task: AskedTask | None = None
    answer: Answer = field(default_factory=dict)
    comes_at: int | None = None


@dataclass(slots=True, kw_only=True)
class OutsideTasks:
    """The Tasks of a simulated run that wait, the signals that were sent to it, and the history of its completions."""

    run: str
    machine: Machine
    signals: Signals = NO_SIGNALS
    waiting: dict[str, _Waiting] = field(default_factory=dict)
    history: list[tuple[str, str, Mapping[str, Json]]] = field(default_factory=list)

    def task(self, path: str) -> Task:
        """Return the Task at a path."""
        state = resolve(self.machine, path).state
        assert isinstance(state, Task), "only Tasks are answered"
        return state

    def begin(self, task: OpenTask, now: int) -> None:
        """Let a Task wait that was entered. If an agent hands its token out first, that takes no time."""
        if task.waits_as is None and not task.gets_token:
            return
        resource = self.task(task.path).served_by
        if resource.waits_as is not None:
            doc = begun(limited(StateDoc(lease=Lease(epoch=now)), task, now, now), resource.waits_as, now, task)
            self.waiting[task.path] = _Waiting(task=task, doc=doc, resource=resource)

    def expect(self, asked_task: AskedTask, answer: Answer, now: int) -> int | None:
        """Note what the Task will be answered; return the time of the next look, None if nothing is ever due."""
        waiting = self.waiting[asked_task.path]
        waiting.asked_task, waiting.answer = asked_task, answer
        is_answered = not (answer.get("never") or answer.get("timed_out"))
        waiting.comes_at = now + round(float(answer.get("after") or 0) * SECOND) if is_answered else None
        return self._next_look(waiting)

    def look(self, path: str, now: int) -> Conclusion | int | None:
        """Do the due work on a Task; return its end, or the time of the next check, None if there is none."""
        waiting = self.waiting[path]
        seen = Snapshot(now=now, meta=_RUNNING, states={path: waiting.doc}, timers={path: now})
        due = attention.look(seen, path)
        if isinstance(due.answer, Owed) and due.answer.fired == "timed_out":
            return _timed_out(path, waiting.doc, now)
        if due.changes is not None:
            waiting.doc = due.changes.states.get(path, waiting.doc)
        if waiting.comes_at is not None and waiting.comes_at <= now:
            return self._answered(path, waiting, now)
        return self._next_look(waiting)

    def receive(self, sent: SimulatedSignal, now: int) -> Conclusion | None:
        """End the Task that has waited for the signal for longest, or keep the signal if none waits."""
        if not is_signal_name(sent.name):
            raise InvalidArgument(f"'{sent.name[:80]}' is no name of a signal.", NAME_RULE)
        docs = {path: waiting.doc for path, waiting in self.waiting.items()}
        inputs = {path: waiting.task.effective for path, waiting in self.waiting.items()}
        waits = signalling.longest_waiting(docs, inputs, sent.name)
        if waits is not None:
            return Conclusion(state=waits[0], epoch=waits[1], by=signalling.SIGNAL, output=sent.payload)
        after = signalling.with_kept(self.signals, Signal(name=sent.name, payload=sent.payload), now, self.machine)
        if isinstance(after, Refusal):
            raise _refused(f"the signal '{sent.name}'", after)
        self.signals = after
        return None

    def took(self, number: int) -> None:
        """Note that a Task that was entered has taken a kept signal."""
        self.signals = self.signals.without(number)

    def worked(self, path: str, agent: str) -> None:
        """Note that an agent completed a state."""
        self.history += [("LeaseAcquired", path, {"owner": agent}), ("StateSucceeded", path, {})]

    def _next_look(self, waiting: _Waiting) -> int | None:
        at = waiting.doc.attention(_NEVER if waiting.comes_at is None else waiting.comes_at)
        return None if at == _NEVER else at

    def _answered(self, path: str, waiting: _Waiting, now: int) -> Conclusion:
        match waiting.resource.kind:
            case "human":
                return self._replied(path, waiting, now)
            case "signal" if "output" in waiting.answer:
                sent = waiting.answer["output"]
                return Conclusion(state=path, epoch=waiting.doc.lease.epoch, by=signalling.SIGNAL, output=sent)
            case "child" if waiting.resource.suffix != FOR_CALLBACK:
                return self._child_over(path, waiting, now)
            case "callback" | "child":
                return _called_back(path, waiting)
        raise InvalidArgument(f"The signal for '{path[:80]}' is an error.", "A signal has a payload: give an output.")

    def _replied(self, path: str, waiting: _Waiting, now: int) -> Conclusion:
        """Return the end that a person's answer gives a task."""
        doc, task = waiting.doc, waiting.task.asks
        assert isinstance(task, HumanTask), "the engine read what is asked"
        asking = asking_of(doc)
        assert asking is not None, "it waits for a person"
        reply = _reply(path, waiting)
        reply = replace(reply, produced=Produced(epoch=doc.lease.epoch, by=self._producers(path)))
        refusal = answering.refusal_of(reply, doc, asking, task)
        if refusal is not None:
            raise _refused(f"the answer to '{path}'", refusal)
        wish = answering.conclusion_of(reply, task, doc.lease.epoch, now)
        if not wish.failed and waiting.asked_task is not None:
            refuse_misfit(waiting.asked_task, wish.output)
        self.history.append((CONCLUDED, path, {"answered_by": reply.by.name}))
        return wish

    def _producers(self, path: str) -> Mapping[str, str]:
        producers = Producers(path, led_here(self.machine, path))
        for type_, state, data in self.history:
            producers.saw(type_, state, data, None)
        return producers.by

    def _child_over(self, path: str, waiting: _Waiting, now: int) -> Conclusion:
        """Return the end of a Task whose child run was started, has ended, or could not be started.

        An output with an ExecutionArn is what AWS answers, and is taken as it is.
        """
        doc, answer = waiting.doc, waiting.answer
        link = Parent(run=self.run, state=path, epoch=doc.lease.epoch, how=waiting.resource.suffix, depth=1)
        output, error = answer.get("output"), answer.get("error")
        if isinstance(output, dict) and "ExecutionArn" in output:
            return Conclusion(state=path, epoch=link.epoch, by=children.CHILD, output=output)
        if error in _UNSTARTED:
            return children.failed(link, str(error), str(answer.get("cause") or ""))
        child_input, child = read_child_input(waiting.task.effective), children.child_id(self.run, path, link.epoch)
        status = RunStatus.SUCCEEDED if "output" in answer else RunStatus.FAILED
        meta: dict[str, Json] = {
            "workflow_name": child_input.reference.partition("@")[0],
            "status": status.value,
            "input": child_input.run_input,
            "output": output,
            "error": error,
            "cause": answer.get("cause"),
            "created_at": to_text(doc.started_at or now),
            "finished_at": to_text(now),
        }
        return children.over(link, child, meta) if link.awaits_end else children.started(link, child, meta)


def read_signals(listed: Json) -> tuple[SimulatedSignal, ...]:
    """Read signals that are to be sent; raise InvalidArgument for anything else."""
    if not isinstance(listed, list) or not all(isinstance(signal, dict) for signal in listed):
        raise _NO_SIGNALS
    if any(signal.keys() - {"name", "payload", "after"} for signal in listed):
        raise _NO_SIGNALS
    if not all(is_signal_name(signal.get("name")) and is_time(signal.get("after", 0)) for signal in listed):
        raise _NO_SIGNALS
    return tuple(SimulatedSignal(**signal) for signal in listed)


def _timed_out(path: str, doc: StateDoc, now: int) -> Conclusion:
    """Return the end of a Task whose time has passed: the default choice of a human task, or a failure."""
    default = answering.default_of(path, doc, now)
    if default is None:
        error = doc.timed_out(now)
        return Conclusion(state=path, epoch=doc.lease.epoch, by=_CLOCK, failed=True, error=error)
    return Conclusion(
        state=path,
        epoch=doc.lease.epoch,
        by=_CLOCK,
        failed=default.how == "error",
        output=default.output,
        error=default.error,
        cause=default.cause,
    )


def _called_back(path: str, waiting: _Waiting) -> Conclusion:
    """Return the end that a callback gives a Task; what an agent said that handed the token out is no output."""
    answer = waiting.answer
    if "output" in answer and waiting.asked_task is not None:
        refuse_misfit(waiting.asked_task, answer["output"])
    return Conclusion(
        state=path,
        epoch=waiting.doc.lease.epoch,
        by="callback",
        failed="output" not in answer,
        output=answer.get("output"),
        error=answer.get("error"),
        cause=answer.get("cause"),
    )


def _reply(path: str, waiting: _Waiting) -> HumanAnswer:
    """Read the answer to a human task: a choice, and what belongs to it. By default the first person asked answers."""
    reply = waiting.answer.get("output")
    if not isinstance(reply, dict) or not isinstance(reply.get("choice"), str) or reply.keys() - _REPLY:
        raise InvalidArgument(
            f"The answer to the human task '{path[:80]}' is none.",
            'Answer {"choice": "approve"}, with comment, answer, answered_by and group where they matter.',
        )
    person, group = reply.get("answered_by"), reply.get("group")
    return HumanAnswer(
        state=path,
        choice=reply["choice"],
        by=_first_asked(waiting) if person is None else Answerer(name=str(person), groups=_groups(group)),
        comment=reply.get("comment"),
        answer=reply.get("answer"),
    )


def _first_asked(waiting: _Waiting) -> Answerer:
    """Return the first person that the task asks now and that may answer, or a member of the first group."""
    asking, task = asking_of(waiting.doc), waiting.task.asks
    assert asking is not None, "it waits for a person"
    assert isinstance(task, HumanTask), "the engine read what is asked"
    person = next((name for name in asking.to.people if name not in task.not_by), None)
    if person is not None:
        return Answerer(name=person)
    return Answerer(name="somebody", groups=_groups(next(iter(asking.to.groups), None)))


def _groups(group: Json) -> frozenset[str]:
    return frozenset() if group is None else frozenset({str(group)})


def _refused(subject: str, refusal: Refusal) -> InvalidArgument:
    return InvalidArgument(f"A run would refuse {subject} ({refusal.code}): {refusal.message}", refusal.hint)
