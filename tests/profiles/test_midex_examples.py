"""midex's tools with the document's examples as they are printed, and the words of what is refused."""

import secrets
from typing import Any

import pytest

from dcf.application.application import Application
from dcf.core.access.model import Scope
from tests.profiles.clients import ProfileClient
from tests.profiles.test_midex import client, kept, started
from tests.tools.access import ask, key_of

__all__ = ["client"]
pytestmark = pytest.mark.anyio


async def test_a_line_is_logged_after_the_end_of_an_execution(client: ProfileClient) -> None:
    """The document's example logs to the execution that the example before completed."""
    run = await started(client)
    line = {"executionId": run, "layer": "workflow", "logLevel": "info"}
    early = await client.ok("log_execution", **line, layerId="a", message="Begun")
    await client.ok("complete_execution", executionId=run)
    late = await client.twice("log_execution", **line, layerId="b", message="Done", context={"n": 1})
    assert (late["message"], late["context"], late["layer"]) == ("Done", {"n": 1}, "workflow")
    assert set(late) == set(early)
    assert (await client.ok("log_execution", **line, layerId="b", message="Other"))["message"] == "Done"
    assert (await client.ok("log_execution", **line, layerId="a", message="Other"))["message"] == "Begun"
    read = await client.ok("get_execution_details", executionId=run, includeLogs=True, includeArtifacts=True)
    assert ([entry["message"] for entry in read["logs"]], read["artifacts"]) == (["Begun", "Done"], [])


async def test_an_unknown_project_has_no_executions_and_no_findings_but_global_ones(client: ProfileClient) -> None:
    run = (await client.ok("start_execution", workflowName="feature", projectPath="/srv/known"))["id"]
    await kept(client, run, "Own", category="unknown-project")
    await kept(client, run, "Everywhere", category="unknown-project", isGlobal=True)

    async def titles(**more: Any) -> list[str]:
        answer = await client.ok("query_findings", category="unknown-project", **more)
        return [finding["title"] for finding in answer]

    assert await titles(projectId=1) == ["Everywhere"]
    assert await titles(projectId=1, isGlobal=False) == []
    assert await titles(isGlobal=False) == ["Own"]
    assert await client.ok("get_execution_history", projectId=1) == []
    refused = await client.failed("start_execution", workflowName="feature", projectId=1)
    assert "unknown_project" in refused.text


async def test_a_contract_of_draft_07_is_checked(client: ProfileClient, site: Application) -> None:
    caller, project = key_of(*Scope), f"p-{secrets.token_hex(4)}"
    content = {"$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "required": ["verdict"]}
    contract = {"kind": "contract", "name": "StepOutput", "project": project}
    assert (await ask(site, caller, "put_definition", **contract, content=content)).code == "ok"
    assert (await ask(site, caller, "put_project", project=project, paths_json=[f"/srv/{project}"])).code == "ok"
    run = await started(client, projectPath=f"/srv/{project}")
    step = await client.ok("start_step", executionId=run, stepName="look")
    refused = await client.failed("complete_step", stepId=step["id"], output={"summary": "x"})
    assert "verdict" in refused.text
    assert (await client.ok("complete_step", stepId=step["id"], output={"verdict": "fine"}))["state"] == "completed"
    assert (await ask(site, caller, "put_definition", **contract, content={"type": 5})).code == "ok"
    refused = await client.failed("start_step", executionId=run, stepName="again")
    assert "The contract StepOutput of the catalogue is no JSON Schema" in refused.text


async def test_refusals_speak_of_executions_and_steps(client: ProfileClient) -> None:
    run = await started(client)
    await client.ok("start_step", executionId=run, stepName="run of a state")
    refused = await client.failed("complete_execution", executionId=run)
    assert "1 of its steps have not ended well: 'run of a state'. Complete these steps." in refused.text
    refused = await client.failed("start_step", executionId="nope", stepName="x")
    assert refused.text.startswith("Error: There is no execution 'nope'. get_execution_history lists the executions.")
