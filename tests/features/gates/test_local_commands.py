"""Gates whose verdict is a command's exit code: run on the agent's machine with the call that completes the state."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from dcf.application.application import Application, open_application
from dcf.core.access.model import Scope
from dcf.settings.process import Settings
from dcf.tools.mcp.server import build_http_app
from tests.local.helper import Agent, Connecting, Json, Options, agent_of
from tests.support.redis.restricted import RestrictedRedis
from tests.tools.calls import serving

pytestmark = pytest.mark.anyio

CHECK = {"name": "tests", "kind": "command", "command": "./check.sh --all", "max_attempts": 5}
ALLOW = ("./check.sh --all",)


def gated(*gates: dict[str, Json]) -> dict[str, Json]:
    return {"asl": {"StartAt": "A", "States": {"A": {"Type": "Task", "Gates": list(gates), "End": True}}}}


async def held(agent: Agent, *gates: dict[str, Json]) -> dict[str, Json]:
    run = await agent.ok("start_run", workflow_json=gated(*gates), agents_map_json={"A": "me"})
    mine = {"workflow_id": run["workflow_id"], "state": "A"}
    taken = await agent.ok("acquire_state_lease", **mine, owner_agent_id="me")
    return {**mine, "lease_token": taken["lease"]["token"], "new_status": "succeeded", "output_json": {"n": 1}}


def check(project: Path, code: int) -> None:
    write_check(project, f"echo checked $1\nexit {code}")


def write_check(project: Path, script: str) -> None:
    (project / "check.sh").write_text(f"#!/bin/sh\n{script}\n")
    (project / "check.sh").chmod(0o755)


async def test_a_completion_runs_the_command_and_is_sent_back_until_it_passes(
    connecting: Connecting, project: Path
) -> None:
    check(project, 2)
    async with connecting(project, allow=ALLOW) as agent:
        mine = await held(agent, CHECK)
        answer = await agent.call("update_workflow_control_plane", **mine)
        assert answer["code"] == "needs_work"
        (failed,) = answer["failed_criteria"]
        assert (failed["exit_code"], failed["output_tail"]) == (2, "checked --all\n")
        check(project, 0)
        answer = await agent.ok("update_workflow_control_plane", **mine, request_id="mended")
        (ran,) = answer["gates_run"]
        assert (ran["verdict"], ran["decided"], answer["root"]) == ("pass", "ok", str(project))
        read = await agent.ok("read_workflow_control_plane", workflow_id=mine["workflow_id"])
        assert read["meta"]["status"] == "succeeded"


async def test_no_command_from_the_server_runs_that_nobody_allowed(connecting: Connecting, project: Path) -> None:
    """Neither with the completion nor when asked for: it is unavailable, which is no failure of the work."""
    write_check(project, "touch ran")
    async with connecting(project) as agent:
        mine = await held(agent, CHECK)
        answer = await agent.call("update_workflow_control_plane", **mine)
        assert answer["code"] == "review_running"
        (ran,) = (await agent.ok("local_gates", workflow_id=mine["workflow_id"]))["gates"]
        assert (ran["verdict"], ran["exit_code"]) == ("unavailable", None)
        assert "Not allowed here" in ran["why"]
        assert (await agent.call("update_workflow_control_plane", **mine))["code"] == "review_running"
    assert not (project / "ran").exists()


async def test_another_helper_that_may_runs_what_waits(connecting: Connecting, project: Path) -> None:
    """The first is gone; what waits for a verdict is with the server."""
    check(project, 0)
    async with connecting(project) as agent:
        mine = await held(agent, CHECK)
        await agent.call("update_workflow_control_plane", **mine)
    async with connecting(project, allow=ALLOW) as agent:
        (ran,) = (await agent.ok("local_gates", workflow_id=mine["workflow_id"], state="A"))["gates"]
        assert (ran["verdict"], ran["decided"]) == ("pass", "ok")
        assert (await agent.ok("local_gates", workflow_id=mine["workflow_id"]))["gates"] == []
        assert (await agent.ok("update_workflow_control_plane", **mine))["repeated"] is True


async def test_gates_of_other_kinds_and_of_other_agents_are_left_to_them(connecting: Connecting, project: Path) -> None:
    check(project, 0)
    review = {"name": "review", "kind": "review", "reviewers": ["rita"]}
    theirs = {**CHECK, "name": "ci", "reviewers": ["ci-1"]}
    async with connecting(project, allow=ALLOW) as agent:
        mine = await held(agent, review, theirs)
        answer = await agent.call("update_workflow_control_plane", **mine)
        assert (answer["code"], "gates_run" in answer) == ("review_running", False)
        assert (await agent.ok("local_gates", workflow_id=mine["workflow_id"]))["gates"] == []
        (ran,) = (await agent.ok("local_gates", workflow_id=mine["workflow_id"], agent_id="ci-1"))["gates"]
        assert (ran["gate"], ran["decided"]) == ("ci", "ok")


@pytest.fixture
def application(server: RestrictedRedis) -> Iterator[Application]:
    """A server that asks for keys."""
    with open_application(Settings.model_validate({"redis_url": server.url})) as opened:
        yield opened


def key(application: Application, *scopes: Scope) -> str:
    return application.keys.create((Scope.READ, *scopes), agent_id=None, label=None, life_s=None).text


async def test_that_a_command_passed_is_no_authors_word_to_give(application: Application, project: Path) -> None:
    """Neither through the helper with the key of the agent, nor by a call of its own; that it failed is."""
    check(project, 1)
    with serving(build_http_app(application)) as url:
        author = key(application, Scope.PLAN, Scope.WORK)
        options = Options(root=project, allow=ALLOW, key=author)
        async with agent_of(f"{url}/mcp", options) as agent:
            mine = await held(agent, CHECK)
            assert (await agent.call("update_workflow_control_plane", **mine))["code"] == "needs_work"
            check(project, 0)
            answer = await agent.call("update_workflow_control_plane", **mine, request_id="mended")
            assert answer["code"] == "review_running"
            (ran,) = answer["gates_run"]
            assert (ran["verdict"], ran["decided"]) == ("pass", "author_may_not_review")
            assert "DCF_HELPER_KEY" in ran["hint"]
            (gate,) = (await agent.ok("list_gates", workflow_id=mine["workflow_id"]))["gates"]
            word = {"workflow_id": mine["workflow_id"], "state": "A", "gate": "tests", "verdict": "pass"}
            word |= {"content_sha256": gate["content_sha256"], "exit_code": 0}
            for name in ({}, {"agent_id": "me"}, {"agent_id": "somebody"}):
                assert (await agent.call("decide_gate", **word, **name))["code"] in {
                    "author_may_not_review",
                    "not_a_reviewer",
                }
        colleague = Options(key=key(application, Scope.WORK))
        async with agent_of(f"{url}/mcp", colleague) as other:
            for name in ({}, {"agent_id": "me"}, {"agent_id": "somebody"}):
                assert (await other.call("decide_gate", **word, **name))["code"] == "not_a_reviewer"


async def test_a_helper_with_a_key_of_its_own_lets_the_command_pass(application: Application, project: Path) -> None:
    check(project, 0)
    with serving(build_http_app(application)) as url:
        author, attesting = key(application, Scope.PLAN, Scope.WORK), key(application, Scope.ATTEST)
        options = Options(root=project, allow=ALLOW, key=author, helper_key=attesting)
        async with agent_of(f"{url}/mcp", options) as agent:
            mine = await held(agent, CHECK)
            answer = await agent.ok("update_workflow_control_plane", **mine)
            (ran,) = answer["gates_run"]
            assert (ran["verdict"], ran["decided"]) == ("pass", "ok")
        options = Options(root=project, allow=ALLOW, key=author, helper_key=author)
        async with agent_of(f"{url}/mcp", options) as agent:
            (ran,) = (await agent.call("update_workflow_control_plane", **await held(agent, CHECK)))["gates_run"]
            assert ran["decided"] == "author_may_not_review"
