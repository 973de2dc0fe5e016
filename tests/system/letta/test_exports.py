"""Workers made on a real Letta from agents that a Letta exported, out of each source of templates."""

import json
import shutil
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from letta_client import Letta
from mcp.client import Client

from dcf.application.application import open_application
from dcf.settings.process import Settings
from dcf.tools.mcp.server import build_server
from tests.letta.exported_agents import NAMES, SOURCES, workflow, write_sources
from tests.support.redis.restricted import RestrictedRedis, restricted_redis
from tests.system.letta.installed.server import LettaServer
from tests.system.letta.mcp_servers import mcp_service
from tests.system.letta.model import HANDLE
from tests.tools.calls import Tools

pytestmark = [pytest.mark.letta, pytest.mark.anyio, pytest.mark.timeout(600)]

TRIAGE, LEAD = NAMES
Serve = Callable[..., AbstractContextManager[Client]]


@pytest.fixture
def serve(letta_server: LettaServer, tmp_path: Path, short_directory: Path, mark: str) -> Iterator[Serve]:
    """Make clients of a dcf that makes workers on the Letta server, and knows the ledger that an export needs."""
    with restricted_redis(short_directory / mark) as redis, mcp_service("ledger", "ledger_book") as ledger:
        entry = {"transport": "streamable_http", "endpoint": ledger.url}
        (tmp_path / "registry.json").write_text(json.dumps({"servers": {"ledger": entry}}))
        write_sources(tmp_path / "imports", tmp_path / "templates")

        @contextmanager
        def client(*, allow_python: bool = True) -> Iterator[Client]:
            settings = _settings(redis, letta_server, tmp_path) | {"allow_python_source_skills": allow_python}
            with open_application(Settings.model_validate(settings)) as application:
                yield Client(build_server(application))

        yield client


def _settings(redis: RestrictedRedis, letta: LettaServer, place: Path) -> dict[str, Any]:
    return {
        "redis_url": redis.url,
        "profile": "all",
        "letta_base_url": letta.url,
        "letta_model": HANDLE,
        "agents_dir": place / "templates",
        "workflows_dir": place / "imports",
        "skill_registry": place / "registry.json",
    }


@pytest.fixture
async def tools(serve: Serve) -> AsyncIterator[Tools]:
    with serve() as client:
        async with client:
            yield await Tools.of(client)


async def worker_of(tools: Tools, document: dict[str, Any]) -> str:
    """Validate the workflow, make its run and its worker; return the worker's id."""
    valid = await tools.ok("validate_workflow", workflow_json=document)
    assert (valid["exit_code"], valid["resolution"]["unresolved_agent_refs"]) == (0, [])
    await tools.ok("create_workflow_control_plane", workflow_json=document)
    made = await tools.ok("create_worker_agents", workflow_json=document)
    again = await tools.ok("create_worker_agents", workflow_json=document)
    assert made["agents_map"] == again["agents_map"]
    return str(made["agents_map"]["Triage"])


@pytest.mark.parametrize("source", SOURCES)
async def test_a_worker_of_each_source_is_what_was_exported(
    tools: Tools, raw: Letta, tmp_path: Path, source: str, mark: str
) -> None:
    if source == "inline":
        shutil.rmtree(tmp_path / "templates")
    agent = await worker_of(tools, workflow(f"run-{mark}", TRIAGE, source))
    made = raw.agents.retrieve(agent, include=["agent.blocks", "agent.tags", "agent.tools", "agent.secrets"])
    assert made.system == "You rate insurance claims, and write down why."
    assert {block.label: block.value for block in made.blocks} == {
        "persona": "I am exact.\nI never guess.",
        "policy": "Claims above 5,000 are high.",
        "notes": "",
    }
    assert [block.label for block in made.blocks if block.read_only] == ["policy"]
    assert {tool.name for tool in made.tools} == {
        *("conversation_search", "memory_insert", "memory_replace", "rate_claim")
    }
    assert {f"from:{source}", "team:claims", f"wf:run-{mark}", "state:Triage"} <= set(made.tags)
    assert (made.timezone, made.max_files_open, made.metadata) == ("Europe/Berlin", 7, {"owner": "claims"})
    ran = raw.agents.tools.run("rate_claim", agent_id=agent, args={"amount": 9000, "days_open": 1})
    assert (ran.status, "high" in str(ran.func_return)) == ("success", True)
    await tools.ok("finalize_workflow", workflow_id=f"run-{mark}")
    assert raw.agents.list(tags=[f"wf:run-{mark}"]).items == []


async def test_a_worker_has_the_mcp_tool_of_its_export_from_the_server_in_the_registry(
    tools: Tools, raw: Letta, mark: str
) -> None:
    agent = await worker_of(tools, workflow(f"run-{mark}", LEAD, "imported"))
    assert [tool.name for tool in raw.agents.tools.list(agent).items] == ["ledger_book"]
    ran = raw.agents.tools.run("ledger_book", agent_id=agent, args={"word": "paid"})
    assert "ledger_book heard paid" in str(ran.func_return)


async def test_python_of_an_export_that_letta_does_not_have_needs_the_operator(
    serve: Serve, raw: Letta, mark: str
) -> None:
    for tool in raw.tools.list(name="rate_claim").items:
        raw.tools.delete(tool.id)
    document = workflow(f"run-{mark}", TRIAGE, "imported")
    with serve(allow_python=False) as client:
        async with client:
            tools = await Tools.of(client)
            await tools.ok("create_workflow_control_plane", workflow_json=document)
            refused = await tools.call("create_worker_agents", workflow_json=document)
    assert "brings Python source" in refused.text
    assert raw.agents.list(tags=[f"wf:run-{mark}"]).items == []
