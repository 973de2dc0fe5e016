"""Calls of tools by callers of any kind, without a transport, and the smallest arguments that are right."""

import json
from typing import Any

from dcf.application.application import Application
from dcf.core.access.model import Caller, Scope
from dcf.settings.process import Settings
from dcf.verbs import envelope
from dcf.verbs.examples import smallest_call
from dcf.verbs.limits import Meter, meter_of
from dcf.verbs.merged.merged_tools import meant
from dcf.verbs.registry import TOOLS
from tests.tools.calls import SERVED, Answer, check

EVERYTHING = tuple(Scope)
WORKER = (Scope.READ, Scope.WORK)
PLANNER = (Scope.READ, Scope.WORK, Scope.PLAN)


def key_of(*scopes: Scope, agent_id: str | None = None, name: str = "key:0123456789ab") -> Caller:
    """A caller with an API key."""
    return Caller(name=name, scopes=frozenset(scopes), agent_id=agent_id)


def smallest(tool: str) -> dict[str, Any]:
    """The arguments without which a tool cannot be called, about things that are not there."""
    return smallest_call(TOOLS[tool])


async def ask(
    application: Application, caller: Caller, tool: str, meter: Meter | None = None, /, **arguments: Any
) -> Answer:
    """Call a tool as this caller; the answer is checked as every answer is."""
    spec, sent = meant(SERVED.get(tool) or TOOLS[tool], arguments)
    reply = await envelope.call(spec, application, sent, caller, meter or meter_of(Settings()))
    answer = Answer(payload=json.loads(reply.text), text=reply.text, broken=reply.broken)
    check(answer, tool)
    return answer
