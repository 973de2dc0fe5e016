"""Everything a run with real agents needs, each a process of its own: Redis, dcf's server, the stub's tools, Letta.

The operator's part is done here and nothing else: servers are started and a planner is hired. What happens then is
done by agents through MCP tools.
"""

import json
import shutil
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from letta_client import Letta

from dcf.adapters.letta import LettaOptions, LettaPlatform
from dcf.errors import ToolCallFailed
from dcf.ports import AgentWish
from dcf.tools.calling.client import ToolClient, connect
from tests.letta.templates import AGENTS
from tests.support.redis.servers import free_port
from tests.support.waiting import wait_until
from tests.system.letta.installed.server import LettaServer
from tests.system.processes.shop import write_registry
from tests.system.processes.site import Site, first_line, opened

RUN_S = 420.0
"""Seconds that no run takes, not even with a Letta that is away for a while."""

RUN_DEADLINE_S = 30
"""When the server gives up on a run of an agent: a restart of Letta leaves its runs `created` forever."""


@dataclass(frozen=True, kw_only=True)
class Plant:
    site: Site
    server_url: str
    stub_url: str
    tools: ToolClient
    letta: LettaPlatform
    raw: Letta

    def hire_planner(self) -> str:
        """Make an agent of the shipped template, as an operator does once."""
        bundle: dict[str, Any] = json.loads((AGENTS / "planner.af").read_text("utf-8"))
        return self.letta.create_agent(AgentWish(name="planner", template=bundle["agents"][0], bundle=bundle))

    def ask(self, agent: str, text: str) -> None:
        """Say something to an agent, as a user does."""
        self.raw.agents.messages.create_async(agent, messages=[{"role": "user", "content": text}])

    def read(self, run: str) -> dict[str, Any]:
        return self.tools.call("read_workflow_control_plane", workflow_id=run)

    def exists(self, run: str) -> bool:
        """Whether the planner has created the run."""
        try:
            self.read(run)
        except ToolCallFailed as error:
            if error.code != "unknown_run":
                raise
            return False
        return True

    def wait_for_run(self, run: str) -> None:
        wait_until(lambda: self.exists(run), RUN_S)

    def wait_finalized(self, run: str) -> dict[str, Any]:
        """Wait until the planner has created and closed the run."""
        self.wait_for_run(run)
        wait_until(lambda: self.read(run)["meta"].get("finalized_at"), RUN_S)
        return self.read(run)

    def calls_of_stub(self) -> dict[str, int]:
        """How often each tool of the stub was called."""
        with urllib.request.urlopen(self.stub_url.removesuffix("/mcp") + "/metrics", timeout=10) as answer:
            tool_calls: dict[str, int] = json.load(answer)["metrics"]["tool_calls"]
        return tool_calls


@contextmanager
def plant(letta: LettaServer, model: str) -> Iterator[Plant]:
    """Start everything; it ends with the block."""
    folder = Path(tempfile.mkdtemp(prefix="dcfl-", dir="/tmp"))
    try:
        with opened(folder) as site:
            stub_url = _stub(site)
            port = free_port()
            server_url = f"http://127.0.0.1:{port}/mcp"
            options = LettaOptions(
                base_url=letta.url,
                model=model,
                mcp_servers={"dcf": {"name": "dcf", "transport": "streamable_http", "url": server_url}},
            )
            settings = _settings(letta, model, server_url, write_registry(folder, stub_url))
            site.serve("--port", str(port), **settings)
            with (
                connect(server_url) as tools,
                LettaPlatform(options) as platform,
                Letta(base_url=letta.url, api_key="none") as raw,
            ):
                yield Plant(site=site, server_url=server_url, stub_url=stub_url, tools=tools, letta=platform, raw=raw)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _stub(site: Site) -> str:
    url: str = json.loads(first_line(site.dcf("workflows", "stub", "--port", "0", "--json")))["url"]
    return url


def _settings(letta: LettaServer, model: str, server_url: str, registry: Path) -> dict[str, str]:
    return {
        "LETTA_BASE_URL": letta.url,
        "LETTA_MODEL": model,
        "LETTA_RUN_DEADLINE_S": str(RUN_DEADLINE_S),
        "DCF_SERVER_URL": server_url,
        "SKILL_REGISTRY_PATH": str(registry),
    }
