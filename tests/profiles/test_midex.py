"""midex's tools over MCP: what the original lost is kept, and what it let pass is refused."""

import secrets
from collections.abc import AsyncIterator, Mapping
from dataclasses import field
from typing import Any

import pytest

from dcf.application.application import Application
from dcf.core.access.model import Scope
from dcf.profiles.midex.profile import PROFILE
from dcf.settings.process import Settings
from dcf.tools.mcp.profile_calls import NativeTools, call_profile
from dcf.values.records import record
from dcf.verbs.limits import meter_of
from tests.profiles.clients import ProfileClient
from tests.profiles.conftest import Connect
from tests.profiles.contract import MIDEX
from tests.support.tables import rows
from tests.tools.access import ask, key_of

pytestmark = pytest.mark.anyio

EVERYBODY = (Scope.READ, Scope.WORK, Scope.PLAN)
STEP_OUTPUT = {"summary": "Analysis complete", "artifacts": [], "findings": [], "confidence": 0.95}
WORKFLOW_OUTPUT = {
    "summary": "Feature complete",
    "workflow": {"name": "feature"},
    "steps": [],
    "artifacts": [],
    "findings": [],
    "confidence": 0.92,
}


@pytest.fixture
async def client(site: Application, connect: Connect) -> AsyncIterator[ProfileClient]:
    key = site.keys.create(EVERYBODY, agent_id=None, label=None, life_s=None, profile="midex")
    async with connect(key.text) as result:
        yield result


async def started(client: ProfileClient, name: str = "feature", **more: Any) -> str:
    """Start an execution and make it running."""
    run = (await client.ok("start_execution", workflowName=name, **more))["id"]
    await moved(client, run, "running")
    return str(run)


async def moved(client: ProfileClient, run: str, state: str, **more: Any) -> None:
    assert await client.twice("transition_workflow_state", executionId=run, newState=state, **more) == {"success": True}


async def state_of(client: ProfileClient, run: str) -> str:
    return str((await client.ok("get_execution_details", executionId=run))["execution"]["state"])


async def test_an_execution_is_pending_until_it_is_made_running(client: ProfileClient) -> None:
    made = await client.ok("start_execution", workflowName="feature", metadata={"a": 1}, timeoutMs=3_600_000)
    assert MIDEX["start_execution"].answer <= set(made)
    assert (made["state"], made["metadata"], made["timeoutMs"]) == ("pending", {"a": 1}, 3_600_000)
    assert (made["startedAt"], made["completedAt"], made["error"]) == (None, None, None)
    refused = await client.failed("start_step", executionId=made["id"], stepName="early")
    assert "pending" in refused.text
    await moved(client, made["id"], "running")
    read = await client.ok("get_execution_details", executionId=made["id"])
    assert read["execution"]["state"] == "running"
    assert read["execution"]["timeoutAt"]


@rows(
    ("moves", "wrong"),
    [
        ([], "completed"),
        ([], "timeout"),
        (["running"], "pending"),
        (["running", "timeout"], "completed"),
        (["running", "completed"], "running"),
        (["running", "escalated"], "timeout"),
        (["failed"], "running"),
    ],
)
async def test_a_wrong_move_is_refused_with_from_and_to(client: ProfileClient, moves: list[str], wrong: str) -> None:
    run = (await client.ok("start_execution", workflowName="feature"))["id"]
    for state in moves:
        await moved(client, run, state)
    here = moves[-1] if moves else "pending"
    refused = await client.failed("transition_workflow_state", executionId=run, newState=wrong)
    assert f"{here} -> {wrong}" in refused.text
    assert refused.text.startswith("Error: ")
    assert await state_of(client, run) == here


@rows("state", ["timeout", "escalated"])
async def test_an_execution_that_stands_is_resumed(client: ProfileClient, state: str) -> None:
    run = await started(client)
    await moved(client, run, state, error="Somebody must look.")
    assert await state_of(client, run) == state
    assert run in {answer["id"] for answer in await client.ok("get_incomplete_executions", workflowName="feature")}
    refused = await client.failed("start_step", executionId=run, stepName="now")
    assert state in refused.text
    assert await client.twice("resume_execution", executionId=run) == {"success": True}
    assert await state_of(client, run) == "running"


async def test_resume_re_times_out(client: ProfileClient, site: Application) -> None:
    """The clock restarts: a resumed execution has all of its time again."""
    run = await started(client, timeoutMs=60_000)
    before = (await client.ok("get_execution_details", executionId=run))["execution"]["timeoutAt"]
    await moved(client, run, "timeout")
    stopped = (await client.ok("get_execution_details", executionId=run))["execution"]
    assert "timeoutAt" not in stopped
    assert run in {answer["id"] for answer in await client.ok("check_execution_timeout")}
    await client.ok("resume_execution", executionId=run)
    after = (await client.ok("get_execution_details", executionId=run))["execution"]["timeoutAt"]
    assert after > before
    assert run not in {answer["id"] for answer in await client.ok("check_execution_timeout")}


async def test_steps_wait_for_the_steps_they_depend_on(client: ProfileClient) -> None:
    run = await started(client)
    first = await client.twice("start_step", executionId=run, stepName="analyze", phaseName="analysis")
    assert set(first) == MIDEX["start_step"].answer
    assert (first["state"], first["phaseName"], first["stepName"]) == ("running", "analysis", "analyze")
    done = await client.twice("complete_step", stepId=first["id"], output=STEP_OUTPUT)
    assert (done["state"], done["output"]) == ("completed", STEP_OUTPUT)
    second = await client.ok("start_step", executionId=run, stepName="implement", dependsOn=[first["id"]])
    assert second["dependsOn"] == [first["id"]]
    assert second["state"] == "running"


async def test_unmet_deps_leave_a_burnt_row(client: ProfileClient) -> None:
    run = await started(client)
    first = await client.ok("start_step", executionId=run, stepName="analyze")
    refused = await client.failed("start_step", executionId=run, stepName="implement", dependsOn=[first["id"]])
    assert refused.text.startswith("Error: ")
    steps = (await client.ok("get_execution_details", executionId=run))["steps"]
    assert [step["stepName"] for step in steps] == ["analyze"]
    await client.ok("complete_step", stepId=first["id"])
    again = await client.ok("start_step", executionId=run, stepName="implement", dependsOn=[first["id"]])
    assert again["state"] == "running"


async def test_failed_step_name_is_burnt(client: ProfileClient, site: Application) -> None:
    run = await started(client)
    first = await client.ok("start_step", executionId=run, stepName="analyze")
    failed = await client.twice("complete_step", stepId=first["id"], error="It broke.")
    assert (failed["state"], failed["error"]) == ("failed", "It broke.")
    again = await client.ok("start_step", executionId=run, stepName="analyze")
    assert (again["id"], again["state"]) == (first["id"], "running")
    done = await client.ok("complete_step", stepId=again["id"], output=STEP_OUTPUT)
    assert done["state"] == "completed"
    refused = await client.failed("start_step", executionId=run, stepName="analyze")
    assert "completed" in refused.text


async def test_earlier_log_disables_contract_check(client: ProfileClient) -> None:
    run = await started(client)
    step = await client.ok("start_step", executionId=run, stepName="analyze")
    line = {"executionId": run, "layer": "step", "layerId": step["id"], "logLevel": "info"}
    logged = await client.twice("log_execution", **line, message="Begun")
    assert MIDEX["log_execution"].answer <= set(logged)
    for output in ({"summary": "Short"}, {**STEP_OUTPUT, "confidence": 2}, {**STEP_OUTPUT, "extra": 1}):
        await client.failed("complete_step", stepId=step["id"], output=output)
    broken = await client.failed("log_execution", **line, message="Again", contractOutput={"summary": 1})
    assert "StepOutput" in broken.text
    assert (await client.ok("log_execution", **line, message="Other"))["message"] == "Begun", "the first line stays"
    assert (await client.ok("complete_step", stepId=step["id"], output=STEP_OUTPUT))["state"] == "completed"


async def test_an_execution_is_completed_with_an_output_that_fulfils_its_contract(client: ProfileClient) -> None:
    run = await started(client)
    refused = await client.failed("complete_execution", executionId=run, output={"summary": "All"})
    assert "WorkflowOutput" in refused.text
    assert await state_of(client, run) == "running"
    assert await client.twice("complete_execution", executionId=run, output=WORKFLOW_OUTPUT) == {"success": True}
    read = (await client.ok("get_execution_details", executionId=run))["execution"]
    assert read["state"] == "completed"
    assert read["completedAt"]
    assert run in {answer["id"] for answer in await client.ok("get_execution_history", state="completed", limit=10)}
    failed = await started(client)
    await client.twice("complete_execution", executionId=failed, error="No way.")
    read = (await client.ok("get_execution_details", executionId=failed))["execution"]
    assert (read["state"], read["error"]) == ("failed", "No way.")


async def test_a_refused_completion_keeps_no_output_and_the_last_right_one_stays(client: ProfileClient) -> None:
    run = await started(client)
    step = await client.ok("start_step", executionId=run, stepName="analysis")
    first, last = ({**WORKFLOW_OUTPUT, "summary": text} for text in ("v1", "v2"))
    refused = await client.failed("complete_execution", executionId=run, output=first)
    assert "(units_open)" in refused.text
    details = {"executionId": run, "includeArtifacts": True}
    read = await client.ok("get_execution_details", **details)
    assert ("output" in read["execution"], read["artifacts"]) == (False, [])
    await client.ok("complete_step", stepId=step["id"], output=STEP_OUTPUT)
    assert await client.twice("complete_execution", executionId=run, output=last) == {"success": True}
    refused = await client.failed("complete_execution", executionId=run, output=first)
    assert "(conflict)" in refused.text
    assert (await client.ok("get_execution_details", **details))["execution"]["output"] == last
    assert await client.ok("complete_execution", executionId=run) == {"success": True}


async def test_an_output_after_an_end_without_one_is_refused(client: ProfileClient) -> None:
    run = await started(client)
    await client.twice("complete_execution", executionId=run)
    refused = await client.failed("complete_execution", executionId=run, output=WORKFLOW_OUTPUT)
    assert "(conflict)" in refused.text


@pytest.mark.parametrize("call", ["complete_execution", "transition_workflow_state"])
async def test_an_escalated_execution_is_completed_once_its_steps_have_ended(client: ProfileClient, call: str) -> None:
    """The document's table of moves has escalated -> completed."""
    run = await started(client)
    step = await client.ok("start_step", executionId=run, stepName="look")
    await moved(client, run, "escalated", error="Which currency?")
    more = {} if call == "complete_execution" else {"newState": "completed"}
    refused = await client.failed(call, executionId=run, **more)
    assert "(units_open)" in refused.text
    assert await state_of(client, run) == "escalated", "a rejected call resolves nothing"
    await client.ok("complete_step", stepId=step["id"])
    assert await client.twice(call, executionId=run, **more) == {"success": True}
    assert await state_of(client, run) == "completed"


async def test_offset_without_limit(client: ProfileClient) -> None:
    name = "offsets"
    runs = [await started(client, name) for _ in range(3)]
    answer = await client.ok("get_execution_history", workflowName=name, offset=1)
    assert [item["id"] for item in answer] == [runs[1], runs[0]]
    run = await started(client)
    for number in range(3):
        await kept(client, run, f"Finding {number}", category="offsets")
    answer = await client.ok("query_findings", category="offsets", offset=1)
    assert len(answer) == 2


@record(frozen=True, kw_only=True)
class Counted(NativeTools):
    """dcf's tools, and which of them were called."""

    called: list[str] = field(default_factory=list)

    async def call(self, tool: str, /, **arguments: Any) -> Mapping[str, Any]:
        self.called.append(tool)
        return await super().call(tool, **arguments)


async def test_of_a_list_only_the_executions_are_read_that_are_shown(client: ProfileClient, site: Application) -> None:
    runs = [await started(client, "listed") for _ in range(4)]
    await client.ok("complete_execution", executionId=runs[3], error="No.")
    await moved(client, runs[1], "timeout")
    for request, shown, reads in (
        ({"offset": 2, "limit": 1}, [runs[1]], 1),
        ({"state": "failed"}, [runs[3]], 2),  # one is paused: what that means is not in the list of runs
        ({"state": "running", "offset": 1}, [runs[0]], 2),
    ):
        native = Counted(application=site, caller=key_of(*EVERYBODY), meter=meter_of(Settings()))
        details, failed = await call_profile(
            PROFILE, PROFILE.tools["get_execution_history"], native, {"workflowName": "listed", **request}
        )
        assert (failed, [item["id"] for item in details]) == (False, shown)
        assert native.called.count("read_workflow_control_plane") == reads


async def kept(client: ProfileClient, run: str, title: str, **more: Any) -> dict[str, Any]:
    details = {"severity": "high", "category": "security", "description": f"{title}, at length."}
    answer: dict[str, Any] = await client.ok("store_finding", executionId=run, title=title, **{**details, **more})
    return answer


async def test_search_raises_on_punctuation(client: ProfileClient) -> None:
    run = await started(client)
    finding = await kept(client, run, "Overflow in c++ code", tags=["cpp"])
    assert set(finding) == MIDEX["store_finding"].answer
    for text in ("c++", "foo-bar", '"unbalanced', "AND OR NOT", "*", "a:b", "(", "'"):
        assert isinstance(await client.ok("query_findings", searchText=text), list)
    answer = await client.ok("query_findings", searchText="overflow code", tags=["cpp"], severity=["high", "critical"])
    assert [item["id"] for item in answer] == [finding["id"]]
    assert answer[0]["score"] > 0


async def test_project_query_misses_global(client: ProfileClient) -> None:
    run = (await client.ok("start_execution", workflowName="feature", projectPath="/srv/shop"))["id"]
    project = (await client.ok("get_project_context", projectPath="/srv/shop"))["id"]
    own = await kept(client, run, "Own", category="union")
    everywhere = await kept(client, run, "Everywhere", category="union", isGlobal=True)
    assert (own["isGlobal"], own["projectId"]) == (False, project)
    assert (everywhere["isGlobal"], everywhere["projectId"]) == (True, None)

    async def titles(**more: Any) -> list[str]:
        answer = await client.ok("query_findings", projectId=project, category="union", **more)
        return [item["title"] for item in answer]

    assert await titles() == ["Everywhere", "Own"], "newest first"
    assert await titles(isGlobal=False) == ["Own"]
    assert await titles(isGlobal=True) == ["Everywhere"]


async def test_two_projects_may_have_folders_of_the_same_name(client: ProfileClient) -> None:
    for path in ("/srv/one/app", "/srv/two/app"):
        await client.ok("start_execution", workflowName="feature", projectPath=path)
    listed = await client.ok("list_projects", limit=10)
    result = [item for item in listed if item["path"] in {"/srv/one/app", "/srv/two/app"}]
    assert [item["name"] for item in result] == ["app", "app"]
    assert len({item["id"] for item in result}) == 2
    assert set(result[0]) == MIDEX["list_projects"].answer
    assert await client.ok("get_project_context", projectPath="/srv/nowhere") is None
    run = await client.ok("start_execution", workflowName="feature", projectId=result[0]["id"])
    assert run["projectId"] == result[0]["id"]


async def defined(site: Application, kind: str, name: str, content: Any, **more: Any) -> None:
    planner = site.keys.create(EVERYBODY, agent_id="author", label=None, life_s=None)
    caller = site.keys.admit(planner.text)
    assert caller is not None
    answer = await ask(site, caller, "put_definition", kind=kind, name=name, content=content, **more)
    assert answer.code == "ok", answer.text


PHASES = [{"phase": "analysis", "agent": "analyst"}, {"phase": "build", "agent": "dev", "dependsOn": ["analysis"]}]


async def test_content_comes_from_the_catalogue(client: ProfileClient, site: Application) -> None:
    more = {"tags_json": ["a", "b"], "keywords_json": ["ship"], "complexity": "simple", "description": "Build it."}
    await defined(site, "workflow", "build-it", "# Build", attributes_json={"phases": PHASES}, **more)
    named = await client.ok("get_workflow", workflowName="build-it", detailLevel="name")
    assert named["item"] == {"name": "build-it"}
    summary = await client.ok("get_workflow", workflowName="build-it")
    item = summary["item"]
    assert (item["content"], item["complexity"], item["description"]) == ("", "simple", "Build it.")
    assert [phase["allowParallel"] for phase in summary["item"]["phases"]] == [True, True]
    full = await client.ok("get_workflow", workflowName="build-it", detailLevel="full", fields=["content"])
    assert full["item"] == {"name": "build-it", "content": "# Build"}
    known = full["metadata"]["fileHash"]
    assert await client.ok("get_workflow", workflowName="build-it", ifNoneMatch=known) == {"notModified": True}
    assert await client.ok("get_workflow", workflowName="nothing-there") is None
    answer = await client.ok("search_workflows", tags=["a", "b"], keywords=["ship"], complexity="simple")
    assert "build-it" in {item["item"]["name"] for item in answer}
    assert await client.ok("search_workflows", tags=["a", "nobody-has-this"]) == []
    run = await client.ok("start_execution", workflowName="build-it")
    assert run["phases"][1] == {
        "phase": "build",
        "agent": "dev",
        "description": "",
        "dependsOn": ["analysis"],
        "allowParallel": True,
    }


async def test_artifacts_are_kept_as_they_are(client: ProfileClient) -> None:
    run = await started(client)
    step = await client.ok("start_step", executionId=run, stepName="write")
    details = {"executionId": run, "stepId": step["id"], "name": "report.md", "contentType": "markdown"}
    text = await client.twice("store_artifact", **details, content="# Report", metadata={"pages": 1})
    assert MIDEX["store_artifact"].answer <= set(text)
    assert (text["sizeBytes"], text["contentType"], text["stepId"]) == (8, "markdown", step["id"])
    assert text["metadata"] == {"pages": 1}
    plain = await client.ok("store_artifact", executionId=run, name="a.bin", contentType="binary", content="AAEC")
    assert (plain["sizeBytes"], plain["contentType"]) == (3, "binary")
    await client.failed("store_artifact", executionId=run, name="b.bin", contentType="binary", content="no base64!")
    await kept(client, run, "Found")
    read = await client.ok(
        "get_execution_details", executionId=run, includeLogs=True, includeArtifacts=True, includeFindings=True
    )
    assert [artifact["name"] for artifact in read["artifacts"]] == ["report.md", "a.bin"]
    assert [finding["title"] for finding in read["findings"]] == ["Found"]
    assert read["logs"] == []


async def test_redaction_eats_identifiers(client: ProfileClient, site: Application) -> None:
    name = "a_very_long_identifier_that_is_no_secret_at_all"
    secret = "ghp_" + "a1B2" * 9
    await defined(site, "persona", "writer", f"Call {name} with {secret}.")
    answer = await client.ok("get_agent_persona", agentName="writer", detailLevel="full")
    assert name in answer["item"]["content"]
    assert secret not in answer["item"]["content"]
    assert answer["metadata"]["redacted"] == {"github_token": 1}


async def test_rules_are_found_by_file_types(client: ProfileClient, site: Application) -> None:
    await defined(site, "rule", "python-rule", "Types.", globs_json=["*.py"], tags_json=["typing"])
    await defined(site, "rule", "always-rule", "Kind words.", always_apply=True)
    answer = await client.ok("get_relevant_rules", fileTypes=["src/a.py"], tags=["typing", "other"])
    assert [item["item"]["name"] for item in answer] == ["python-rule"]
    for level in ("name", "full"):
        answer = await client.ok("get_relevant_rules", tags=["typing"], detailLevel=level, includeHash=False)
        assert [rule["item"]["name"] for rule in answer] == ["python-rule"]
        assert "fileHash" not in answer[0]["metadata"]
    answer = await client.ok("get_relevant_rules", alwaysApply=True)
    assert "always-rule" in {item["item"]["name"] for item in answer}


async def test_what_is_not_there_is_null_or_refused(client: ProfileClient) -> None:
    assert await client.ok("get_execution_details", executionId="nothing-there") is None
    refused = await client.failed("start_step", executionId="nothing-there", stepName="x")
    assert "unknown_run" in refused.text
    refused = await client.failed("complete_step", stepId="garbled")
    assert "unknown_state" in refused.text
    refused = await client.failed("transition_workflow_state", executionId="x", newState="sideways")
    assert "newState" in refused.text


async def test_a_contract_of_the_catalogue_that_is_no_schema_is_told_of(
    client: ProfileClient, site: Application
) -> None:
    caller, project = key_of(*Scope), f"p-{secrets.token_hex(4)}"
    bad = {"kind": "contract", "name": "WorkflowOutput", "content": {"type": 5}, "project": project}
    assert (await ask(site, caller, "put_definition", **bad)).code == "ok"
    assert (await ask(site, caller, "put_project", project=project, paths_json=[f"/srv/{project}"])).code == "ok"
    run = await started(client, projectPath=f"/srv/{project}")
    refused = await client.failed("complete_execution", executionId=run, output=WORKFLOW_OUTPUT)
    assert "contract_invalid" in refused.text
    assert await state_of(client, run) == "running"


async def test_what_is_a_persons_is_redacted_where_that_is_asked_for(client: ProfileClient, site: Application) -> None:
    name = f"lead-{secrets.token_hex(4)}"
    details = {"kind": "persona", "name": name, "content": "Ask ann@example.org."}
    assert (await ask(site, key_of(*Scope), "put_definition", **details)).code == "ok"
    request = {"agentName": name, "detailLevel": "full"}
    shown = await client.ok("get_agent_persona", **request)
    assert shown["item"]["content"] == "Ask ann@example.org."
    secret = "ghp_" + "a1B2" * 9
    both = {**details, "content": f"Ask ann@example.org with {secret}."}
    assert (await ask(site, key_of(*Scope), "put_definition", **both)).code == "ok"
    partly = await client.ok("get_agent_persona", **request, redactPolicy="pii")
    assert partly["item"]["content"] == f"Ask [redacted email] with {secret}."
    assert (await ask(site, key_of(*Scope), "put_definition", **details)).code == "ok"
    hidden = await client.ok("get_agent_persona", **request, redactPolicy="pii+secrets")
    assert hidden["item"]["content"] == "Ask [redacted email]."
    assert hidden["metadata"]["redacted"] == {"email": 1}
