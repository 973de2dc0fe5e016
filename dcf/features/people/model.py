"""The people that a state waits for, in its document: who, for what, and the effect of no answer. Data only.

It is there so that the timer loop, a diagnosis and the list of open tasks need no description, and an operator sees it.
`answering` decides who may answer, `escalation` what is due.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

from dcf.asl.steps import OpenTask
from dcf.core.documents.attached import Attached, Holder
from dcf.core.documents.model import StateDoc
from dcf.features.people.description import Askees, HumanTask
from dcf.values.instants import SECOND, from_text, is_ahead, to_text
from dcf.values.json_text import Json
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
        return (*(f"person:{name}" for name in self.to.people), *(f"group:{name}" for name in self.to.groups))

    @property
    def asked_first(self) -> tuple[str, ...]:
        """The people and groups that are notified when the state begins to wait for them."""
        return self.to.names

    def as_json(self) -> dict[str, Json]:
        """Return what the document says; what is empty is left out."""
        written: dict[str, Json] = {
            "to": list(self.to.people),
            "groups": list(self.to.groups),
            "title": self.title,
            "since": to_text(self.since),
            "choices": list(self.choices),
            "escalates_at": None if self.escalates_at is None else to_text(self.escalates_at),
            "escalate_after_s": self.escalate_after_s,
            "escalates_to": list(self.escalates_to.people),
            "escalates_to_groups": list(self.escalates_to.groups),
            "default": self.default,
            "reject_fails": self.reject_fails or None,
            "answered_by": self.answered_by,
            "choice": self.choice,
        }
        return {name: value for name, value in written.items() if value not in (None, [])}

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


def read_asked(document: Json) -> Asking | None:
    """Read what a state's document says; None for anything else. Fields that an operator damaged are left out."""
    if not isinstance(document, dict):
        return None
    return Asking(
        to=Askees(people=_names(document, "to"), groups=_names(document, "groups")),
        title=_text(document, "title") or "",
        since=from_text(document.get("since")) or 0,
        choices=_names(document, "choices"),
        escalates_at=from_text(document.get("escalates_at")),
        escalate_after_s=_count(document.get("escalate_after_s")),
        escalates_to=Askees(people=_names(document, "escalates_to"), groups=_names(document, "escalates_to_groups")),
        default=_text(document, "default"),
        reject_fails=document.get("reject_fails") is True,
        answered_by=_text(document, "answered_by"),
        choice=_text(document, "choice"),
    )


def _names(document: Mapping[str, Any], field: str) -> tuple[str, ...]:
    found = document.get(field)
    return tuple(name for name in found if isinstance(name, str)) if isinstance(found, list) else ()


def _text(document: Mapping[str, Any], field: str) -> str | None:
    found = document.get(field)
    return found if isinstance(found, str) else None


def _count(value: Json) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None
