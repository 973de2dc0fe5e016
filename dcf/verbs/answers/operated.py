"""Answers of verbs that carry out a request about a run: the members that the run keeps of it, or the refusal.

It must not decide, and what a verb says of its own it adds itself.
"""

from typing import TypeVar

from dcf.core.documents.operations import RunAnswer
from dcf.values.json_text import Json
from dcf.values.refusal import Refusal
from dcf.verbs.description.verb import Answered, RefusedWith

Record = TypeVar("Record")


def operated(kind: type[Record], workflow_id: str, done: RunAnswer | Refusal) -> Answered[Record] | Refusal:
    """Return what a request has done, as a record of this kind, or why it was refused."""
    if isinstance(done, Refusal):
        return done
    return Answered(kind, {"workflow_id": workflow_id, "repeated": done.repeated, **done.answer})


def operated_on(
    kind: type[Record], workflow_id: str, done: RunAnswer | Refusal, **about: Json
) -> Answered[Record] | RefusedWith:
    """Return the same, where a refusal says what the request was about."""
    answer = operated(kind, workflow_id, done)
    return RefusedWith(answer, about) if isinstance(answer, Refusal) else answer
