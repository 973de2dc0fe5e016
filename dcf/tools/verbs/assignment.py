"""The verb by which an agent asks for its assignment."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final

from dcf.core.access.provenance import mark_of_input
from dcf.core.documents.model import Status
from dcf.core.leasing.halt_refusals import run_blocked
from dcf.values.json_text import dump
from dcf.verbs.callers import calling_key, current_caller
from dcf.verbs.derived_tools import add_tools
from dcf.verbs.description.verb import Answered, Argument, verb
from dcf.verbs.description.words import OptionalRunId, OwnAgentId, StateName
from dcf.verbs.records.assignment import MyAssignment
from dcf.workforce.assignment import Assignment, SkillAtHand, StateAtHand
from dcf.workforce.steps import TOKEN as PLACEHOLDER
from dcf.workforce.steps import Step

if TYPE_CHECKING:
    from dcf.application.application import Application

_INPUT_CHARS: Final = 20_000
"""How much input one assignment shows, in characters of JSON: Letta cuts what a tool returns after 50,000 characters,
wherever that is (measured), and the rest of an assignment needs room as well."""

_LEFT_OUT: Final = (
    "It has {size} characters. `acquire_state_lease` answers with all of it; where long answers reach you cut off, "
    'read it in parts: `json_read(redis_key="{key}", cursor=0)`, then again with `next_cursor`.'
)

_TOLD_WITH_THE_LEASE: Final = "`acquire_state_lease` answers with instructions, output_schema and errors of this state."


@verb(
    toolset="agents",
    scope="read",
    lists=("worker", "member", "operator"),
    effect="reads",
    codes=("unknown_run", "unknown_state"),
    in_refusals={
        "next": [],
        "candidates": [],
        "loaded_skills": [],
        "tools": [],
        "states": [],
        "context": [],
        "more_states": 0,
    },
    of_no_run=True,
)
def get_my_assignment(
    on: "Application",
    agent_id: OwnAgentId,
    *,
    workflow_id: Annotated[OptionalRunId, Argument(means="Id of the run, if you work for several.")] = None,
    state: Annotated[StateName | None, Argument(means="Default: all of yours.")] = None,
) -> Answered[MyAssignment]:
    """Get what is yours to do, whenever you are unsure: states, their inputs, your skills, and the ``next`` calls."""
    assignment = on.desk.ask(agent_id, workflow_id, state, current_caller().project)
    members = {
        "agent_id": agent_id,
        "workflow_id": assignment.workflow_id,
        "run_status": None if assignment.run_status is None else assignment.run_status.value,
        "states": list(_states(on, assignment)),
        "more_states": max(assignment.more, 0),
        "loaded_skills": [
            {"manifestId": skill.manifest_id, "skillName": skill.name, "skillVersion": skill.version}
            for skill in assignment.loaded
        ],
        "context": [dict(entry) for entry in assignment.context],
        "tools": [dict(entry) for entry in assignment.tools],
        "next": _shown_steps(assignment.steps, assignment.states),
        "candidates": list(assignment.candidates),
        "hint": "Call again with the `workflow_id` of one of the candidates." if assignment.candidates else None,
    }
    return Answered(MyAssignment, members, says=_summary(assignment))


def _summary(assignment: Assignment) -> str:
    if assignment.candidates:
        return f"You work for {len(assignment.candidates)} runs."
    if assignment.workflow_id is None:
        return "No run that is not over has work for you."
    states = [state.state for state in assignment.states if state.held]
    ready = [state.state for state in assignment.states if state.ready]
    about = (
        ""
        if assignment.named is None or assignment.named in {*states, *ready}
        else f"{_named(assignment, assignment.named)} "
    )
    if states:
        return f"{about}You hold '{states[0]}'."
    if ready:
        return f"{about}'{ready[0]}' is ready for you."
    return f"{about}{_halted(assignment)}" if assignment.is_paused or assignment.blocked_by else _nothing(about)


def _halted(assignment: Assignment) -> str:
    if assignment.is_paused:
        return "The run is paused: nothing can be taken until it is resumed."
    return run_blocked(assignment.blocked_by).message


def _nothing(about: str) -> str:
    return f"{about}Nothing{' else' if about else ''} is ready for you now."


def _named(assignment: Assignment, named: str) -> str:
    """Return why there is nothing to do about the state that was asked about."""
    candidate = next((state for state in assignment.states if state.state == named), None)
    if candidate is None:
        return f"'{named}' is not open."
    if candidate.doc.status.is_terminal:
        return f"'{named}' is over: {candidate.doc.status.value}."
    if candidate.doc.status is Status.RUNNING:
        holder = candidate.doc.lease.owner_agent_id
        return f"'{named}' is under way{f', held by {holder}' if holder else ''}."
    return f"'{named}' waits." if candidate.mine else f"'{named}' is assigned to others."


def _states(app: "Application", assignment: Assignment) -> Iterator[dict[str, Any]]:
    """Yield the states, each with its input last, until the answer has no room for more inputs."""
    room = _INPUT_CHARS
    for state in assignment.states:
        values = {name: value for name, value in state.brief.as_json().items() if name != "skills"}
        length = len(dump(values))
        values = values if length <= room else {"instructions_left_out": _TOLD_WITH_THE_LEASE}
        room -= length if "instructions_left_out" not in values else 0
        size = len(dump(state.given))
        if size > room:
            assert assignment.workflow_id is not None, "states are of a run"
            key = app.runs.input_key(assignment.workflow_id, state.state)
            left_out = {"input": None, "input_left_out": _LEFT_OUT.format(size=size, key=key)}
            yield _state(state) | values | _questions_and_rejections(app, assignment, state) | _mark(state) | left_out
        else:
            room -= size
            yield (
                _state(state)
                | values
                | _questions_and_rejections(app, assignment, state)
                | _mark(state)
                | {"input": state.given}
            )


def _questions_and_rejections(app: "Application", assignment: Assignment, state_at_hand: StateAtHand) -> dict[str, Any]:
    """Return what was said of the state in this visit: questions with their answers, and why a gate sent it back."""
    if assignment.workflow_id is None:
        return {}
    failed = app.gates.sent_back(assignment.workflow_id, state_at_hand.state) if state_at_hand.doc.has("gated") else {}
    if not state_at_hand.doc.has("questions"):
        return failed
    return failed | {
        "questions": app.talking.questions_of(assignment.workflow_id, state_at_hand.state, state_at_hand.doc)
    }


def _mark(state: StateAtHand) -> dict[str, Any]:
    """Return who wrote the input and the last error, if there is any of them."""
    is_foreign = state.given is not None or state.doc.last_error is not None
    return {"provenance": mark_of_input(state.state, state.doc)} if is_foreign else {}


def _state(state_at_hand: StateAtHand) -> dict[str, Any]:
    return {
        "state": state_at_hand.state,
        "status": state_at_hand.doc.status.value,
        "ready": state_at_hand.ready,
        "held_by_you": state_at_hand.held,
        "attempts": state_at_hand.doc.attempts,
        "last_error": state_at_hand.doc.last_error,
        "lease": _lease(state_at_hand),
        "skills": list(map(_skill, state_at_hand.skills)),
        "next": _shown_steps(state_at_hand.steps, (state_at_hand,)),
    }


def _lease(state_at_hand: StateAtHand) -> dict[str, Any] | None:
    """Return the lease that the agent has; with its token for the key for which dcf drew it."""
    shown = state_at_hand.lease()
    return (
        shown if shown is None or not _is_regained(state_at_hand) else shown | {"token": state_at_hand.doc.lease.token}
    )


def _shown_steps(steps: Sequence[Step], states: Sequence[StateAtHand]) -> list[dict[str, Any]]:
    """Return the steps as JSON, with the lease token of their state where the caller may see it."""
    tokens = {state.state: state.doc.lease.token for state in states if _is_regained(state)}
    shown = [step.as_json() for step in steps]
    for step in shown:
        arguments = step["arguments"]
        secret = tokens.get(arguments.get("state")) or PLACEHOLDER
        step["arguments"] = {name: secret if value == PLACEHOLDER else value for name, value in arguments.items()}
    return shown


def _is_regained(state_at_hand: StateAtHand) -> bool:
    key = calling_key()
    return state_at_hand.held and key is not None and state_at_hand.doc.lease.key == key


def _skill(skill_at_hand: SkillAtHand) -> dict[str, Any]:
    manifest = skill_at_hand.manifest
    if manifest is None:
        return {"reference": skill_at_hand.reference, "problem": skill_at_hand.problem}
    return {
        "reference": skill_at_hand.reference,
        "manifestId": manifest.manifest_id,
        "skillName": manifest.name,
        "skillVersion": manifest.version,
        "loaded": skill_at_hand.loaded,
        "directives": manifest.directives,
        "tools": [
            {"name": tool.name, "description": tool.description, "required": tool.required} for tool in manifest.tools
        ],
    }


add_tools(__name__)
