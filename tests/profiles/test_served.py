"""Each caller is served its profile, and a connection with a profile shows no tool of dcf's own."""

import pytest
from mcp.client import Client
from mcp.shared.exceptions import MCPError

from dcf.application.application import Application, open_application
from dcf.core.access.model import Caller, Scope
from dcf.profiles.catalog import profile_of
from dcf.settings.process import Settings
from dcf.tools.mcp.profile_calls import NativeTools
from dcf.tools.mcp.server import build_server
from dcf.values.profile_names import SYSTEM_PROFILES, SystemProfile
from dcf.verbs.limits import meter_of
from tests.profiles.conftest import Connect
from tests.profiles.contract import CONTRACTS
from tests.support.tables import rows
from tests.tools.access import PLANNER

pytestmark = pytest.mark.anyio


def _key(site: Application, *scopes: Scope, profile: str | None = None, agent_id: str | None = None) -> str:
    return site.keys.create(scopes, agent_id=agent_id, label=None, life_s=None, profile=profile).text


@rows("profile", SYSTEM_PROFILES)
@rows("mode", ["auto", "legacy"])
async def test_a_key_with_a_profile_sees_the_tools_of_that_system_and_none_of_dcf(
    site: Application, connect: Connect, profile: SystemProfile, mode: str
) -> None:
    async with connect(_key(site, *PLANNER, profile=profile), mode=mode) as result:
        listed = {tool.name for tool in (await result.client.list_tools()).tools}
        assert listed == set(profile_of(profile).tools)
        assert set(CONTRACTS[profile]) <= listed
        assert result.client.server_info is not None
        assert result.client.server_info.name == profile_of(profile).server
        assert result.client.instructions == profile_of(profile).instructions
        assert (await result.client.list_prompts()).prompts == []
        assert (await result.client.list_resource_templates()).resource_templates == []
        uris = {str(resource.uri) for resource in (await result.client.list_resources()).resources}
        assert uris == {resource.uri for resource in profile_of(profile).resources}


@rows("profile", SYSTEM_PROFILES)
async def test_a_header_asks_for_a_profile_and_without_one_dcf_is_served(
    site: Application, connect: Connect, profile: SystemProfile
) -> None:
    key = _key(site, *PLANNER)
    async with connect(key, profile) as request, connect(key) as plain:
        assert {tool.name for tool in (await request.client.list_tools()).tools} == set(profile_of(profile).tools)
        assert "start_run" in {tool.name for tool in (await plain.client.list_tools()).tools}


async def test_the_profile_of_a_key_counts_more_than_a_header(site: Application, connect: Connect) -> None:
    async with connect(_key(site, *PLANNER, profile="mission-control"), "worker") as result:
        assert "start_phase" in {tool.name for tool in (await result.client.list_tools()).tools}


@rows("profile", SYSTEM_PROFILES)
async def test_a_server_that_was_started_with_a_profile_serves_it_to_everybody(
    site: Application, profile: SystemProfile
) -> None:
    settings = Settings.model_validate({"redis_url": site.redis_url, "profile": profile, "auth": "off"})
    with open_application(settings) as opened:
        async with Client(build_server(opened)) as client:
            assert {tool.name for tool in (await client.list_tools()).tools} == set(profile_of(profile).tools)


@rows("profile", SYSTEM_PROFILES)
async def test_a_tool_of_dcf_cannot_be_called_on_such_a_connection(
    site: Application, connect: Connect, profile: SystemProfile
) -> None:
    async with connect(_key(site, *PLANNER, profile=profile)) as result:
        refused = await result.failed("list_runs")
        assert "list_runs" in refused.text
        assert next(iter(profile_of(profile).tools)) in refused.text
        with pytest.raises(MCPError):
            await result.client.read_resource("dcf://language")
        with pytest.raises(MCPError):
            await result.client.get_prompt("plan_workflow")


@rows("profile", SYSTEM_PROFILES)
async def test_a_caller_without_the_scope_is_refused_first_and_audited(
    site: Application, connect: Connect, profile: SystemProfile
) -> None:
    writing = [tool for tool in profile_of(profile).tools.values() if tool.scopes != {Scope.READ}]
    async with connect(_key(site, Scope.READ, profile=profile)) as result:
        for tool in writing:
            refused = await result.failed(tool.name)
            assert "scope" in refused.text
            assert "dcf keys add" in refused.text
    noted = [entry for entry in site.audit.newest(limit=200) if entry.change in {tool.name for tool in writing}]
    assert {entry.change for entry in noted} == {tool.name for tool in writing}


def test_an_agent_with_the_name_of_another_caller_has_other_tokens(site: Application) -> None:
    meter = meter_of(site.settings)
    callers = (
        Caller(name="local", scopes=frozenset(Scope)),
        Caller(name="key:1", scopes=frozenset(Scope), agent_id="local"),
        Caller(name="key:2", scopes=frozenset(Scope), agent_id="local"),
    )
    mine, theirs, same = (
        NativeTools(application=site, caller=caller, meter=meter).token("run", "unit", 1) for caller in callers
    )
    assert mine != theirs == same
