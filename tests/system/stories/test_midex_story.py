"""The seed's examples: content from a directory, an execution with steps, logs, artifacts, findings; servers die."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.profiles.clients import ProfileClient
from tests.profiles.test_midex import STEP_OUTPUT, WORKFLOW_OUTPUT
from tests.system.processes.site import Site, finish
from tests.system.stories.stories import client_of, kill, place
from tests.tools.calls import Tools

pytestmark = [pytest.mark.anyio, pytest.mark.processes]

PROFILE = ("--port", "0", "--profile", "midex")
WORKFLOW = """---
name: feature-development
description: From a wish to code.
tags: [feature]
keywords: [ship]
complexity: moderate
phases:
  - phase: analysis
    agent: analyst
    description: Look at it.
  - phase: build
    agent: developer
    description: Build it.
    dependsOn: [analysis]
---
# Feature development
"""


async def test_an_execution_is_carried_out_by_two_clients_while_servers_die_and_dcf_reads_it() -> None:
    with place() as site:
        _load(site)
        first, second = site.serve(*PROFILE), site.serve(*PROFILE)
        async with client_of(first) as one, client_of(second) as other:
            (found,) = await one.twice("search_workflows", keywords=["ship"], tags=["feature"])
            assert found["item"]["name"] == "feature-development"
            started = await one.ok(
                "start_execution", workflowName="feature-development", projectPath="/srv/shop", timeoutMs=3_600_000
            )
            assert [phase["agent"] for phase in started["phases"]] == ["analyst", "developer"]
            run = started["id"]
            await other.twice("transition_workflow_state", executionId=run, newState="running")
            step = await other.twice("start_step", executionId=run, stepName="analyze", phaseName="analysis")
        kill(first)
        kill(second)
        third = site.serve(*PROFILE)
        async with client_of(third) as one, client_of(third) as other:
            assert [found["id"] for found in await one.twice("get_incomplete_executions")] == [run]
            await _carry_out(one, other, run, step)
        kill(third)
        await _read_with_dcf(site, run)


def _load(site: Site) -> None:
    folder = site.folder / "content" / "workflows"
    folder.mkdir(parents=True)
    (folder / "feature.md").write_text(WORKFLOW)
    output, code = finish(site.dcf("catalogue", "load", str(Path(folder).parent)))
    assert code == 0, output


async def _carry_out(one: ProfileClient, other: ProfileClient, run: str, step: dict[str, Any]) -> None:
    line = {"executionId": run, "layer": "workflow", "layerId": run, "logLevel": "info", "message": "Started"}
    await one.twice("log_execution", **line)
    await other.twice("complete_step", stepId=step["id"], output=STEP_OUTPUT)
    build = await other.twice("start_step", executionId=run, stepName="build", dependsOn=[step["id"]])
    await other.twice("complete_step", stepId=build["id"], error="No compiler.")
    again = await one.twice("start_step", executionId=run, stepName="build", dependsOn=[step["id"]])
    await one.twice("complete_step", stepId=again["id"], output=STEP_OUTPUT)
    report = {"executionId": run, "name": "analysis-report.md", "contentType": "markdown", "content": "# Report"}
    await one.twice("store_artifact", **report)
    told = {"severity": "high", "category": "security", "description": "User input not sanitized"}
    await one.twice("store_finding", executionId=run, title="SQL Injection", tags=["security", "sql"], **told)
    found = await other.twice("query_findings", severity=["high", "critical"], searchText="injection", limit=50)
    assert [finding["title"] for finding in found] == ["SQL Injection"]
    await one.twice("complete_execution", executionId=run, output=WORKFLOW_OUTPUT)
    details = await other.twice(
        "get_execution_details", executionId=run, includeLogs=True, includeArtifacts=True, includeFindings=True
    )
    assert [one["state"] for one in details["steps"]] == ["completed", "completed"]
    assert [one["message"] for one in details["logs"]] == ["Started"]
    assert {one["name"] for one in details["artifacts"]} == {"analysis-report.md", "output"}
    assert details["execution"]["state"] == "completed"
    assert [one["id"] for one in await one.twice("get_execution_history", state="completed", limit=20)] == [run]


async def _read_with_dcf(site: Site, run: str) -> None:
    server = site.serve("--port", "0")
    async with client_of(server) as found:
        tools = await Tools.of(found.client)
        read = await tools.ok("read_workflow_control_plane", workflow_id=run)
        assert read["meta"]["workflow_name"] == "feature-development"
        assert read["states"]["build"]["attempts"] == 2
        listed = await tools.ok("list_artifacts", workflow_id=run)
        assert listed["total"] == 2
    output, code = finish(site.dcf("show", run, "--json"))
    assert code == 0
    assert json.loads(output)["meta"]["status"] == "succeeded", output
