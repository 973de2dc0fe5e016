"""Overrides of gates: somebody with the right lets an output pass, and says why. Pure.

An override waives a gate for this visit of the state, whatever its output is. Its author and reason are in the record,
in the history and in the audit trail. If nothing else is waited for, the state completes in the same transaction.
"""

from collections.abc import Mapping
from typing import Final

from dcf.core.definitions.model import Definition
from dcf.core.documents.decision import Decision, Event, Snapshot, WriteSet
from dcf.core.documents.model import RunStatus
from dcf.core.documents.operations import LONGEST_REASON, RunAnswer, RunDecision, RunRequest, decided_once
from dcf.core.documents.refusals import RUN_OVER, STATE_TERMINAL
from dcf.errors import InvalidArgument
from dcf.features.gates import refusals
from dcf.features.gates.consequences import GateCase
from dcf.features.gates.model import RECORDS, submission_of
from dcf.features.gates.submitting import case_of, content_sha256
from dcf.features.gates.verdicts import after_pass
from dcf.values.instants import to_text
from dcf.values.json_text import Json, without_nulls
from dcf.values.records import record, replace
from dcf.values.refusal import Refusal

OVERRIDE: Final = "override"


@record(frozen=True, slots=True, kw_only=True)
class Override:
    """A wish to let a gate pass, or all gates of a state if none is named. `by` is who, `caller` with which key."""

    state: str
    by: str
    reason: str
    gate: str | None = None
    caller: str | None = None

    def __post_init__(self) -> None:
        if not self.reason.strip() or len(self.reason) > LONGEST_REASON:
            raise InvalidArgument(
                f"An override needs a reason of 1 to {LONGEST_REASON} characters.",
                "Say in reason why the output may pass; it is recorded in the run's history.",
            )

    def arguments(self) -> dict[str, Json]:
        """Return what is overridden, for its fingerprint."""
        return {"state": self.state, "gate": self.gate, "by": self.by}


@decided_once
def override(
    snapshot: Snapshot, _: RunRequest, wish: Override, definition: Definition, context: Mapping[str, Json]
) -> RunDecision:
    """Waive the gates, and continue as if they had passed; refuse it if the state has none, or has ended."""
    meta, doc = snapshot.existing_meta, snapshot.states[wish.state]
    if meta.status is not RunStatus.RUNNING:
        return Decision(answer=RUN_OVER.refuse(status=meta.status))
    if doc.status.is_terminal:
        return Decision(answer=STATE_TERMINAL.refuse(state=wish.state, doc=doc))
    case = case_of(snapshot, wish.state, definition, snapshot.outputs.get(wish.state))
    names = _names(case, wish)
    if isinstance(names, Refusal):
        return Decision(answer=names)
    waiver: dict[str, Json] = {"by": wish.by, "reason": wish.reason, "at": to_text(case.now), "caller": wish.caller}
    waived = {**case.kept.waived, **{name: dict(waiver) for name in names}}
    events = [_event(case, wish, name) for name in names]
    case = _left(replace(case, kept=replace(case.kept, waived=waived)), names)
    details: dict[str, Json] = {"gate": ", ".join(names), "verdict": OVERRIDE}
    if not _is_submitted(case):
        return _noted(case, events, details)
    done = after_pass(snapshot, case, events[-1], details, definition, context)
    if done.changes is None or len(events) == 1:
        return done
    return replace(done, changes=replace(done.changes, events=[*events[:-1], *done.changes.events]))


def _names(case: GateCase, wish: Override) -> tuple[str, ...] | Refusal:
    """Return the gates to override: the named gate, or all that have not passed. Refuse the author."""
    output, every = case.kept, [gate.name for gate in case.gates]
    if wish.gate is not None:
        if wish.gate not in every:
            return refusals.NO_SUCH_GATE.refuse(state=wish.state, name=wish.gate, known=", ".join(every) or "none")
        return _why_not_by(case, wish, (wish.gate,)) or (wish.gate,)
    left = tuple(name for name in every if name not in output.waived and not output.passed(name, output.sha256))
    if not left:
        return refusals.NOT_JUDGED.refuse(state=wish.state, name=", ".join(every) or "any", doc=case.doc)
    return _why_not_by(case, wish, left) or left


def _why_not_by(case: GateCase, wish: Override, names: tuple[str, ...]) -> Refusal | None:
    """Refuse the author, known by name or key: who holds the lease now, or who submitted the output."""
    output = case.kept
    is_author = wish.by in {output.author, case.doc.lease.owner_agent_id} or wish.caller == (output.author_key or "")
    closed = [gate.name for gate in case.gates if gate.name in names and not gate.author_may_override]
    return refusals.AUTHOR_MAY_NOT_OVERRIDE.refuse(gate=closed[0], author=wish.by) if is_author and closed else None


def _left(case: GateCase, names: tuple[str, ...]) -> GateCase:
    submission = submission_of(case.doc)
    if submission is None:
        return case
    for name in names:
        submission = submission.without(name)
    return replace(case, doc=case.doc.attaching(submission))


def _is_submitted(case: GateCase) -> bool:
    """Return True if the output that was submitted is still there: it is judged, or was sent back and not changed."""
    record, doc = case.kept, case.doc
    if doc.is_judged:
        return True
    submission = submission_of(doc)
    was_sent_back = submission is not None and submission.number == record.number and record.failed_gate is not None
    return was_sent_back and record.failed_gate in record.waived and content_sha256(case.output) == record.sha256


def _noted(case: GateCase, events: list[Event], details: Mapping[str, Json]) -> RunDecision:
    """Remember the override for what will be submitted."""
    answer: dict[str, Json] = {
        **details,
        "state": case.state,
        "content_sha256": case.kept.sha256 or None,
        "state_status": case.doc.status.value,
        "waits_for": [],
        "run_status": RunStatus.RUNNING.value,
        "next_states": [],
    }
    changes = WriteSet(states={case.state: case.doc}, parts=RECORDS.written({case.state: case.kept}), events=events)
    return Decision(answer=RunAnswer(answer=answer, at=case.now), changes=changes)


def _event(case: GateCase, wish: Override, gate: str) -> Event:
    data: dict[str, Json] = {
        "gate": gate,
        "overridden_by": wish.by,
        "reason": wish.reason,
        "content_sha256": case.kept.sha256 or None,
        "epoch": case.doc.lease.epoch,
    }
    return Event(type="GateOverridden", state=case.state, data=without_nulls(data))
