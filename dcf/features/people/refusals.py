"""The kinds of refusals of an answer to a human task, and those of which the text depends on who was asked.

The other refusals are in `core/documents/refusals.py` and `waiting_refusals`.
"""

from collections.abc import Iterable
from typing import Final

from dcf.core.documents.answers import StateRefusal
from dcf.core.documents.model import StateDoc
from dcf.features.people.model import Asking
from dcf.features.questions.model import questioned_of
from dcf.values.instants import to_text
from dcf.values.refusal import Refusal

_NAMED = 4
NOT_ASKED: Final = Refusal.kind(
    "not_asked",
    "State '{state}' waits for {whom}, not for '{person}'{of}.",
    "Answer as one of these, or for one of these groups; an operator can end the state with `resolve_state`.",
)
EXCLUDED: Final = Refusal.kind(
    "excluded",
    "The description of '{state}' says that '{person}' must not answer it.",
    "Let another of the asked persons answer.",
)
EXCLUDED_BY_KEY: Final = Refusal.kind(
    "excluded",
    "'{known_as}' acted in this run with the same key, and must not answer '{state}'.",
    "Let another of the asked persons answer, with a key of their own.",
)
PRODUCED_IT: Final = Refusal.kind(
    "excluded",
    "{subject} completed '{source}', which led to '{state}', and so must not answer it.",
    "Let another of the asked persons answer, with a key of their own.",
)
ALREADY_ANSWERED: Final = StateRefusal.kind(
    "already_answered",
    "State '{state}' was answered by {answerer} with '{choice:escaped}'{at}.",
    "Nothing is to be done; the first answer counts.",
)
WAITS_FOR_ANSWER: Final = StateRefusal.kind(
    "not_waiting",
    "State '{state}' waits for an answer of {whom} to question {question_id}.",
    "`answer_question(question_id={question_id})` answers it.",
)
IS_NO_HUMAN_TASK: Final = StateRefusal.kind(
    "not_waiting",
    "State '{state}' is {doc.status.value} and waits for no person.",
    "`list_human_tasks` shows what waits.",
)
NO_SUCH_CHOICE: Final = Refusal.kind(
    "invalid_answer",
    "State '{state}' offers no choice '{choice:escaped}'.",
    "Choose one of: {offered:escaped 500}.",
)
NEEDS_COMMENT: Final = Refusal.kind(
    "invalid_answer",
    "The choice '{choice:escaped}' of state '{state}' is taken only with a comment.",
    "Say why in comment.",
)
NEEDS_ANSWER: Final = Refusal.kind(
    "invalid_answer",
    "State '{state}' asks for an answer in addition to the choice.",
    "`list_human_tasks` shows its schema; send `answer_json`.",
)
DOES_NOT_FIT: Final = Refusal.kind(
    "invalid_answer",
    "The answer does not match the schema of '{state}': {flaw:escaped 300}.",
    "Correct the answer; `list_human_tasks` shows the schema.",
)


def whom(asking: Asking) -> str:
    """Return in words whom a task is for."""
    named = [*asking.to.people[:_NAMED], *(f"the group {name}" for name in asking.to.groups[:_NAMED])]
    more = len(asking.to.people) + len(asking.to.groups) - len(named)
    return " or ".join([*named, *([f"{more} others"] if more > 0 else [])]) or "nobody"


def not_asked(state: str, asking: Asking, person: str, groups: Iterable[str]) -> Refusal:
    """Refuse an answer of somebody else."""
    of = " and ".join(sorted(groups))
    return NOT_ASKED.refuse(state=state, whom=whom(asking), person=person, of=f" of {of}" if of else "")


def already_answered(state: str, doc: StateDoc, asking: Asking) -> StateRefusal:
    """Refuse an answer that came after another, and tell whose."""
    at = "" if doc.finished_at is None else f" at {to_text(doc.finished_at)}"
    answerer = "its deadline" if asking.answered_by is None else f"'{asking.answered_by}'"
    return ALREADY_ANSWERED.refuse(state=state, doc=doc, answerer=answerer, choice=asking.choice or "", at=at)


def is_no_human_task(state: str, doc: StateDoc) -> StateRefusal:
    """Refuse to answer a state that waits for no person, or for the answer to a question only."""
    questioned = questioned_of(doc)
    if questioned is not None and questioned.open:
        question = questioned.open[0]
        whom, question_id = question.whom, question.question_id
        return WAITS_FOR_ANSWER.refuse(state=state, doc=doc, whom=whom, question_id=question_id)
    return IS_NO_HUMAN_TASK.refuse(state=state, doc=doc)
