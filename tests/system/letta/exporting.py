"""Makes agents on a real Letta server and exports them: `DCF_LETTA=1 python -m tests.system.letta.exporting`.

It writes the files of `tests/letta/exported`. They are as Letta writes them, but for addresses, one secret, and
messages: of each agent only the system message stays.
"""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
from letta_client import Letta

from tests.support.paths import ROOT
from tests.system.letta.installed.server import running_letta
from tests.system.letta.mcp_servers import mcp_service
from tests.system.letta.model import HANDLE, scripted_model

EXPORTED = ROOT / "tests" / "letta" / "exported"
MODEL_URL = "http://model.example/v1"
"""Stands for the address of the scripted model."""

RATE = '''
from typing import Optional


def rate_claim(amount: float, days_open: int, note: Optional[str] = None) -> dict:
    """Rate how urgent an insurance claim is.

    Args:
        amount (float): The amount that is claimed.
        days_open (int): How many days the claim has been open.
        note (Optional[str]): What the customer said.

    Returns:
        dict: The level and its reason.
    """
    level = "high" if amount > 5000 or days_open > 10 else "normal"
    return {"level": level, "reason": note or "amount and age"}
'''


@contextmanager
def exports() -> Iterator[dict[str, dict[str, Any]]]:
    """Start a server, make the agents, and export those that the files are named after."""
    with (
        scripted_model() as model,
        running_letta(model.url) as server,
        mcp_service("ledger", "ledger_book", "ledger_find") as ledger,
        Letta(base_url=server.url, api_key="none") as letta,
    ):
        triage = _triage(letta)
        lead = _lead(letta, server.url, ledger.url, triage)
        yield {
            "triage.af": _scrubbed(json.loads(letta.agents.export_file(triage)), model.url),
            "lead.af": _scrubbed(json.loads(letta.agents.export_file(lead)), model.url),
            "triage_v1.json": _scrubbed(json.loads(server.legacy_export(triage)), model.url),
        }


def _triage(letta: Letta) -> str:
    """Make an agent with Letta's own tools, a Python tool with a rule, three blocks, and variables for its tools."""
    tool = letta.tools.create(source_code=RATE, tags=["claims"], return_char_limit=3000)
    made = letta.agents.create(
        name="claims-triage",
        description="Rates claims.",
        model=HANDLE,
        system="You rate insurance claims, and write down why.",
        memory_blocks=[
            {"label": "persona", "value": "I am exact.\nI never guess.", "description": "Who I am."},
            {"label": "policy", "value": "Claims above 5,000 are high.", "read_only": True, "limit": 900},
            {"label": "notes", "value": "", "metadata": {"owner": "claims"}},
        ],
        tool_ids=[tool.id],
        tool_rules=[{"type": "exit_loop", "tool_name": "rate_claim"}],
        tags=["team:claims", "template:triage"],
        include_base_tools=True,
        timezone="Europe/Berlin",
        secrets={"CLAIMS_KEY": "canary"},
        metadata={"owner": "claims"},
        max_files_open=7,
    )
    letta.agents.messages.create(made.id, messages=[{"role": "user", "content": "Hello."}])
    return made.id


def _lead(letta: Letta, url: str, ledger: str, triage: str) -> str:
    """Make an agent that manages a group with the other one, and has a tool of an MCP server."""
    server: Any = {"mcp_server_type": "streamable_http", "server_url": ledger, "custom_headers": {"X-Key": "canary"}}
    known = letta.mcp_servers.create(server_name="ledger", config=server)
    assert known.id is not None
    tools = {tool.name: tool.id for tool in letta.mcp_servers.tools.list(known.id)}
    made = letta.agents.create(
        name="Claims Lead",
        model=HANDLE,
        system="You lead the claims desk, and book what was decided.",
        memory_blocks=[{"label": "human", "value": "The customer."}],
        tool_ids=[tools["ledger_book"]],
        tags=["team:claims"],
        include_base_tools=False,
        message_buffer_autoclear=True,
    )
    manager = {"manager_type": "supervisor", "manager_agent_id": made.id}
    group = {"agent_ids": [triage], "description": "The claims desk.", "manager_config": manager}
    httpx.post(f"{url}/v1/groups/", json=group, timeout=60).raise_for_status()
    return made.id


def _scrubbed(document: dict[str, Any], model_url: str) -> dict[str, Any]:
    """Return the export without addresses of this machine and secrets, and with no message but the system's."""
    text = json.dumps(document).replace(model_url, MODEL_URL)
    scrubbed: dict[str, Any] = json.loads(re.sub(r"http://127\.0\.0\.1:\d+/mcp", "http://ledger.example/mcp", text))
    for variable in (*scrubbed.get("tool_exec_environment_variables", ()), *scrubbed.get("secrets", ())):
        del variable["value_enc"]  # the first form has the value in it
    for agent in scrubbed.get("agents", ()):
        agent["messages"] = [message for message in agent["messages"] if message["role"] == "system"]
        there = {message["id"] for message in agent["messages"]}
        agent["in_context_message_ids"] = [
            in_context_message_id
            for in_context_message_id in agent["in_context_message_ids"]
            if in_context_message_id in there
        ]
    return scrubbed


if __name__ == "__main__":
    EXPORTED.mkdir(exist_ok=True)
    with exports() as made:
        for name, document in made.items():
            text = json.dumps(document, indent=2, ensure_ascii=False)
            (EXPORTED / name).write_text(text + "\n", "utf-8")
