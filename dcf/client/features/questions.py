"""The verbs of a client for notes, questions, answers and corrections; described as in `verbs.py`."""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from dcf.client.answers.questions import AnsweredQuestion, AskedQuestion, CorrectedResult, LeftNote
from dcf.client.arguments import json_text, listed, request_id_for
from dcf.client.exchange import Conversation
from dcf.client.verbs import ask as call
from dcf.values.json_text import Json

Whom: TypeAlias = str | Mapping[str, str] | Sequence[str | Mapping[str, str]]
"""Whom a question is for: "planner", the id of a person, a group (`{"group": name}`), or several of these."""


def leave_note(
    workflow_id: str, text: str, *, agent_id: str, state: str | None = None, request_id: str | None = None
) -> Conversation[LeftNote]:
    """Leave a note for the run's planner: it stands in the history, and goes to the planner's inbox."""
    return call(
        LeftNote,
        "leave_note",
        workflow_id=workflow_id,
        text=text,
        agent_id=agent_id,
        state=state,
        request_id=request_id_for(request_id),
    )


def ask_question(
    workflow_id: str,
    state: str,
    lease_token: str,
    question: str,
    *,
    choices: Sequence[str] = (),
    ask: Whom = "planner",
    give_back: bool = True,
    timeout_s: int | None = None,
    request_id: str | None = None,
) -> Conversation[AskedQuestion]:
    """Ask as the holder of a state. It is given back until the answer is there, unless `give_back` is False."""
    whom: Json = ask if isinstance(ask, str) else json_text(dict(ask) if isinstance(ask, Mapping) else list(ask), "ask")
    return call(
        AskedQuestion,
        "ask_question",
        workflow_id=workflow_id,
        state=state,
        lease_token=lease_token,
        question=question,
        choices_json=listed(choices),
        ask=whom,
        give_back=give_back,
        timeout_s=timeout_s,
        request_id=request_id_for(request_id),
    )


def answer_question(
    workflow_id: str,
    question_id: str,
    answer: str,
    *,
    comment: str | None = None,
    agent_id: str | None = None,
    group: str | None = None,
    request_id: str | None = None,
) -> Conversation[AnsweredQuestion]:
    """Answer a question, as the run's planner or as a person. The first answer counts."""
    return call(
        AnsweredQuestion,
        "answer_question",
        workflow_id=workflow_id,
        question_id=question_id,
        answer=answer,
        comment=comment,
        agent_id=agent_id,
        group=group,
        request_id=request_id_for(request_id),
    )


def correct_result(
    workflow_id: str,
    state: str,
    output: Json,
    *,
    lease_token: str | None = None,
    reason: str | None = None,
    request_id: str | None = None,
) -> Conversation[CorrectedResult]:
    """Correct the result of a state until it is used: with the lease that completed it, or as the planner."""
    return call(
        CorrectedResult,
        "correct_result",
        workflow_id=workflow_id,
        state=state,
        output_json=json_text(output, "output"),
        lease_token=lease_token,
        reason=reason,
        request_id=request_id_for(request_id),
    )
