"""Submits the output of a Task to its gates: a completion is applied only once all of them have passed. Pure.

The output is kept where outputs are kept, and the lease with its holder. The same call again finds out how it stands;
another output takes the place of the one that is being judged. Gates of the kind `schema` are decided here.
"""

from collections.abc import Mapping

from dcf.asl.json_schema.check import misfits
from dcf.core.access.model import KEY_CALLER
from dcf.core.completing.updates import Update
from dcf.core.definitions.briefs import instructions_of
from dcf.core.definitions.model import Definition
from dcf.core.definitions.scopes import entry_epoch_of
from dcf.core.documents.answers import Updated
from dcf.core.documents.decision import Decision, Event, Snapshot, WriteSet
from dcf.core.documents.model import StateDoc, Status
from dcf.core.documents.receipts import token_key
from dcf.core.extensions import Settle, Written
from dcf.core.leasing.first_terms import signed
from dcf.features.gates import refusals
from dcf.features.gates.consequences import (
    GateCase,
    asked_people,
    begun_again,
    blocked,
    counted,
    decided_event,
    failure_of,
    gates_of,
    opened,
    reset_counts,
    sent_back,
)
from dcf.features.gates.gate import GATE_FAILED, Gate
from dcf.features.gates.model import (
    FAILS,
    MOST_SUBMISSIONS,
    PASSES,
    RECORDS,
    GateRecord,
    GateVerdict,
    Judged,
    record_of,
    submission_of,
)
from dcf.values.digest import definition_sha256
from dcf.values.json_text import Json
from dcf.values.records import replace
from dcf.values.refusal import Refusal


def content_sha256(output: Json) -> str:
    """Return the hash that binds a verdict to an output: of its canonical JSON. Files count by the hashes in it."""
    return definition_sha256(output)


def visit_of(snapshot: Snapshot, state: str) -> str:
    """Return the name of the visit of a state and its try: a retry of the state is judged again."""
    return f"{entry_epoch_of(state, snapshot.states.get, snapshot.existing_meta)}.{snapshot.states[state].retries}"


def case_of(snapshot: Snapshot, state: str, definition: Definition, output: Json) -> GateCase:
    """Return the case of a state as it is."""
    return GateCase(
        state=state,
        doc=snapshot.states[state],
        meta=snapshot.existing_meta,
        gates=gates_of(definition, state),
        kept=record_of(snapshot, state).of_visit(visit_of(snapshot, state)),
        output=output,
        now=snapshot.now,
        instructions=instructions_of(definition, state),
        given=snapshot.briefed.get(state),
    )


def through_gates(snapshot: Snapshot, definition: Definition, settle: Settle, request: Update) -> Written:
    """Apply the completion if all its gates are decided; otherwise keep it, and say what it waits for."""
    state = request.state
    if not definition.gates_of(state) or snapshot.states[state].visit is not None:
        return settle(request)
    output = request.output if request.has_output else snapshot.outputs.get(state)
    case = case_of(snapshot, state, definition, output)
    answer = _as_before(case, request)
    if answer is not None:
        return Decision(answer=answer)
    if case.kept.contents >= MOST_SUBMISSIONS:
        return Decision(answer=refusals.TOO_MANY_SUBMISSIONS.refuse(state=state))
    case = replace(case, kept=_submitted(case, request), doc=signed(case.doc, snapshot.now))
    case, verdict_data, failed = _checked(case)
    if failed is not None:
        return _broken(snapshot, case, request, failed, verdict_data, settle)
    if not case.waiting:
        return _with(settle(request), case, verdict_data)
    return _judged(case, request, verdict_data)


def unless_judged(state: str, doc: StateDoc) -> Refusal | None:
    """Refuse a holder's other writes while its output is being judged."""
    submission = submission_of(doc) if doc.is_judged else None
    return None if submission is None else refusals.review_running(state, doc, submission)


def _as_before(case: GateCase, request: Update) -> Refusal | None:
    """Return how the same submission stands; None if this is another one."""
    record, doc = case.kept, case.doc
    submission = submission_of(doc)
    if not _is_same(record, request) or submission is None:
        return None
    if doc.is_judged:
        return refusals.review_running(case.state, doc, submission)
    gate = None if record.failed_gate in record.waived else case.gate(record.failed_gate or "")
    return None if gate is None else _needs_work(case, gate)


def _is_same(gate_record: GateRecord, request: Update) -> bool:
    last = (gate_record.content, gate_record.request_id, gate_record.token)
    return last == (request.content, request.request_id, token_key(request.token or ""))


def _needs_work(case: GateCase, gate: Gate) -> Refusal:
    record = case.kept
    number = record.attempts.get(gate.name, 0)
    return refusals.needs_work(case.state, case.doc, gate.name, record.failed, number, gate.max_attempts)


def _submitted(case: GateCase, request: Update) -> GateRecord:
    author = case.doc.lease.owner_agent_id or ""
    key = request.caller if (request.caller or "").startswith(KEY_CALLER) else None
    return replace(
        case.kept,
        number=case.kept.number + 1,
        contents=case.kept.contents + 1,
        sha256=content_sha256(case.output),
        content=request.content,
        request_id=request.request_id,
        token=token_key(request.token or ""),
        author=author,
        author_key=key,
        waived=_waived_by_others(case, author, key),
        at=case.now,
        failed=(),
        failed_gate=None,
    )


def _waived_by_others(case: GateCase, author: str, key: str | None) -> Mapping[str, Mapping[str, Json]]:
    """Return the overrides without those that the author gave before the author was known."""
    open_ = {gate.name for gate in case.gates if gate.author_may_override}
    return {
        name: override
        for name, override in case.kept.waived.items()
        if name in open_ or (override.get("by") != author and (key is None or override.get("caller") != key))
    }


def _checked(case: GateCase) -> tuple[GateCase, list[Event], tuple[Gate, GateVerdict] | None]:
    """Decide the gates that are a schema. Return the case, their events, and the first that failed, if one did."""
    events: list[Event] = []
    for gate in case.gates:
        if gate.kind != "schema" or gate.schema is None or gate.name in {*case.kept.waived, *case.kept.asked}:
            continue
        verdict = _by_schema(case, gate, gate.schema)
        case = replace(case, kept=case.kept.with_verdict(verdict))
        if verdict.verdict == FAILS:
            return case, events, (gate, verdict)
        events.append(decided_event(case, verdict))
    return case, events, None


def _by_schema(case: GateCase, gate: Gate, schema: Mapping[str, Json] | bool) -> GateVerdict:
    criteria = tuple(
        Judged(criterion=misfit.pointer or "/", passed=False, feedback=misfit.message)
        for misfit in misfits(schema, case.output)
    )
    verdict = FAILS if criteria else PASSES
    return GateVerdict(
        gate=gate.name, sha256=case.kept.sha256, verdict=verdict, by="dcf", at=case.now, criteria=criteria
    )


def _judged(case: GateCase, request: Update, events: list[Event]) -> Written:
    """Keep the output until the verdicts have come."""
    changes = opened(case)
    changes.outputs.update({case.state: request.output} if request.has_output else {})
    doc = replace(changes.states[case.state], attempts=case.doc.attempts + request.attempts)
    changes.states[case.state] = doc
    submission = submission_of(doc)
    assert submission is not None, "just opened"
    return Decision(
        answer=refusals.review_running(case.state, doc, submission),
        changes=replace(changes, events=[*events, *changes.events]),
    )


def _broken(
    snapshot: Snapshot,
    case: GateCase,
    request: Update,
    failed: tuple[Gate, GateVerdict],
    events: list[Event],
    settle: Settle,
) -> Written:
    """Send back an output that does not match, or apply the consequence of too many failures."""
    gate, verdict = failed
    case, number = counted(case, gate)
    if number >= gate.max_attempts and gate.then == "ask":
        return _judged(asked_people(case, gate), request, [*events, decided_event(case, verdict)])
    if number >= gate.max_attempts and gate.then == "fail":
        failure = replace(
            request, status=Status.FAILED, error=GATE_FAILED, cause=failure_of(gate, verdict, number), given=request
        )
        return _with(settle(failure), reset_counts(case), [*events, decided_event(case, verdict)])
    is_last = number >= gate.max_attempts
    case, changes = sent_back(begun_again(case, gate) if is_last else case, verdict, tells=False)
    more = blocked(changes, snapshot, case, gate, verdict, number) if is_last else None
    if more is not None:
        return Decision(answer=more)
    answer = refusals.needs_work(case.state, case.doc, gate.name, case.kept.failed, number, gate.max_attempts)
    return Decision(answer=answer, changes=replace(changes, events=[*events, *changes.events]))


def _with(decision: Written, case: GateCase, events: list[Event]) -> Written:
    """Return the decision, with the record of the verdicts added."""
    if not isinstance(decision.answer, Updated):
        return decision
    changes = decision.changes or WriteSet()
    changes.put(RECORDS, {case.state: case.kept})
    return replace(decision, changes=replace(changes, events=[*events, *changes.events]))
