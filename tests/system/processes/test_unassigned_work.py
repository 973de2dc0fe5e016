"""Work that no agent is assigned to reaches real workers that wait: MCP clients with keys, and `dcf worker`."""

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import anyio.to_thread
import httpx2
import pytest
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client

from dcf.application.application import open_application
from dcf.core.access.model import Scope
from dcf.settings.process import Settings
from dcf.tools.calling.client import ToolClient, connect
from tests.support.waiting import wait_until
from tests.system.processes.site import Server, Site
from tests.system.processes.test_workers import FUNCTIONS
from tests.system.stories.stories import place

pytestmark = [pytest.mark.anyio, pytest.mark.processes]

PLANNER = (Scope.READ, Scope.WORK, Scope.PLAN)
WORKER = (Scope.READ, Scope.WORK)


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
def keyed() -> Iterator[tuple[Site, Server]]:
    """A server that asks for keys; it starts once there is one."""
    with place() as site:
        key(site, *WORKER, agent_id="first", project=None)
        yield site, site.serve("--port", "0", DCF_AUTH="keys")


def key(site: Site, *scopes: Scope, agent_id: str, project: str | None) -> str:
    with open_application(Settings(redis_url=None, data_dir=site.data_dir)) as application:
        return application.keys.create(scopes, agent_id=agent_id, label=None, life_s=None, project=project).text


def waiting(site: Site, project: str | None) -> list[str]:
    """Return the agents that wait for work of a project that no agent is assigned to."""
    with open_application(Settings(redis_url=None, data_dir=site.data_dir)) as application:
        return [taker.agent_id for taker in application.takers.of(project, 0)]


def start(tools: ToolClient, run: str, state: str = "Quick", value: Any = None) -> None:
    machine = {"StartAt": state, "States": {state: {"Type": "Task", "End": True}}}
    document = {"workflow_name": "one", "asl": machine}
    answer = tools.call("start_run", workflow_json=document, workflow_id=run, input_json=value)
    assert answer["code"] == "ok", answer


@asynccontextmanager
async def client(url: str, text: str) -> AsyncIterator[Client]:
    headers = {"Authorization": f"Bearer {text}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=90) as http,
        Client(streamable_http_client(url, http_client=http)) as connected,
    ):
        yield connected


async def test_waiting_clients_get_work_of_their_projects_in_one_call(keyed: tuple[Site, Server]) -> None:
    site, server = keyed
    keys = {name: key(site, *WORKER, agent_id=f"worker-{name}", project=name) for name in ("ours", "theirs")}
    planners = {name: key(site, *PLANNER, agent_id=f"planner-{name}", project=name) for name in keys}
    answers: dict[str, dict[str, Any]] = {}

    async def wait(name: str) -> None:
        async with client(server.url, keys[name]) as worker:
            wish = {"agent_id": f"worker-{name}", "timeout_s": 50, "unassigned": True}
            result = await worker.call_tool("await_workflow_event", wish)
            answers[name] = dict(result.structured_content or {})

    def begin(name: str) -> None:
        with connect(server.url, api_key=planners[name]) as tools:
            start(tools, f"run-{name}")

    async with anyio.create_task_group() as tasks:
        for name in keys:
            tasks.start_soon(wait, name)
        for name in keys:
            await anyio.to_thread.run_sync(wait_until, lambda name=name: waiting(site, name) == [f"worker-{name}"])
        await anyio.to_thread.run_sync(begin, "theirs")
        await anyio.to_thread.run_sync(wait_until, lambda: "theirs" in answers)
        assert list(answers) == ["theirs"]
        await anyio.to_thread.run_sync(begin, "ours")
    for name, answer in answers.items():
        assert (answer["work"]["workflow_id"], answer["work"]["state"]) == (f"run-{name}", "Quick")
        assert answer["message_id"], "a notification ended the wait"


@pytest.mark.parametrize("more", [(), ("--concurrency", "3")], ids=["one", "three"])
def test_worker_does_unassigned_states_that_it_has_functions_for(
    shared_site: Site, shared_server: Server, tools: ToolClient, more: tuple[str, ...]
) -> None:
    functions = shared_site.folder / "unassigned.py"
    functions.write_text(FUNCTIONS)
    agent, suffix = f"open-{len(more)}", f"{len(more)}"
    options = ("--state", "Quick", "--unassigned", *more)
    shared_site.worker(shared_server.url, agent, *options, functions=functions)
    wait_until(lambda: agent in waiting(shared_site, None))
    start(tools, f"other-{suffix}", "Elsewhere")
    start(tools, f"quick-{suffix}", value=json.dumps("good"))

    def meta(run: str) -> dict[str, Any]:
        read: dict[str, Any] = tools.call("read_workflow_control_plane", workflow_id=run)["meta"]
        return read

    wait_until(lambda: meta(f"quick-{suffix}")["status"] == "succeeded")
    other = tools.call("read_workflow_control_plane", workflow_id=f"other-{suffix}")["states"]["Elsewhere"]
    assert other["attempts"] == 0, "it has no function for it"
