"""A program that stamps an output by a tool and by a method of the client, in a copy of dcf that has the capability.

`tests/system/quality/test_toy_capability.py` copies it into that copy. It writes its answers as JSON.
"""

import asyncio
import json
import sys
from typing import Any

from mcp.client import Client as McpClient

import dcf
from dcf.application.application import open_application
from dcf.settings.process import Settings
from dcf.tools.mcp.server import build_server
from tests.support.capabilities.stamps.operations import LOOKS, Stamps

STATES = {"A": {"Type": "Task", "Stamp": ["rita"], "Next": "B"}, "B": {"Type": "Task", "End": True}}
STAMPED = {"asl": {"StartAt": "A", "States": STATES}}


def delivered(client: Any, run: str) -> dict[str, Any]:
    """Take the state, and return the arguments with which its holder delivers the output; it waits for its stamp."""
    client.start(STAMPED, workflow_id=run, agents={"A": "ann", "B": "ann"})
    lease = client._tools.call("acquire_state_lease", workflow_id=run, state="A", owner_agent_id="ann")
    token = lease["work"]["lease_token"]
    call = {"workflow_id": run, "state": "A", "lease_token": token, "new_status": "succeeded", "output_json": {"n": 1}}
    answer = client._tools.call("update_workflow_control_plane", **call)
    assert answer["code"] == "unstamped", answer
    return call


def after(client: Any, call: dict[str, Any]) -> list[str]:
    """Deliver again; return the states that come next."""
    answer = client._tools.call("update_workflow_control_plane", **call)
    assert answer["code"] == "ok", answer
    return list(answer["next_states"])


async def stamped_by_tool(url: str, run: str) -> dict[str, Any]:
    """Call the tool, which is on the list of a server."""
    with open_application(Settings.model_validate({"redis_url": url})) as application:
        async with McpClient(build_server(application)) as client:
            assert "stamp_output" in {tool.name for tool in (await client.list_tools()).tools}
            call = {"workflow_id": run, "state": "A", "by": "rita"}
            answer = (await client.call_tool("stamp_output", call)).structured_content
        application.clock.pulse()
        book = Stamps(application.control_plane).book(run)
    assert answer is not None
    return {"status": answer["status"], "lines": answer["lines"], "book": book, "is_looked": bool(LOOKS)}


def main(url: str) -> dict[str, Any]:
    """Return what the interfaces answered, and a run whose output waits."""
    with dcf.connect(url) as client:
        by_tool, by_method, left = (delivered(client, f"stamped-{name}") for name in ("tool", "method", "left"))
        tool = asyncio.run(stamped_by_tool(url, by_tool["workflow_id"]))
        method: Any = client
        answer = method.stamp_output(by_method["workflow_id"], "A", "rita")
        return {
            "tool": {**tool, "next": after(client, by_tool)},
            "method": {"kind": type(answer).__name__, "lines": answer.lines, "next": after(client, by_method)},
            "left": left,
        }


if __name__ == "__main__":
    json.dump(main(sys.argv[1]), sys.stdout)
