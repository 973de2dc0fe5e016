"""Agents on a real Letta server: made, found, looked up, deleted."""

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from letta_client import Letta

from dcf.adapters.letta import LettaPlatform
from dcf.errors import AgentUnknown, InvalidArgument, ToolUnavailable
from dcf.ports import AgentWish
from tests.support.paths import ROOT
from tests.support.tables import rows
from tests.system.letta.conftest import Hire
from tests.system.letta.waiting import NOBODY

pytestmark = [pytest.mark.letta, pytest.mark.timeout(600)]

BUNDLE: dict[str, Any] = {
    "agents": [
        {
            "id": "agent-0",
            "name": "template",
            "system": "You work.",
            "tags": ["from:template"],
            "block_ids": ["block-1"],
            "tool_ids": [],
        }
    ],
    "blocks": [
        {"id": "block-0", "label": "human", "value": "not this one"},
        {"id": "block-1", "label": "persona", "value": "I am diligent."},
    ],
    "tools": [],
}


def wish(name: str, *tags: str, **changes: Any) -> AgentWish:
    agent = BUNDLE["agents"][0] | changes
    return AgentWish(name=name, tags=tags, template=agent, bundle=BUNDLE)


def test_an_agent_is_found_by_all_its_tags_at_once(letta: LettaPlatform, hired: Hire, mark: str) -> None:
    first = hired("worker", tags=(mark, "state:A"))
    second = hired("worker", tags=(mark, "state:B"))

    assert [agent.agent_id for agent in letta.find_agents((mark, "state:A"))] == [first]
    assert [agent.agent_id for agent in letta.find_agents((mark,))] == [first, second], "oldest first"
    assert letta.find_agents((mark, "state:C")) == []


def test_more_agents_than_fit_on_a_page_are_all_found(letta: LettaPlatform, hired: Hire, mark: str) -> None:
    made = [hired("worker", tags=(mark,)) for _ in range(53)]

    assert [agent.agent_id for agent in letta.find_agents((mark,))] == made


def test_an_agent_is_found_by_exactly_its_name(letta: LettaPlatform, hired: Hire, mark: str) -> None:
    agent = hired(f"{mark}-one")
    hired(f"{mark}-one more")

    assert [agent.agent_id for agent in letta.find_agents(name=f"{mark}-one")] == [agent]


def test_characters_that_letta_has_no_names_with_are_replaced(letta: LettaPlatform, hired: Hire, mark: str) -> None:
    agent = hired(f"wf-{mark}:A/0.é")

    assert letta.retrieve_agent(agent).name == f"wf-{mark}-A-0--"
    assert [agent.agent_id for agent in letta.find_agents(name=f"wf-{mark}:A/0.é")] == [agent]


def test_nobody_is_looked_for_without_tag_or_name(letta: LettaPlatform) -> None:
    with pytest.raises(InvalidArgument, match="by tags or by name"):
        letta.find_agents()


def test_a_template_gives_the_agent_its_blocks_and_its_prompt(
    letta: LettaPlatform, raw: Letta, hired: Hire, mark: str
) -> None:
    agent = hired("worker", tags=(mark,), template=BUNDLE["agents"][0], bundle=BUNDLE)

    state = raw.agents.retrieve(agent, include=["agent.blocks", "agent.tags", "agent.tools"])
    assert [(block.label, block.value) for block in state.blocks] == [("persona", "I am diligent.")]
    assert set(state.tags) == {mark, "from:template"}
    assert state.tools == []
    (prompt,) = raw.agents.messages.list(agent, order="asc", limit=1).items
    assert "I am diligent." in str(prompt), "no recompile is needed for an agent that was made with its blocks"


@rows(
    ("changes", "error"),
    [
        ({"block_ids": ["block-9"]}, InvalidArgument),
        ({"tool_ids": ["tool-9"]}, InvalidArgument),
        ({"tools": ["no_such_tool_anywhere"]}, ToolUnavailable),
        ({"system": "a\0b"}, InvalidArgument),
    ],
    ids=["a block", "a tool", "a tool of the server", "text"],
)
def test_an_agent_whose_template_lacks_something_is_not_made(
    letta: LettaPlatform, mark: str, changes: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error):
        letta.create_agent(wish("worker", mark, **changes))

    assert letta.find_agents((mark,)) == []


def test_looking_up_an_agent_that_is_not_there_says_so(letta: LettaPlatform) -> None:
    for agent_id in (NOBODY, "no-id-of-letta", ""):
        with pytest.raises(AgentUnknown):
            letta.retrieve_agent(agent_id)


def test_deleting_an_agent_takes_its_blocks_along(letta: LettaPlatform, raw: Letta, mark: str) -> None:
    agent = letta.create_agent(wish("worker", mark))
    letta.add_text(agent, f"note_{mark}", "remember this")
    blocks = [block.id for block in raw.agents.blocks.list(agent).items]
    assert len(blocks) == 2

    assert letta.delete_agent(agent) is True

    left = [block.id for label in ("persona", f"note_{mark}") for block in raw.blocks.list(label=label, limit=200)]
    assert not set(blocks) & set(left)
    assert letta.delete_agent(agent) is False


def test_blocks_that_others_made_or_have_outlive_the_agent(
    letta: LettaPlatform, raw: Letta, hired: Hire, mark: str
) -> None:
    colleague = hired("colleague")
    agent = letta.create_agent(wish("worker", mark))
    shared = letta.add_text(agent, f"shared_{mark}", "for both")
    foreign = raw.blocks.create(label=f"foreign_{mark}", value="the operator's").id
    assert foreign is not None
    raw.agents.blocks.attach(shared, agent_id=colleague)
    raw.agents.blocks.attach(foreign, agent_id=agent)

    letta.delete_agent(agent)

    assert raw.blocks.retrieve(shared).value == "for both"
    assert raw.blocks.retrieve(foreign).value == "the operator's"


def test_eight_deletions_at_once_tell_at_most_one_that_it_was_there(letta: LettaPlatform, mark: str) -> None:
    agent = letta.create_agent(wish("worker", mark))

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: letta.delete_agent(agent), range(8)))

    assert any(answers)
    assert letta.find_agents((mark,)) == []


@rows("template", ["worker", "planner"])
def test_the_shipped_templates_can_be_imported_by_letta_itself(raw: Letta, mark: str, template: str) -> None:
    """For people who bring agents in by hand, without dcf."""
    path = ROOT / "agents" / f"{template}.af"
    document = json.loads(path.read_text())
    document["mcp_servers"] = []  # their address is not on this machine
    for tool in document["tools"]:  # an import takes tools of the same names over, for everyone
        tool["name"] = tool["json_schema"]["name"] = f"{mark}_{tool['name']}"
    file = (path.name, json.dumps(document).encode(), "application/json")

    (agent,) = raw.agents.import_file(file=file, append_copy_suffix=False).agent_ids

    state = raw.agents.retrieve(agent, include=["agent.tools", "agent.blocks", "agent.tags"])
    assert state.name == template
    assert {tool.name for tool in state.tools} == {tool["name"] for tool in document["tools"]}
    assert [block.label for block in state.blocks] == [block["label"] for block in document["blocks"]]
    raw.agents.delete(agent)
