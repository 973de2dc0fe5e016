"""Agents of .af bundles, read without Letta: what is asked for when one is made, and what is refused."""

from typing import Any

import pytest

from dcf.adapters.letta.bundles import BundledTool, read_agent
from dcf.errors import InvalidArgument
from tests.support.tables import rows

AGENT: dict[str, Any] = {"id": "agent-0", "name": "worker", "system": "Work.", "llm_config": {"model": "m"}}


def bundle(**entries: Any) -> dict[str, Any]:
    return {"agents": [AGENT], "blocks": [], "tools": [], **entries}


def test_local_ids_stand_for_entries_of_the_bundle() -> None:
    blocks = [{"id": f"block-{n}", "label": f"l{n}", "value": f"v{n}", "limit": 9, "extra": 1} for n in range(3)]
    tools = [{"id": "tool-0", "name": "a", "tool_type": "external_mcp", "metadata_": {"mcp": {"server_name": "dcf"}}}]

    blueprint = read_agent(
        AGENT | {"block_ids": ["block-2", "block-0"], "tool_ids": ["tool-0"]}, bundle(blocks=blocks, tools=tools)
    )

    assert blueprint.blocks == ({"label": "l2", "value": "v2", "limit": 9}, {"label": "l0", "value": "v0", "limit": 9})
    assert blueprint.tools == (BundledTool(name="a", server="dcf"),)


def test_what_belongs_to_the_exporting_server_is_not_taken_over() -> None:
    blueprint = read_agent(
        AGENT | {"messages": [{"role": "user"}], "identity_ids": ["x"], "embedding_config": None}, bundle()
    )

    assert blueprint.arguments == {"system": "Work.", "llm_config": {"model": "m"}, "include_base_tools": False}


@rows(
    ("entry", "expected"),
    [
        (
            {"name": "t", "tool_type": "external_mcp", "tags": ["x", "mcp:orders"]},
            BundledTool(name="t", server="orders"),
        ),
        ({"name": "t", "tool_type": "letta_core", "source_code": "x"}, BundledTool(name="t")),
        ({"name": "t", "source_code": "def t(): ..."}, BundledTool(name="t", source="def t(): ...")),
        (
            {"name": "t", "tool_type": "custom", "source_code": "s", "json_schema": {"name": "t"}},
            BundledTool(name="t", source="s", details={"json_schema": {"name": "t"}}),
        ),
    ],
    ids=["a server in a tag", "a tool of Letta's own", "Python", "Python with a schema"],
)
def test_a_tool_is_known_by_where_it_comes_from(entry: dict[str, Any], expected: BundledTool) -> None:
    blueprint = read_agent(AGENT | {"tool_ids": ["tool-0"]}, bundle(tools=[{"id": "tool-0", **entry}]))

    assert blueprint.tools == (expected,)


def test_a_tool_named_twice_is_one_tool() -> None:
    tools = [{"id": "tool-0", "name": "t", "tool_type": "letta_core"}]

    assert len(read_agent(AGENT | {"tool_ids": ["tool-0"], "tools": ["t"]}, bundle(tools=tools)).tools) == 1


@rows(
    ("agent", "entries"),
    [
        ({"block_ids": ["block-0"]}, {}),
        ({"block_ids": "block-0"}, {}),
        ({"block_ids": [7]}, {}),
        ({"block_ids": ["block-0"]}, {"blocks": [{"id": "block-0", "label": "l"}]}),
        ({"block_ids": ["block-0"]}, {"blocks": [{"id": "block-0", "label": "l", "value": "a\0b"}]}),
        ({"block_ids": ["block-0"]}, {"blocks": ["block-0"]}),
        ({"memory_blocks": [{"label": "l", "value": "1"}, {"label": "l", "value": "2"}]}, {}),
        ({"tool_ids": ["tool-0"]}, {"tools": [{"id": "tool-0"}]}),
        ({"tool_ids": ["tool-0"]}, {"tools": [{"id": "tool-0", "name": "t", "tool_type": "external_mcp"}]}),
        ({"tool_ids": {"tool-0": 1}}, {}),
        ({"tags": "all"}, {}),
    ],
)
def test_a_bundle_that_is_broken_is_refused(agent: dict[str, Any], entries: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgument):
        read_agent(AGENT | agent, bundle(**entries))
