"""The next tool calls for events that bring a question or its answer, and for corrections that come too late. Pure."""

from collections.abc import Mapping
from typing import Final

from dcf.values.json_text import Json
from dcf.workforce.steps import Step, to_complete

TOO_LATE: Final = frozenset({"result_used", "path_differs"})
"""Codes of corrections that come too late: then the planner should hear of it."""


_HELD: Final = "<your lease_token>"


def to_tell(where: Mapping[str, Json], agent_id: str | None) -> Step:
    """Return the call that tells the planner what is wrong with a result that can no longer be corrected."""
    arguments = {**where, "agent_id": agent_id or "<your agent id>", "text": "<what is wrong, and what is right>"}
    return Step(tool="leave_note", arguments=arguments, why="It is too late to correct it; tell the planner.")


def to_answer(event: Mapping[str, Json], agent_id: str) -> list[Step]:
    """Return the call that answers a question."""
    choices = event.get("choices")
    filled = f"<one of: {', '.join(map(str, choices))}>" if isinstance(choices, list) else "<your answer>"
    arguments = {"workflow_id": event.get("workflow_id"), "question_id": event.get("question_id")}
    why = f"'{event.get('from')}' waits for the answer until {event.get('waits_until')}."
    return [Step(tool="answer_question", arguments={**arguments, "answer": filled, "agent_id": agent_id}, why=why)]


def to_judge(event: Mapping[str, Json], agent_id: str) -> list[Step]:
    """Return the call that judges an output; where its agent has not read the output, the call that reads it."""
    where: dict[str, Json] = {"workflow_id": event.get("workflow_id"), "state": event.get("target_state")}
    if event.get("output_left_out"):
        why = "The output is long: this has all of it, and then the call for the verdict."
        return [Step(tool="list_gates", arguments={**where, "agent_id": agent_id}, why=why)]
    texts = event.get("criteria")
    criteria: list[Json] = [
        {"criterion": criterion, "passed": "<true or false>", "feedback": "<what to correct>"}
        for criterion in (texts if isinstance(texts, list) else ())
    ]
    verdict = {**where, "gate": event.get("gate"), "verdict": "<pass or fail>", "agent_id": agent_id}
    verdict |= {"content_sha256": event.get("content_sha256")} | ({"criteria": criteria} if criteria else {})
    why = f"'{event.get('from')}' waits for your verdict; say for each failed criterion what to correct."
    return [Step(tool="decide_gate", arguments=verdict, why=why)]


def to_correct(event: Mapping[str, Json], agent_id: str) -> list[Step]:
    """Return the call that delivers an output again that a gate has sent back, and what to do without its token."""
    lease: dict[str, Json] = {"workflow_id": event.get("workflow_id"), "state": event.get("target_state")}
    why = "Correct the points in failed_criteria, then deliver the whole output again with the token that you hold."
    return [to_complete({**lease, "lease_token": _HELD}, agent_id, why), to_regain(lease, agent_id)]


def to_regain(lease: Mapping[str, Json], agent_id: str) -> Step:
    """Return the call that gives the work of a lease again to an agent that has lost its token."""
    why = "If you do not have the token of the lease: this gives you your work again, with the token and what failed."
    return Step(tool="acquire_state_lease", arguments={**lease, "owner_agent_id": agent_id}, why=why)


def to_go_on(event: Mapping[str, Json], agent_id: str) -> list[Step]:
    """Return the call that leases a state again that was released to wait for an answer; none if the lease was kept."""
    if not event.get("gave_back"):
        return []
    arguments = {"workflow_id": event.get("workflow_id"), "state": event.get("target_state")}
    why = "Take the state again; its work has the answer too."
    return [Step(tool="acquire_state_lease", arguments={**arguments, "owner_agent_id": agent_id}, why=why)]
