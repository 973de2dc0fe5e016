"""The promises of every agent platform."""

import secrets

import pytest

from dcf.errors import AgentUnknown, ToolUnavailable
from dcf.ports import AgentWish
from tests.platforms.conftest import Site
from tests.support.agents.faults import WholePlatform
from tests.support.tables import rows

NOBODY = "agent-00000000-0000-4000-8000-000000000000"


def tag() -> str:
    return f"wf:t-{secrets.token_hex(6)}"


def test_an_agent_is_found_by_the_tags_it_was_made_with(site: Site, platform: WholePlatform) -> None:
    mine, other = tag(), tag()
    make = site.make(mine, "role:worker", "state:A:b/c ü")
    two = site.make(mine, "role:worker", "state:B")
    site.make(other, "role:worker")
    assert [agent.agent_id for agent in platform.find_agents((mine, "role:worker"))] == [make, two], "the oldest first"
    assert [agent.agent_id for agent in platform.find_agents((mine, "state:B"))] == [two]
    assert {mine, "role:worker", "state:A:b/c ü"} <= set(platform.find_agents((mine,))[0].tags)
    assert platform.find_agents((tag(),)) == []


def test_an_agent_is_found_by_its_exact_name_only(platform: WholePlatform, site: Site) -> None:
    name = f"Worker's name_{secrets.token_hex(4)}"
    wish = AgentWish(name=name, template=site.agent, bundle=site.bundle)
    ids = {platform.create_agent(wish), platform.create_agent(wish)}
    assert {agent.agent_id for agent in platform.find_agents(name=name)} == ids, "names need not be unique"
    assert platform.find_agents(name=name[:-1]) == []
    assert platform.find_agents(name=name.upper()) == []


def test_an_agent_is_made_with_the_blocks_and_tools_of_its_template(site: Site) -> None:
    """D-60: the instructions in the bundle's blocks, and its tools, were left out."""
    agent = site.make()
    assert site.blocks(agent)["persona"] == "You are a worker."
    assert site.tool_names(agent) == ["acquire_state_lease"]


def test_an_agent_that_is_looked_up_shows_its_tools(site: Site, platform: WholePlatform) -> None:
    agent = site.make()
    before = platform.tools_of(agent)
    attached = platform.attach_tool(agent, site.attachable("verify"))
    assert platform.tools_of(agent) == (*before, attached)


@rows("call", ["retrieve_agent", "add_text", "attach_tool", "lift_return_limits"])
def test_an_agent_that_is_not_there_is_named(site: Site, platform: WholePlatform, call: str) -> None:
    arguments = {"add_text": ("label", "text"), "attach_tool": (site.attachable("verify"),)}.get(call, ())
    with pytest.raises(AgentUnknown, match=NOBODY[:40]):
        getattr(platform, call)(NOBODY, *arguments)


def test_deleting_tells_whether_the_agent_was_there(site: Site, platform: WholePlatform) -> None:
    mine = tag()
    agent = site.make(mine)
    assert platform.delete_agent(agent)
    assert not platform.delete_agent(agent)
    assert not platform.delete_agent(NOBODY)
    assert platform.find_agents((mine,)) == []
    with pytest.raises(AgentUnknown):
        platform.retrieve_agent(agent)


def test_a_text_of_the_same_label_is_replaced(site: Site, platform: WholePlatform) -> None:
    agent = site.make()
    platform.add_text(agent, "skill_ds_x_y", "old")
    block = platform.add_text(agent, "skill_ds_x_y", "new \N{SNOWMAN}")
    assert site.blocks(agent)["skill_ds_x_y"] == "new \N{SNOWMAN}"
    platform.remove_text(agent, block)
    assert "skill_ds_x_y" not in site.blocks(agent)
    assert "persona" in site.blocks(agent)


def test_attaching_twice_and_removing_twice_are_no_errors(site: Site, platform: WholePlatform) -> None:
    agent = site.make()
    first, two = (platform.attach_tool(agent, site.attachable("verify")) for _ in range(2))
    assert first == two
    assert site.tool_names(agent).count("verify") == 1
    block = platform.add_text(agent, "label", "text")
    for _ in range(2):
        platform.detach_tool(agent, first)
        platform.remove_text(agent, block)
    assert site.tool_names(agent) == ["acquire_state_lease"]
    platform.apply(agent)


def test_removing_from_an_agent_that_is_gone_is_no_error(site: Site, platform: WholePlatform) -> None:
    agent = site.make()
    tool = platform.attach_tool(agent, site.attachable("verify"))
    block = platform.add_text(agent, "label", "text")
    platform.delete_agent(agent)
    platform.detach_tool(agent, tool)
    platform.remove_text(agent, block)


def test_a_tool_that_is_not_there_is_told_apart_from_an_agent_that_is_not(site: Site, platform: WholePlatform) -> None:
    agent = site.make()
    with pytest.raises(ToolUnavailable, match="never"):
        platform.attach_tool(agent, site.missing)
    assert site.tool_names(agent) == ["acquire_state_lease"]
