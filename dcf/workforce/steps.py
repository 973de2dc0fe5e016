"""The next tool calls of an agent for one state, with their arguments. Pure.

Values in angle brackets are to be filled in by the agent.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from dcf.core.documents.model import StateDoc
from dcf.values.instants import to_text
from dcf.values.json_text import Json
from dcf.values.record_json.codec import json_method
from dcf.values.records import record

TOKEN: Final = "<work.lease_token of the lease>"  # noqa: S105 - a placeholder
RESULT: Final = "<your result as JSON>"


@record(frozen=True, slots=True, kw_only=True)
class Step:
    """One call: the tool, its arguments, and why."""

    tool: str
    arguments: dict[str, Json]
    why: str

    as_json = json_method()


def ask_why_held(run: Mapping[str, Json]) -> Step:
    """Return the step that says why a run is on hold."""
    return Step(tool="explain_run", arguments=dict(run), why="It says why the run is on hold; an operator releases it.")


def wait_for_event(agent_id: str) -> Step:
    """Return the step that waits for the next event."""
    return Step(
        tool="await_workflow_event",
        arguments={"agent_id": agent_id},
        why="It brings what is next for you, as soon as there is something.",
    )


def to_complete(work: Mapping[str, Json], agent_id: str | None, why: str | None = None) -> Step:
    """Return the step that writes the result of work and takes the next piece with it."""
    arguments: dict[str, Json] = {name: work[name] for name in ("workflow_id", "state", "lease_token")}
    arguments |= {"new_status": "succeeded", "output_json": RESULT, "claim_next": True}
    if why is None:
        why = "When the work is done; if you cannot do it: `new_status` failed, `error_name` and `error_message`."
        why += _until(work)
    return Step(
        tool="update_workflow_control_plane",
        arguments=arguments | ({} if agent_id is None else {"owner_agent_id": agent_id}),
        why=why,
    )


def _until(work: Mapping[str, Json]) -> str:
    """Return until when the lease must be renewed."""
    if "sign_within_s" in work:
        first = f"The lease first lasts {work['sign_within_s']} s, until a call shows that you have its token"
        return f" {first}: renew it at once (`renew_state_lease`) for longer work, and it lasts its whole term."
    return f" Renew (`renew_state_lease`) before {work['lease_expires_at']}." if "lease_expires_at" in work else ""


def read_input(work: Mapping[str, Json], agent_id: str | None) -> Step:
    """Return the step that reads an input that was left out because it is long."""
    arguments: dict[str, Json] = {name: work[name] for name in ("workflow_id", "state", "lease_token")}
    return Step(
        tool="acquire_state_lease",
        arguments=arguments | {"owner_agent_id": agent_id or "<your agent id>"},
        why="The input was left out, since it is long: this answers with all of it. You keep the lease.",
    )


def load_skills(workflow_id: str, state: str, agent_id: str, missing: Sequence[str]) -> list[Step]:
    """Return the steps that load these skills for a state."""
    return _load({"workflow_id": workflow_id, "state": state}, agent_id, missing)


def ask_about(agent_id: str, workflow_id: str) -> Step:
    """Return the step that asks for the assignment in one of several runs."""
    arguments: dict[str, Json] = {"agent_id": agent_id, "workflow_id": workflow_id}
    return Step(tool="get_my_assignment", arguments=arguments, why="One of the runs that you work for.")


def steps_for(
    workflow_id: str,
    state: str,
    agent_id: str,
    doc: StateDoc,
    *,
    ready: bool,
    held: bool,
    running: bool,
    missing: Sequence[str],
    loaded: Sequence[str],
) -> tuple[Step, ...]:
    """Return the calls to make for the state. `missing` skills are loaded first, `loaded` ones unloaded at the end."""
    place: dict[str, Json] = {"workflow_id": workflow_id, "state": state}
    if held:
        return (_renew(place, doc), *_load(place, agent_id, missing), *_finish(place, agent_id, loaded))
    if ready:
        why = "Take the state; the answer has the lease token and the input."
        acquire = Step(tool="acquire_state_lease", arguments=place | {"owner_agent_id": agent_id}, why=why)
        # Skills first: on some platforms an agent can use new tools only from its next message on.
        return (*_load(place, agent_id, missing), acquire, *_finish(place, agent_id, loaded))
    if not running or doc.status.is_terminal:
        return (*_unload(agent_id, [holding for holding in loaded if holding not in missing]), wait_for_event(agent_id))
    return (wait_for_event(agent_id),)


def _renew(place: dict[str, Json], doc: StateDoc) -> Step:
    until = "" if doc.lease.expires_at is None else f" before {to_text(doc.lease.expires_at)}"
    why = f"You hold the state: renew{until}. Without the token stop: it can be leased again after expiry."
    return Step(tool="renew_state_lease", arguments=place | {"lease_token": TOKEN}, why=why)


def _load(place: dict[str, Json], agent_id: str, missing: Sequence[str]) -> list[Step]:
    why = "The state needs this skill and you do not have it. If you lack its tools then, end your turn: you are woken."
    return [
        Step(tool="load_skill", arguments={"skill_json": reference, "agent_id": agent_id} | place, why=why)
        for reference in missing
    ]


def _finish(place: dict[str, Json], agent_id: str, loaded: Sequence[str]) -> list[Step]:
    written: dict[str, Json] = {"lease_token": TOKEN, "new_status": "succeeded", "output_json": RESULT}
    why = "After the work: it ends the lease and notifies the next agents. If you cannot: failed, with `error_message`."
    return [
        Step(tool="update_workflow_control_plane", arguments=place | written, why=why),
        *_unload(agent_id, loaded),
    ]


def _unload(agent_id: str, loaded: Sequence[str]) -> list[Step]:
    return [
        Step(
            tool="unload_skill",
            arguments={"manifest_id": holding, "agent_id": agent_id},
            why="Leave no skill behind that the next state does not need.",
        )
        for holding in loaded
    ]
