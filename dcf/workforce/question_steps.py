"""The next tool calls for events that bring a question or its answer, and for corrections that come too late. Pure."""

from collections.abc import Mapping
from typing import Final

from dcf.values.json_text import Json
from dcf.workforce.steps import Step, to_complete

TOO_LATE: Final = frozenset({"result_used", "path_differs"})
"""Codes of corrections that come too late: then the planner should hear of it."""


_HELD: Final = "<your lease_token>"


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


def to_judge(event: Mapping[str, Json], agent_id: str) -> list[Step]:
    """Return the calls that judge an output: to read it whole where the event has it not, and the verdict."""
    where: dict[str, Json] = {"workflow_id": event.get("workflow_id"), "state": event.get("target_state")}
    texts = event.get("criteria")
    criteria: list[Json] = [
        {"criterion": one, "passed": "<true or false>", "feedback": "<what to mend>"}
        for one in (texts if isinstance(texts, list) else ())
    ]
    verdict = {**where, "gate": event.get("gate"), "verdict": "<pass or fail>", "agent_id": agent_id}
    verdict |= {"content_sha256": event.get("content_sha256")} | ({"criteria": criteria} if criteria else {})
    read = [Step(tool="list_gates", arguments=where, why="The output is long: this has all of it.")]
    why = f"'{event.get('from')}' waits for your verdict; say of each criterion that failed what to mend."
    return [
        *(read if event.get("output_left_out") else []),
        Step(tool="decide_gate", arguments=verdict, why=why),
    ]


def to_mend(event: Mapping[str, Json], agent_id: str) -> list[Step]:
    """Return the calls that deliver an output again that a gate has sent back, and that bring a forgotten token."""
    held: dict[str, Json] = {"workflow_id": event.get("workflow_id"), "state": event.get("target_state")}
    why = "Mend what failed_criteria lists, then deliver the whole output again with the token that you hold."
    forgotten = to_learn_token(
        held["workflow_id"], held["state"], agent_id, "If you forgot the token: with your own key "
    )
    return [to_complete({**held, "lease_token": _HELD}, agent_id, why), forgotten]


def to_learn_token(workflow_id: Json, state: Json, agent_id: str, when: str = "") -> Step:
    """Return the call that answers the holder of a state with its token and its work."""
    arguments: dict[str, Json] = {"workflow_id": workflow_id, "state": state, "owner_agent_id": agent_id}
    why = f"{when}this answers with your token, the input, the instructions and what failed."
    return Step(tool="acquire_state_lease", arguments=arguments, why=why if when else f"T{why[1:]}")


def to_go_on(event: Mapping[str, Json], agent_id: str) -> list[Step]:
    """Return the call that takes the state again that was given back for an answer; none for who kept the lease."""
    if not event.get("gave_back"):
        return []
    arguments = {"workflow_id": event.get("workflow_id"), "state": event.get("target_state")}
    why = "Take the state again; its work has the answer too."
    return [Step(tool="acquire_state_lease", arguments={**arguments, "owner_agent_id": agent_id}, why=why)]
