"""The contract with callers: names, scopes, parameters and fields of every tool, and their size in bytes.

The reference page, which is made of the registry, has all of it. So a tool, parameter or field that is gone or
changed, which breaks callers, is seen there, and a wanted change is written down with `make reference`.
"""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from mcp.client import Client

from dcf.application.application import Application
from dcf.core.access.model import Scope, local_caller
from dcf.errors import InvalidArgument
from dcf.tools.mcp.listing import Shown, ToolList
from dcf.tools.mcp.reference import markdown_of
from dcf.tools.mcp.selection import PROFILES, documented_tools, select_tools
from dcf.tools.mcp.server import build_server
from dcf.verbs.authentication import the_local_user
from dcf.verbs.description.table import TABLE
from dcf.verbs.examples import smallest_call
from dcf.verbs.listed_tools import AUTO, listed_for
from dcf.verbs.merged.naming import RETIRED
from dcf.verbs.registry import Answer, ToolSpec
from dcf.verbs.schemas import parameters_of
from tests.support.paths import ROOT
from tests.support.tables import rows
from tests.tools.access import ask, key_of
from tests.tools.calls import SERVED

pytestmark = pytest.mark.anyio

REFERENCE = ROOT / "docs" / "reference" / "tools.md"

BUDGETS = {
    name: kib * 1024
    for name, kib in {
        "worker": 8,
        "planner": 18,
        "assistant": 30,
        "member": 20,
        "operator": 48,
        "person": 2,
        "all": 65,
    }.items()
}
"""Bytes of tools/list. A model reads all of it before it does anything."""

MODELS = {
    "all": tuple(Scope),
    "operator": (Scope.READ, Scope.WORK, Scope.PLAN, Scope.ANSWER, Scope.OPERATE),
    "planner": (Scope.READ, Scope.WORK, Scope.PLAN),
    "worker": (Scope.READ, Scope.WORK),
    "person": (Scope.READ, Scope.ANSWER),
}
"""The scopes of a key for whom each profile is."""


def test_the_reference_page_is_what_the_registry_says() -> None:
    assert markdown_of(documented_tools()) == REFERENCE.read_text("utf-8"), "run `make reference`"


def test_the_reference_page_has_every_tool_with_scope_and_parameters() -> None:
    text = REFERENCE.read_text("utf-8")
    for spec in documented_tools():
        assert f"\n### {spec.name}\n" in text
        for parameter in set(spec.arguments.model_fields) - {"redis_url"}:
            assert f"| `{parameter}` |" in text


def test_what_the_reference_page_says_of_all_answers_and_calls_is_so() -> None:
    assert set(Answer.model_fields) == {"status", "error", "code", "hint", "retry_after_s", "next", "problems"}
    for spec in SERVED.values():
        assert issubclass(spec.answer, Answer)
        assert not spec.arguments.model_fields["redis_url"].is_required()


def test_the_overviews_of_the_reference_name_every_tool_once_and_no_other() -> None:
    text, _, former = REFERENCE.read_text("utf-8").partition("## Former names")
    named = re.findall(r"^\| \[`(\w+)`\]\(#\1\) \|", text, re.MULTILINE)
    assert sorted(named) == sorted(spec.name for spec in documented_tools())
    assert set(re.findall(r"^\| `(\w+)` \|", former, re.MULTILINE)) == RETIRED


@rows("spec", SERVED.values(), ids=SERVED)
def test_the_smallest_call_of_a_tool_can_be_shown_and_is_accepted(spec: ToolSpec) -> None:
    spec.arguments.model_validate(smallest_call(spec))


async def test_a_hint_shows_what_a_missing_argument_looks_like(alone: Application) -> None:
    answer = await ask(alone, key_of(*Scope), "json_append", redis_key="doc:a", value_json=1)
    assert answer.error == "invalid_argument: The argument path is missing."
    assert answer.hint.endswith(' For example {"path":"$.items"}.')


async def _listed(application: Application) -> list[dict[str, Any]]:
    async with Client(build_server(application)) as client:
        tools = await client.list_tools()
    return [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in tools.tools]


@rows("profile", sorted(PROFILES))
async def test_the_list_of_a_profile_fits_its_budget(replica: Callable[..., Application], profile: str) -> None:
    listed = await _listed(replica(profile=profile, allow_operator=True))
    assert len(json.dumps(listed, separators=(",", ":"))) <= BUDGETS[profile]
    assert {tool["name"] for tool in listed} == PROFILES[profile]


async def test_the_list_of_all_shows_every_parameter_but_the_address_of_redis(
    replica: Callable[..., Application],
) -> None:
    """`redis_url` may say nothing but `default`. The lists of one kind of caller leave out what callers do not need."""
    whole = await _listed(replica(profile="all", allow_operator=True))
    shown = {tool["name"]: set(tool["inputSchema"]["properties"]) for tool in whole}
    assert shown == {name: _accepted(name) - {"redis_url"} for name in PROFILES["all"]}
    worker = {tool["name"]: tool["inputSchema"] for tool in await _listed(replica(profile="worker"))}
    assert "require_ready" not in worker["acquire_state_lease"]["properties"]
    assert "additionalProperties" not in worker["acquire_state_lease"], "a host may send what a list does not show"


def _accepted(name: str) -> set[str]:
    return set(parameters_of(SERVED[name])["properties"])


@rows("profile", sorted(MODELS))
def test_a_key_is_shown_the_profile_that_its_scopes_suggest(profile: str) -> None:
    assert listed_for(key_of(*MODELS[profile]), AUTO) == PROFILES[profile]


def test_who_waits_for_events_and_may_answer_is_shown_the_tools_of_both() -> None:
    assert listed_for(key_of(Scope.READ, Scope.WORK, Scope.ANSWER), AUTO) == PROFILES["worker"] | PROFILES["person"]


def test_a_key_that_may_only_read_is_shown_what_an_operator_reads() -> None:
    assert listed_for(key_of(Scope.READ), AUTO) == PROFILES["operator"]


@rows("profile", sorted(PROFILES))
def test_a_profile_that_is_set_is_what_everybody_is_shown(profile: str) -> None:
    assert listed_for(key_of(*Scope), profile) == listed_for(local_caller(operator=True), profile) == PROFILES[profile]


async def test_the_local_user_is_shown_what_one_model_needs_to_plan_and_to_work(
    replica: Callable[..., Application],
) -> None:
    listed = {tool["name"] for tool in await _listed(replica())}
    assert listed == PROFILES["assistant"]
    assert listed >= PROFILES["worker"] | PROFILES["planner"]


@rows("name", ["list_runs", "search_findings", "log_event"])
async def test_a_tool_that_is_not_on_the_list_can_be_called(replica: Callable[..., Application], name: str) -> None:
    async with Client(build_server(replica(profile="worker"))) as client:
        assert name not in {tool.name for tool in (await client.list_tools()).tools}
        answer = await client.call_tool(name, smallest_call(SERVED[name]))
    payload = answer.structured_content
    assert payload is not None
    assert payload["code"] in {"ok", "unknown_run"}


def test_about_eighty_tools_are_listed_in_all() -> None:
    assert len(PROFILES["all"]) == 80
    of_programs = {name for name, row in TABLE.items() if row.for_programs}
    assert of_programs > {"complete_states", "log_event", "export_run", "reserve_turn", "put_account"}
    assert PROFILES["all"] | RETIRED | of_programs == set(SERVED)
    assert all(names <= PROFILES["all"] for names in PROFILES.values())


def test_a_worker_is_offered_about_ten_tools() -> None:
    assert 8 <= len(PROFILES["worker"]) <= 13
    assert PROFILES["worker"] >= {"list_asked", "decide_gate"}, "what a review needs"


def test_a_profile_needs_no_scope_that_its_callers_do_not_have() -> None:
    worker = {spec.scope for spec in select_tools((), read_only=False, profile="worker")}
    planner = {
        spec.scope for profile in ("planner", "member") for spec in select_tools((), read_only=False, profile=profile)
    }
    assert worker <= {Scope.READ, Scope.WORK}
    assert planner <= {Scope.READ, Scope.WORK, Scope.PLAN}


def test_a_profile_that_does_not_exist_is_refused_in_words() -> None:
    with pytest.raises(InvalidArgument, match="There is no profile 'boss'"):
        select_tools((), read_only=False, profile="boss")


def test_read_only_and_toolsets_narrow_a_profile() -> None:
    names = {spec.name for spec in select_tools(("execution",), read_only=True, profile="planner")}
    assert names == {"read_workflow_control_plane"}


async def test_the_list_is_made_once(application: Application) -> None:
    """The SDK's own handler is asked the first time only; another version or other scopes are another list."""
    request: list[str] = []
    tools = [{"name": "read_workflow_control_plane"}, {"name": "list_runs"}]

    async def build(ctx: Any) -> dict[str, Any]:
        request.append(ctx.protocol_version)
        return {"tools": tools}

    class _Context:
        method = "tools/list"

        def __init__(self, version: str) -> None:
            self.protocol_version = version

    local = the_local_user(application.settings)
    cache = ToolList(Shown(select_tools((), read_only=False), local))
    first: Any = _Context("2026-07-28")
    old: Any = _Context("2025-11-25")
    assert await cache(first, build) == await cache(first, build) == {"tools": tools}
    await cache(old, build)
    assert request == ["2026-07-28", "2025-11-25"]
