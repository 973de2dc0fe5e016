"""A scripted agent: it works over MCP as an agent with a model does, and its first output lacks a field."""

import asyncio
import os
import sys
from typing import Any

from mcp import Client, StdioServerParameters
from summary import summary

import dcf

OUTPUTS = [
    {"title": "The language"},
    {"title": "The language", "sentences": ["States have names.", "Tasks do work.", "Choices branch."]},
]
"""The outputs of the agent: wrong first, then right."""


async def call(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """Call a tool, and print what it answers."""
    answer: dict[str, Any] = (await client.call_tool(tool, arguments)).structured_content or {}
    print(f"{tool}: {answer['code']}")
    return answer


async def work(run: str) -> None:
    """Find the work in a run, do it, and deliver it until the output is accepted."""
    command = ["-m", "dcf", "serve", "--transport", "stdio"]
    server = StdioServerParameters(command=sys.executable, args=command, env=dict(os.environ))
    async with Client(server) as client:
        claimed = await call(client, "find_work", agent_id="writer", workflow_id=run, claim=True)
        print(f"  {claimed['work']['instructions']}")
        lease = {
            "workflow_id": claimed["workflow_id"],
            "state": claimed["state"],
            "lease_token": claimed["lease"]["token"],
        }
        for output in OUTPUTS:
            answer = await call(
                client, "update_workflow_control_plane", **lease, new_status="succeeded", output_json=output
            )
            if answer["code"] != "ok":
                print(f"  {answer['error']}")


with dcf.connect() as client:
    run = client.start(summary, summary.input("https://states-language.net"))
    asyncio.run(work(run.workflow_id))
    print(client.result(run.workflow_id))
