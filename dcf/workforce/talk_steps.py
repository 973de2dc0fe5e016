"""The next tool calls for events that bring a question or its answer, and for corrections that come too late. Pure."""

from collections.abc import Mapping
from typing import Final

from dcf.values.json_text import Json
from dcf.workforce.steps import Step

TOO_LATE: Final = frozenset({"result_used", "path_differs"})
"""Codes of corrections that come too late: then the planner should hear of it."""


def to_tell(where: Mapping[str, Json], agent_id: str | None) -> Step:
    """Return the call that tells the planner what is wrong with a result that is not corrected any more."""
    arguments = {**where, "agent_id": agent_id or "<your agent id>", "text": "<what is wrong, and what is right>"}
    return Step(tool="leave_note", arguments=arguments, why="It is too late to correct it; tell the planner.")


def to_answer(event: Mapping[str, Json], agent_id: str) -> list[Step]:
    """Return the call that answers a question."""
    choices = event.get("choices")
    filled = f"<one of: {', '.join(map(str, choices))}>" if isinstance(choices, list) else "<your answer>"
    arguments = {"workflow_id": event.get("workflow_id"), "question_id": event.get("question_id")}
    why = f"'{event.get('from')}' waits for the answer until {event.get('waits_until')}."
    return [Step(tool="answer_question", arguments={**arguments, "answer": filled, "agent_id": agent_id}, why=why)]


def to_go_on(event: Mapping[str, Json], agent_id: str) -> list[Step]:
    """Return the call that takes the state again that was given back for an answer; none for who kept the lease."""
    if not event.get("gave_back"):
        return []
    arguments = {"workflow_id": event.get("workflow_id"), "state": event.get("target_state")}
    why = "Take the state again; its work has the answer too."
    return [Step(tool="acquire_state_lease", arguments={**arguments, "owner_agent_id": agent_id}, why=why)]
