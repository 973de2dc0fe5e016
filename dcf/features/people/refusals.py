"""Every refusal of an answer to a human task, with its code and a hint what to do next.

    not_asked            not_asked                     the task is for others
    excluded             excluded, excluded_by_key, produced_it   this person must not answer it
    already_answered     already_answered              somebody else was first
    invalid_answer       no_such_choice, needs_comment, needs_answer, does_not_fit   what cannot be taken
    not_waiting          is_no_human_task              the state waits for no person

The other refusals are in `refusals` and `waiting_refusals`.
"""

from collections.abc import Iterable

from dcf.core.documents.answers import StateRefusal
from dcf.core.documents.model import StateDoc
from dcf.features.people.description import HumanTask
from dcf.features.people.model import Asking
from dcf.features.questions.model import questioned_of
from dcf.values.instants import to_text
from dcf.values.names import escaped
from dcf.values.refusal import Refusal

_NAMED = 4


def whom(asking: Asking) -> str:
    """Return in words whom a task is for."""
    named = [*asking.to.people[:_NAMED], *(f"the group {name}" for name in asking.to.groups[:_NAMED])]
    more = len(asking.to.people) + len(asking.to.groups) - len(named)
    return " or ".join([*named, *([f"{more} others"] if more > 0 else [])]) or "nobody"


def not_asked(state: str, asking: Asking, person: str, groups: Iterable[str]) -> Refusal:
    """Refuse an answer of somebody else."""
    of = " and ".join(sorted(groups))
    return Refusal(
        code="not_asked",
        message=f"State '{state}' waits for {whom(asking)}, not for '{person}'{f' of {of}' if of else ''}.",
        hint="Answer as one of these, or for one of these groups; an operator can end the state with `resolve_state`.",
    )


def excluded(state: str, person: str) -> Refusal:
    """Refuse an answer of somebody whom the description excludes."""
    return Refusal(
        code="excluded",
        message=f"The description of '{state}' says that '{person}' must not answer it.",
        hint="Let another of the asked persons answer.",
    )


def excluded_by_key(state: str, known_as: str) -> Refusal:
    """Refuse an answer with the key of somebody whom the description excludes."""
    return Refusal(
        code="excluded",
        message=f"'{known_as}' acted in this run with the same key, and must not answer '{state}'.",
        hint="Let another of the asked persons answer, with a key of their own.",
    )


def produced_it(state: str, person: str, source: str, *, by_key: bool) -> Refusal:
    """Refuse an answer of a person that completed a state before this one, by name or by key."""
    subject = f"The key of '{person}'" if by_key else f"'{person}'"
    return Refusal(
        code="excluded",
        message=f"{subject} completed '{source}', which led to '{state}', and so must not answer it.",
        hint="Let another of the asked persons answer, with a key of their own.",
    )


def already_answered(state: str, doc: StateDoc, asking: Asking) -> StateRefusal:
    """Refuse an answer that came after another, and tell whose."""
    at = "" if doc.finished_at is None else f" at {to_text(doc.finished_at)}"
    answerer = "its deadline" if asking.answered_by is None else f"'{asking.answered_by}'"
    return StateRefusal(
        code="already_answered",
        message=f"State '{state}' was answered by {answerer} with '{escaped(asking.choice or '')}'{at}.",
        hint="Nothing is to be done; the first answer counts.",
        doc=doc,
    )


def is_no_human_task(state: str, doc: StateDoc) -> StateRefusal:
    """Refuse to answer a state that waits for no person, or for the answer to a question only."""
    questioned = questioned_of(doc)
    if questioned is not None and questioned.open:
        question = questioned.open[0]
        return StateRefusal(
            code="not_waiting",
            message=f"State '{state}' waits for an answer of {question.whom} to question {question.question_id}.",
            hint=f"`answer_question(question_id={question.question_id})` answers it.",
            doc=doc,
        )
    return StateRefusal(
        code="not_waiting",
        message=f"State '{state}' is {doc.status.value} and waits for no person.",
        hint="`list_human_tasks` shows what waits.",
        doc=doc,
    )


def no_such_choice(state: str, task: HumanTask, choice: str) -> Refusal:
    """Refuse a choice that is not offered."""
    offered = ", ".join(choice.name for choice in task.choices)
    return Refusal(
        code="invalid_answer",
        message=f"State '{state}' offers no choice '{escaped(choice)}'.",
        hint=f"Choose one of: {escaped(offered, 500)}.",
    )


def needs_comment(state: str, choice: str) -> Refusal:
    """Refuse a choice without the comment that it needs."""
    return Refusal(
        code="invalid_answer",
        message=f"The choice '{escaped(choice)}' of state '{state}' is taken only with a comment.",
        hint="Say why in comment.",
    )


def needs_answer(state: str) -> Refusal:
    """Refuse a choice without the answer that the schema asks for."""
    return Refusal(
        code="invalid_answer",
        message=f"State '{state}' asks for an answer in addition to the choice.",
        hint="`list_human_tasks` shows its schema; send `answer_json`.",
    )


def does_not_fit(state: str, flaw: str) -> Refusal:
    """Refuse an answer that does not match the schema."""
    return Refusal(
        code="invalid_answer",
        message=f"The answer does not match the schema of '{state}': {escaped(flaw, 300)}.",
        hint="Correct the answer; `list_human_tasks` shows the schema.",
    )
