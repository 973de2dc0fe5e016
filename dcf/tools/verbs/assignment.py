"""The tool by which an agent asks for its assignment. It only parses arguments, calls, and formats the answer."""

from collections.abc import Iterator
from typing import Any, Final

from pydantic import Field

from dcf.application.application import Application
from dcf.core.access.model import Scope
from dcf.core.access.provenance import mark_of_input
from dcf.core.documents.model import RunStatus, Status
from dcf.core.leasing.halt_refusals import run_blocked
from dcf.values.json_text import dump
from dcf.verbs.callers import current_caller
from dcf.verbs.registry import AgentId, Answer, Arguments, StateName, WorkflowId, tool
from dcf.workforce.assignment import Assignment, SkillAtHand, StateAtHand

_INPUT_CHARS: Final = 20_000
"""How much input one assignment shows, in characters of JSON: Letta cuts what a tool returns after 50,000 characters,
wherever that is (measured), and the rest of an assignment needs room as well."""

_LEFT_OUT: Final = (
    "It has {size} characters. acquire_state_lease answers with all of it; where long answers reach you cut off, read "
    'it in parts: json_read(redis_key="{key}", cursor=0), then again with next_cursor.'
)

_TOLD_WITH_THE_LEASE: Final = "acquire_state_lease answers with instructions, output_schema and errors of this state."


class GetMyAssignment(Arguments):
    """Get what is yours to do, whenever you are unsure: states, their inputs, your skills, and the `next` calls."""

    agent_id: AgentId
    workflow_id: WorkflowId | None = Field(default=None, description="Id of the run, if you work for several.")
    state: StateName | None = Field(default=None, description="One state; default: all of yours.")


class MyAssignment(Answer):
    """`next` are the calls to make, in order; `states` have input, skills and lease (never its token).

    They also have `instructions`, the `output_schema` to match and the names of `errors` where there are any. Of a long
    input, `input_left_out` says how to read it. `context` and `tools` are what your record holds; without a
    run, `candidates` are the runs you work for. What may be long comes last, where a platform may cut it.
    """

    agent_id: str | None = None
    workflow_id: str | None = None
    run_status: RunStatus | None = None
    next: list[dict[str, Any]] | None = Field(default_factory=list)
    candidates: list[str] = Field(default_factory=list)
    loaded_skills: list[dict[str, Any]] = Field(default_factory=list)
    tools: list[dict[str, Any]] = Field(default_factory=list)
    more_states: int = 0
    states: list[dict[str, Any]] = Field(default_factory=list)
    context: list[dict[str, Any]] = Field(default_factory=list)


@tool(
    toolset="agents",
    scope=Scope.READ,
    profiles=("worker", "member", "operator"),
    arguments=GetMyAssignment,
    answer=MyAssignment,
    read_only=True,
    of_no_run=True,
)
def get_my_assignment(app: Application, args: GetMyAssignment) -> MyAssignment:
    """Return what an agent has to do next."""
    found = app.desk.ask(args.agent_id, args.workflow_id, args.state, current_caller().project)
    return MyAssignment(
        status=_summary(found),
        agent_id=args.agent_id,
        workflow_id=found.workflow_id,
        run_status=found.run_status,
        states=list(_states(app, found)),
        more_states=max(found.more, 0),
        loaded_skills=[
            {"manifestId": one.manifest_id, "skillName": one.name, "skillVersion": one.version} for one in found.loaded
        ],
        context=[dict(one) for one in found.context],
        tools=[dict(one) for one in found.tools],
        next=[one.as_json() for one in found.steps],
        candidates=list(found.candidates),
        hint="Call again with the workflow_id of one of the candidates." if found.candidates else None,
    )


def _summary(found: Assignment) -> str:
    if found.candidates:
        return f"You work for {len(found.candidates)} runs."
    if found.workflow_id is None:
        return "No run that is not over has work for you."
    held = [one.state for one in found.states if one.held]
    ready = [one.state for one in found.states if one.ready]
    about = "" if found.named is None or found.named in {*held, *ready} else f"{_named(found, found.named)} "
    if held:
        return f"{about}You hold '{held[0]}'."
    if ready:
        return f"{about}'{ready[0]}' is ready for you."
    return f"{about}{_halted(found)}" if found.is_paused or found.blocked_by else _nothing(about)


def _halted(found: Assignment) -> str:
    if found.is_paused:
        return "The run is paused: nothing can be taken until it is resumed."
    return run_blocked(found.blocked_by).message


def _nothing(about: str) -> str:
    return f"{about}Nothing{' else' if about else ''} is ready for you now."


def _named(found: Assignment, named: str) -> str:
    """Return why there is nothing to do about the state that was asked about."""
    one = next((one for one in found.states if one.state == named), None)
    if one is None:
        return f"'{named}' is not open."
    if one.doc.status.is_terminal:
        return f"'{named}' is over: {one.doc.status.value}."
    if one.doc.status is Status.RUNNING:
        holder = one.doc.lease.owner_agent_id
        return f"'{named}' is under way{f', held by {holder}' if holder else ''}."
    return f"'{named}' waits." if one.mine else f"'{named}' is assigned to others."


def _states(app: Application, found: Assignment) -> Iterator[dict[str, Any]]:
    """Yield the states, each with its input last, until the answer has no room for more inputs."""
    room = _INPUT_CHARS
    for one in found.states:
        told = {name: value for name, value in one.brief.as_json().items() if name != "skills"}
        length = len(dump(told))
        told = told if length <= room else {"instructions_left_out": _TOLD_WITH_THE_LEASE}
        room -= length if "instructions_left_out" not in told else 0
        size = len(dump(one.given))
        if size > room:
            assert found.workflow_id is not None, "states are of a run"
            key = app.runs.input_key(found.workflow_id, one.state)
            left_out = {"input": None, "input_left_out": _LEFT_OUT.format(size=size, key=key)}
            yield _state(one) | told | _asked(app, found, one) | _mark(one) | left_out
        else:
            room -= size
            yield _state(one) | told | _asked(app, found, one) | _mark(one) | {"input": one.given}


def _asked(app: Application, found: Assignment, one: StateAtHand) -> dict[str, Any]:
    """Return what was said of the state in this visit: questions with their answers, and why a gate sent it back."""
    if found.workflow_id is None:
        return {}
    failed = {} if one.doc.gated is None else app.gates.sent_back(found.workflow_id, one.state)
    if one.doc.questions is None:
        return failed
    return failed | {"questions": app.talking.questions_of(found.workflow_id, one.state, one.doc)}


def _mark(one: StateAtHand) -> dict[str, Any]:
    """Return who wrote the input and the last error, if there is any of them."""
    is_foreign = one.given is not None or one.doc.last_error is not None
    return {"provenance": mark_of_input(one.state, one.doc)} if is_foreign else {}


def _state(one: StateAtHand) -> dict[str, Any]:
    return {
        "state": one.state,
        "status": one.doc.status.value,
        "ready": one.ready,
        "held_by_you": one.held,
        "attempts": one.doc.attempts,
        "last_error": one.doc.last_error,
        "lease": one.lease(),
        "skills": list(map(_skill, one.skills)),
        "next": [step.as_json() for step in one.steps],
    }


def _skill(one: SkillAtHand) -> dict[str, Any]:
    manifest = one.manifest
    if manifest is None:
        return {"reference": one.reference, "problem": one.problem}
    return {
        "reference": one.reference,
        "manifestId": manifest.manifest_id,
        "skillName": manifest.name,
        "skillVersion": manifest.version,
        "loaded": one.loaded,
        "directives": manifest.directives,
        "tools": [
            {"name": tool.name, "description": tool.description, "required": tool.required} for tool in manifest.tools
        ],
    }
