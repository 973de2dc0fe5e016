"""Corrects the result of a state until a follower has used it. Pure.

The effects of the completion are worked out again from the old result, at the time and with the epoch of the
completion, and once more from the new one. Where both lead to the same Tasks, and none of them was leased, the inputs
that came from the result are written again. All else is refused: the result was used, or would have led elsewhere.

An agent that leases a follower at the same time either sees the new input or makes the correction be refused. Both
watch the follower's document, and the correction changes it (`corrections`), so that a claim that only compares it
notices too.
"""

from collections.abc import Mapping
from typing import Final, TypeAlias

from dcf.asl import engine
from dcf.asl.machine import Task
from dcf.asl.state_paths import ancestors, join, split, split_scope
from dcf.asl.steps import Advance, BranchEnded, Ended, OpenTask, Passed, Step
from dcf.core.completing.advancing import visits_to_leave
from dcf.core.completing.transition import clock_of
from dcf.core.completing.waiting import limited
from dcf.core.definitions.model import Definition
from dcf.core.definitions.needs import place_of, to_leave
from dcf.core.definitions.outputs import TO_CORRECT, output_refusal
from dcf.core.definitions.scopes import missing, with_scopes
from dcf.core.documents import receipts, refusals
from dcf.core.documents.decision import Decision, Event, ReadSet, Snapshot, WriteSet
from dcf.core.documents.model import Meta, Operation, RunStatus, StateDoc, StateInput, Status
from dcf.core.documents.operations import RunAnswer, RunDecision, RunRequest, decided_once
from dcf.core.leasing.attention import latest_look
from dcf.features.gates.refusals import GATED_RESULT
from dcf.features.growing import refusals as unit_refusals
from dcf.features.questions import refusals as talk_refusals
from dcf.values.digest import content_fingerprint
from dcf.values.json_text import Json, byte_length
from dcf.values.records import record, replace
from dcf.values.refusal import Refusal

_MOST_KEPT: Final = 1024
"""Bytes up to which the history keeps the result that was replaced; of a larger one it has the digest only."""

_Same: TypeAlias = tuple[str, str]
"""Kind and path of a step; those of both results must be equal."""


@record(frozen=True, slots=True, kw_only=True)
class Correct:
    """A new result of a state that succeeded. Without a token it is the planner or an operator who corrects it."""

    state: str
    output: Json
    token: str | None = None

    def arguments(self) -> dict[str, Json]:
        """Return what is asked for, for its fingerprint."""
        return {"state": self.state, "output": self.output}


def to_correct(definition: Definition, path: str) -> ReadSet:
    """Return what a correction needs to read: what leaving the state needs, and the states that may follow it."""
    here = place_of(definition, path)
    if here is None:
        return ReadSet()
    needed = to_leave(definition, here, fails=False, entries=(path,), outputs=(path,))
    followers = (join(here.scope, name) for name in here.machine.next_open(here.name)[0])
    return replace(needed, states=with_scopes(dict.fromkeys((*needed.states, *followers))))


@decided_once
def correct(
    snapshot: Snapshot, request: RunRequest, wish: Correct, definition: Definition, context: Mapping[str, Json]
) -> RunDecision:
    """Replace the result and the inputs that came from it, or refuse: it is not theirs, or was used."""
    refusal = _why_not(snapshot, wish, definition)
    if refusal is None and definition.is_gated and definition.gates_of(wish.state):
        refusal = GATED_RESULT.refuse(state=wish.state)
    if refusal is None and definition.output_schemas:
        refusal = output_refusal(definition, wish.state, wish.output, snapshot.states[wish.state], TO_CORRECT)
    if refusal is not None:
        return Decision(answer=refusal)
    old = snapshot.outputs.get(wish.state)
    before = _led_to(snapshot, wish.state, old, definition, context)
    after = _led_to(snapshot, wish.state, wish.output, definition, context)
    for advance in (before, after):
        more = missing(snapshot, wish.state, advance)
        if more is not None:
            return Decision(answer=more)
    mine = [step for step in before.steps if _concerns(step, wish.state)]
    refusal = next((use for step in mine if (use := _used(snapshot, wish.state, step)) is not None), None)
    if refusal is None and _shape(before, wish.state) != _shape(after, wish.state):
        refusal = talk_refusals.PATH_DIFFERS.refuse(
            state=wish.state, before=_words(before, wish.state), after=_words(after, wish.state)
        )
    if refusal is not None:
        return Decision(answer=refusal)
    changes = _changes(snapshot, wish, definition, [step for step in after.steps if _concerns(step, wish.state)])
    followers = [step.path for step in mine if isinstance(step, OpenTask)]
    answer: dict[str, Json] = {
        "state": wish.state,
        "run_status": RunStatus.RUNNING.value,
        "next_states": list(followers),
    }
    return Decision(
        answer=RunAnswer(answer=answer, at=snapshot.now),
        changes=replace(changes, events=[_event(snapshot, request, wish, old)]),
    )


def _why_not(snapshot: Snapshot, wish: Correct, definition: Definition) -> Refusal | None:
    meta, doc = snapshot.existing_meta, snapshot.states[wish.state]
    return _unless_written(meta, doc, wish, definition) or _unless_standing(snapshot, meta, doc, wish.state)


def _unless_written(meta: Meta, doc: StateDoc, wish: Correct, definition: Definition) -> Refusal | None:
    """Refuse where there is no result of an agent that this caller may correct."""
    here = place_of(definition, wish.state)
    if definition.units is not None:
        return unit_refusals.GROWS.refuse(
            verb="correct_result", advice="Take the unit back with `rewind_unit`, and complete it again."
        )
    if here is None or not isinstance(here.state, Task) or not here.state.served_by.is_worked:
        return talk_refusals.NOT_AN_AGENTS.refuse(state=wish.state, doc=doc)
    is_running = meta.status is RunStatus.RUNNING
    if doc.lease.is_held_with(wish.token) and is_running and not doc.status.is_terminal:
        return talk_refusals.STILL_HELD.refuse(state=wish.state, doc=doc)
    if doc.status is Status.SUCCEEDED and (wish.token is None or _completed_with(doc, wish.token)):
        return None
    return (
        talk_refusals.NOT_COMPLETED.refuse(state=wish.state, doc=doc)
        if is_running
        else refusals.RUN_OVER.refuse(status=meta.status)
    )


def _unless_standing(snapshot: Snapshot, meta: Meta, doc: StateDoc, state: str) -> Refusal | None:
    """Refuse where the run, or what is around the state, has ended with the result."""
    if meta.status is not RunStatus.RUNNING:
        return talk_refusals.RUN_ENDED.refuse(state=state, status=meta.status)
    if "/" in state and not _is_live(snapshot, state, doc):
        return talk_refusals.JOINED.refuse(state=state, owner=ancestors(state)[-1])
    return None


def _completed_with(doc: StateDoc, token: str) -> bool:
    """Return True if the result was written with this lease: its receipt is the latest of the state."""
    receipt = doc.receipt
    return (
        receipt is not None
        and receipt.operation is Operation.COMPLETE
        and receipt.request == receipts.token_key(token)
        and receipt.status is Status.SUCCEEDED
    )


def _is_live(snapshot: Snapshot, path: str, doc: StateDoc) -> bool:
    """Return True if all scopes around a state are open, in the visit that it is of."""
    for owner in reversed(ancestors(path)):
        around = snapshot.states.get(owner)
        if around is None or not around.is_open_scope or doc.scope_epoch != around.lease.epoch:
            return False
        doc = around
    return True


def _epoch(doc: StateDoc, path: str) -> int:
    """Return the epoch that the completion gave to what it entered (`advancing.epoch_of`)."""
    return max(doc.lease.epoch, doc.finished_at or 0) if "/" in path else doc.lease.epoch


def _led_to(
    snapshot: Snapshot, state: str, output: Json, definition: Definition, context: Mapping[str, Json]
) -> Advance:
    """Return what this result leads to, at the time of the completion."""
    doc = snapshot.states[state]
    clock = clock_of(doc.finished_at or 0, _epoch(doc, state), snapshot.signals)
    return engine.complete(definition.machine, state, visits_to_leave(snapshot, state), output, context, clock)


def _concerns(step: Step, state: str) -> bool:
    """Return True for a step that the result takes part in, not for the next iteration of a Map, which it does not."""
    if isinstance(step, Ended) and step.path == state:
        return False
    if isinstance(step, BranchEnded):
        return step.scope == split(state)[0]
    path = getattr(step, "path", "")
    return not path or split(path)[0] == split(state)[0]


def _shape(advance: Advance, state: str) -> list[_Same]:
    return [
        (type(step).__name__, str(getattr(step, "path", getattr(step, "scope", ""))))
        for step in advance.steps
        if _concerns(step, state)
    ]


def _words(advance: Advance, state: str) -> str:
    """Return where a result leads, for people: the last state that it reaches in its branch."""
    names = [name for kind, name in _shape(advance, state) if kind != "Passed"]
    return f"'{names[-1]}'" if names else "the end"


def _used(snapshot: Snapshot, state: str, step: Step) -> Refusal | None:
    """Return why the result was used in this step of what it led to; None if it can still be taken back."""
    match step:
        case Passed() | BranchEnded():
            return None
        case OpenTask(path=path, source=source, waits_as=None):
            doc = snapshot.states.get(path)
            epoch = _epoch(snapshot.states[state], state)
            if doc is None or dict(doc.waits_for) != {source or "": epoch}:
                return talk_refusals.USED_BY.refuse(state=state, follower=path)
            if doc.attempts or doc.lease.token is not None:
                owner = doc.lease.owner_agent_id
                by = "an agent has taken" if owner is None else f"'{owner}' works on"
                return talk_refusals.TAKEN.refuse(state=state, by=by, follower=path)
            # A retry, also of the whole run, enters it again: with another epoch, and timeouts and a token of its own.
            is_as_entered = doc.status is Status.PENDING and doc.kind is None and doc.lease.epoch == epoch
            return None if is_as_entered else talk_refusals.USED_BY.refuse(state=state, follower=path)
        case _:
            return talk_refusals.USED_BY.refuse(state=state, follower=getattr(step, "path", state))


def _changes(snapshot: Snapshot, wish: Correct, definition: Definition, steps: list[Step]) -> WriteSet:
    """Return the new result and what follows from it. Documents that others watch or compare are written again."""
    meta, doc = snapshot.existing_meta, snapshot.states[wish.state]
    changes = WriteSet(states={wish.state: doc}, outputs={wish.state: wish.output})
    for step in steps:
        if isinstance(step, Passed):
            changes.outputs[step.path] = step.output
        elif isinstance(step, BranchEnded):
            owner = split_scope(step.scope)[0]
            changes.outputs[step.scope] = step.output
            changes.states[owner] = snapshot.states[owner]  # as it is: a join that has read the old result notices
        elif isinstance(step, OpenTask):
            follower = changes.states[step.path] = _follower(snapshot, step, doc, wish.state)
            if follower.deadline is not None:
                changes.timers[step.path] = latest_look(follower, meta, snapshot.now)
            state_input = StateInput(
                entry=step.entry, effective=step.effective, stateful=definition.stateful, revisits=True
            )
            changes.inputs[step.path] = state_input
    return changes


def _follower(snapshot: Snapshot, step: OpenTask, doc: StateDoc, state: str) -> StateDoc:
    """Return the document of a Task with the timeouts that follow from its new input."""
    before = snapshot.states[step.path]
    free = replace(before, deadline=None, timeout_s=None, heartbeat_s=None, corrections=before.corrections + 1)
    return limited(free, step, doc.finished_at or snapshot.now, _epoch(doc, state))


def _event(snapshot: Snapshot, request: RunRequest, wish: Correct, old: Json) -> Event:
    doc = snapshot.states[wish.state]
    digests = {"before": content_fingerprint(old), "after": content_fingerprint(wish.output)}
    former = {"was": old} if byte_length(old) <= _MOST_KEPT else {}
    return Event(
        type="ResultCorrected", state=wish.state, data=request.told(epoch=doc.lease.epoch, **digests, **former)
    )
