"""The server goes away and comes back, the helper is killed and started again: nothing is lost, nothing done twice."""

import anyio
import pytest
from mcp.client import Client
from mcp.client.subscriptions import ResourceUpdated
from mcp.shared.exceptions import MCPError

from tests.support.servers import free_port
from tests.system.local.conftest import ONE_TASK, Agent, Json, Repository, agent_at
from tests.system.processes.site import Site

pytestmark = [pytest.mark.anyio, pytest.mark.processes]

SECRET = "dcf_this_is_secret_0123456789"


async def _keep_changing(url: str, run: str) -> None:
    async with Client(url) as other:
        while True:
            await other.call_tool("leave_note", {"workflow_id": run, "text": "still here"})
            await anyio.sleep(0.5)


async def take(agent: Agent, run: str, owner: str = "me") -> dict[str, Json]:
    held = await agent.ok("claim_ready_state", workflow_id=run, owner_agent_id=owner)
    return {"workflow_id": run, "state": "A", "lease_token": held["work"]["lease_token"], "new_status": "succeeded"}


async def test_calls_wait_for_a_server_that_is_started_again(site: Site, repository: Repository) -> None:
    """It is killed between two calls and during one; the run goes on with the lease it had."""
    server = site.serve("--port", str(free_port()))
    async with agent_at(site, server.url, "--root", str(repository.root), "--deadline", "60") as agent:
        run = (await agent.ok("start_run", workflow_json=ONE_TASK, agents_map_json={"A": "me"}))["workflow_id"]
        mine = await take(agent, run)
        server.process.kill()
        server.process.wait()
        done: list[dict[str, Json]] = []

        async def complete() -> None:
            done.append(await agent.ok("update_workflow_control_plane", **mine, output_json={"files": ["README.md"]}))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(complete)
            await anyio.to_thread.run_sync(site.serve, "--port", server.port)
        assert done[0]["root"] == str(repository.root)
        again = await agent.ok("update_workflow_control_plane", **mine, output_json={"files": ["README.md"]})
        assert again["code"] == "ok"
    assert [event["type"] for event in site.printed_events(run)].count("StateSucceeded") == 1


async def test_a_call_that_may_be_made_twice_is_and_its_run_is_started_once(site: Site) -> None:
    """The answer is lost after the server did what was asked."""
    server = site.serve("--port", str(free_port()))
    async with agent_at(site, server.url, "--deadline", "60") as agent, anyio.create_task_group() as tasks:
        tasks.start_soon(_killed_and_back, site, server)
        for number in range(20):
            await agent.ok("start_run", workflow_json=ONE_TASK, tags_json=[f"n{number}"])
        found = await agent.ok("list_runs", limit=100)
    assert len(found["runs"]) == 20


async def _killed_and_back(site: Site, server: Json) -> None:
    server.process.kill()
    await anyio.to_thread.run_sync(server.process.wait)
    await anyio.to_thread.run_sync(site.serve, "--port", server.port)


async def test_another_helper_goes_on_where_a_killed_one_was(site: Site, repository: Repository) -> None:
    server = site.serve("--port", "0")
    async with agent_at(site, server.url) as agent:
        run = (await agent.ok("start_run", workflow_json=ONE_TASK, agents_map_json={"A": "me"}))["workflow_id"]
        mine = await take(agent, run)
    async with agent_at(site, server.url) as agent:
        root = str(repository.root)
        await agent.ok("update_workflow_control_plane", **mine, output_json={"files": ["README.md"]}, root=root)


async def test_while_the_server_is_away_the_error_says_so_and_local_tools_work(
    site: Site, repository: Repository, mode: str
) -> None:
    server = site.serve("--port", "0")
    options = ("--root", str(repository.root), "--deadline", "0", "--key", SECRET)
    async with agent_at(site, server.url, *options, mode=mode) as agent:
        await agent.client.list_tools()
        server.process.kill()
        server.process.wait()
        told = await agent.call("list_runs")
        assert told["code"] == "server_unreachable"
        assert "--server" in told["hint"]
        with pytest.raises(MCPError, match="server_unreachable") as error:
            await agent.client.list_tools()
        assert (await agent.ok("local_worktree"))["branch"] == "main"
        assert SECRET not in f"{told}{error.value}{agent.client.instructions}"
    assert SECRET not in (site.folder / "local.log").read_text()


async def test_a_key_that_opens_nothing_is_told_of_and_never_shown(site: Site, mode: str) -> None:
    made = site.dcf("keys", "create", "--scope", "read", "--any-agent", "--json")
    made.wait()
    server = site.serve("--port", "0", DCF_AUTH="keys")
    async with agent_at(site, server.url, env={"DCF_API_KEY": SECRET}, mode=mode) as agent:
        told = await agent.call("list_runs")
        assert told["code"] == "unauthorized"
        with pytest.raises(MCPError, match="unauthorized") as error:
            await agent.client.list_tools()
    assert SECRET not in f"{told}{error.value}{(site.folder / 'local.log').read_text()}"


async def test_progress_of_a_long_wait_reaches_the_agent(site: Site, mode: str) -> None:
    server = site.serve("--port", "0")
    heard: list[str | None] = []

    async def told(progress: float, total: float | None, message: str | None) -> None:
        heard.append(message)

    async with agent_at(site, server.url, mode=mode) as agent:
        wait = {"agent_id": "nobody", "timeout_s": 6}
        await agent.client.call_tool("await_workflow_event", wait, progress_callback=told)
    assert heard == ["Nothing yet: waited 5 of 6 seconds."]


async def test_an_agent_that_listens_to_a_run_hears_of_changes_also_after_the_server_was_away(site: Site) -> None:
    server = site.serve("--port", str(free_port()))
    async with agent_at(site, server.url) as agent:
        run = (await agent.ok("start_run", workflow_json=ONE_TASK))["workflow_id"]
        uri = f"dcf://runs/{run}"
        async with agent.client.listen(resource_subscriptions=[uri]) as heard:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_keep_changing, server.url, run)
                with anyio.fail_after(60):
                    assert await anext(heard) == ResourceUpdated(uri=uri)
                tasks.cancel_scope.cancel()
            server.process.kill()
            server.process.wait()
            await anyio.to_thread.run_sync(site.serve, "--port", server.port)
            with anyio.fail_after(60):
                assert await anext(heard) == ResourceUpdated(uri=uri)
