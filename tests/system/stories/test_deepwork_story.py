"""The flow of the seed: two agents, each with the helper on its machine, carry out a workflow while servers die."""

import json
from pathlib import Path
from typing import Any

import pytest
from mcp.client import Client

from dcf.application.application import open_application
from dcf.settings.process import Settings
from dcf.tools.mcp.server import build_server
from tests.profiles.test_deepwork import JOB
from tests.system.local.conftest import Agent, Repository, agent_at
from tests.system.processes.site import Server, Site, finish
from tests.system.stories.stories import kill, place
from tests.tools.calls import Tools

pytestmark = [pytest.mark.anyio, pytest.mark.processes]

BRANCH = "deepwork/competitive_research-full_analysis"
REASON = {"quality_review_override_reason": "Both agents have read it."}


async def test_a_workflow_is_carried_out_by_two_agents_while_servers_die_and_dcf_reads_it(tmp_path: Path) -> None:
    ada, bob = project(tmp_path / "ada"), project(tmp_path / "bob")
    with place() as site:
        first, second = serve(site), serve(site)
        async with helper(site, first, ada) as item, helper(site, second, bob) as two:
            for agent, repository, label in ((item, ada, "acme"), (two, bob, "globex")):
                (job,) = (await agent.call("get_workflows"))["jobs"]
                assert job["workflows"] == [{"name": "full_analysis", "summary": "All of it"}]
                begun = (await start(agent, label))["begin_step"]
                assert begun["step_instructions"] == "# Identify\nFind them.\n"
                assert (begun["branch_name"], begun["branch_status"]) == (f"{BRANCH}-{label}", "created")
                assert repository.git("branch", "--show-current") == f"{BRANCH}-{label}"
                assert (await start(agent, label))["begin_step"] == {**begun, "branch_status": "current"}
            missing = await item.client.call_tool("finished_step", {"outputs": ["competitors.md"]})
            assert missing.is_error
            assert "does not exist" in str(missing.content)
            await step(item, ada, "competitors.md", "interviews")
            kill(first)
            third = site.serve("--port", first.port, "--profile", "deepwork", DCF_ALLOW_OPERATOR="1")
            await step(two, bob, "competitors.md", "interviews")
            await step(item, ada, "interviews.md", "numbers", **REASON)
            kill(second)
            waits = await item.call("finished_step", outputs=["numbers.csv"], **written(ada, "numbers.csv"))
            assert (waits["status"], waits["failed_criteria"]) == ("needs_work", [])
            await step(item, ada, "numbers.csv", "report", **REASON)
            done = await twice(item, "finished_step", outputs=["report.md"], **written(ada, "report.md"))
            assert done["status"] == "workflow_complete"
            assert done["all_outputs"] == ["competitors.md", "interviews.md", "numbers.csv", "report.md"]
        kill(third)
        await _read_with_dcf(site)


def project(folder: Path) -> Repository:
    """A repository with a job, one of whose steps has its instructions in a file."""
    folder.mkdir()
    repository = Repository(folder.resolve())
    repository.git("init", "--quiet", "--initial-branch", "main")
    job = JOB.replace(
        'instructions: "# Identify\\nFind the competitors. {% raw %}"', "instructions_file: steps/identify.md"
    )
    assert "instructions_file" in job
    repository.write(".deepwork/jobs/competitive_research/job.yml", job)
    repository.write(".deepwork/jobs/competitive_research/steps/identify.md", "# Identify\nFind them.\n")
    repository.commit("job")
    return repository


def serve(site: Site) -> Server:
    return site.serve("--port", "0", "--profile", "deepwork", DCF_ALLOW_OPERATOR="1")


def helper(site: Site, server: Server, repository: Repository) -> Any:
    return agent_at(site, server.url, "--root", str(repository.root), "--profile", "deepwork", "--deadline", "60")


def written(repository: Repository, name: str) -> dict[str, Any]:
    repository.write(name, f"what {name} says")
    return {}


async def start(agent: Agent, label: str) -> dict[str, Any]:
    wish = {"goal": "Know them", "job_name": "competitive_research", "workflow_name": "full_analysis"}
    return await agent.call("start_workflow", **wish, instance_id=label)


async def twice(agent: Agent, tool: str, **arguments: Any) -> dict[str, Any]:
    first = await agent.call(tool, **arguments)
    assert await agent.call(tool, **arguments) == first
    return first


async def step(agent: Agent, repository: Repository, output: str, following: str, **more: Any) -> None:
    """Finish a step, twice as if the answer was lost; the next one begins once."""
    repository.write(output, f"what {output} says")
    answer = await twice(agent, "finished_step", outputs=[output], **more)
    assert (answer["status"], answer["begin_step"]["step_id"]) == ("next_step", following)


async def _read_with_dcf(site: Site) -> None:
    with open_application(Settings(redis_url=None, data_dir=site.data_dir)) as opened:
        async with Client(build_server(opened)) as client:
            tools = await Tools.of(client)
            runs = (await tools.ok("list_runs", tag="deepwork"))["runs"]
            assert [listed["status"] for listed in runs] == ["running", "succeeded"]
            run = runs[1]["workflow_id"]
            read = await tools.ok("read_workflow_control_plane", workflow_id=run)
            assert read["meta"]["input"]["goal"] == "Know them"
            assert set(read["outputs"]["report"]["file_hashes"]) == {"report.md"}
            journal = await tools.ok("read_journal", workflow_id=run, kind="decision")
            assert len(journal["entries"]) == 2
    output, code = finish(site.dcf("show", run, "--json"))
    assert code == 0
    assert json.loads(output)["meta"]["status"] == "succeeded"
    events = [event["type"] for event in site.printed_events(run)]
    assert events.count("StateSucceeded") == 4
    assert events.count("GateOverridden") == 2
