"""Answers to human tasks: who may give them, which are valid, and the output of the state. Pure.

The first answer ends the state, by the same transition as a callback does (`outside.conclude`). A later caller gets an
error that names the first. At the deadline the default choice is taken, where there is one.
"""

from collections.abc import Mapping
from dataclasses import field, replace
from typing import Final

from dcf.asl.json_schema.check import misfits
from dcf.asl.retrying import TIMEOUT
from dcf.core.completing import progress
from dcf.core.completing.conclusion import Conclusion, conclude
from dcf.core.completing.ending import End, end
from dcf.core.definitions.model import Definition
from dcf.core.definitions.outputs import TO_PERSON, output_refusal
from dcf.core.documents.decision import Decision, Event, More, Snapshot, WriteSet
from dcf.core.documents.model import RunStatus, StateDoc
from dcf.core.documents.operations import RunAnswer, RunDecision, RunRequest, decided_once
from dcf.core.documents.refusals import MOVED_ON, RUN_OVER, STATE_TERMINAL
from dcf.errors import InvalidArgument, StateError
from dcf.features.people import refusals
from dcf.features.people.description import REJECT, REJECTED, HumanTask, read_human_task
from dcf.features.people.model import Asking, asking_of
from dcf.values.instants import to_text
from dcf.values.json_text import Json, byte_length
from dcf.values.records import record
from dcf.values.refusal import Refusal

LONGEST_COMMENT: Final = 4000
LARGEST_ANSWER: Final = 64 * 1024


@record(frozen=True, slots=True, kw_only=True)
class Answerer:
    """The author of an answer: a person (or agent) by id, the groups that they answer for, and the key of the call.

    A key counts as one person, whatever names are used with it.
    """

    name: str
    groups: frozenset[str] = frozenset()
    key: str | None = None


@record(frozen=True, slots=True, kw_only=True)
class Produced:
    """The persons and agents that completed the states before a visit, each with one of these states.

    Both by name and by key. `names` has the names under which each key acted in the run.
    """

    epoch: int
    by: Mapping[str, str]
    names: Mapping[str, frozenset[str]] = field(default_factory=dict)


@record(frozen=True, slots=True, kw_only=True)
class HumanAnswer:
    """An answer to a human task. `epoch`: only to the visit of the state that has it, as the caller saw it.

    `produced` was read from the history before the transaction, for a task that some must not answer.
    """

    state: str
    choice: str
    by: Answerer
    comment: str | None = None
    answer: Json = None
    epoch: int | None = None
    produced: Produced | None = None

    def __post_init__(self) -> None:
        if self.comment is not None and len(self.comment) > LONGEST_COMMENT:
            raise InvalidArgument(f"The comment has more than {LONGEST_COMMENT} characters.", "Shorten the comment.")

    def arguments(self) -> dict[str, Json]:
        """Return what is answered, for its fingerprint."""
        return {"state": self.state, "by": self.by.name, "told": [self.choice, self.comment, self.answer, self.epoch]}


def described(snapshot: Snapshot, state: str) -> HumanTask:
    """Return the description of a human task from the input of its state; raise StateError if it was damaged."""
    return read_human_task(snapshot.inputs.get(state))


@decided_once
def answer(
    snapshot: Snapshot, request: RunRequest, reply: HumanAnswer, definition: Definition, context: Mapping[str, Json]
) -> RunDecision:
    """End the state with this answer, or refuse: it is not theirs to give, or somebody else was first."""
    state, doc = reply.state, snapshot.states[reply.state]
    refusal = _why_not(snapshot, reply)
    if refusal is not None:
        return Decision(answer=refusal)
    asking = asking_of(doc)
    assert asking is not None, "a state that waits for a person says for whom"
    try:
        task = described(snapshot, state)
    except StateError as error:
        raise InvalidArgument(f"The description of '{state}' cannot be read: {error.cause}") from None
    refusal = refusal_of(reply, doc, asking, task)
    if refusal is not None:
        return Decision(answer=refusal)
    wish = conclusion_of(reply, task, doc.lease.epoch, snapshot.now)
    if not wish.failed and definition.output_schemas:
        refusal = output_refusal(definition, state, wish.output, doc, TO_PERSON)
        if refusal is not None:
            return Decision(answer=refusal)
    done = conclude(snapshot, request, wish, definition, context)
    return _noted(done, state, asking, reply) if isinstance(done.answer, RunAnswer) else done


def refusal_of(reply: HumanAnswer, doc: StateDoc, asking: Asking, task: HumanTask) -> Refusal | None:
    """Return why a task that waits rejects this answer: the person may not give it, or it does not fit the task."""
    return _why_not_by(reply, doc, asking, task) or _why_not_this(reply, task)


def conclusion_of(reply: HumanAnswer, task: HumanTask, epoch: int, now: int) -> Conclusion:
    """Return the end of the state that this answer gives it, in the visit that has this epoch."""
    fails = task.reject_fails and reply.choice == REJECT
    output = output_of(reply.choice, now, by=reply.by.name, comment=reply.comment, given=reply.answer)
    return Conclusion(
        state=reply.state,
        epoch=epoch,
        by="person",
        failed=fails,
        output=None if fails else output,
        error=REJECTED if fails else None,
        cause=_cause(reply) if fails else None,
        told={"answered_by": reply.by.name, "choice": reply.choice},
    )


def _why_not(snapshot: Snapshot, reply: HumanAnswer) -> Refusal | None:
    meta, doc = snapshot.existing_meta, snapshot.states[reply.state]
    if reply.epoch is not None and not doc.status.is_terminal and doc.lease.epoch != reply.epoch:
        return MOVED_ON.refuse(state=reply.state, doc=doc, epoch=reply.epoch)
    asking = asking_of(doc)
    if asking is not None and asking.choice is not None:
        return refusals.already_answered(reply.state, doc, asking)
    if meta.status is not RunStatus.RUNNING:
        return RUN_OVER.refuse(status=meta.status)
    if doc.status.is_terminal:
        return STATE_TERMINAL.refuse(state=reply.state, doc=doc)
    return None if waits_for_person(doc) else refusals.is_no_human_task(reply.state, doc)


def waits_for_person(doc: StateDoc) -> bool:
    """Return True if a state waits for somebody's answer."""
    return doc.waits_outside and doc.kind == "Human" and asking_of(doc) is not None


def _why_not_by(reply: HumanAnswer, doc: StateDoc, asking: Asking, task: HumanTask) -> Refusal | None:
    person = reply.by
    if person.name in task.not_by:
        return refusals.EXCLUDED.refuse(state=reply.state, person=person.name)
    if person.name not in asking.to.people and person.groups.isdisjoint(asking.to.groups):
        return refusals.not_asked(reply.state, asking, person.name, person.groups)
    return _why_not_by_history(reply, doc, task) if task.excludes_some else None


def _why_not_by_history(reply: HumanAnswer, doc: StateDoc, task: HumanTask) -> Refusal | None:
    """Refuse a person that an earlier act in the run excludes, by name or by key."""
    person, produced = reply.by, reply.produced
    if produced is None or produced.epoch != doc.lease.epoch:  # it was entered again since the history was read
        return MOVED_ON.refuse(state=reply.state, doc=doc, epoch=0 if produced is None else produced.epoch)
    same = produced.names.get(person.key or "", frozenset()).intersection(task.not_by)
    if same:
        return refusals.EXCLUDED_BY_KEY.refuse(state=reply.state, known_as=min(same))
    by_name, by_key = produced.by.get(person.name), produced.by.get(person.key or "")
    source = by_name or by_key if task.not_by_producers else None
    if source is None:
        return None
    subject = f"The key of '{person.name}'" if by_name is None else f"'{person.name}'"
    return refusals.PRODUCED_IT.refuse(subject=subject, source=source, state=reply.state)


def _why_not_this(reply: HumanAnswer, task: HumanTask) -> Refusal | None:
    choice = task.choice(reply.choice)
    if choice is None:
        offered = ", ".join(choice.name for choice in task.choices)
        return refusals.NO_SUCH_CHOICE.refuse(state=reply.state, choice=reply.choice, offered=offered)
    if choice.needs_comment and not (reply.comment or "").strip():
        return refusals.NEEDS_COMMENT.refuse(state=reply.state, choice=reply.choice)
    must_fit = task.schema is not None and (reply.answer is not None or reply.choice != REJECT)
    flaw = _misfit({} if task.schema is None or not must_fit else task.schema, reply.answer)
    if flaw is None:
        return None
    return (
        refusals.NEEDS_ANSWER.refuse(state=reply.state)
        if reply.answer is None
        else refusals.DOES_NOT_FIT.refuse(state=reply.state, flaw=flaw)
    )


def _misfit(schema: Mapping[str, Json] | bool, answer: Json) -> str | None:
    if byte_length(answer) > LARGEST_ANSWER:
        return f"it has more than {LARGEST_ANSWER} bytes"
    misfit = next(iter(misfits(schema, answer)), None)
    return None if misfit is None else f"{misfit.message}{f' (at {misfit.pointer})' if misfit.pointer else ''}"


def output_of(
    choice: str, at: int, *, by: str | None = None, comment: str | None = None, given: Json = None
) -> dict[str, Json]:
    """Return what a human task puts out."""
    return {"choice": choice, "comment": comment, "answer": given, "answered_by": by, "at": to_text(at)}


def _cause(reply: HumanAnswer) -> str:
    return f"'{reply.by.name}' rejected it{f': {reply.comment}' if reply.comment else ''}."


def _noted(done: RunDecision, state: str, asking: Asking, reply: HumanAnswer) -> RunDecision:
    """Return the decision, with who answered in the state's document and in the answer."""
    changes, answer = done.changes or WriteSet(), done.answer
    assert isinstance(answer, RunAnswer), "the caller looked"
    doc = changes.states[state]
    if not doc.waits_outside:  # a loop may have entered it again
        noted = replace(asking, escalates_at=None, answered_by=reply.by.name, choice=reply.choice)
        changes.states[state] = doc.attaching(noted)
    details = {**answer.answer, "choice": reply.choice, "answered_by": reply.by.name}
    return replace(done, answer=replace(answer, answer=details))


def time_out(
    snapshot: Snapshot, state: str, definition: Definition, context: Mapping[str, Json]
) -> Decision[RunStatus | More | None]:
    """End a state whose time has passed: a human task by its default choice, all else by a failure."""
    doc = snapshot.states[state]
    is_running = snapshot.meta is not None and snapshot.meta.status is RunStatus.RUNNING
    wish = default_of(state, doc, snapshot.now) if is_running else None
    if wish is None:
        return progress.time_out(snapshot, state, definition, context)
    return _take_default(snapshot, wish, definition, context)


def default_of(state: str, doc: StateDoc, now: int) -> End | None:
    """Return how a human task ends by its default choice, if it has one and its deadline has passed."""
    asking = asking_of(doc)
    if asking is None or asking.default is None or not waits_for_person(doc) or doc.timed_out(now) != TIMEOUT:
        return None
    fails, epoch = asking.reject_fails and asking.default == REJECT, doc.lease.next_epoch(now)
    return End(
        state=state,
        how="error" if fails else "output",
        event=Event(type="HumanTaskDefaulted", state=state, data={"epoch": epoch, "choice": asking.default}),
        output=None if fails else output_of(asking.default, now),
        error=REJECTED if fails else None,
        cause="There was no answer until the deadline." if fails else None,
        handled=True,
    )


def _take_default(
    snapshot: Snapshot, wish: End, definition: Definition, context: Mapping[str, Json]
) -> Decision[RunStatus | More | None]:
    """End the state with its default choice."""
    state, doc = wish.state, snapshot.states[wish.state]
    step = end(snapshot, wish, doc.lease.next_epoch(snapshot.now), definition, context)
    if isinstance(step, More):
        return Decision(answer=step)
    left, asking = step.writes.states[state], asking_of(doc)
    assert asking is not None, "it has a default"
    if not left.waits_outside:
        step.writes.states[state] = left.attaching(replace(asking, escalates_at=None, choice=asking.default))
    return step.decision(step.run_status)
