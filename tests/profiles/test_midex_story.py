"""The seed's example as one flow: phases, steps, logs, artifacts, findings, by two clients; dcf reads it."""

from typing import Any

import pytest

from dcf.application.application import Application
from dcf.core.access.model import Scope
from tests.profiles.clients import ProfileClient
from tests.profiles.conftest import Connect
from tests.profiles.test_midex import EVERYBODY, STEP_OUTPUT, WORKFLOW_OUTPUT, defined
from tests.tools.access import ask, key_of

pytestmark = pytest.mark.anyio

PHASES = [
    {"phase": "analysis", "agent": "analyst", "description": "Look at it."},
    {"phase": "build", "agent": "developer", "description": "Build it.", "dependsOn": ["analysis"]},
]


async def test_an_execution_is_carried_out_by_two_clients_and_dcf_reads_it(site: Application, connect: Connect) -> None:
    key = site.keys.create(EVERYBODY, agent_id=None, label=None, life_s=None, profile="midex").text
    about = {"tags_json": ["feature"], "keywords_json": ["ship"], "attributes_json": {"phases": PHASES}}
    await defined(site, "workflow", "feature-development", "# Feature", **about)
    async with connect(key) as first, connect(key) as second:
        (workflow,) = await first.twice("search_workflows", keywords=["ship"], tags=["feature"])
        assert workflow["item"]["name"] == "feature-development"
        started = await first.ok(
            "start_execution", workflowName="feature-development", projectPath="/srv/shop", timeoutMs=3_600_000
        )
        assert [phase["agent"] for phase in started["phases"]] == ["analyst", "developer"]
        run = started["id"]
        await second.twice("transition_workflow_state", executionId=run, newState="running")
        step = await second.twice("start_step", executionId=run, stepName="analyze", phaseName="analysis")
    async with connect(key) as first, connect(key) as second:
        assert [execution["id"] for execution in await first.twice("get_incomplete_executions")] == [run]
        await _carry_out(first, second, run, step)
    await _read_with_dcf(site, run)


async def _carry_out(first: ProfileClient, second: ProfileClient, run: str, step: dict[str, Any]) -> None:
    line = {"executionId": run, "layer": "workflow", "layerId": run, "logLevel": "info", "message": "Started"}
    await first.twice("log_execution", **line)
    await second.twice("complete_step", stepId=step["id"], output=STEP_OUTPUT)
    build = await second.twice("start_step", executionId=run, stepName="build", dependsOn=[step["id"]])
    await second.twice("complete_step", stepId=build["id"], error="No compiler.")
    again = await first.twice("start_step", executionId=run, stepName="build", dependsOn=[step["id"]])
    await first.twice("complete_step", stepId=again["id"], output=STEP_OUTPUT)
    report = {"executionId": run, "name": "analysis-report.md", "contentType": "markdown", "content": "# Report"}
    await first.twice("store_artifact", **report)
    details = {"severity": "high", "category": "security", "description": "User input not sanitized"}
    await first.twice("store_finding", executionId=run, title="SQL Injection", tags=["security", "sql"], **details)
    findings = await second.twice("query_findings", severity=["high", "critical"], searchText="injection", limit=50)
    assert [finding["title"] for finding in findings] == ["SQL Injection"]
    await first.twice("complete_execution", executionId=run, output=WORKFLOW_OUTPUT)
    execution = await second.twice(
        "get_execution_details", executionId=run, includeLogs=True, includeArtifacts=True, includeFindings=True
    )
    assert [step["state"] for step in execution["steps"]] == ["completed", "completed"]
    assert [line["message"] for line in execution["logs"]] == ["Started"]
    assert {artifact["name"] for artifact in execution["artifacts"]} == {"analysis-report.md"}
    assert (execution["execution"]["state"], execution["execution"]["output"]) == ("completed", WORKFLOW_OUTPUT)
    listed = await first.twice("get_execution_history", state="completed", limit=20)
    assert [execution["id"] for execution in listed] == [run]


async def _read_with_dcf(site: Application, run: str) -> None:
    reader = key_of(Scope.READ)
    read = await ask(site, reader, "read_workflow_control_plane", workflow_id=run)
    assert (read["meta"]["workflow_name"], read["meta"]["status"]) == ("feature-development", "succeeded")
    assert read["states"]["build"]["attempts"] == 2
    listed = await ask(site, reader, "list_artifacts", workflow_id=run)
    assert listed["total"] == 1
