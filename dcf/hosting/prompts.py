"""The texts for a model: its role, the form of its answer, and its Task. The same words for every SDK.

Imports only the standard library.
"""

from typing import Final

from dcf.hosting.protocol import AgentWork, as_json

FAILED: Final = "task_failed"
"""The one member of an answer that says that the task failed."""

_ASKED: Final = ("question", "choices", "answer", "comment", "unanswered", "answered_by")

_ANSWER: Final = (
    "Work on the task you are given and call tools where they are needed. Your last message is the result of the task:"
    " one JSON value and nothing else, no explanation around it."
    f' If the task cannot be done, answer with {{"{FAILED}": {{"error": NAME, "cause": "why, in a sentence"}}}}.'
)


def system_prompt(work: AgentWork) -> str:
    """Return the instructions of the agent, of the Task and of its skills, and how to answer."""
    return "\n\n".join(part for part in (work.agent.instructions, _ANSWER, work.instructions, *work.skills) if part)


def user_prompt(work: AgentWork) -> str:
    """Return the piece of work; after an answer that was not accepted, what is wrong with it."""
    if work.problems and work.session is not None:
        return _corrections(work)
    parts = [f"The task is '{work.state}'. Its input:\n{as_json(work.input)}"]
    if work.output_schema is not None:
        schema = as_json(work.output_schema)
        parts.append(f"The result must satisfy this JSON Schema:\n{schema}")
    if work.errors:
        parts.append(f"The NAME of an error is one of: {', '.join(work.errors)}.")
    if work.last_error is not None:
        parts.append(f"An earlier attempt failed: {as_json(work.last_error)}")
    if work.questions:
        questions = [{name: question[name] for name in _ASKED if name in question} for question in work.questions]
        parts.append(f"What was asked about it before: {as_json(questions)}")
    if work.problems:
        parts.append(_corrections(work))
    return "\n\n".join(parts)


def _corrections(work: AgentWork) -> str:
    listed = "\n".join(f"- {problem}" for problem in work.problems)
    return f"Your last answer was not accepted:\n{listed}\nAnswer again with the whole JSON value, corrected."
