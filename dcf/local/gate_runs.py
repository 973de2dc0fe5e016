"""Runs the commands that open gates of a run wait for, and tells the server what came of them.

The server says which command; a person on this machine says which may run (`commands.py`). A verdict names the hash of
the content that was judged, so that one on older content decides nothing.
"""

from pathlib import Path
from typing import Any

from dcf.errors import ToolCallFailed
from dcf.local.calls import ServerCalls
from dcf.local.commands import Allowed, Outcome, run
from dcf.values.json_text import Json


async def run_gates(
    server: ServerCalls, root: Path, allowed: Allowed, workflow_id: str, state: str | None
) -> list[dict[str, Json]]:
    """Run the command of each open gate, one after the other; return what came of each and whether it was accepted."""
    ran: list[dict[str, Json]] = []
    answer = await server.call("list_gates", workflow_id=workflow_id)
    for gate in answer["gates"]:
        if gate.get("kind") != "command" or (state is not None and gate.get("state") != state):
            continue
        outcome = await run(gate["command"], root, allowed, gate.get("timeout_s"))
        told = {"state": gate["state"], "gate": gate["name"], "command": gate["command"], **outcome.as_json()}
        ran.append({**told, "decided": await _decided(server, workflow_id, gate, outcome)})
    return ran


async def _decided(server: ServerCalls, workflow_id: str, gate: dict[str, Any], outcome: Outcome) -> str:
    """Tell the verdict; return the code of the answer: a gate may have been decided, or overridden, meanwhile."""
    try:
        await server.call(
            "decide_gate",
            workflow_id=workflow_id,
            state=gate["state"],
            gate=gate["name"],
            verdict=outcome.verdict,
            content_sha256=gate.get("content_sha256"),
            comment=outcome.why,
            exit_code=outcome.exit_code,
            output_tail=outcome.tail or None,
        )
    except ToolCallFailed as error:
        return error.code
    return "ok"
