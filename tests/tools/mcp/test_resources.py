"""Resources: what a client reads by address is what the tools answer, for the same callers, within the same limits."""

import json
import secrets
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Any

import pytest
from mcp.client import Client
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS

from dcf.application.application import Application
from dcf.core.access.model import NOBODY, Caller, Scope
from dcf.core.access.quotas import Account, Quotas
from dcf.settings.process import Settings
from dcf.store.access.audit_trail import AuditFilter
from dcf.tools.mcp.middleware import REFUSED
from dcf.tools.mcp.reading import ToolReading
from dcf.tools.mcp.resource_reads import skill_reads
from dcf.tools.mcp.resources import LANGUAGE, RUNS, Resources
from dcf.tools.mcp.server import build_server
from dcf.verbs.limits import meter_of
from dcf.workflows.language import describe
from tests.support.tables import rows
from tests.tools.access import key_of
from tests.tools.calls import ONE_TASK, TWO_TASKS, Tools, lease_on, new_run

pytestmark = pytest.mark.anyio

Read = Callable[[str], Any]


@pytest.fixture(params=["auto", "legacy"])
async def client(request: pytest.FixtureRequest, application: Application) -> AsyncIterator[Client]:
    """A client of each era of the protocol."""
    async with Client(build_server(application), mode=request.param) as client:
        yield client


async def text_of(client: Client, uri: str) -> str:
    (content,) = (await client.read_resource(uri)).contents
    assert content.uri == uri
    text: str = content.text  # type: ignore[union-attr]
    return text


def seen_by(application: Application, caller: Caller) -> Resources:
    reading = ToolReading(application, lambda: caller, meter_of(Settings()))
    return Resources(reading, skill_reads(application.library))


async def test_a_run_is_read_as_the_tools_read_it(client: Client, tools: Tools, run_id: str) -> None:
    await new_run(tools, run_id, TWO_TASKS)
    run = await tools.ok("read_workflow_control_plane", workflow_id=run_id, summary=True)
    events = await tools.ok("read_run_events", workflow_id=run_id, newest_first=True)
    assert json.loads(await text_of(client, f"{RUNS}/{run_id}")) == run.payload
    assert json.loads(await text_of(client, f"{RUNS}/{run_id}/events"))["events"] == events["events"]
    assert json.loads(await text_of(client, f"{RUNS}/{run_id}/definition")) == TWO_TASKS
    assert run_id in {run["workflow_id"] for run in json.loads(await text_of(client, RUNS))["runs"]}


async def test_the_graph_of_a_run_shows_how_its_states_stand(client: Client, tools: Tools, run_id: str) -> None:
    await new_run(tools, run_id)
    before = await text_of(client, f"{RUNS}/{run_id}/graph")
    await lease_on(tools, run_id)
    after = await text_of(client, f"{RUNS}/{run_id}/graph")
    assert before.startswith("flowchart TD\n")
    assert ":::running" in after
    assert ":::running" not in before


async def test_the_language_page_is_a_resource(client: Client) -> None:
    assert await text_of(client, LANGUAGE) == describe()


async def test_everything_on_the_list_can_be_read_and_says_what_it_is(
    client: Client, tools: Tools, run_id: str
) -> None:
    await new_run(tools, run_id)
    listed = (await client.list_resources()).resources
    assert {element.uri for element in listed} > {LANGUAGE, RUNS}
    for item in listed:
        (content,) = (await client.read_resource(item.uri)).contents
        assert content.mime_type == item.mime_type
    templates = (await client.list_resource_templates()).resource_templates
    assert all(template.title and template.description and template.mime_type for template in templates)
    for template in templates:
        (content,) = (await client.read_resource(template.uri_template.replace("{workflow_id}", run_id))).contents
        assert content.mime_type == template.mime_type


@rows("part", ["", "/graph", "/events", "/definition"])
async def test_a_run_that_does_not_exist_is_told_with_what_to_do(client: Client, part: str) -> None:
    with pytest.raises(MCPError) as raised:
        await client.read_resource(f"{RUNS}/no-such-run{part}")
    assert (raised.value.error.code, raised.value.error.data["code"]) == (INVALID_PARAMS, "unknown_run")
    assert "`list_runs`" in raised.value.error.data["hint"]


@rows("uri", ["dcf://run", f"{RUNS}/a/b", f"{RUNS}/a/graph/b", "dcf://languages", "skill://no/SKILL.md"])
async def test_an_address_of_nothing_is_invalid(client: Client, uri: str) -> None:
    with pytest.raises(MCPError) as raised:
        await client.read_resource(uri)
    assert raised.value.error.code == INVALID_PARAMS


@rows("rest", ["", "/a-run", "/a-run/graph", "/a-run/events", "/a-run/definition"])
async def test_who_may_not_read_is_refused_and_that_is_noted(alone: Application, rest: str) -> None:
    caller = key_of(Scope.WORK, name=f"key:{secrets.token_hex(6)}")
    with pytest.raises(MCPError) as raised:
        await seen_by(alone, caller).read(f"{RUNS}{rest}")
    assert (raised.value.error.code, raised.value.error.data["code"]) == (REFUSED, "forbidden")
    (entry,) = alone.audit.newest(10, AuditFilter(by=caller.name))
    assert entry.kind == "refusal"


async def test_what_a_server_does_not_serve_as_tools_it_does_not_serve_as_resources(
    replica: Callable[..., Application], tools: Tools, run_id: str
) -> None:
    await new_run(tools, run_id)
    async with Client(build_server(replica(toolsets=("people",)))) as client:
        assert {resource.uri for resource in (await client.list_resources()).resources} == {LANGUAGE}
        assert (await client.list_resource_templates()).resource_templates == []
        run = f"{RUNS}/{run_id}"
        for uri in (RUNS, run, f"{run}/graph", f"{run}/events", f"{run}/definition", "skill://a/SKILL.md"):
            with pytest.raises(MCPError, match="does not serve the toolset") as raised:
                await client.read_resource(uri)
            assert raised.value.error.code == REFUSED
        with pytest.raises(MCPError, match="does not serve the toolset"):
            await client.get_prompt("why_run_stands", {"workflow_id": run_id})


async def test_an_answer_that_refuses_is_an_error_with_its_code_as_one_that_fails_is(alone: Application) -> None:
    reading = ToolReading(alone, lambda: key_of(*Scope), meter_of(Settings()))
    with pytest.raises(MCPError) as raised:
        await reading.tool("json_read", redis_key=f"doc:{secrets.token_hex(6)}")
    assert (raised.value.error.code, raised.value.error.data["code"]) == (INVALID_PARAMS, "not_found")


async def test_skills_are_not_listed_for_who_may_not_read(alone: Application) -> None:
    with pytest.raises(MCPError):
        await seen_by(alone, NOBODY).listed()


async def test_a_key_that_asks_too_often_is_told_when_to_ask_again(alone: Application) -> None:
    over = Account(key_id="0123456789ab", quotas=Quotas(), wait_s=2.5, over="calls")
    with pytest.raises(MCPError) as raised:
        await seen_by(alone, replace(key_of(*Scope), account=over)).read(RUNS)
    assert (raised.value.error.code, raised.value.error.data["retry_after_s"]) == (REFUSED, 2.5)


async def test_an_answer_beyond_the_limit_is_refused(replica: Callable[..., Application], run_id: str) -> None:
    small = replica(max_result_bytes=16 * 1024)
    states = {f"S{number}": {"Type": "Task", "Comment": "x" * 200, "Next": f"S{number + 1}"} for number in range(99)}
    workflow = {"asl": {"StartAt": "S0", "States": {**states, "S99": ONE_TASK["asl"]["States"]["A"]}}}  # type: ignore[index]
    async with Client(build_server(small)) as client:
        await new_run(await Tools.of(client), run_id, workflow)
        with pytest.raises(MCPError) as raised:
            await client.read_resource(f"{RUNS}/{run_id}/definition")
    assert raised.value.error.data["code"] == "too_large"
