"""Runs the commands that open gates of a run wait for, and sends the results to the server.

The server says which command; a person on this machine says which may run (`commands.py`). A verdict names the hash of
the output that was judged, so that a verdict on an older output has no effect. The helper
reports with its own key, which the agent does not have: an author cannot vouch for its own output.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio

from dcf.errors import ToolCallFailed
from dcf.local.calls import ServerCalls
from dcf.local.command_templates import Allowed
from dcf.local.commands import Outcome, run
from dcf.values.json_text import Json


async def run_gates(
    server: ServerCalls,
    helper: ServerCalls | None,
    root: Path,
    allowed: Allowed,
    workflow_id: str,
    state: str | None,
    agent_id: str | None = None,
) -> list[dict[str, Json]]:
    """Run the command of each open gate that this agent is asked for, and tell the server its exit code.

    Without an agent these are the gates of which each author is asked, and `helper` (calls with the helper's own key)
    reports their outcomes. Return the outcome of each, and as `decided` the code of the server's answer.
    """
    answer = await server.call("list_gates", workflow_id=workflow_id, state=state)
    ran: list[dict[str, Json]] = []
    for gate in answer["gates"]:
        agent = agent_id or gate.get("author")
        if gate.get("kind") != "command" or f"'{agent}'" not in str(gate.get("asked")):
            continue
        began = anyio.current_time()
        outcome = await run(gate["command"], root, allowed, gate.get("timeout_s"))
        lasted = round(anyio.current_time() - began, 3)
        report = {"state": gate["state"], "gate": gate["name"], "command": gate["command"], **outcome.as_json()}
        is_own = agent == gate.get("author")
        calls, name = (helper or server, None) if is_own else (server, str(agent))
        ran.append({**report, **await _decided(calls, gate, name, outcome, lasted)})
    return ran


async def _decided(
    server: ServerCalls, gate: Mapping[str, Any], agent_id: str | None, outcome: Outcome, lasted: float
) -> dict[str, Json]:
    """Tell the verdict; return the code of the answer: a gate may have been decided, or overridden, meanwhile."""
    try:
        await server.call(
            "decide_gate",
            workflow_id=gate["workflow_id"],
            state=gate["state"],
            gate=gate["name"],
            verdict=outcome.verdict,
            content_sha256=gate["content_sha256"],
            agent_id=agent_id,
            comment=outcome.why,
            exit_code=outcome.exit_code,
            output_tail=outcome.tail or None,
            duration_s=lasted,
        )
    except ToolCallFailed as error:
        return {"decided": error.code, "hint": error.hint}
    return {"decided": "ok"}
