"""The scripted model as planner: it follows `agents/planner.md` from a request to the finished run."""

import json
import re
from typing import Any

from tests.system.letta.minds import WORKFLOW, first, is_ok
from tests.system.letta.model import Conversation, Reply, say, use

Json = Any

NEEDED = ("validate.order", "calculate.pricing", "generate.invoice")
_OWN_ID = re.compile(r"AGENT_ID: (agent-[0-9a-f-]+)")


def planner(seen: Conversation) -> Reply | None:
    if "You are a planner of dcf" not in seen.system:
        return None
    if seen.event.get("type") == "run_finished":
        return first(seen, (_look, _finalize, _tell))
    if "order_number" in seen.event:
        return first(seen, (_discover, _validate, _create, _hire, _start, _promise))
    return say("I turn requests into workflows.")


def _own_id(seen: Conversation) -> str:
    """The agent id that Letta writes into the system prompt."""
    match = _OWN_ID.search(seen.system)
    assert match is not None
    return match[1]


def _run_id(seen: Conversation) -> str:
    return f"wf-{_own_id(seen)[-12:]}"


def _document(seen: Conversation) -> dict[str, Json]:
    """The document that the instructions show, with the states of the order workflow and the skills that were found."""
    shown: dict[str, Json] = json.loads(seen.system.split("```json\n")[1].split("```")[0])
    skills = {skill["skillName"]: skill for skill in seen.last("get_skillset")["available_skills"]}
    states = json.loads(json.dumps(WORKFLOW["asl"]["States"]))
    for state, name in zip(states.values(), NEEDED, strict=True):
        state["AgentBinding"]["skills"] = [f"skill://{name}@{skills[name]['skillVersion']}"]
    return shown | {
        "workflow_id": _run_id(seen),
        "skill_imports": [{"uri": skills[name]["path"]} for name in NEEDED],
        "asl": WORKFLOW["asl"] | {"States": states},
    }


def _discover(seen: Conversation) -> Reply | None:
    if not seen.called("get_skillset"):
        return use("get_skillset")
    result = {skill["skillName"] for skill in seen.last("get_skillset").get("available_skills") or ()}
    return None if set(NEEDED) <= result else say(f"I lack skills: {sorted(set(NEEDED) - result)}")


def _validate(seen: Conversation) -> Reply | None:
    if not seen.called("validate_workflow"):
        return use("validate_workflow", workflow_json=_document(seen))
    return None if seen.last("validate_workflow").get("ok") else say("My workflow is not valid.")


def _create(seen: Conversation) -> Reply | None:
    if not seen.called("create_workflow_control_plane"):
        wish = {"workflow_id": _run_id(seen), "input_json": seen.event, "planner_agent_id": _own_id(seen)}
        return use("create_workflow_control_plane", workflow_json=_document(seen), **wish)
    return None if is_ok(seen.last("create_workflow_control_plane")) else say("The run could not be created.")


def _hire(seen: Conversation) -> Reply | None:
    """Make the workers; a second try makes what is missing."""
    tries = seen.called("create_worker_agents")
    if tries and is_ok(seen.last("create_worker_agents")):
        return None
    if tries < 3:
        return use("create_worker_agents", workflow_id=_run_id(seen))
    return say("The workers could not be made.")


def _start(seen: Conversation) -> Reply | None:
    if not seen.called("notify_next_worker_agent"):
        return use("notify_next_worker_agent", workflow_id=_run_id(seen))
    return None


def _promise(seen: Conversation) -> Reply:
    return say(f"The run {_run_id(seen)} is under way.")


def _look(seen: Conversation) -> Reply | None:
    if not seen.called("read_workflow_control_plane"):
        return use("read_workflow_control_plane", workflow_id=seen.event["workflow_id"])
    meta = seen.last("read_workflow_control_plane").get("meta") or {}
    return say("It was finalized before.") if meta.get("finalized_at") else None


def _finalize(seen: Conversation) -> Reply | None:
    if not seen.called("finalize_workflow"):
        return use("finalize_workflow", workflow_id=seen.event["workflow_id"])
    return None


def _tell(seen: Conversation) -> Reply:
    meta = seen.last("read_workflow_control_plane").get("meta") or {}
    return say(f"The run ended {meta.get('status')}: {json.dumps(meta.get('output'))}")
