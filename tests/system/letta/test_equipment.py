"""Blocks and tools of agents on a real Letta server."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
from letta_client import Letta

from dcf.adapters.letta import LettaOptions, LettaPlatform
from dcf.errors import AgentUnknown, InvalidArgument, ToolUnavailable
from dcf.ports import ToolWish
from tests.support.redis.servers import free_port
from tests.support.tables import rows
from tests.system.letta.conftest import Hire
from tests.system.letta.mcp_servers import McpService, mcp_service
from tests.system.letta.model import Conversation, Reply, ScriptedModel, say, use
from tests.system.letta.waiting import NOBODY

pytestmark = [pytest.mark.letta, pytest.mark.timeout(600)]

SOURCE = '''
def {name}(word: str) -> str:
    """Repeat a word.

    Args:
        word (str): The word.
    """
    return word
'''


@pytest.fixture
def service(mark: str) -> Iterator[McpService]:
    """An MCP server with two tools of its own."""
    with mcp_service(f"service-{mark}", f"{mark}_look", f"{mark}_count") as result:
        yield result


def served(service: McpService, tool: str) -> ToolWish:
    definition = {"type": "mcp_server", "serverId": service.name, "toolName": tool}
    return ToolWish(name=tool, definition=definition, server=service.entry)


def python(name: str, source: str = SOURCE) -> ToolWish:
    return ToolWish(name=name, definition={"type": "python_source", "sourceCode": source.format(name=name)})


def tools_of(raw: Letta, agent: str) -> set[str | None]:
    return {tool.name for tool in raw.agents.tools.list(agent, limit=1000).items}


def blocks_of(raw: Letta, agent: str) -> dict[str, str]:
    return {block.label or "": block.value for block in raw.agents.blocks.list(agent).items}


# Blocks


def test_a_block_reaches_the_model_after_a_refresh(
    letta: LettaPlatform, raw: Letta, hired: Hire, model: ScriptedModel, mark: str
) -> None:
    agent = hired()
    letta.add_text(agent, f"note_{mark}", "the door is blue")
    letta.apply(agent)

    raw.agents.messages.create(agent, messages=[{"role": "user", "content": "hello"}])

    assert "the door is blue" in model.log[-1].conversation.system


def test_the_same_label_again_replaces_the_text(letta: LettaPlatform, raw: Letta, hired: Hire, mark: str) -> None:
    agent = hired()

    first = letta.add_text(agent, f"note_{mark}", "old")
    second = letta.add_text(agent, f"note_{mark}", "new")

    assert first == second
    assert blocks_of(raw, agent) == {f"note_{mark}": "new"}


def test_one_label_added_by_eight_threads_is_one_block(
    letta: LettaPlatform, raw: Letta, hired: Hire, mark: str
) -> None:
    agent = hired()

    with ThreadPoolExecutor(8) as pool:
        ids = set(pool.map(lambda number: letta.add_text(agent, f"note_{mark}", f"text {number}"), range(8)))

    assert len(ids) == 1
    assert list(blocks_of(raw, agent)) == [f"note_{mark}"]
    assert len(raw.blocks.list(label=f"note_{mark}").items) == 1, "no block is left over"


def test_equipment_given_by_eight_threads_at_once_all_arrives(
    letta: LettaPlatform, raw: Letta, hired: Hire, mark: str
) -> None:
    agent = hired()
    names = [f"{mark}_{number}" for number in range(8)]

    def equip(name: str) -> None:
        letta.add_text(agent, name, name)
        letta.attach_tool(agent, python(name))
        letta.apply(agent)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(equip, names))

    assert blocks_of(raw, agent) == {name: name for name in names}
    assert tools_of(raw, agent) == set(names)


def test_a_block_that_was_removed_is_gone_and_may_be_removed_again(
    letta: LettaPlatform, raw: Letta, hired: Hire, mark: str
) -> None:
    agent = hired()
    block = letta.add_text(agent, f"note_{mark}", "text")

    letta.remove_text(agent, block)
    letta.remove_text(agent, block)

    assert blocks_of(raw, agent) == {}
    assert raw.blocks.list(label=f"note_{mark}").items == []


def test_a_block_of_nobody_is_refused_and_not_left_behind(letta: LettaPlatform, raw: Letta, mark: str) -> None:
    with pytest.raises(AgentUnknown):
        letta.add_text(NOBODY, f"note_{mark}", "text")

    assert raw.blocks.list(label=f"note_{mark}").items == []


@rows(("label", "value"), [("note", "a\0b"), ("note", "\ud800"), ("", "text"), ("no\0te", "text")])
def test_text_that_letta_cannot_store_is_refused(letta: LettaPlatform, hired: Hire, label: str, value: str) -> None:
    with pytest.raises(InvalidArgument):
        letta.add_text(hired(), label, value)


def test_a_long_block_is_stored_whole(letta: LettaPlatform, raw: Letta, hired: Hire, mark: str) -> None:
    agent = hired()
    text = "line\n" * 40_000

    letta.add_text(agent, f"note_{mark}", text)

    assert blocks_of(raw, agent) == {f"note_{mark}": text}


# Tools of MCP servers


def test_an_agent_calls_a_tool_that_was_attached(
    letta: LettaPlatform, raw: Letta, hired: Hire, model: ScriptedModel, service: McpService, mark: str
) -> None:
    agent, tool = hired(), f"{mark}_look"
    letta.attach_tool(agent, served(service, tool))

    def mind(seen: Conversation) -> Reply:
        return use(tool, word="12e5") if not seen.results else say("done")

    model.minds.append(mind)
    raw.agents.messages.create(agent, messages=[{"role": "user", "content": "look"}])

    (result,) = model.log[-1].conversation.results
    assert f"{tool} heard 12e5" in result.text, "arguments of MCP tools arrive as they were sent"
    assert service.calls[tool] == 1


def test_attaching_and_detaching_may_be_repeated(
    letta: LettaPlatform, raw: Letta, hired: Hire, service: McpService, mark: str
) -> None:
    agent, tool = hired(), f"{mark}_look"

    ids = {letta.attach_tool(agent, served(service, tool)) for _ in range(2)}
    assert tools_of(raw, agent) == {tool}
    (tool_id,) = ids
    assert letta.tools_of(agent) == (tool_id,)
    for _ in range(2):
        letta.detach_tool(agent, tool_id)

    assert tools_of(raw, agent) == set()
    assert raw.tools.retrieve(tool_id).name == tool, "the tool itself stays"


def test_a_server_wanted_by_eight_threads_at_once_is_registered_once(
    letta: LettaPlatform, raw: Letta, hired: Hire, service: McpService, mark: str
) -> None:
    agents = [hired() for _ in range(8)]

    with ThreadPoolExecutor(8) as pool:
        ids = set(pool.map(lambda agent: letta.attach_tool(agent, served(service, f"{mark}_look")), agents))

    assert len(ids) == 1
    assert [server.server_name for server in raw.mcp_servers.list()].count(service.name) == 1
    assert all(tools_of(raw, agent) == {f"{mark}_look"} for agent in agents)


def test_a_tool_that_the_server_does_not_serve_is_unavailable(
    letta: LettaPlatform, hired: Hire, service: McpService, mark: str
) -> None:
    with pytest.raises(ToolUnavailable, match="serves no tool"):
        letta.attach_tool(hired(), served(service, f"{mark}_other"))


def test_a_server_that_was_down_when_it_was_registered_is_asked_again(
    letta: LettaPlatform, raw: Letta, hired: Hire, mark: str
) -> None:
    agent, port, name = hired(), free_port(), f"late-{mark}"
    late = McpService(name=name, url=f"http://127.0.0.1:{port}/mcp")
    with pytest.raises(ToolUnavailable, match="does not answer"):
        letta.attach_tool(agent, served(late, f"{mark}_look"))

    with mcp_service(name, f"{mark}_look", port=port) as service:
        letta.attach_tool(agent, served(service, f"{mark}_look"))

    assert tools_of(raw, agent) == {f"{mark}_look"}


def test_a_server_cannot_take_a_tools_name_from_another(
    letta: LettaPlatform, raw: Letta, hired: Hire, service: McpService, mark: str
) -> None:
    agent, tool = hired(), f"{mark}_look"
    letta.attach_tool(agent, served(service, tool))

    with mcp_service(f"impostor-{mark}", tool) as impostor, pytest.raises(ToolUnavailable, match="belongs to"):
        letta.attach_tool(hired(), served(impostor, tool))

    assert f"impostor-{mark}" not in [server.server_name for server in raw.mcp_servers.list()]
    assert raw.agents.tools.run(tool, agent_id=agent, args={"word": "hi"}).status == "success"
    assert service.calls[tool] == 1


def test_a_server_known_at_another_address_is_not_used(
    letta: LettaPlatform, hired: Hire, service: McpService, mark: str
) -> None:
    agent = hired()
    letta.attach_tool(agent, served(service, f"{mark}_look"))
    moved = McpService(name=service.name, url="http://127.0.0.1:9/mcp")

    with pytest.raises(ToolUnavailable, match="at another address"):
        letta.attach_tool(agent, served(moved, f"{mark}_look"))


def test_the_refusal_of_a_private_address_says_what_to_do(letta: LettaPlatform, hired: Hire, mark: str) -> None:
    private = McpService(name=f"private-{mark}", url="http://10.255.255.1:8000/mcp")

    with pytest.raises(ToolUnavailable, match="refuses to connect") as refusal:
        letta.attach_tool(hired(), served(private, "look"))

    assert "public addresses" in refusal.value.hint


@rows(
    "entry",
    [{"name": "x", "transport": "ws", "url": "ws://x"}, {"name": "x"}, {"name": "a:b", "url": "http://x/mcp"}, None],
)
def test_a_server_that_letta_cannot_have_is_refused(letta: LettaPlatform, hired: Hire, entry: Any) -> None:
    wish = ToolWish(name="look", definition={"type": "mcp_server", "serverId": "x", "toolName": "look"}, server=entry)

    with pytest.raises((ToolUnavailable, InvalidArgument)):
        letta.attach_tool(hired(), wish)


# Tools of other kinds


def test_a_registered_tool_is_attached_by_its_id(letta: LettaPlatform, raw: Letta, hired: Hire) -> None:
    agent = hired()
    (tool,) = raw.tools.list(name="archival_memory_search").items
    wish = ToolWish(name="search", definition={"type": "registered", "platformToolId": tool.id})

    assert letta.attach_tool(agent, wish) == tool.id

    assert tools_of(raw, agent) == {"archival_memory_search"}


@rows("tool_id", ["tool-00000000-0000-4000-8000-000000000000", "nonsense", ""])
def test_a_registered_tool_that_is_not_there_is_unavailable(letta: LettaPlatform, hired: Hire, tool_id: str) -> None:
    wish = ToolWish(name="search", definition={"type": "registered", "platformToolId": tool_id})

    with pytest.raises(ToolUnavailable):
        letta.attach_tool(hired(), wish)


def test_python_source_is_refused_unless_an_operator_allows_it(options: LettaOptions, hired: Hire) -> None:
    agent, strict = hired(), LettaPlatform(replace(options, allow_python_source=False))

    with strict, pytest.raises(ToolUnavailable, match="does not allow"):
        strict.attach_tool(agent, python("repeat"))


def test_a_python_tool_is_made_once_and_then_found(letta: LettaPlatform, raw: Letta, hired: Hire, mark: str) -> None:
    first, second = hired(), hired()
    wish = python(f"{mark}_repeat")

    assert letta.attach_tool(first, wish) == letta.attach_tool(second, wish)

    assert tools_of(raw, first) == tools_of(raw, second) == {f"{mark}_repeat"}


def test_python_source_cannot_take_the_name_of_a_tool_that_is_there(
    letta: LettaPlatform, hired: Hire, service: McpService, mark: str
) -> None:
    letta.attach_tool(hired(), served(service, f"{mark}_look"))

    with pytest.raises(ToolUnavailable, match="belongs to"):
        letta.attach_tool(hired(), python(f"{mark}_look"))


def test_python_source_that_is_no_tool_is_unavailable(letta: LettaPlatform, hired: Hire, mark: str) -> None:
    with pytest.raises(ToolUnavailable, match="cannot make a tool"):
        letta.attach_tool(hired(), python(f"{mark}_bad", "this is no Python"))


def test_tools_may_be_given_to_agents_that_are_there_only(letta: LettaPlatform, service: McpService, mark: str) -> None:
    with pytest.raises(AgentUnknown):
        letta.attach_tool(NOBODY, served(service, f"{mark}_look"))

    letta.detach_tool(NOBODY, "tool-00000000-0000-4000-8000-000000000000")


def test_what_tools_return_may_be_let_be_longer(
    letta: LettaPlatform, raw: Letta, hired: Hire, service: McpService, mark: str
) -> None:
    agent = hired()
    tool_id = letta.attach_tool(agent, served(service, f"{mark}_look"))

    changed = [letta.lift_return_limits(agent), letta.lift_return_limits(agent)]

    assert changed == [1, 0]
    assert raw.tools.retrieve(tool_id).return_char_limit == 60_000
