"""What follows from a verdict: the next gates are opened, the output is sent back, or all gates have passed. Pure.

Commands and reviews wait at the same time, people are asked only once these have passed: their time is dear. The first
gate that fails sends the output back, and what the others would have said is not waited for. Used when an output is
submitted (`submitting`) and when a verdict comes (`verdicts`).
"""

from collections.abc import Iterator, Sequence
from typing import Final, cast

from dcf.asl.briefs import Instructions
from dcf.asl.tasks.askees import Askees
from dcf.core.definitions.model import Definition
from dcf.core.documents.decision import Event, More, Notice, Snapshot, WriteSet
from dcf.core.documents.kinds import GATE
from dcf.core.documents.model import Lease, Meta, StateDoc, Status
from dcf.core.documents.notices import NoticeKind, notice_about
from dcf.core.leasing.attention import latest_look
from dcf.core.lifecycle.blocking import has_room
from dcf.features.gates.gate import Gate
from dcf.features.gates.model import RECORDS, GateRecord, GateVerdict, OpenGate, Submission, open_gates
from dcf.features.journal.model import LONGEST_KEY
from dcf.features.journal.writing import open_issue
from dcf.values.digest import fingerprint
from dcf.values.instants import SECOND, to_text
from dcf.values.json_text import Json, byte_length, without_nulls
from dcf.values.records import record, replace

MOST_SHOWN: Final = 8 * 1024
"""Bytes up to which an output is in the event that asks for a verdict; list_gates has a larger one."""

_LONGEST_TAIL: Final = 500

BY_DCF: Final = "dcf"
"""The author of verdicts and issues that no agent or person makes."""


def gates_of(definition: Definition, path: str) -> tuple[Gate, ...]:
    """Return the gates of a Task. The engine carries them without knowing what they are; `syntax` made all of them."""
    return cast("tuple[Gate, ...]", definition.gates_of(path))


@record(frozen=True, slots=True, kw_only=True)
class GateCase:
    """A state whose output is judged: its document, its gates, the record, the output, and what its Task says to do.

    `given` is the input of its worker, where the `instructions` show values of it.
    """

    state: str
    doc: StateDoc
    meta: Meta
    gates: tuple[Gate, ...]
    kept: GateRecord
    output: Json
    now: int
    instructions: Instructions | None = None
    given: Json = None

    def gate(self, name: str) -> Gate | None:
        """Return the gate of this name."""
        return next((gate for gate in self.gates if gate.name == name), None)

    @property
    def waiting(self) -> tuple[Gate, ...]:
        """The gates that must be decided next; none if all have passed."""
        record = self.kept
        left = [
            gate
            for gate in self.gates
            if gate.name not in record.waived and not record.passed(gate.name, record.sha256)
        ]
        first = tuple(gate for gate in left if gate.kind != "person" and gate.name not in record.asked)
        return first or tuple(left)


def opened(case: GateCase) -> WriteSet:
    """Let the output wait for the verdicts of the next gates; the agents that may give them are notified."""
    record = case.kept
    gates = tuple(_opened(case, gate) for gate in case.waiting)
    submission = Submission(number=record.number, sha256=record.sha256, open=gates)
    doc = replace(case.doc.attaching(submission), status=Status.RUNNING, kind=GATE)
    changes = judged(case, doc)
    for opened_gate in gates:
        changes.events.append(opened_event(case, opened_gate))
        changes.notices.extend(asking(case, opened_gate))
    return changes


def judged(case: GateCase, doc: StateDoc) -> WriteSet:
    """Return the changes that write the document and the record of a state, and when the timer loop looks at it."""
    look = latest_look(doc, case.meta, case.now)
    return WriteSet(states={case.state: doc}, parts=RECORDS.written({case.state: case.kept}), timers={case.state: look})


def sent_back(case: GateCase, verdict: GateVerdict, *, tells: bool) -> tuple[GateCase, WriteSet]:
    """Send the output back to its worker, whose lease begins again, with what failed; `tells`: by an event too."""
    record = replace(case.kept, failed=tuple(dict(criterion) for criterion in verdict.failed), failed_gate=verdict.gate)
    case = replace(case, kept=record)
    submission = Submission(number=record.number, sha256=record.sha256)
    doc = replace(case.doc.attaching(submission), kind=None, lease=_renewed(case))
    changes = judged(replace(case, doc=doc), doc)
    changes.events.append(decided_event(case, verdict))
    if tells and doc.lease.owner_agent_id is not None:
        changes.notices.append(_needs_work(case, doc.lease.owner_agent_id, verdict))
    return replace(case, doc=doc), changes


def asked_people(case: GateCase, gate: Gate) -> GateCase:
    """Return the case with people in place of the previous reviewers of a gate."""
    return replace(case, kept=replace(case.kept, asked=tuple(dict.fromkeys((*case.kept.asked, gate.name)))))


def counted(case: GateCase, gate: Gate) -> tuple[GateCase, int]:
    """Count that a gate failed; return how often it has in this visit."""
    number = case.kept.attempts.get(gate.name, 0) + 1
    return replace(case, kept=replace(case.kept, attempts={**case.kept.attempts, gate.name: number})), number


def begun_again(case: GateCase, gate: Gate) -> GateCase:
    """Let the worker have as many tries at a gate as at the beginning: people have looked, or are to."""
    record = case.kept
    gates_asked = tuple(name for name in record.asked if name != gate.name)
    attempts = {name: number for name, number in record.attempts.items() if name != gate.name}
    unavailable = {name: number for name, number in record.unavailable.items() if name != gate.name}
    return replace(case, kept=replace(record, asked=gates_asked, attempts=attempts, unavailable=unavailable))


def reset_counts(case: GateCase) -> GateCase:
    """Forget how often gates failed: each operation that lets a failed state continue starts the counts again."""
    return replace(case, kept=replace(case.kept, attempts={}, unavailable={}, asked=()))


def blocked(
    changes: WriteSet, snapshot: Snapshot, case: GateCase, gate: Gate, verdict: GateVerdict, times: int
) -> More | None:
    """Open an issue that blocks the run: a gate failed as often as it may. Open issues of a run are limited."""
    if not has_room(case.meta):
        return None
    text = f"State '{case.state}': {failure_of(gate, verdict, times)}"
    details: dict[str, Json] = {"gate": gate.name, "content_sha256": case.kept.sha256}
    key = f"gate:{case.state}:{gate.name}:{case.kept.number}"
    key = key if len(key) <= LONGEST_KEY else f"gate:{fingerprint(key)}"
    more = open_issue(changes, snapshot, case.meta, key=key, text=text, by=BY_DCF, state=case.state, details=details)
    return more if isinstance(more, More) else None


def decided_event(case: GateCase, verdict: GateVerdict, **more: Json) -> Event:
    """Return the history entry of a verdict, with the criteria that failed and the end of a command's output."""
    data: dict[str, Json] = {"epoch": case.doc.lease.epoch, **verdict.as_json(), **more}
    del data["at"]
    data["judged_by"] = data.pop("by")  # the writer of an event is its `by`
    failed = [judged.as_json() for judged in verdict.criteria if not judged.passed]
    data |= {"criteria": failed} if failed else {}
    if isinstance(data.get("output_tail"), str):
        data["output_tail"] = data["output_tail"][-_LONGEST_TAIL:]
    return Event(type="GateDecided", state=case.state, data=data)


def failure_of(gate: Gate, verdict: GateVerdict, attempts: int) -> str:
    """Return the cause of a state that a gate failed permanently."""
    first = next((str(criterion.get("feedback") or criterion["criterion"]) for criterion in verdict.failed), gate.name)
    return f"Gate '{gate.name}' failed {attempts} times: {first}"


def asking(case: GateCase, open_gate: OpenGate) -> Iterator[Notice]:
    """Yield a notice to each who may give the verdict, or to the planner where anybody may."""
    gate = case.gate(open_gate.name)
    assert gate is not None, "it was opened from the gates"
    names = _recipients(case, gate, open_gate)
    content = work_of(case, gate, open_gate) if names else {}
    key = notice_key(case.kept.number, open_gate)
    for name in names:
        yield notice_about(NoticeKind.GATE, key, case.state, case.doc.lease.epoch, content, name)


def notice_key(number: int, open_gate: OpenGate) -> str:
    """Return what names the request for a verdict in ids of events: of which submission, and which time."""
    return f"{number}-{open_gate.asks}-{fingerprint(open_gate.name)[:8]}"


def work_of(case: GateCase, gate: Gate, open_gate: OpenGate) -> dict[str, Json]:
    """Return what a reviewer needs: what was asked of the worker, the criteria, and the output if it is not large."""
    is_large = byte_length(case.output) > MOST_SHOWN
    work: dict[str, Json] = {
        "gate": gate.name,
        "kind": "person" if open_gate.by_people else gate.kind,
        "criteria": list(gate.criteria) or None,
        "command": gate.command,
        "timeout_s": gate.timeout_s,
        "content_sha256": case.kept.sha256,
        "author": case.kept.author,
        "from": case.kept.author,
        "attempt": case.kept.attempts.get(gate.name, 0) + 1,
        "instructions": None if case.instructions is None else case.instructions.shown(case.given),
        "output_left_out": True if is_large else None,
        "output": None if is_large else case.output,
    }
    return without_nulls(work)


def rows_of(workflow_id: str, case: GateCase, *, whole: bool) -> list[dict[str, Json]]:
    """Return what waits at a state, one object for each gate; `whole`: with the output, however large."""
    rows: list[dict[str, Json]] = []
    for open_gate in open_gates(case.doc):
        gate = case.gate(open_gate.name)
        if gate is not None:
            work = work_of(case, gate, open_gate)
            del work["from"]
            row: dict[str, Json] = {"workflow_id": workflow_id, "state": case.state, "name": work.pop("gate"), **work}
            more: dict[str, Json] = {"output": case.output} if whole else {}
            if whole:
                row.pop("output_left_out", None)
            rows.append(row | {"asked": open_gate.whom, "since": to_text(open_gate.since)} | more)
    return rows


def _opened(case: GateCase, gate: Gate) -> OpenGate:
    by_people = gate.kind == "person" or gate.name in case.kept.asked
    to = () if by_people else gate.reviewers
    if gate.kind == "command" and not by_people and not to:
        to = (case.kept.author,)
    waits_s = None if by_people and gate.kind != "person" else gate.waits_s
    return OpenGate(
        name=gate.name,
        kind=gate.kind,
        since=case.now,
        due=None if waits_s is None else case.now + waits_s * SECOND,
        waits_s=waits_s,
        to=to,
        people=gate.people if by_people else Askees(),
        by_people=by_people,
    )


def opened_event(case: GateCase, open_gate: OpenGate) -> Event:
    """Return the history entry of a gate that waits for a verdict from now on."""
    data: dict[str, Json] = {"gate": open_gate.name, "kind": open_gate.kind, "content_sha256": case.kept.sha256}
    data |= {"author": case.kept.author, "asked": open_gate.whom, "epoch": case.doc.lease.epoch}
    return Event(type="GateOpened", state=case.state, data=data)


def _recipients(case: GateCase, gate: Gate, open_gate: OpenGate) -> Sequence[str]:
    """Return who is notified: the agents that may give the verdict, so not the author; the planner if none is named."""
    names = open_gate.people.names if open_gate.by_people else open_gate.to
    if not gate.author_may_review and gate.kind != "command":
        names = tuple(name for name in names if name != case.kept.author)
    planner = case.meta.planner_agent_id
    return names or (() if planner is None else (planner,))


def _renewed(case: GateCase) -> Lease:
    lease = case.doc.lease
    if lease.token is None or lease.ttl_s is None:
        return lease
    return replace(lease, ts=case.now, expires_at=case.now + lease.ttl_s * SECOND)


def _needs_work(case: GateCase, owner: str, verdict: GateVerdict) -> Notice:
    content: dict[str, Json] = {
        "gate": verdict.gate,
        "from": verdict.by,
        "failed_criteria": [dict(criterion) for criterion in case.kept.failed],
        "attempt": case.kept.attempts.get(verdict.gate, 0),
    }
    return notice_about(NoticeKind.NEEDS_WORK, case.kept.number, case.state, case.doc.lease.epoch, content, owner)
