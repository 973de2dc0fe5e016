"""The stored data of the gates of a state: submissions, verdicts, and failures by gate. Data only.

The hash `gates` of a run has one record for each state that was judged. The state's own document names the open
verdicts (`Submission`), so that timer loop, diagnosis and lists need no other document. Every change of the record also
changes that document, which is watched.
"""

from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Any, ClassVar, Final, TypeAlias

from dcf.core.documents.attached import Attached, Holder
from dcf.core.documents.decision import Snapshot
from dcf.core.documents.model import StateDoc
from dcf.core.documents.parts import Part, every_name
from dcf.features.people.description import Askees
from dcf.values.instants import SECOND, from_text, to_text
from dcf.values.json_text import Json
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
        return (*(f"person:{name}" for name in self.people.people), *(f"group:{name}" for name in self.people.groups))

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
        return min((one.due for one in self.open if one.due is not None), default=None)

    def as_json(self) -> dict[str, Json]:
        """Return what the document says."""
        waiting = [_present(_write_open(gate)) for gate in self.open]
        return {"number": self.number, "content_sha256": self.sha256} | ({"open": waiting} if waiting else {})

    def due_in(self, doc: Holder) -> int | None:
        """Return when a verdict is asked for again; None if no verdict is waited for, or without a limit."""
        return self.due if doc.is_judged else None

    def was_sent_back(self, doc: Holder) -> bool:
        """Return True if gates failed, and the holder has not submitted another output."""
        return not doc.is_judged

    def gate(self, name: str) -> OpenGate | None:
        """Return the open gate of this name."""
        return next((one for one in self.open if one.name == name), None)

    def without(self, name: str) -> "Submission":
        """Return what is left once this gate was decided."""
        return replace(self, open=tuple(one for one in self.open if one.name != name))

    def with_gate(self, changed: OpenGate) -> "Submission":
        """Return it with this gate in place of the one of its name."""
        return replace(self, open=tuple(changed if one.name == changed.name else one for one in self.open))

    def healed(self, now: int) -> "Submission":
        """Return it with times corrected that lie too far ahead since the clock stepped back."""
        return replace(
            self,
            open=tuple(
                replace(one, due=now + one.waits_s * SECOND)
                if one.due is not None and one.waits_s is not None and one.due > now + (one.waits_s + 1) * SECOND
                else one
                for one in self.open
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

    def as_json(self) -> dict[str, Json]:
        """Return it without what is not said."""
        told: dict[str, Json] = {"criterion": self.criterion, "passed": self.passed}
        return told | ({} if self.feedback is None else {"feedback": self.feedback})


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

    def as_json(self) -> dict[str, Json]:
        """Return it for readers, and for the store."""
        told: dict[str, Json] = {
            "gate": self.gate,
            "content_sha256": self.sha256,
            "verdict": self.verdict,
            "by": self.by,
            "at": to_text(self.at),
            "criteria": [one.as_json() for one in self.criteria] or None,
            "comment": self.comment,
            **self.facts,
        }
        return {name: value for name, value in told.items() if value is not None}

    @property
    def failed(self) -> list[Json]:
        """The criteria that failed; without criteria, the verdict as one."""
        failed = [one.as_json() for one in self.criteria if not one.passed]
        if failed:
            return [{"gate": self.gate, **one} for one in failed]
        told = Judged(criterion=self.gate, passed=False, feedback=self.comment).as_json()
        return [{"gate": self.gate, **told, **self.facts}]


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
        found = [one for one in self.verdicts if one.gate == gate and one.sha256 == sha256]
        return bool(found) and found[-1].verdict == PASSES

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


def _write_open(one: OpenGate) -> dict[str, Json]:
    return {
        "gate": one.name,
        "kind": one.kind,
        "since": to_text(one.since),
        "asks": one.asks if one.asks > 1 else None,
        "due": None if one.due is None else to_text(one.due),
        "waits_s": one.waits_s,
        "to": list(one.to) or None,
        "people": list(one.people.people) or None,
        "groups": list(one.people.groups) or None,
        "by_people": one.by_people or None,
        "rests": one.rests or None,
    }


def read_gated(document: Json) -> Submission | None:
    """Read what a state's document says; None for anything else."""
    if not isinstance(document, dict):
        return None
    return Submission(
        number=_count(document.get("number")),
        sha256=_text(document.get("content_sha256")),
        open=tuple(_read_open(one) for one in _objects(document.get("open"))),
    )


def _read_open(one: Mapping[str, Any]) -> OpenGate:
    return OpenGate(
        name=_text(one.get("gate")),
        kind=_text(one.get("kind")),
        since=from_text(one.get("since")) or 0,
        asks=_count(one.get("asks")) or 1,
        due=from_text(one.get("due")),
        waits_s=_count(one.get("waits_s")) or None,
        to=_names(one.get("to")),
        people=Askees(people=_names(one.get("people")), groups=_names(one.get("groups"))),
        by_people=one.get("by_people") is True,
        rests=one.get("rests") is True,
    )


def write_record(kept: GateRecord) -> dict[str, Json]:
    """Write the record of a state for the store."""
    return _present(
        {
            "visit": kept.visit,
            "number": kept.number,
            "sha256": kept.sha256,
            "content": kept.content,
            "request_id": kept.request_id,
            "token": kept.token,
            "author": kept.author,
            "author_key": kept.author_key,
            "at": kept.at,
            "attempts": dict(kept.attempts) or None,
            "unavailable": dict(kept.unavailable) or None,
            "asked": list(kept.asked) or None,
            "failed": [dict(one) for one in kept.failed] or None,
            "failed_gate": kept.failed_gate,
            "waived": {name: dict(told) for name, told in kept.waived.items()} or None,
            "verdicts": [{**one.as_json(), "at": one.at, "facts": dict(one.facts)} for one in kept.verdicts] or None,
            "contents": kept.contents,
        }
    )


def read_record(document: Json) -> GateRecord:
    """Read what `write_record` wrote; what an operator broke gets its default."""
    found: Mapping[str, Any] = document if isinstance(document, dict) else {}
    return GateRecord(
        visit=_text(found.get("visit")),
        number=_count(found.get("number")),
        sha256=_text(found.get("sha256")),
        content=_text(found.get("content")),
        request_id=found.get("request_id"),
        token=_text(found.get("token")),
        author=_text(found.get("author")),
        author_key=found.get("author_key"),
        at=_count(found.get("at")),
        attempts=_counts(found.get("attempts")),
        unavailable=_counts(found.get("unavailable")),
        asked=_names(found.get("asked")),
        failed=tuple(_objects(found.get("failed"))),
        failed_gate=found.get("failed_gate"),
        waived={name: told for name, told in _object(found.get("waived")).items() if isinstance(told, dict)},
        verdicts=tuple(_read_verdict(one) for one in _objects(found.get("verdicts"))),
        contents=_count(found.get("contents")),
    )


def _read_verdict(one: Mapping[str, Any]) -> GateVerdict:
    return GateVerdict(
        gate=_text(one.get("gate")),
        sha256=_text(one.get("content_sha256")),
        verdict=_text(one.get("verdict")),
        by=_text(one.get("by")),
        at=_count(one.get("at")),
        criteria=tuple(
            Judged(
                criterion=_text(part.get("criterion")), passed=part.get("passed") is True, feedback=part.get("feedback")
            )
            for part in _objects(one.get("criteria"))
        ),
        comment=one.get("comment"),
        facts=_object(one.get("facts")),
    )


def _present(fields: Mapping[str, Json]) -> dict[str, Json]:
    return {name: value for name, value in fields.items() if value is not None}


def _objects(value: Json) -> Iterable[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _object(value: Json) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _counts(value: Json) -> dict[str, int]:
    return {name: _count(number) for name, number in _object(value).items()}


def _names(value: Json) -> tuple[str, ...]:
    return tuple(one for one in value if isinstance(one, str)) if isinstance(value, list) else ()


def _text(value: Json) -> str:
    return value if isinstance(value, str) else ""


def _count(value: Json) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
