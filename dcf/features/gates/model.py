"""The stored data of the gates of a state: submissions, verdicts, and failures by gate. Data only.

The hash `gates` of a run has one record for each state that was judged. The state's own document names the open
verdicts (`Submission`), so that timer loop, diagnosis and lists need no other document. Every change of the record also
changes that document, which is watched.
"""

from collections.abc import Mapping
from dataclasses import field
from typing import ClassVar, Final, TypeAlias

from dcf.asl.tasks.askees import Askees
from dcf.core.documents.attached import Attached, Holder
from dcf.core.documents.decision import Snapshot
from dcf.core.documents.model import StateDoc
from dcf.core.documents.parts import Part, every_name
from dcf.values.instants import SECOND
from dcf.values.json_text import Json
from dcf.values.record_json.codec import RecordCodec, json_method
from dcf.values.records import record, replace

PASSES: Final = "pass"
FAILS: Final = "fail"
UNAVAILABLE: Final = "unavailable"

MOST_VERDICTS: Final = 30
"""Verdicts that are kept of a state; the oldest gives way. The history has all of them."""

MOST_SUBMISSIONS: Final = 200
"""Most contents that are submitted in one visit of a state."""

MOST_UNAVAILABLE: Final = 3
"""After this many requests without a verdict a gate asks people, so that it does not ask forever."""


@record(frozen=True, slots=True, kw_only=True)
class OpenGate:
    """A gate that waits for a verdict since `since`; `asks` counts how often it was asked for.

    `to` are the agents that may give it, none for any; `people` are the people that may, if `by_people`. `due` is when
    it is asked for again, `waits_s` ahead. It `rests` after it could not be judged.
    """

    name: str
    kind: str
    since: int
    asks: int = 1
    due: int | None = None
    waits_s: int | None = None
    to: tuple[str, ...] = ()
    people: Askees = Askees()
    by_people: bool = False
    rests: bool = False

    @property
    def queues(self) -> tuple[str, ...]:
        """The names of the lists of human tasks that it is on, besides that of all and that of its run."""
        return self.people.queues

    @property
    def whom(self) -> str:
        """In words, who gives the verdict."""
        if not self.by_people:
            agents = " or ".join(f"'{name}'" for name in self.to)
            if self.kind == "command":
                return f"a helper that runs its command{agents and f' for {agents}'}"
            return agents or "a reviewer"
        named = [*self.people.people, *(f"the group {name}" for name in self.people.groups)]
        return " or ".join(named) or "a person"


@record(frozen=True, slots=True, kw_only=True)
class Submission(Attached):
    """The gates in the document of a state: the number and the hash of the submission, and the open gates.

    There are no open gates if the output was sent back to its worker (`needs_work`).
    """

    field: ClassVar[str] = "gated"
    ends_with_lease: ClassVar[bool] = True

    number: int
    sha256: str
    open: tuple[OpenGate, ...] = ()

    @property
    def due(self) -> int | None:
        """When the timer loop must look at the next of them; None if it need not."""
        return min((open_gate.due for open_gate in self.open if open_gate.due is not None), default=None)

    def as_json(self) -> dict[str, Json]:
        """Return what the document says."""
        return _SUBMISSION.write(self)

    def due_in(self, doc: Holder) -> int | None:
        """Return when a verdict is asked for again; None if no verdict is waited for, or without a limit."""
        return self.due if doc.is_judged else None

    def was_sent_back(self, doc: Holder) -> bool:
        """Return True if gates failed, and the holder has not submitted another output."""
        return not doc.is_judged

    def gate(self, name: str) -> OpenGate | None:
        """Return the open gate of this name."""
        return next((open_gate for open_gate in self.open if open_gate.name == name), None)

    def without(self, name: str) -> "Submission":
        """Return what is left once this gate was decided."""
        return replace(self, open=tuple(open_gate for open_gate in self.open if open_gate.name != name))

    def with_gate(self, changed: OpenGate) -> "Submission":
        """Return it with this gate in place of the one of its name."""
        return replace(
            self, open=tuple(changed if open_gate.name == changed.name else open_gate for open_gate in self.open)
        )

    def healed(self, now: int) -> "Submission":
        """Return it with times corrected that lie too far ahead since the clock stepped back."""
        return replace(
            self,
            open=tuple(
                replace(open_gate, due=now + open_gate.waits_s * SECOND)
                if open_gate.due is not None
                and open_gate.waits_s is not None
                and open_gate.due > now + (open_gate.waits_s + 1) * SECOND
                else open_gate
                for open_gate in self.open
            ),
        )


def submission_of(doc: StateDoc) -> Submission | None:
    """Return what the document of a state says of its gates; None without gates."""
    return doc.attached_as(Submission)


def open_gates(doc: StateDoc) -> tuple[OpenGate, ...]:
    """Return the gates of a state that wait for their verdicts."""
    submission = submission_of(doc) if doc.is_judged else None
    return () if submission is None else submission.open


@record(frozen=True, slots=True, kw_only=True)
class Judged:
    """The verdict on one criterion."""

    criterion: str
    passed: bool
    feedback: str | None = None

    as_json = json_method(left_out="defaults")


@record(frozen=True, slots=True, kw_only=True)
class GateVerdict:
    """One verdict: of which gate, on which content, by whom and when. `facts` are those of a command."""

    gate: str
    sha256: str
    verdict: str
    by: str
    at: int
    criteria: tuple[Judged, ...] = ()
    comment: str | None = None
    facts: Mapping[str, Json] = field(default_factory=dict)

    as_json = json_method(
        "gate sha256 verdict by at criteria comment **facts",
        named={"sha256": "content_sha256"},
        times="at",
        left_out="empty",
    )

    @property
    def failed(self) -> list[Json]:
        """The criteria that failed; without criteria, the verdict as one."""
        failed = [judged.as_json() for judged in self.criteria if not judged.passed]
        if failed:
            return [{"gate": self.gate, **criterion} for criterion in failed]
        json = Judged(criterion=self.gate, passed=False, feedback=self.comment).as_json()
        return [{"gate": self.gate, **json, **self.facts}]


@record(frozen=True, slots=True, kw_only=True)
class GateRecord:
    """The record of one state, in the visit and the try that `visit` names.

    The last submission: `content` and `request_id` identify a repetition, `token` is the fingerprint of its lease,
    `author` held it, with the key `author_key`. `attempts` counts by gate how often it failed, `unavailable` how often
    it got no verdict. `failed` are the criteria with which the output was sent back; `waived` are the gates that were
    overridden for this visit, with who and why.
    """

    visit: str = ""
    number: int = 0
    sha256: str = ""
    content: str = ""
    request_id: str | None = None
    token: str = ""
    author: str = ""
    author_key: str | None = None
    at: int = 0
    attempts: Mapping[str, int] = field(default_factory=dict)
    unavailable: Mapping[str, int] = field(default_factory=dict)
    asked: tuple[str, ...] = ()
    failed: tuple[Mapping[str, Json], ...] = ()
    failed_gate: str | None = None
    waived: Mapping[str, Mapping[str, Json]] = field(default_factory=dict)
    verdicts: tuple[GateVerdict, ...] = ()
    contents: int = 0

    def of_visit(self, visit: str) -> "GateRecord":
        """Return the record for a visit: of an earlier one only the verdicts and the numbers are kept."""
        if self.visit == visit:
            return self
        return GateRecord(visit=visit, number=self.number, verdicts=self.verdicts)

    def passed(self, gate: str, sha256: str) -> bool:
        """Return True if the last verdict on this content let it pass."""
        verdicts = [verdict for verdict in self.verdicts if verdict.gate == gate and verdict.sha256 == sha256]
        return bool(verdicts) and verdicts[-1].verdict == PASSES

    def with_verdict(self, verdict: GateVerdict) -> "GateRecord":
        """Return the record with one more verdict, without the oldest that has no place."""
        return replace(self, verdicts=(*self.verdicts, verdict)[-MOST_VERDICTS:])


NO_GATES: Final = GateRecord()


Records: TypeAlias = Mapping[str, GateRecord | None]


def _records(records: Records, written: Records) -> Records:
    return {**records, **written}


RECORDS: Final = Part[tuple[str, ...], Records, Records](
    name="gates", both=every_name, after=_records, together=_records
)
"""The records of verdicts, by state. They are not watched: every change of one is also a change of its state."""


def record_of(snapshot: Snapshot, state: str) -> GateRecord:
    """Return the record of a state; an empty one if it has none."""
    return (snapshot.part(RECORDS) or {}).get(state) or NO_GATES


_OPEN: Final = RecordCodec(
    OpenGate,
    "name kind since asks due waits_s to people.people people.groups by_people rests",
    named={"name": "gate"},
    times="since due",
    left_out="defaults",
)
_SUBMISSION: Final = RecordCodec(
    Submission, named={"sha256": "content_sha256"}, left_out="defaults", codecs={"open": _OPEN}
)
_VERDICT: Final = RecordCodec(GateVerdict, named={"sha256": "content_sha256"}, left_out="defaults")


class _StoredVerdict:
    """A verdict in a record has its facts twice: among the other members, as readers see them, and as a member."""

    read = staticmethod(_VERDICT.read)

    @staticmethod
    def write(verdict: GateVerdict) -> dict[str, Json]:
        return {**verdict.as_json(), "at": verdict.at, "facts": dict(verdict.facts)}


_RECORD: Final = RecordCodec(GateRecord, left_out="empty", codecs={"verdicts": _StoredVerdict})

write_record: Final = _RECORD.write
"""Write the record of a state for the store."""

read_record: Final = _RECORD.read
"""Read what `write_record` wrote; what an operator broke gets its default."""


def read_gated(document: Json) -> Submission | None:
    """Read what a state's document says; None for anything else."""
    return _SUBMISSION.read(document) if isinstance(document, dict) else None
