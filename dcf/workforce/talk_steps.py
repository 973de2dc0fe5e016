"""The next tool calls for events that bring a question or its answer. Pure."""

from collections.abc import Mapping

from dcf.values.json_text import Json
from dcf.workforce.steps import Step


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
