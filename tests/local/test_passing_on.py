"""A call of the server through the helper: its progress, its errors, and another helper that completes the work."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from mcp.shared.exceptions import MCPError

from dcf.application.application import Application, open_application
from dcf.settings.process import Settings
from dcf.tools.mcp.server import build_http_app
from tests.local.helper import ONE_TASK, Connecting, Options, agent_of
from tests.support.redis.restricted import RestrictedRedis
from tests.tools.calls import serving

pytestmark = pytest.mark.anyio

SECRET = "dcf_this_is_secret_0123456789"


@pytest.fixture(params=["off"])
def application(server: RestrictedRedis, request: pytest.FixtureRequest) -> Iterator[Application]:
    """dcf that asks for no API keys, unless a test wants it to."""
    settings = Settings.model_validate({"redis_url": server.url, "auth": request.param})
    with open_application(settings) as opened:
        yield opened


async def test_the_progress_of_a_long_wait_reaches_the_agent(
    connecting: Connecting, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dcf.verbs.progress.EVERY_S", 0.05)
    messages: list[str | None] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        messages.append(message)

    async with connecting(mode=mode) as agent:
        while not messages:
            wait = {"agent_id": "nobody", "timeout_s": 0.5}
            await agent.client.call_tool("await_workflow_event", wait, progress_callback=note)
    assert messages[0] == "Nothing yet: waited 0.05 of 0.5 seconds."


async def test_another_helper_completes_the_state_that_one_leased(connecting: Connecting, project: Path) -> None:
    async with connecting() as agent:
        run = (await agent.ok("start_run", workflow_json=ONE_TASK, agents_map_json={"A": "me"}))["workflow_id"]
        answer = await agent.ok("claim_ready_state", workflow_id=run, owner_agent_id="me")
    mine = {"workflow_id": run, "state": "A", "lease_token": answer["work"]["lease_token"], "new_status": "succeeded"}
    async with connecting(project) as agent:
        output = {"files": ["README.md"]}
        await agent.ok("update_workflow_control_plane", **mine, output_json=output, root=str(project))


async def test_without_a_server_the_error_says_so_and_local_tools_work(
    application: Application, project: Path, mode: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    with ExitStack() as stack:
        url = stack.enter_context(serving(build_http_app(application)))
        options = Options(root=project, key=SECRET, deadline_s=0)
        async with agent_of(f"{url}/mcp", options, mode=mode) as agent:
            await agent.client.list_tools()
            stack.close()
            answer = await agent.call("list_runs")
            assert answer["code"] == "server_unreachable"
            assert "--server" in answer["hint"]
            with pytest.raises(MCPError, match="server_unreachable") as error:
                await agent.client.list_tools()
            assert (await agent.ok("local_files", paths=["README.md"]))["root"] == str(project)
            shown = f"{answer}{error.value}{agent.client.instructions}"
    assert SECRET not in shown + caplog.text


@pytest.mark.parametrize("application", ["keys"], indirect=True)
async def test_a_wrong_key_is_reported_and_never_shown(
    application: Application, mode: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    with serving(build_http_app(application)) as url:
        async with agent_of(f"{url}/mcp", Options(key=SECRET), mode=mode) as agent:
            answer = await agent.call("list_runs")
            with pytest.raises(MCPError, match="unauthorized") as error:
                await agent.client.list_tools()
    assert answer["code"] == "unauthorized"
    assert SECRET not in f"{answer}{error.value}{caplog.text}"
