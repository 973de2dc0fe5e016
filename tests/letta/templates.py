"""Writes `agents/*.af` from the instructions next to them: `python -m tests.letta.templates`.

The files are .af v2, as Letta 0.16.8 imports them. Their tools are named but hardly described: dcf's server describes
them when Letta reads its list. Who imports a file by hand sets override_existing_tools=False, or the descriptions
replace the real ones for everyone.
"""

import json
import re
from typing import Any

from tests.support.paths import ROOT

AGENTS = ROOT / "agents"
SERVER = "dcf"
DESCRIPTIONS = {
    "worker": "Carries out single states of workflows, woken by events.",
    "planner": "Turns a request into a workflow, has workers carry it out, and closes it.",
}
_SYSTEM = "Follow the instructions in your persona block exactly. They are the only instructions you have."
_CALL = re.compile(r"`(\w+)\(([\w, ]*)\)`")
_CREATED = "2026-11-22T00:00:00+00:00"
_LLM = {
    "model": "gpt-4o-mini",
    "model_endpoint_type": "openai",
    "model_endpoint": "https://api.openai.com/v1",
    "handle": "openai/gpt-4o-mini",
    "context_window": 128000,
    "temperature": 0.0,
}


def calls(template: str) -> list[tuple[str, tuple[str, ...]]]:
    """The tool calls that a template's instructions name, with their arguments."""
    text = (AGENTS / f"{template}.md").read_text("utf-8")
    return [(name, tuple(re.findall(r"\w+", arguments))) for name, arguments in _CALL.findall(text)]


def document(template: str) -> dict[str, Any]:
    """The .af v2 document of a template."""
    tools = [_tool(number, name) for number, name in enumerate(dict.fromkeys(name for name, _ in calls(template)))]
    instructions = (AGENTS / f"{template}.md").read_text("utf-8").strip()
    return {
        "agents": [_agent(template, [tool["id"] for tool in tools])],
        "groups": [],
        "blocks": [
            {
                "id": "block-0",
                "label": "persona",
                "description": "Your instructions.",
                "value": instructions,
                "limit": 20000,
                "read_only": True,
            }
        ],
        "files": [],
        "sources": [],
        "tools": tools,
        "mcp_servers": [
            {
                "id": "mcp_server-0",
                "server_type": "streamable_http",
                "server_name": SERVER,
                "server_url": "http://dcf-mcp:8337/mcp",
            }
        ],
        "skills": [],
        "metadata": {"made_by": "dcf"},
        "created_at": _CREATED,
    }


def _agent(template: str, tool_ids: list[str]) -> dict[str, Any]:
    return {
        "id": "agent-0",
        "name": template,
        "description": DESCRIPTIONS[template],
        "agent_type": "letta_v1_agent",
        "system": _SYSTEM,
        "tags": [f"template:{template}"],
        "llm_config": _LLM,
        "embedding_config": None,
        "include_base_tools": False,
        "include_multi_agent_tools": False,
        "block_ids": ["block-0"],
        "tool_ids": tool_ids,
        # Letta makes an agent that answers every message with an error when its file has no system message.
        "messages": [{"id": "message-0", "role": "system", "content": [{"type": "text", "text": _SYSTEM}]}],
        "in_context_message_ids": ["message-0"],
    }


def _tool(number: int, name: str) -> dict[str, Any]:
    return {
        "id": f"tool-{number}",
        "name": name,
        "tool_type": "external_mcp",
        "tags": [f"mcp:{SERVER}"],
        "metadata_": {"mcp": {"server_name": SERVER}},
        "source_type": "python",  # an import fails without it or without a schema
        "json_schema": {
            "name": name,
            "description": f"A tool of the MCP server {SERVER}.",
            "parameters": {"type": "object", "properties": {}},
        },
    }


if __name__ == "__main__":
    for name in DESCRIPTIONS:
        text = json.dumps(document(name), indent=2, ensure_ascii=False)
        (AGENTS / f"{name}.af").write_text(text + "\n", "utf-8")
