"""midex's document followed word by word: identifiers, times, contracts, projects and details of executions."""

import base64
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from uuid import UUID

import pytest
from mcp.client import Client

from dcf.application.application import Application, open_application
from dcf.core.access.model import Scope
from dcf.profiles.growing_runs import instant
from dcf.profiles.midex.executions import is_late
from dcf.settings.process import Settings
from dcf.tools.mcp.server import build_server
from tests.profiles.clients import ProfileClient
from tests.profiles.conftest import Connect
from tests.profiles.test_midex import EVERYBODY, STEP_OUTPUT, WORKFLOW_OUTPUT, moved, started
from tests.support.tables import rows
from tests.tools.access import ask, key_of

pytestmark = pytest.mark.anyio


@pytest.fixture
async def client(site: Application, connect: Connect) -> AsyncIterator[ProfileClient]:
    key = site.keys.create(EVERYBODY, agent_id=None, label=None, life_s=None, profile="midex")
    async with connect(key.text) as result:
        yield result


@asynccontextmanager
async def local_user(site: Application) -> AsyncIterator[ProfileClient]:
    """Serve the user of this machine, as over stdio."""
    settings = Settings.model_validate({"redis_url": site.redis_url, "profile": "midex", "auth": "off"})
    with open_application(settings) as opened:
        async with Client(build_server(opened)) as client:
            yield ProfileClient(client=client)


async def test_an_execution_has_a_uuid(client: ProfileClient) -> None:
    made = await client.ok("start_execution", workflowName="feature-development")
    assert str(UUID(made["id"])) == made["id"]


async def test_an_execution_starts_when_it_is_made_running_and_each_event_updates_it(
    client: ProfileClient,
) -> None:
    made = await client.ok("start_execution", workflowName="feature-development")
    seen = [made["updatedAt"]]
    await moved(client, made["id"], "running")
    for state in ("timeout", "running", "escalated", "running"):
        read = (await client.ok("get_execution_details", executionId=made["id"]))["execution"]
        assert made["createdAt"] < made["updatedAt"] < read["startedAt"]
        seen.append(read["updatedAt"])
        await moved(client, made["id"], state)
    await client.ok("complete_execution", executionId=made["id"], output=WORKFLOW_OUTPUT)
    (listed,) = [
        execution
        for execution in await client.ok("get_execution_history", state="completed")
        if execution["id"] == made["id"]
    ]
    seen.append(listed["updatedAt"])
    assert seen == sorted(set(seen))
    assert (listed["startedAt"], listed["updatedAt"]) == (read["startedAt"], listed["completedAt"])


async def test_an_execution_that_failed_before_it_was_running_has_no_start(client: ProfileClient) -> None:
    made = await client.ok("start_execution", workflowName="feature-development")
    await moved(client, made["id"], "failed")
    read = (await client.ok("get_execution_details", executionId=made["id"]))["execution"]
    assert (read["startedAt"], read["updatedAt"]) == (None, read["completedAt"])


async def test_every_missing_field_stands_in_the_error(client: ProfileClient) -> None:
    run = await started(client)
    step = await client.ok("start_step", executionId=run, stepName="analyze")
    refused = await client.failed("complete_step", stepId=step["id"], output={"findings": [{}]})
    for place in ("output: 'summary'", "output: 'artifacts'", "output: 'confidence'", "output/findings/0: 'severity'"):
        assert f"{place} is missing" in refused.text
    await client.ok("complete_step", stepId=step["id"], output=STEP_OUTPUT)
    refused = await client.failed("complete_execution", executionId=run, output={"workflow": {}})
    for place in ("output/workflow: 'name'", "output: 'summary'", "output: 'confidence'"):
        assert f"{place} is missing" in refused.text


async def test_details_have_the_contents_of_artifacts(client: ProfileClient) -> None:
    run = await started(client)
    binary = base64.b64encode(b"\0\xff").decode()
    stored = (("report.md", "markdown", "# Report"), ("picture", "binary", binary), ("data", "json", '{"a": 1}'))
    for name, kind, content in stored:
        await client.ok("store_artifact", executionId=run, name=name, contentType=kind, content=content)
    details = await client.ok("get_execution_details", executionId=run, includeArtifacts=True)
    result = {artifact["name"]: (artifact["contentType"], artifact["content"]) for artifact in details["artifacts"]}
    assert result == {name: (kind, content) for name, kind, content in stored}


async def test_details_leave_out_contents_for_which_there_is_no_room(client: ProfileClient) -> None:
    run = await started(client)
    for name in "abcde":
        await client.ok("store_artifact", executionId=run, name=name, contentType="text", content=name * 60_000)
    details = await client.ok("get_execution_details", executionId=run, includeArtifacts=True)
    contents = [artifact["content"] for artifact in details["artifacts"]]
    assert len(contents) == 5
    assert sum(content is None for content in contents) == 1


async def test_details_have_what_the_flags_ask_for(client: ProfileClient) -> None:
    run = await started(client)
    assert set(await client.ok("get_execution_details", executionId=run)) == {"execution", "steps"}
    assert set(await client.ok("get_execution_details", executionId=run, includeSteps=False)) == {"execution"}
    every = {"includeLogs": True, "includeArtifacts": True, "includeFindings": True}
    names = {"execution", "steps", "logs", "artifacts", "findings"}
    assert set(await client.ok("get_execution_details", executionId=run, **every)) == names


async def test_the_local_user_discovers_the_project_of_a_directory(
    site: Application, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("plain", "worktree"):
        (tmp_path / name).mkdir()
    (tmp_path / "worktree/.git").mkdir()
    monkeypatch.chdir(tmp_path / "worktree")
    async with local_user(site) as client:
        plain = await client.ok("get_project_context", projectPath=str(tmp_path / "plain"))
        here = await client.ok("get_project_context")
        assert (plain["name"], plain["isGitRepo"]) == ("plain", False)
        assert (here["name"], here["path"], here["isGitRepo"]) == ("worktree", str(tmp_path / "worktree"), True)
        assert await client.ok("get_project_context", projectPath=str(tmp_path / "missing")) is None
        first, second = (await client.ok("list_projects", limit=2))[:2]
        assert [first["id"], second["id"]] == [here["id"], plain["id"]]
        assert [first] == await client.ok("list_projects", limit=1, page=1)
        assert [second] == await client.ok("list_projects", limit=1, page=2)
        await client.ok("start_execution", workflowName="feature", projectId=plain["id"])
        assert (await client.ok("list_projects", limit=1))[0]["id"] == plain["id"]


async def test_a_caller_elsewhere_does_not_look_at_the_disk_of_the_server(
    client: ProfileClient, tmp_path: Path
) -> None:
    assert await client.ok("get_project_context", projectPath=str(tmp_path)) is None
    assert await client.ok("get_project_context") is None


async def test_findings_are_found_by_the_operators_of_the_document(client: ProfileClient) -> None:
    run = await started(client)
    here = {"executionId": run, "severity": "high", "category": "security"}
    sql = {
        "title": "SQL Injection Vulnerability",
        "description": "User input not sanitized",
        "tags": ["security", "sql"],
    }
    ldap = {"title": "Injected LDAP names", "description": "Built of names", "tags": ["ldap"]}
    for finding in (sql, ldap):
        await client.ok("store_finding", **here, **finding)
    every = {sql["title"], ldap["title"]}
    for text, expected in {
        "security": every,
        "injections": every,
        "sql AND security": {sql["title"]},
        "sql OR ldap": every,
        "injection NOT sql": {ldap["title"]},
        '"sql injections"': {sql["title"]},
        "sanit*": {sql["title"]},
        "(xss OR names) ldap": {ldap["title"]},
        "xss": set(),
        'c++ "': set(),
    }.items():
        answer = await client.ok("query_findings", executionId=run, searchText=text, severity=["high", "critical"])
        assert {finding["title"] for finding in answer} == expected, text


@rows(
    ("limit_ms", "after_ms", "late"),
    [(300, 299, False), (300, 300, True), (1500, 1499, False), (1500, 1500, True), (2000, 1999, False)],
)
def test_an_execution_is_late_to_the_millisecond(limit_ms: int, after_ms: int, late: bool) -> None:
    began = instant("2026-11-29T19:30:00Z")
    deadline = began + timedelta(seconds=-(-limit_ms // 1000))
    meta = {"status": "running", "input": {"timeoutMs": limit_ms}, "deadline": deadline.isoformat()}
    assert is_late(meta, began + timedelta(milliseconds=after_ms)) is late


async def test_a_check_moves_an_execution_whose_time_is_over_to_timeout(client: ProfileClient) -> None:
    run = await started(client, timeoutMs=1)
    listed = await client.ok("check_execution_timeout")
    assert [execution["state"] for execution in listed if execution["id"] == run] == ["timeout"]
    await client.ok("resume_execution", executionId=run)


@rows(
    ("policy", "left"),
    [
        ("none", "Ask ann@example.org with {secret}."),
        ("pii", "Ask [redacted email] with {secret}."),
        ("secrets", "Ask ann@example.org with [redacted github_token]."),
        ("pii+secrets", "Ask [redacted email] with [redacted github_token]."),
    ],
)
async def test_rules_are_redacted_as_the_caller_asks(
    client: ProfileClient, site: Application, connect: Connect, policy: str, left: str
) -> None:
    tag, secret = f"t-{secrets.token_hex(4)}", "ghp_" + "a1B2" * 9
    rule_of = {"kind": "rule", "name": tag, "tags_json": [tag], "content": f"Ask ann@example.org with {secret}."}
    assert (await ask(site, key_of(*Scope), "put_definition", **rule_of)).code == "ok"
    search = {"tags": [tag], "detailLevel": "full", "redactPolicy": policy}
    (rule,) = await client.ok("get_relevant_rules", **search)
    assert rule["item"]["content"] == left.format(secret=secret)
    key = site.keys.create((Scope.READ, Scope.WORK), agent_id="a-member", label=None, life_s=None, profile="midex")
    async with connect(key.text) as member:
        (rule,) = await member.ok("get_relevant_rules", **search)
    assert secret not in rule["item"]["content"], "a key that may not plan reads no secrets"
    assert ("ann@example.org" in rule["item"]["content"]) is ("pii" not in policy)


async def test_a_key_of_a_project_works_in_it_whatever_path_the_call_has(site: Application, connect: Connect) -> None:
    project = f"p-{secrets.token_hex(4)}"
    key = site.keys.create(EVERYBODY, agent_id="crew", label=None, life_s=None, profile="midex", project=project)
    async with connect(key.text) as client:
        made = await client.ok("start_execution", workflowName="feature", projectPath="/path/to/project")
        number = made["projectId"]
        finding = {"severity": "high", "category": "security", "title": "T", "description": "D"}
        await client.ok("store_finding", executionId=made["id"], **finding)
        assert len(await client.ok("query_findings", projectId=number, isGlobal=False)) == 1
        assert len(await client.ok("get_execution_history", projectId=number)) == 1
        assert (await client.ok("start_execution", workflowName="feature", projectId=number))["projectId"] == number


async def test_a_key_without_a_scope_is_told_of_all_that_the_tool_needs(site: Application, connect: Connect) -> None:
    key = site.keys.create((Scope.READ, Scope.WORK), agent_id="a-member", label=None, life_s=None, profile="midex")
    async with connect(key.text) as client:
        refused = await client.failed("start_step", executionId="x", stepName="analyze")
    assert "`dcf keys add --profile midex --scope plan --scope work --agent-id ID`" in refused.text


async def test_the_error_of_another_agents_completion_names_the_orchestrator(
    site: Application, connect: Connect
) -> None:
    keys = [
        site.keys.create(EVERYBODY, agent_id=agent, label=None, life_s=None, profile="midex").text
        for agent in ("crew", "analyst")
    ]
    async with connect(keys[0]) as crew, connect(keys[1]) as analyst:
        run = await started(crew)
        refused = await analyst.failed("complete_execution", executionId=run, output=WORKFLOW_OUTPUT)
        assert refused.text.startswith(f"Error: Execution '{run}' has another orchestrator than 'analyst'")
