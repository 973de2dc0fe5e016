"""Gates whose verdict is a command's exit code: run on the agent's machine with the call that completes the state."""

import os
import signal

import anyio
import anyio.to_thread
import pytest
from mcp.shared.exceptions import MCPError

from tests.support.waiting import wait_until
from tests.system.local.conftest import Agent, Connecting, Json, Repository
from tests.system.processes.site import is_alive

pytestmark = [pytest.mark.anyio, pytest.mark.processes]

CHECK = {"name": "tests", "kind": "command", "command": "./check.sh --all", "max_attempts": 5}
ALLOW = ("--allow-command", "./check.sh *")


def gated(*gates: dict[str, Json]) -> dict[str, Json]:
    return {"asl": {"StartAt": "A", "States": {"A": {"Type": "Task", "Gates": list(gates), "End": True}}}}


async def held(agent: Agent, *gates: dict[str, Json]) -> dict[str, Json]:
    run = await agent.ok("start_run", workflow_json=gated(*gates), agents_map_json={"A": "me"})
    mine = {"workflow_id": run["workflow_id"], "state": "A"}
    taken = await agent.ok("acquire_state_lease", **mine, owner_agent_id="me")
    return {**mine, "lease_token": taken["lease"]["token"], "new_status": "succeeded", "output_json": {"n": 1}}


def check(repository: Repository, code: int) -> None:
    repository.write("check.sh", f"#!/bin/sh\necho checked $1\nexit {code}\n").chmod(0o755)


async def test_a_completion_runs_the_command_and_is_sent_back_until_it_passes(
    connecting: Connecting, repository: Repository
) -> None:
    check(repository, 2)
    async with connecting("--root", str(repository.root), *ALLOW) as agent:
        mine = await held(agent, CHECK)
        answer = await agent.call("update_workflow_control_plane", **mine)
        assert answer["code"] == "needs_work"
        (failed,) = answer["failed_criteria"]
        assert (failed["exit_code"], failed["output_tail"]) == (2, "checked --all\n")
        check(repository, 0)
        answer = await agent.ok("update_workflow_control_plane", **mine, request_id="mended")
        (ran,) = answer["gates_run"]
        assert (ran["verdict"], ran["decided"], answer["root"]) == ("pass", "ok", str(repository.root))
        read = await agent.ok("read_workflow_control_plane", workflow_id=mine["workflow_id"])
        assert read["meta"]["status"] == "succeeded"


async def test_no_command_from_the_server_runs_that_nobody_allowed(
    connecting: Connecting, repository: Repository
) -> None:
    """Neither with the completion nor when asked for: it is unavailable, which is no failure of the work."""
    repository.write("check.sh", "#!/bin/sh\ntouch ran\n").chmod(0o755)
    async with connecting("--root", str(repository.root)) as agent:
        mine = await held(agent, CHECK)
        answer = await agent.call("update_workflow_control_plane", **mine)
        assert answer["code"] == "review_running"
        (ran,) = (await agent.ok("local_gates", workflow_id=mine["workflow_id"]))["gates"]
        assert (ran["verdict"], ran["exit_code"]) == ("unavailable", None)
        assert "Nobody allowed" in ran["why"]
        assert (await agent.call("update_workflow_control_plane", **mine))["code"] == "review_running"
    assert not (repository / "ran").exists()


async def test_another_helper_that_may_runs_what_waits(connecting: Connecting, repository: Repository) -> None:
    """The first is gone; what waits for a verdict is with the server."""
    check(repository, 0)
    async with connecting("--root", str(repository.root)) as agent:
        mine = await held(agent, CHECK)
        await agent.call("update_workflow_control_plane", **mine)
    async with connecting("--root", str(repository.root), *ALLOW) as agent:
        (ran,) = (await agent.ok("local_gates", workflow_id=mine["workflow_id"], state="A"))["gates"]
        assert (ran["verdict"], ran["decided"]) == ("pass", "ok")
        assert (await agent.ok("local_gates", workflow_id=mine["workflow_id"]))["gates"] == []
        assert (await agent.ok("update_workflow_control_plane", **mine))["repeated"] is True


async def test_gates_of_other_kinds_and_of_other_agents_are_left_to_them(
    connecting: Connecting, repository: Repository
) -> None:
    check(repository, 0)
    review = {"name": "review", "kind": "review", "reviewers": ["rita"]}
    theirs = {**CHECK, "name": "ci", "reviewers": ["ci-1"]}
    async with connecting("--root", str(repository.root), *ALLOW) as agent:
        mine = await held(agent, review, theirs)
        answer = await agent.call("update_workflow_control_plane", **mine)
        assert (answer["code"], "gates_run" in answer) == ("review_running", False)
        assert (await agent.ok("local_gates", workflow_id=mine["workflow_id"]))["gates"] == []
        (ran,) = (await agent.ok("local_gates", workflow_id=mine["workflow_id"], agent_id="ci-1"))["gates"]
        assert (ran["gate"], ran["decided"]) == ("ci", "ok")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP], ids=str)
async def test_a_command_does_not_outlive_a_helper_that_is_ended(
    connecting: Connecting, repository: Repository, number: signal.Signals
) -> None:
    repository.write("check.sh", "#!/bin/sh\necho $$ $PPID > begun.part\nmv begun.part begun\nsleep 60\n").chmod(0o755)
    begun = repository / "begun"
    async with connecting("--root", str(repository.root), *ALLOW) as agent, anyio.create_task_group() as tasks:

        async def complete() -> None:
            with pytest.raises(MCPError):
                await agent.call("update_workflow_control_plane", **await held(agent, CHECK))

        tasks.start_soon(complete)
        await anyio.to_thread.run_sync(wait_until, begun.exists)
        command, helper = map(int, begun.read_text().split())
        os.kill(helper, number)
        await anyio.to_thread.run_sync(wait_until, lambda: not is_alive(command))
