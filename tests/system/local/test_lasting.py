"""The server of a helper is killed and started again: no call fails, and none takes effect twice."""

from collections.abc import Iterator
from dataclasses import dataclass

import anyio
import anyio.to_thread
import pytest
from mcp.client import Client
from mcp.client.subscriptions import ResourceUpdated

from tests.local.helper import ONE_TASK, Agent, Json
from tests.support.redis.servers import free_port
from tests.support.waiting import wait_until
from tests.system.local.conftest import Repository, agent_at
from tests.system.processes.conftest import _site
from tests.system.processes.site import LONG, Server, Site

pytestmark = [pytest.mark.anyio, pytest.mark.processes]


@dataclass
class Mortal:
    """A server that tests kill; the next one has its URL and its data."""

    site: Site
    server: Server

    def kill(self) -> None:
        self.server.process.kill()
        self.server.process.wait()

    def start(self) -> None:
        self.server = self.site.serve("--port", self.server.port)


@pytest.fixture(scope="module")
def mortal() -> Iterator[Mortal]:
    for site in _site():
        yield Mortal(site, site.serve("--port", str(free_port())))


async def take(agent: Agent, run: str, owner: str = "me") -> dict[str, Json]:
    answer = await agent.ok("claim_ready_state", workflow_id=run, owner_agent_id=owner)
    return {"workflow_id": run, "state": "A", "lease_token": answer["work"]["lease_token"], "new_status": "succeeded"}


async def test_a_call_waits_for_a_server_that_is_started_again(mortal: Mortal, repository: Repository) -> None:
    """The run continues with the lease that it had."""
    options = ("--root", str(repository.root), "--deadline", str(LONG))
    async with agent_at(mortal.site, mortal.server.url, *options) as agent:
        run = (await agent.ok("start_run", workflow_json=ONE_TASK, agents_map_json={"A": "me"}))["workflow_id"]
        mine = await take(agent, run)
        mortal.kill()
        completion = {**mine, "output_json": {"files": ["README.md"]}}
        answers: list[dict[str, Json]] = []

        async def complete() -> None:
            answers.append(await agent.ok("update_workflow_control_plane", **completion))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(complete)
            await anyio.to_thread.run_sync(mortal.start)
        assert answers[0]["root"] == str(repository.root)
        await agent.ok("update_workflow_control_plane", **completion)
    assert [event["type"] for event in mortal.site.printed_events(run)].count("StateSucceeded") == 1


async def test_calls_while_the_server_is_killed_start_each_run_once(mortal: Mortal) -> None:
    """The answer of one may be lost after the server did what it says."""
    started: list[str] = []
    restarted = anyio.Event()

    async def kill() -> None:
        await anyio.to_thread.run_sync(wait_until, lambda: started)
        await anyio.to_thread.run_sync(mortal.kill)
        await anyio.to_thread.run_sync(mortal.start)
        restarted.set()

    async with agent_at(mortal.site, mortal.server.url, "--deadline", str(LONG)) as agent:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(kill)
            while not restarted.is_set():
                run = await agent.ok("start_run", workflow_json=ONE_TASK, tags_json=["counted"])
                started.append(run["workflow_id"])
        listed = await agent.ok("list_runs", tag="counted", limit=1)
    assert listed["matching"] == len(set(started)) == len(started)


async def test_a_listening_agent_is_notified_also_after_a_restart_of_the_server(mortal: Mortal) -> None:
    async with agent_at(mortal.site, mortal.server.url) as agent:
        run = (await agent.ok("start_run", workflow_json=ONE_TASK))["workflow_id"]
        uri = f"dcf://runs/{run}"
        async with agent.client.listen(resource_subscriptions=[uri]) as changes:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_keep_changing, mortal.server.url, run)
                assert await anext(changes) == ResourceUpdated(uri=uri)
                tasks.cancel_scope.cancel()
            mortal.kill()
            await anyio.to_thread.run_sync(mortal.start)
            assert await anext(changes) == ResourceUpdated(uri=uri)


async def _keep_changing(url: str, run: str) -> None:
    """Write notes until the test has seen one: the agent may not listen yet when the first is written."""
    async with Client(url) as other:
        while True:
            await other.call_tool("leave_note", {"workflow_id": run, "text": "still here"})
            await anyio.sleep(0.1)
