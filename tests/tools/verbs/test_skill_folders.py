"""An Agent Skills folder, from its SKILL.md to an agent that reads it and calls its tool at the named server."""

import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp.client import Client

from dcf.application.application import Application, open_application
from dcf.authoring.generation import generate, manifest_outputs, stub_output
from dcf.authoring.output import write_all
from dcf.settings.process import Settings
from dcf.stub.config_file import ConfigFile
from dcf.stub.server import build_app
from dcf.stub.service import Service
from dcf.tools.mcp.server import build_server
from tests.stub.conftest import Time
from tests.support.paths import ROOT
from tests.tools.calls import Tools, serving

pytestmark = pytest.mark.anyio

FOLDERS = ROOT / "tests" / "authoring" / "sources" / "agent_skills"
SKILL = "skill://price.order@1.0.0"
SECRET = "c4nary"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What is made of the folders: manifests, and the stub's configuration."""
    base = tmp_path_factory.mktemp("folders")
    made = generate(FOLDERS)
    write_all(
        [*manifest_outputs(made, base / "manifests", base / "catalog.json"), stub_output(made, base / "stub.json")]
    )
    return base


@pytest.fixture(scope="module")
def stub(place: Path) -> Iterator[str]:
    clock = Time()
    service = Service(ConfigFile(place / "stub.json"), seed=0, now=clock.now, monotonic=clock.monotonic)
    with serving(build_app(service, Settings(), clock.sleep)) as url:
        yield url


@pytest.fixture(scope="module")
def site(application: Application, place: Path, stub: str) -> Iterator[Application]:
    headers = {"X-Key": "Bearer ${DCF_TEST_PRICE_KEY}", "X-Written": SECRET}
    entry = {"transport": "streamable_http", "endpoint": stub, "path": "/mcp/pricing", "headers": headers}
    (place / "registry.json").write_text(json.dumps({"servers": {"pricing": entry}}))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DCF_TEST_PRICE_KEY", SECRET)
        with open_application(Settings.model_validate(_settings(application, place))) as result:
            yield result


def _settings(application: Application, place: Path) -> dict[str, Any]:
    where = {"manifests_dir": place / "manifests", "skill_registry": place / "registry.json"}
    return {"redis_url": application.redis_url, "skill_secrets": "PRICE_KEY", **where}


@pytest.fixture(scope="module")
async def tools(site: Application) -> AsyncIterator[Tools]:
    async with Client(build_server(site)) as client:
        yield await Tools.of(client)


def told(server: dict[str, Any], stub: str) -> None:
    assert server == {
        "name": "pricing",
        "transport": "streamable_http",
        "url": f"{stub}/mcp/pricing",
        "headers": {"X-Key": "Bearer ${DCF_TEST_PRICE_KEY}"},
        "tools": ["add", "discount"],
    }


async def called(server: dict[str, Any]) -> Any:
    """The tool's answer over a connection of the agent's own."""
    async with Client(server["url"]) as client:
        assert set(server["tools"]) <= {tool.name for tool in (await client.list_tools()).tools}
        return (await client.call_tool("add", {"lines": [3, 1]})).structured_content


async def test_an_agent_with_a_mailbox_loads_a_folder_reads_it_and_calls_its_tool(
    tools: Tools, stub: str, run_id: str
) -> None:
    agent = f"agent-of-{run_id}"
    await tools.ok("await_workflow_event", agent_id=agent, timeout_s=0)
    for already in (False, True):
        loaded = await tools.ok("load_skill", skill_json=SKILL, agent_id=agent)
        assert loaded["already_loaded"] is already
        assert loaded["directives"].startswith("Call add for the lines.")
        assert [text.split("\n")[0] for text in loaded["texts"]] == ["Round half up."]
        (server,) = loaded["mcp_servers"]
        told(server, stub)
        assert SECRET not in loaded.text
    assert await called(server) == {"sum": "3.00"}
    shown = await tools.ok("get_my_assignment", agent_id=agent)
    assert {tool["name"]: tool["server"]["url"] for tool in shown["tools"]} == dict.fromkeys(
        server["tools"], server["url"]
    )
    assert SECRET not in shown.text


async def test_the_work_of_a_state_brings_its_skills_as_text_and_as_servers(
    tools: Tools, stub: str, run_id: str
) -> None:
    task = {"Type": "Task", "End": True, "AgentBinding": {"skills": [SKILL]}}
    asl = {"StartAt": "Price", "States": {"Price": task}}
    agent = f"agent-of-{run_id}"
    await tools.ok("start_run", workflow_json={"asl": asl}, workflow_id=run_id, agents_map_json={"Price": agent})
    answer = await tools.ok("await_workflow_event", agent_id=agent, timeout_s=50)
    (skill,) = answer["work"]["skills"]
    assert (skill["manifestId"], skill["name"]) == ("skill.price.order@1.0.0", "price.order")
    assert skill["directives"].startswith("Call add for the lines.")
    assert "problem" not in skill
    told(skill["mcp_servers"][0], stub)
    assert SECRET not in answer.text
    assert await called(skill["mcp_servers"][0]) == {"sum": "3.00"}


async def test_a_skill_whose_server_is_not_known_is_told_with_what_is_wrong(
    tools: Tools, place: Path, run_id: str
) -> None:
    task = {"Type": "Task", "End": True, "AgentBinding": {"skills": [SKILL]}}
    asl = {"StartAt": "Price", "States": {"Price": task}}
    agent, registry = f"agent-of-{run_id}", place / "registry.json"
    await tools.ok("start_run", workflow_json={"asl": asl}, workflow_id=run_id, agents_map_json={"Price": agent})
    before = registry.read_text()
    registry.write_text('{"servers": {}}')
    try:
        answer = await tools.ok("await_workflow_event", agent_id=agent, timeout_s=50)
    finally:
        registry.write_text(before)
    (skill,) = answer["work"]["skills"]
    assert skill["directives"].startswith("Call add for the lines.")
    assert skill["problem"] == "tool_unavailable: The server 'pricing' is not in the registry."


async def test_of_a_skill_that_the_server_does_not_grant_nothing_is_told(
    site: Application, place: Path, run_id: str
) -> None:
    """Loading it is refused; the work of a state must not bring it all the same."""
    strict = Settings.model_validate({**_settings(site, place), "skill_secrets": ""})
    task = {"Type": "Task", "End": True, "AgentBinding": {"skills": [SKILL]}}
    with open_application(strict) as opened:
        async with Client(build_server(opened)) as client:
            tools, asl = await Tools.of(client), {"StartAt": "Price", "States": {"Price": task}}
            agent = f"agent-of-{run_id}"
            agents_map_json = {"Price": agent}
            await tools.ok("start_run", workflow_json={"asl": asl}, workflow_id=run_id, agents_map_json=agents_map_json)
            answer = await tools.ok("await_workflow_event", agent_id=agent, timeout_s=50)
            refused = await tools.call("load_skill", skill_json=SKILL, agent_id=agent)
    (skill,) = answer["work"]["skills"]
    assert skill.keys().isdisjoint({"directives", "texts", "mcp_servers"})
    assert skill["problem"].startswith("forbidden: The skill 'skill.price.order@1.0.0' asks for the secret PRICE_KEY")
    assert refused.code == "forbidden"
