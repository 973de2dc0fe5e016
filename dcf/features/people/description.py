"""Reads the description of a human task: for whom it is, the question, and the possible answers. Pure.

The description is the input of a Task with the Resource `dcf:human`, after Parameters or Arguments. A description that
cannot be followed fails the state (`DCF.InvalidHumanTask`). Otherwise the run would wait for a person who was never
asked. Fixed parts in the workflow are checked before anything runs.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, TypeVar

from dcf.asl.expressions.templates import Literal, ObjectTemplate, Template
from dcf.asl.json_schema.syntax import flaws_of as flaws_of_schema
from dcf.asl.tasks.askees import MOST_NAMES, Askees, askees_of
from dcf.errors import InvalidArgument, StateError
from dcf.values.identifiers import check_id, check_name
from dcf.values.json_text import Json
from dcf.values.records import record
from dcf.values.text_pieces import clip

INVALID: Final = "DCF.InvalidHumanTask"
"""ASL error of a state whose description cannot be followed."""

REJECTED: Final = "DCF.Rejected"
"""ASL error of a state that was rejected, where its description says that this is a failure."""

REJECT: Final = "reject"

_LONGEST_TITLE: Final = 200
_LONGEST_TEXT: Final = 10_000
_LONGEST_CHOICE: Final = 64
_MOST_CHOICES: Final = 20
_LONGEST_WAIT_S: Final = 99_999_999

Value = TypeVar("Value")


@record(frozen=True, slots=True, kw_only=True)
class TaskChoice:
    """One of the answers to choose from; some are taken only with a comment."""

    name: str
    needs_comment: bool = False


@record(frozen=True, slots=True, kw_only=True)
class Escalation:
    """The people who may answer too, and are notified, if there is no answer after `after_s` seconds."""

    after_s: int
    to: Askees


@record(frozen=True, slots=True, kw_only=True)
class HumanTask:
    """The description of a human task, checked.

    `not_by` are persons and agents who may not answer. With `not_by_producers` the agents and persons that completed an
    earlier state on the path may not either. `default` is the choice that is taken at the deadline (TimeoutSeconds) in
    place of a timeout. `reject_fails`: the choice `reject` fails the state instead of being its output.
    """

    to: Askees
    title: str
    instructions: str | None = None
    choices: tuple[TaskChoice, ...] = (TaskChoice(name="approve"), TaskChoice(name=REJECT))
    schema: Mapping[str, Json] | bool | None = None
    details: Json = None
    not_by: tuple[str, ...] = ()
    not_by_producers: bool = False
    escalation: Escalation | None = None
    default: str | None = None
    reject_fails: bool = False

    @property
    def excludes_some(self) -> bool:
        """True if the history of the run says who must not answer."""
        return bool(self.not_by) or self.not_by_producers

    def choice(self, name: str) -> TaskChoice | None:
        """Return the choice of this name; None if it is not offered."""
        return next((choice for choice in self.choices if choice.name == name), None)


def read_human_task(document: Json) -> HumanTask:
    """Read a description; raise StateError, which fails the state, with everything in words that is wrong with it."""
    if not isinstance(document, dict):
        raise StateError(INVALID, "The input of a human task is no object: it needs the fields to and title.")
    fields, flaws = _read(document, unknown=frozenset())
    if flaws:
        raise StateError(INVALID, " ".join(f"{message[:1].upper()}{message[1:]}." for _, message in flaws))
    return HumanTask(**fields)


def flaws_of(template: Template | None) -> list[tuple[str, str]]:
    """Return what is wrong with the parts of a description that are written out: field ("" for all), and message.

    What is read when the state is entered is not judged; without a template that is everything.
    """
    match template:
        case Literal(value=dict(document)):
            return _read(document, unknown=frozenset())[1]
        case Literal():
            return [("", "the description of a human task must be an object")]
        case ObjectTemplate(members=members):
            known = {name: part.value for name, part in members if isinstance(part, Literal)}
            return _read(known, unknown=frozenset(name for name, _ in members if name not in known))[1]
        case _:
            return []


def _read(document: Mapping[str, Json], unknown: frozenset[str]) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    """Return the values of the fields by the names of HumanTask, and what is wrong with the description."""
    fields: dict[str, Any] = {}
    flaws = [
        (name, f"the human task needs the field '{name}'")
        for name in ("to", "title")
        if name not in {*document, *unknown}
    ]
    for name, value in document.items():
        if name not in _FIELDS:
            flaws.append((name, f"a human task has no field '{clip(name)}'; it has {', '.join(_FIELDS)}"))
            continue
        try:
            fields |= _FIELDS[name](value)
        except (ValueError, InvalidArgument) as error:
            flaws.append((name, str(error).rstrip(".")))
    flaws += [] if flaws else list(_contradictions(fields, unknown))
    return fields, flaws


def _contradictions(document: Mapping[str, Any], unknown: frozenset[str]) -> Iterator[tuple[str, str]]:
    choices = document.get("choices", HumanTask(to=Askees(), title="").choices)
    names = [choice.name for choice in choices]
    default = document.get("default")
    if default is not None and "choices" not in unknown and default not in names:
        yield "default", f"default is '{default}', which is none of the choices {', '.join(names)}"
    if document.get("reject_fails") and "choices" not in unknown and REJECT not in names:
        yield "on_reject", f"on_reject is fail, but none of the choices is '{REJECT}'"
    to, may_grow = document.get("to"), "escalation" in document or "escalate" in unknown
    if to is not None and not to.groups and not may_grow and set(to.people) <= set(document.get("not_by", ())):
        yield "not_by", "everybody in to is also in not_by, so that no one may answer"


def _to(value: Json) -> dict[str, Any]:
    return {"to": askees_of(value, "to")}


def _title(value: Json) -> dict[str, Any]:
    return {"title": check_name(_text(value, "title"), "title", _LONGEST_TITLE)}


def _instructions(value: Json) -> dict[str, Any]:
    text = None if value is None else _text(value, "instructions")
    if text is not None and len(text) > _LONGEST_TEXT:
        raise ValueError(f"instructions has more than {_LONGEST_TEXT} characters")
    return {"instructions": text}


def _choices(value: Json) -> dict[str, Any]:
    if not isinstance(value, list) or not 0 < len(value) <= _MOST_CHOICES:
        raise ValueError(f'choices must be an array of 1 to {_MOST_CHOICES} choices, such as ["approve", "reject"]')
    choices = tuple(map(_choice, value))
    if len({choice.name for choice in choices}) < len(choices):
        raise ValueError("choices has a name twice")
    return {"choices": choices}


def _choice(value: Json) -> TaskChoice:
    choice = {"name": value} if isinstance(value, str) else value
    if not isinstance(choice, dict) or not choice.keys() <= {"name", "comment"}:
        raise ValueError('a choice is a name, or {"name": "reject", "comment": "required"}')
    comment = choice.get("comment", "optional")
    if comment not in ("required", "optional"):
        raise ValueError('the comment of a choice is "required" or "optional"')
    name = check_name(_text(choice.get("name"), "the name of a choice"), "the name of a choice", _LONGEST_CHOICE)
    return TaskChoice(name=name, needs_comment=comment == "required")


def _schema(value: Json) -> dict[str, Any]:
    flaw = None if value is None else next(iter(flaws_of_schema(value)), None)
    if flaw is not None:
        raise ValueError(f"schema is none that answers can be checked with: {flaw.message} (at {flaw.pointer or '/'})")
    return {"schema": value}


def _details(value: Json) -> dict[str, Any]:
    return {"details": value}


def _not_by(value: Json) -> dict[str, Any]:
    named = value if isinstance(value, list) else [value]
    people = [check_id(person, "a person in not_by") for person in named if isinstance(person, str)]
    demands = [demand for demand in named if demand == {"producers": True}]
    if len(people) + len(demands) != len(named) or len(named) > MOST_NAMES:
        raise ValueError('not_by must be the id of a person or agent, {"producers": true}, or an array of these')
    return {"not_by": tuple(dict.fromkeys(people)), "not_by_producers": bool(demands)}


def _escalate(value: Json) -> dict[str, Any]:
    if value is None:
        return {"escalation": None}
    if not isinstance(value, dict) or value.keys() != {"after_s", "to"}:
        raise ValueError('escalate must be {"after_s": 3600, "to": "a person"}')
    after_s = value["after_s"]
    if not isinstance(after_s, int) or isinstance(after_s, bool) or not 0 < after_s <= _LONGEST_WAIT_S:
        raise ValueError(f"escalate.after_s must be a whole number from 1 to {_LONGEST_WAIT_S}")
    return {"escalation": Escalation(after_s=after_s, to=askees_of(value["to"], "escalate.to"))}


def _default(value: Json) -> dict[str, Any]:
    return {"default": None if value is None else _text(value, "default")}


def _on_reject(value: Json) -> dict[str, Any]:
    if value not in ("output", "fail"):
        raise ValueError('on_reject is "output" or "fail"')
    return {"reject_fails": value == "fail"}


def _text(value: Json, field: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"{field} must be a text that is not empty")
    return value


_FIELDS: Final[Mapping[str, Callable[[Json], dict[str, Any]]]] = {
    "to": _to,
    "title": _title,
    "instructions": _instructions,
    "choices": _choices,
    "schema": _schema,
    "details": _details,
    "not_by": _not_by,
    "escalate": _escalate,
    "default": _default,
    "on_reject": _on_reject,
}
"""Reader of each field of a description; what it returns is part of a HumanTask."""
