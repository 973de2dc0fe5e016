"""The people that a state waits for, in its document: who, for what, and the effect of no answer. Data only.

It is there so that the timer loop, a diagnosis and the list of open tasks need no description, and an operator sees it.
`answering` decides who may answer, `escalation` what is due.
"""

from dataclasses import replace
from typing import ClassVar, Final

from dcf.asl.steps import OpenTask
from dcf.asl.tasks.askees import Askees
from dcf.core.documents.attached import Attached, Holder
from dcf.core.documents.model import StateDoc
from dcf.features.people.description import HumanTask
from dcf.values.instants import SECOND, is_ahead
from dcf.values.json_text import Json
from dcf.values.record_json.codec import RecordCodec
from dcf.values.records import record


@record(frozen=True, slots=True, kw_only=True)
class Asking(Attached):
    """The people who may answer (`to`), since `since`, in server microseconds, the title of the task and its choices.

    From `escalates_at` on the people in `escalates_to` may answer too; None if that is not to happen, or has. It was
    set `escalate_after_s` ahead. `default` is the choice taken at the deadline, and `reject_fails` says whether
    rejecting is a failure. The answer sets `answered_by` and `choice`; `answered_by` is empty if the default was taken.
    """

    field: ClassVar[str] = "asked"

    to: Askees
    title: str
    since: int
    choices: tuple[str, ...] = ()
    escalates_at: int | None = None
    escalate_after_s: int | None = None
    escalates_to: Askees = Askees()
    default: str | None = None
    reject_fails: bool = False
    answered_by: str | None = None
    choice: str | None = None

    @property
    def queues(self) -> tuple[str, ...]:
        """The names of the lists that the task is on, besides that of all and that of its run."""
        return self.to.queues

    @property
    def asked_first(self) -> tuple[str, ...]:
        """The people and groups that are notified when the state begins to wait for them."""
        return self.to.names

    def as_json(self) -> dict[str, Json]:
        """Return what the document says; what is empty is left out."""
        return _ASKED.write(self)

    def due_in(self, doc: Holder) -> int | None:
        """Return from when on others may answer too; None if that is not to happen, or has."""
        return self.escalates_at if doc.waits_outside else None

    def healed(self, now: int) -> "Asking":
        """Return it with its time corrected if that lies too far ahead since the clock stepped back."""
        after_s = self.escalate_after_s or 0
        if self.escalates_at is None or not is_ahead(self.escalates_at, now, after_s):
            return self
        return replace(self, escalates_at=now + after_s * SECOND)

    def escalated(self) -> "Asking":
        """Return it as it is once those of the escalation may answer too."""
        return replace(self, to=self.to.plus(self.escalates_to), escalates_at=None)


def asking_of(doc: StateDoc) -> Asking | None:
    """Return what the document of a state says of the people that it asks; None without people."""
    return doc.attached_as(Asking)


def begun(task: OpenTask, now: int) -> Asking | None:
    """Return what the document of a state says that begins to ask people; None for any other Task."""
    return asked_by(task.asks, now) if isinstance(task.asks, HumanTask) else None


def asked_by(task: HumanTask, now: int) -> Asking:
    """Return what the document of a state says that asks for this from now on."""
    plan = task.escalation
    return Asking(
        to=task.to,
        title=task.title,
        since=now,
        choices=tuple(choice.name for choice in task.choices),
        escalates_at=None if plan is None else now + plan.after_s * SECOND,
        escalate_after_s=None if plan is None else plan.after_s,
        escalates_to=Askees() if plan is None else plan.to,
        default=task.default,
        reject_fails=task.reject_fails,
    )


_ASKED: Final = RecordCodec(
    Asking,
    "to.people to.groups title since choices escalates_at escalate_after_s escalates_to.people escalates_to.groups "
    "default reject_fails answered_by choice",
    named={"to.people": "to", "escalates_to.people": "escalates_to", "escalates_to.groups": "escalates_to_groups"},
    times="since escalates_at",
    left_out="defaults",
)


def read_asked(document: Json) -> Asking | None:
    """Read what a state's document says; None for anything else. Fields that an operator broke are left out."""
    return _ASKED.read(document) if isinstance(document, dict) else None
