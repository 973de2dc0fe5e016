"""Calls of tools by callers of any kind, without a transport, and the smallest arguments that are right."""

import json
from collections.abc import Mapping
from typing import Any

from dcf.application import Application
from dcf.core.access import Caller, Scope
from dcf.settings import Settings
from dcf.tools import envelope
from dcf.tools.limits import Meter, meter_of
from dcf.tools.registry import TOOLS
from dcf.tools.schemas import answer_of
from tests.tools.calls import ONE_TASK, Answer, check

EVERYTHING = tuple(Scope)
WORKER = (Scope.READ, Scope.WORK)
PLANNER = (Scope.READ, Scope.WORK, Scope.PLAN)

_SMALLEST: Mapping[str, Any] = {
    "workflow_json": ONE_TASK,
    "workflow_id": "no-such-run",
    "state": "A",
    "owner_agent_id": "me",
    "agent_id": "me",
    "lease_token": "wrong-token",
    "skill_json": "skill://none@1.0.0",
    "manifest_id": "skill.none@1.0.0",
    "agent_name": "nobody",
    "redis_key": "doc:no-such-document",
    "from_path": "$.a",
    "to_path": "$.b",
    "value_json": 1,
    "patch_json": {},
    "default_json": 1,
    "delta": 1,
}


def key_of(*scopes: Scope, agent_id: str | None = None, name: str = "key:0123456789ab") -> Caller:
    """A caller with an API key."""
    return Caller(name=name, scopes=frozenset(scopes), agent_id=agent_id)


def smallest(tool: str) -> dict[str, Any]:
    """The arguments without which a tool cannot be called, about things that are not there."""
    fields = TOOLS[tool].arguments.model_fields
    return {name: _SMALLEST.get(name, "no-such-thing") for name, field in fields.items() if field.is_required()}


async def ask(
    application: Application, caller: Caller, tool: str, meter: Meter | None = None, /, **arguments: Any
) -> Answer:
    """Call a tool as this caller; the answer is checked as every answer is."""
    reply = await envelope.call(TOOLS[tool], application, arguments, caller, meter or meter_of(Settings()))
    answer = Answer(payload=json.loads(reply.text), text=reply.text, broken=reply.broken)
    check(answer, answer_of(TOOLS[tool]))
    return answer
