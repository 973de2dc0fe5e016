"""The next tool calls for events that bring a question or its answer. Pure."""

from collections.abc import Mapping

from dcf.core.notices import NoticeKind
from dcf.values.json_text import Json
from dcf.workforce.steps import Step


def steps_of_event(event: Json, agent_id: str) -> list[Step]:
    """Return the calls to make for a question, or for an answer whose state was given back; none for other events."""
    if not isinstance(event, dict):
        return []
    if event.get("type") == NoticeKind.QUESTION.value:
        return [_answer(event, agent_id)]
    if event.get("type") == NoticeKind.ANSWERED.value and event.get("gave_back"):
        arguments = {"workflow_id": event["workflow_id"], "state": event["target_state"], "owner_agent_id": agent_id}
        return [Step(tool="acquire_state_lease", arguments=arguments, why="Take the state again and go on.")]
    return []


def _answer(event: Mapping[str, Json], agent_id: str) -> Step:
    choices = event.get("choices")
    filled = f"<one of: {', '.join(map(str, choices))}>" if isinstance(choices, list) else "<your answer>"
    arguments: dict[str, Json] = {"workflow_id": event["workflow_id"], "question_id": event["question_id"]}
    return Step(
        tool="answer_question",
        arguments={**arguments, "answer": filled, "agent_id": agent_id},
        why=f"'{event.get('from')}' waits for the answer until {event.get('waits_until')}.",
    )
