"""The shipped agents: what they are told to call exists, and their files say what their instructions say."""

import json
import re
from collections.abc import Iterator
from inspect import signature
from typing import Any

import pytest
from mcp.client import Client

from dcf.adapters.letta import LettaOptions
from dcf.adapters.letta.bundles import read_agent
from dcf.application.application import open_application
from dcf.application.platforms import _own_server
from dcf.settings.process import Settings
from dcf.tools.mcp.selection import select_tools
from dcf.tools.mcp.server import build_server
from dcf.tools.verbs.leases import acquire_state_lease
from dcf.workflows.validation.document import validate_document
from dcf.workforce.crew.templates import read_staffing
from tests.letta.templates import AGENTS, DESCRIPTIONS, SERVER, calls, document
from tests.support.redis.restricted import RestrictedRedis
from tests.support.tables import rows

ROOT = AGENTS.parent
LISTED = {spec.name: spec for spec in select_tools((), read_only=False)}
CALLS = [(template, *call) for template in DESCRIPTIONS for call in calls(template)]


@rows(("template", "tool", "arguments"), CALLS, ids=[f"{item[0]}-{item[1]}" for item in CALLS])
def test_instructions_name_tools_and_arguments_that_exist(template: str, tool: str, arguments: tuple[str, ...]) -> None:
    assert tool in LISTED, f"{template}.md names a tool that is on no list"
    fields = LISTED[tool].arguments.model_fields

    assert set(arguments) <= set(fields)
    assert {name for name, field in fields.items() if field.is_required()} <= set(arguments)


@rows("template", DESCRIPTIONS)
def test_a_template_is_what_its_instructions_make_it(template: str) -> None:
    """If it is not: python -m tests.letta.templates."""
    assert json.loads((AGENTS / f"{template}.af").read_text("utf-8")) == document(template)


@rows("template", DESCRIPTIONS)
def test_a_template_can_be_made_into_an_agent(template: str) -> None:
    bundle: dict[str, Any] = json.loads((AGENTS / f"{template}.af").read_text("utf-8"))

    blueprint = read_agent(bundle["agents"][0], bundle)

    assert [block["label"] for block in blueprint.blocks] == ["persona"]
    assert {tool.server for tool in blueprint.tools} == {SERVER}
    assert {tool.name for tool in blueprint.tools} == {name for name, _ in calls(template)}


def shown_document() -> dict[str, Any]:
    """The workflow document that the planner's instructions show."""
    block = (AGENTS / "planner.md").read_text("utf-8").split("```json\n")[1].split("```")[0]
    document: dict[str, Any] = json.loads(block)
    return document


def test_the_document_that_a_planner_is_shown_is_valid_and_can_be_staffed() -> None:
    """It lacked what the schema asks for, so that a planner who followed it was refused."""
    verdict = validate_document(
        shown_document(),
        imports_base_dir=ROOT / "workflows",
        skills_base_dir=ROOT / "generated" / "manifests",
        agents_dir=AGENTS,
    )
    assert verdict.problems == ()
    staffing = read_staffing(shown_document(), import_dirs=(AGENTS,), agents_dir=AGENTS, suffix=".af")
    assert [(staffing.state, staffing.description is not None) for staffing in staffing] == [("Check", True)]


def test_who_keeps_to_the_lease_it_is_told_to_take_is_not_taken_for_lost() -> None:
    """With both at 300 s a worker that did not renew got a second message during the first."""
    advised = re.search(r"with your id and (\d+) seconds", (AGENTS / "worker.md").read_text("utf-8"))
    assert advised is not None
    assert int(advised[1]) == signature(acquire_state_lease).parameters["lease_ttl_s"].default
    assert Settings.model_fields["letta_run_deadline_s"].default >= int(advised[1]) + 60
    assert LettaOptions(base_url="http://letta").run_deadline_s == Settings.model_fields["letta_run_deadline_s"].default


def test_the_server_that_templates_call_dcf_has_the_name_that_the_settings_give() -> None:
    settings = Settings.model_validate({"server_name": "dcf-two"})
    assert _own_server(settings)["name"] == "dcf-two"


def untyped(schema: Any, path: str) -> Iterator[str]:
    """The places below a schema that do not say which types they may have."""
    if not schema.keys() & {"type", "anyOf", "$ref", "const", "enum"}:
        yield path
    for name, part in schema.get("properties", {}).items():
        yield from untyped(part, f"{path}.{name}")
    for number, part in enumerate(schema.get("anyOf", ())):
        yield from untyped(part, f"{path}|{number}")
    if schema.get("items"):
        yield from untyped(schema["items"], f"{path}[]")


@pytest.mark.anyio
async def test_every_parameter_of_every_tool_has_a_type(server: RestrictedRedis) -> None:
    """Letta leaves out, without a word, a tool of an MCP server that has one without."""
    settings = Settings.model_validate({"redis_url": server.url, "profile": "all"})
    with open_application(settings) as application:
        async with Client(build_server(application)) as client:
            tools = (await client.list_tools()).tools

    others = {"read_health", "register_agent", "list_registered_agents", "override_gate"}
    assert {tool.name for tool in tools} == set(LISTED) - others, "which are for others"
    assert [place for tool in tools for place in untyped(tool.input_schema, tool.name)] == []


@rows("template", DESCRIPTIONS)
def test_instructions_are_short(template: str) -> None:
    assert len((AGENTS / f"{template}.md").read_text("utf-8").split()) < 600
