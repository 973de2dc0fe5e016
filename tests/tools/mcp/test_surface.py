"""What callers depend on: names, scopes, parameters and fields of every tool, and how many bytes they take.

All of it stands in the reference page, which is made of the registry. So a tool, parameter or field that is gone or
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
from dcf.tools.mcp.listing import ToolList
from dcf.tools.mcp.reference import markdown_of
from dcf.tools.mcp.selection import PROFILES, select_tools
from dcf.tools.mcp.server import build_server
from dcf.verbs.authentication import the_local_user
from dcf.verbs.examples import smallest_call
from dcf.verbs.listed_tools import AUTO, listed_for
from dcf.verbs.registry import TOOLS, Answer, ToolSpec
from tests.support.paths import ROOT
from tests.support.tables import rows
from tests.tools.access import ask, key_of

pytestmark = pytest.mark.anyio

REFERENCE = ROOT / "docs" / "tools.md"

BUDGETS = {
    name: kib * 1024
    for name, kib in {"worker": 9, "planner": 25, "member": 25, "operator": 60, "person": 4, "all": 90}.items()
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
    assert markdown_of(select_tools((), read_only=False)) == REFERENCE.read_text("utf-8"), "run `make reference`"


def test_the_reference_page_has_every_tool_with_scope_and_parameters() -> None:
    text = REFERENCE.read_text("utf-8")
    for name, spec in TOOLS.items():
        assert f"\n### {name}\n" in text
        for parameter in set(spec.arguments.model_fields) - {"redis_url"}:
            assert f"| `{parameter}` |" in text


def test_what_the_reference_page_says_of_all_answers_and_calls_is_so() -> None:
    assert set(Answer.model_fields) == {"status", "error", "code", "hint", "retry_after_s", "next"}
    for spec in TOOLS.values():
        assert issubclass(spec.answer, Answer)
        assert not spec.arguments.model_fields["redis_url"].is_required()


def test_the_readme_names_every_tool_once_and_no_other() -> None:
    section = (ROOT / "README.md").read_text("utf-8").split("## Tools\n")[1].strip().split("\n\n")[0]
    named = [name for row in section.split("\n")[2:] for name in re.findall(r"`(\w+)`", row.split("|")[1])]
    assert sorted(named) == sorted(TOOLS)


@rows("spec", TOOLS.values(), ids=TOOLS)
def test_the_smallest_call_of_a_tool_can_be_shown_and_is_accepted(spec: ToolSpec) -> None:
    spec.arguments.model_validate(smallest_call(spec))


async def test_a_hint_shows_what_a_missing_argument_looks_like(alone: Application) -> None:
    answer = await ask(alone, key_of(*Scope), "json_append", redis_key="doc:a", value_json=1)
    assert answer.error == "invalid_argument: The argument path is missing."
    assert answer.hint.endswith(' For example {"path":"$.items"}.')


async def _listed(application: Application) -> list[dict[str, Any]]:
    async with Client(build_server(application)) as client:
        found = await client.list_tools()
    return [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in found.tools]


@rows("profile", sorted(PROFILES))
async def test_the_list_of_a_profile_fits_its_budget(replica: Callable[..., Application], profile: str) -> None:
    listed = await _listed(replica(profile=profile, allow_operator=True))
    assert len(json.dumps(listed, separators=(",", ":"))) <= BUDGETS[profile]
    names = PROFILES[profile]
    assert {tool["name"] for tool in listed} == (set(TOOLS) if names is None else names)


@rows("profile", sorted(MODELS))
def test_a_key_is_shown_the_profile_that_its_scopes_suggest(profile: str) -> None:
    assert listed_for(key_of(*MODELS[profile]), AUTO) == PROFILES[profile]


def test_who_waits_for_events_and_may_answer_is_shown_the_tools_of_both() -> None:
    assert listed_for(key_of(Scope.READ, Scope.WORK, Scope.ANSWER), AUTO) == PROFILES["worker"] | PROFILES["person"]  # type: ignore[operator]


def test_a_key_that_may_only_read_is_shown_what_an_operator_reads() -> None:
    assert listed_for(key_of(Scope.READ), AUTO) == PROFILES["operator"]


@rows("profile", sorted(PROFILES))
def test_a_profile_that_is_set_is_what_everybody_is_shown(profile: str) -> None:
    assert listed_for(key_of(*Scope), profile) == listed_for(local_caller(operator=True), profile) == PROFILES[profile]


async def test_the_local_user_is_shown_every_tool_that_may_be_called(replica: Callable[..., Application]) -> None:
    listed = {tool["name"] for tool in await _listed(replica())}
    scopes = local_caller(operator=False).scopes
    assert listed == {name for name, spec in TOOLS.items() if spec.scope in scopes}


async def test_a_tool_that_is_not_on_the_list_can_be_called(replica: Callable[..., Application]) -> None:
    async with Client(build_server(replica(profile="worker"))) as client:
        assert "list_runs" not in {tool.name for tool in (await client.list_tools()).tools}
        answer = await client.call_tool("list_runs", {})
    assert (answer.is_error, answer.structured_content and answer.structured_content["code"]) == (False, "ok")


def test_a_worker_is_offered_about_ten_tools() -> None:
    names = PROFILES["worker"]
    assert names is not None
    assert 8 <= len(names) <= 13


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
    asked: list[str] = []
    tools = [{"name": "read_workflow_control_plane"}, {"name": "csv_to_manifests"}]

    async def build(ctx: Any) -> dict[str, Any]:
        asked.append(ctx.protocol_version)
        return {"tools": tools}

    class _Context:
        method = "tools/list"

        def __init__(self, version: str) -> None:
            self.protocol_version = version

    local = the_local_user(application.settings)
    cache = ToolList(select_tools((), read_only=False), local)
    first: Any = _Context("2026-07-28")
    old: Any = _Context("2025-11-25")
    assert await cache(first, build) == await cache(first, build) == {"tools": tools}
    await cache(old, build)
    assert asked == ["2026-07-28", "2025-11-25"]
