"""Verdicts on submitted outputs, and those that are overdue: who may give them, and what they lead to. Pure.

The verdict that lets the last gate pass completes the state in the same transaction, whether its worker still lives or
not. A verdict is about one content, by its hash; what it says as a whole is worked out from its criteria, or from the
exit code of a command.
"""

from collections.abc import Mapping
from dataclasses import field
from typing import Final

from dcf.core.completing.ending import End, end
from dcf.core.completing.transition import Transition
from dcf.core.definitions.model import Definition
from dcf.core.documents import receipts
from dcf.core.documents.answers import Owed
from dcf.core.documents.decision import Decision, Event, More, Snapshot, WriteSet
from dcf.core.documents.model import Lease, Operation, Receipt, RunStatus, StateDoc
from dcf.core.documents.operations import RunAnswer, RunDecision, RunRequest, decided_once
from dcf.core.documents.refusals import RUN_OVER, STATE_TERMINAL
from dcf.errors import InvalidArgument
from dcf.features.gates import refusals
from dcf.features.gates.consequences import (
    GateCase,
    asked_people,
    asking,
    begun_again,
    blocked,
    counted,
    decided_event,
    failure_of,
    judged,
    opened,
    opened_event,
    reset_counts,
    sent_back,
)
from dcf.features.gates.gate import GATE_FAILED, Gate
from dcf.features.gates.judges import Judge, runs_own, why_not_attested, why_not_by
from dcf.features.gates.model import (
    FAILS,
    MOST_UNAVAILABLE,
    PASSES,
    RECORDS,
    UNAVAILABLE,
    GateVerdict,
    Judged,
    OpenGate,
    Submission,
    open_gates,
    submission_of,
)
from dcf.features.gates.submitting import case_of
from dcf.values.instants import SECOND
from dcf.values.json_text import Json
from dcf.values.records import record, replace
from dcf.values.refusal import Refusal

LONGEST_COMMENT: Final = 4000
LONGEST_FEEDBACK: Final = 2000
LONGEST_TAIL: Final = 4000
"""Characters of the end of a command's output that are kept."""

_REST_S: Final = 60
_MOST_NAMED: Final = 20


@record(frozen=True, slots=True, kw_only=True)
class Ruling:
    """A verdict as it comes in. `facts` of a command are its exit_code, output_tail and duration_s.

    With `failed`, the criteria in it are not met, and those that neither it nor `criteria` names are.
    """

    state: str
    gate: str
    verdict: str
    sha256: str
    by: Judge
    criteria: tuple[Judged, ...] = ()
    failed: tuple[str, ...] | None = None
    comment: str | None = None
    facts: Mapping[str, Json] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.verdict not in (PASSES, FAILS, UNAVAILABLE):
            raise InvalidArgument("verdict must be pass, fail or unavailable.", "Say which of these it is.")
        texts = [self.comment, *(judged.feedback for judged in self.criteria)]
        if any(text is not None and len(text) > LONGEST_COMMENT for text in texts):
            raise InvalidArgument(f"A text has more than {LONGEST_COMMENT} characters.", "Shorten it.")

    def arguments(self) -> dict[str, Json]:
        """Return what is decided, for its fingerprint."""
        criteria = [judged.as_json() for judged in self.criteria]
        arguments: list[Json] = [self.verdict, self.sha256, criteria, dict(self.facts)]
        arguments += [] if self.failed is None else [list(self.failed)]
        return {"state": self.state, "gate": self.gate, "by": self.by.name, "told": arguments}

    def judged(self, gate: Gate) -> tuple[Judged, ...]:
        """Return what the verdict says of the criteria of a gate, those that failed with the comment as feedback."""
        if self.failed is None:
            return self.criteria
        failed = tuple(Judged(criterion=text, passed=False, feedback=self.comment) for text in self.failed)
        named = {row.criterion for row in (*self.criteria, *failed)}
        met = tuple(Judged(criterion=text, passed=True) for text in gate.criteria if text not in named)
        return (*self.criteria, *failed, *met)


def look(snapshot: Snapshot, _: str, doc: StateDoc) -> Decision[Owed] | None:
    """Find that verdicts are to be asked for again. None if that is not due."""
    due = min((open_gate.due for open_gate in open_gates(doc) if open_gate.due is not None), default=None)
    return None if due is None or due > snapshot.now else Decision(answer=Owed(fired="gate"))


def overdue(
    snapshot: Snapshot, state: str, definition: Definition, _: Mapping[str, Json]
) -> Decision[RunStatus | More | None]:
    """Ask again for the verdicts that did not come in time; people, in the end. Called by the clock."""
    doc, meta = snapshot.states[state], snapshot.meta
    if meta is None or meta.status is not RunStatus.RUNNING or not doc.is_judged:
        return Decision(answer=None)
    case = case_of(snapshot, state, definition, snapshot.outputs.get(state))
    late = [item for item in open_gates(doc) if item.due is not None and item.due <= snapshot.now]
    changes = WriteSet()
    for open_gate in late:
        case = _asked_again(case, open_gate, changes)
    if not late:
        return Decision(answer=None)
    return Decision(answer=None, changes=_plus(judged(case, case.doc), changes))


@decided_once
def decide(
    snapshot: Snapshot, _: RunRequest, ruling: Ruling, definition: Definition, context: Mapping[str, Json]
) -> RunDecision:
    """Apply a verdict, or refuse it: the state does not wait for it, the content is another, or the caller may not."""
    waiting = _waiting(snapshot, ruling, definition)
    if isinstance(waiting, Refusal):
        return Decision(answer=waiting)
    case, gate, open_gate = waiting
    is_own = runs_own(gate, open_gate)
    if ruling.by.name is None:
        if not is_own:
            return Decision(answer=refusals.NOT_A_REVIEWER.refuse(gate=open_gate, judge="nobody"))
        ruling = replace(ruling, by=replace(ruling.by, name=case.kept.author))
    refusal = None if is_own else why_not_by(case, gate, open_gate, ruling.by)
    verdict = refusal or _verdict(case, gate, open_gate, ruling)
    if is_own and isinstance(verdict, GateVerdict):
        verdict = why_not_attested(case, open_gate, ruling.by, verdict) or verdict
    if isinstance(verdict, Refusal):
        return Decision(answer=verdict)
    if verdict.verdict == UNAVAILABLE:
        return _unavailable(case, open_gate, verdict)
    case = replace(case, kept=case.kept.with_verdict(verdict))
    if verdict.verdict == PASSES:
        case = _without(case, gate.name)
        return after_pass(snapshot, case, decided_event(case, verdict), verdict.as_json(), definition, context)
    return _failed(snapshot, case, gate, open_gate, verdict, definition, context)


def _waiting(snapshot: Snapshot, ruling: Ruling, definition: Definition) -> tuple[GateCase, Gate, OpenGate] | Refusal:
    """Return the gate that waits for this verdict, or why none does."""
    meta, doc, state = snapshot.existing_meta, snapshot.states[ruling.state], ruling.state
    if meta.status is not RunStatus.RUNNING:
        return RUN_OVER.refuse(status=meta.status)
    if doc.status.is_terminal:
        return STATE_TERMINAL.refuse(state=state, doc=doc)
    case = case_of(snapshot, state, definition, snapshot.outputs.get(state))
    gate = case.gate(ruling.gate)
    if gate is None:
        known = ", ".join(gate.name for gate in case.gates) or "none"
        return refusals.NO_SUCH_GATE.refuse(state=state, name=ruling.gate, known=known)
    submission = submission_of(doc) if doc.is_judged else None
    open_gate = None if submission is None else submission.gate(ruling.gate)
    if open_gate is None or submission is None:
        return refusals.NOT_JUDGED.refuse(state=state, name=ruling.gate, doc=doc)
    return (
        (case, gate, open_gate) if submission.sha256 == ruling.sha256 else refusals.CONTENT_CHANGED.refuse(state=state)
    )


def _verdict(case: GateCase, gate: Gate, open_gate: OpenGate, ruling: Ruling) -> GateVerdict | Refusal:
    """Return the verdict as it follows from the criteria or the exit code; or why it does not say what it must."""
    verdict = ruling.verdict
    criteria = ruling.criteria if verdict == UNAVAILABLE else ruling.judged(gate)
    odd = [text for text in dict.fromkeys(ruling.failed or ()) if text not in gate.criteria]
    if odd:
        return refusals.criteria_missing(gate.name, [], odd)
    is_command = gate.kind == "command" and not open_gate.by_people
    if verdict != UNAVAILABLE and is_command:
        code = ruling.facts.get("exit_code")
        if not isinstance(code, int):
            return refusals.NO_EXIT_CODE.refuse(gate=gate.name)
        verdict = PASSES if code == 0 else FAILS
    elif verdict != UNAVAILABLE and gate.criteria:
        criterions = [judged_.criterion for judged_ in criteria]
        missing = [text for text in gate.criteria if criterions.count(text) != 1]
        unknown = [text for text in dict.fromkeys(criterions) if text not in gate.criteria]
        if missing or unknown:
            return refusals.criteria_missing(gate.name, missing, unknown)
        passed = all(judged_.passed for judged_ in criteria)
        if passed and verdict == FAILS:
            return refusals.CONTRADICTS.refuse(gate=gate.name)
        verdict = PASSES if passed else FAILS
    return GateVerdict(
        gate=gate.name,
        sha256=case.kept.sha256,
        verdict=verdict,
        by=ruling.by.name or "",
        at=case.now,
        criteria=criteria if gate.criteria else (),
        comment=ruling.comment,
        facts=ruling.facts if is_command else {},
    )


def after_pass(
    snapshot: Snapshot,
    case: GateCase,
    event: Event,
    details: Mapping[str, Json],
    definition: Definition,
    context: Mapping[str, Json],
) -> RunDecision:
    """Go on to the gates that are next, or complete the state if there are none."""
    submission = submission_of(case.doc)
    if submission is not None and submission.open:
        return Decision(answer=_answer(case, details), changes=_plus(judged(case, case.doc), WriteSet(events=[event])))
    if case.waiting:
        changes = opened(case)
        case = replace(case, doc=changes.states[case.state])
        return Decision(answer=_answer(case, details), changes=replace(changes, events=[event, *changes.events]))
    end = End(state=case.state, how="output", event=event, output=case.output)
    return _ended(snapshot, case, end, details, definition, context)


def _failed(
    snapshot: Snapshot,
    case: GateCase,
    gate: Gate,
    open_gate: OpenGate,
    verdict: GateVerdict,
    definition: Definition,
    context: Mapping[str, Json],
) -> RunDecision:
    """Send the output back; after as many failures as the gate allows, fail the state or ask people."""
    case, number = counted(case, gate)
    is_last = number >= gate.max_attempts
    if open_gate.by_people and (gate.kind != "person" or (is_last and gate.then == "ask")):
        case = begun_again(case, gate)  # people have looked: the worker gets as many tries as at the beginning
        is_last = False
    if is_last and gate.then == "fail":
        event = decided_event(case, verdict)
        cause = failure_of(gate, verdict, number)
        wish = End(state=case.state, how="error", event=event, error=GATE_FAILED, cause=cause, handled=True)
        return _ended(snapshot, reset_counts(case), wish, verdict.as_json(), definition, context)
    if is_last and gate.then == "ask":
        event, case = decided_event(case, verdict), asked_people(case, gate)
        changes = opened(case)
        case = replace(case, doc=changes.states[case.state])
        return Decision(
            answer=_answer(case, verdict.as_json()), changes=replace(changes, events=[event, *changes.events])
        )
    if is_last:
        case = begun_again(case, gate)
    case, changes = sent_back(case, verdict, tells=True)
    more = blocked(changes, snapshot, case, gate, verdict, number) if is_last else None
    if more is not None:
        return Decision(answer=more)
    return Decision(answer=_answer(case, verdict.as_json()), changes=changes)


def _unavailable(case: GateCase, open_gate: OpenGate, verdict: GateVerdict) -> RunDecision:
    """Note that a gate could not be judged: it is asked for again after a rest, and people in the end."""
    if open_gate.rests:
        return Decision(answer=_answer(case, verdict.as_json()))
    changes = WriteSet(events=[decided_event(case, verdict)])
    case, count = _counted_unavailable(case, open_gate)
    if count >= MOST_UNAVAILABLE:
        case = _to_people(case, open_gate, changes)
    else:
        rest_s = _REST_S << (count - 1)
        resting = replace(open_gate, rests=True, due=case.now + rest_s * SECOND, waits_s=rest_s)
        case = _with_open(case, resting)
    return Decision(answer=_answer(case, verdict.as_json()), changes=_plus(judged(case, case.doc), changes))


def _asked_again(case: GateCase, open_gate: OpenGate, changes: WriteSet) -> GateCase:
    """Ask for a verdict that did not come, or that could not be given a while ago."""
    gate = case.gate(open_gate.name)
    assert gate is not None, "it was opened from the gates of the run, which do not change"
    if not open_gate.rests:
        case, count = _counted_unavailable(case, open_gate)
        verdict = GateVerdict(gate=open_gate.name, sha256=case.kept.sha256, verdict=UNAVAILABLE, by="dcf", at=case.now)
        changes.events.append(decided_event(case, verdict, reason="no verdict came in time"))
        if count >= MOST_UNAVAILABLE and not open_gate.by_people:
            return _to_people(case, open_gate, changes)
    waits_s = gate.waits_s
    is_enough = open_gate.by_people and open_gate.asks > MOST_UNAVAILABLE
    due = None if waits_s is None or is_enough else case.now + waits_s * SECOND
    again = replace(open_gate, rests=False, asks=open_gate.asks + 1, due=due, waits_s=waits_s)
    case = _with_open(case, again)
    changes.notices.extend(asking(case, again))
    return case


def _to_people(case: GateCase, open_gate: OpenGate, changes: WriteSet) -> GateCase:
    gate = case.gate(open_gate.name)
    assert gate is not None, "it was opened from the gates of the run, which do not change"
    case = asked_people(case, gate)
    people = replace(open_gate, by_people=True, people=gate.people, to=(), rests=False, due=None, waits_s=None)
    widened = replace(people, asks=open_gate.asks + 1)
    case = _with_open(case, widened)
    changes.events.append(opened_event(case, widened))
    changes.notices.extend(asking(case, widened))
    return case


def _counted_unavailable(case: GateCase, open_gate: OpenGate) -> tuple[GateCase, int]:
    number = case.kept.unavailable.get(open_gate.name, 0) + 1
    return replace(case, kept=replace(case.kept, unavailable={**case.kept.unavailable, open_gate.name: number})), number


def _submission(case: GateCase) -> Submission:
    submission = submission_of(case.doc)
    assert submission is not None, "the caller looked"
    return submission


def _with_open(case: GateCase, open_gate: OpenGate) -> GateCase:
    return replace(case, doc=case.doc.attaching(_submission(case).with_gate(open_gate)))


def _without(case: GateCase, gate: str) -> GateCase:
    return replace(case, doc=case.doc.attaching(_submission(case).without(gate)))


def _ended(
    snapshot: Snapshot,
    case: GateCase,
    wish: End,
    details: Mapping[str, Json],
    definition: Definition,
    context: Mapping[str, Json],
) -> RunDecision:
    """End the state with its output or a failure; its worker finds the answer with the token of its lease."""
    doc, record = case.doc, case.kept
    free = replace(doc, kind=None, attached=doc.lasting, lease=Lease(epoch=doc.lease.epoch))
    states = {**snapshot.states, case.state: free}
    step = end(replace(snapshot, states=states), wish, doc.lease.next_epoch(case.now), definition, context)
    if isinstance(step, More):
        return Decision(answer=step)
    _keep_receipt(step, case)
    step.writes.put(RECORDS, {case.state: record})
    step.writes.claims.update({} if doc.claim is None else {doc.claim: None})
    after = replace(case, doc=step.writes.states[case.state])
    return step.decision(_answer(after, details, step))


def _keep_receipt(step: Transition, case: GateCase) -> None:
    """Keep the answer for the worker, who may ask by the same call how it ended."""
    doc = step.writes.states[case.state]
    receipt = Receipt(
        request=case.kept.token,
        operation=Operation.COMPLETE,
        at=case.now,
        status=doc.status,
        content=case.kept.content,
        output_written=True,
        run_status=step.run_status,
        next_states=step.entered,
    )
    mine, moved = receipts.keep(case.state, doc, receipt)
    step.writes.states[case.state] = mine
    step.writes.receipts.update(moved)


def _answer(case: GateCase, details: Mapping[str, Json], step: Transition | None = None) -> RunAnswer:
    waits = [open_gate.name for open_gate in open_gates(case.doc)]
    answer: dict[str, Json] = {
        "state": case.state,
        "gate": details.get("gate"),
        "verdict": details.get("verdict"),
        "content_sha256": case.kept.sha256,
        "state_status": case.doc.status.value,
        "waits_for": list(waits),
        "run_status": RunStatus.RUNNING.value if step is None else step.run_status.value,
        "next_states": [] if step is None else list(step.entered[:_MOST_NAMED]),
    }
    return RunAnswer(answer=answer, at=case.now)


def _plus(changes: WriteSet, more: WriteSet) -> WriteSet:
    """Return the changes with further events and notices."""
    return replace(changes, events=[*changes.events, *more.events], notices=[*changes.notices, *more.notices])
