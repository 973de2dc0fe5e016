"""The seed's example as one flow: phases, steps, logs, artifacts, findings, by two clients; dcf reads it."""

from typing import Any

import pytest

from dcf.application import Application
from dcf.core.access import Caller, Scope
from tests.profiles.clients import ProfileClient
from tests.profiles.conftest import Connect
from tests.profiles.test_midex import EVERYBODY, STEP_OUTPUT, WORKFLOW_OUTPUT
from tests.tools.access import ask

pytestmark = pytest.mark.anyio

PHASES = [
    {"phase": "analysis", "agent": "analyst", "description": "Look at it."},
    {"phase": "build", "agent": "developer", "description": "Build it.", "dependsOn": ["analysis"]},
]


async def test_an_execution_is_carried_out_by_two_clients_and_dcf_reads_it(site: Application, connect: Connect) -> None:
    key = site.keys.create(EVERYBODY, agent_id=None, label=None, life_s=None, profile="midex").text
    await _define(site)
    async with connect(key) as one, connect(key) as other:
        (found,) = await one.twice("search_workflows", keywords=["flow"], tags=["feature"])
        assert found["item"]["name"] == "feature-development"
        started = await one.ok(
            "start_execution", workflowName="feature-development", projectPath="/srv/shop", timeoutMs=3_600_000
        )
        assert [phase["agent"] for phase in started["phases"]] == ["analyst", "developer"]
        run = started["id"]
        await other.twice("transition_workflow_state", executionId=run, newState="running")
        step = await other.twice("start_step", executionId=run, stepName="analyze", phaseName="analysis")
    async with connect(key) as one, connect(key) as other:
        assert run in [found["id"] for found in await one.twice("get_incomplete_executions")]
        await _carry_out(one, other, run, step)
    await _read_with_dcf(site, run)


async def _define(site: Application) -> None:
    planner = Caller(name="local", scopes=frozenset(Scope))
    about = {"tags_json": ["feature"], "keywords_json": ["flow"], "attributes_json": {"phases": PHASES}}
    answer = await ask(
        site, planner, "put_definition", kind="workflow", name="feature-development", content="# Feature", **about
    )
    assert answer.code == "ok", answer.text


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
    listed = await one.twice("get_execution_history", state="completed", limit=20)
    assert run in [execution["id"] for execution in listed]


async def _read_with_dcf(site: Application, run: str) -> None:
    reader = Caller(name="local", scopes=frozenset({Scope.READ}))
    read = await ask(site, reader, "read_workflow_control_plane", workflow_id=run)
    assert (read["meta"]["workflow_name"], read["meta"]["status"]) == ("feature-development", "succeeded")
    assert read["states"]["build"]["attempts"] == 2
    listed = await ask(site, reader, "list_artifacts", workflow_id=run)
    assert listed["total"] == 2
