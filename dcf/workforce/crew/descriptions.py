"""Reads the description of an agent as a neutral wish: instructions, texts, model, MCP servers, tools, tags. Pure.

A description is an entry of a workflow's `agents`, or an agent of an .af bundle. Both are read here in words that every
platform knows; the whole goes along for a platform that knows the format itself.
"""

from collections.abc import Iterator, Mapping
from dataclasses import field

from dcf.core.documents.stored_values import objects_of
from dcf.ports import AgentWish
from dcf.values.json_text import Json
from dcf.values.records import record


@record(frozen=True, slots=True, kw_only=True)
class Description:
    """An agent to be made: its description, the bundle that has its blocks and tools, and the kind of its platform.

    Without a `platform` it is made where the settings say.
    """

    agent: Mapping[str, Json] = field(default_factory=dict)
    bundle: Mapping[str, Json] = field(default_factory=dict)
    platform: str | None = None


def wish_of(name: str, tags: tuple[str, ...], description: Description) -> AgentWish:
    """Return the request to create an agent of this description under this name."""
    agent, bundle = description.agent, description.bundle
    instructions = agent.get("instructions") or agent.get("system")
    model = agent.get("model")
    return AgentWish(
        name=name,
        instructions=instructions if isinstance(instructions, str) else "",
        texts=dict(_texts(agent, bundle)),
        model=model if isinstance(model, str) and model else None,
        mcp_servers=_strings(agent.get("mcp_servers")),
        tools=tuple(dict.fromkeys(_tools(agent, bundle))),
        tags=tuple(dict.fromkeys((*_strings(agent.get("tags")), *tags))),
        template=agent,
        bundle=bundle,
    )


def _texts(agent: Mapping[str, Json], bundle: Mapping[str, Json]) -> Iterator[tuple[str, str]]:
    """Yield the texts of an agent: the blocks that it names in the bundle, and its own ones."""
    named = agent.get("block_ids")
    yield from _entries(bundle.get("blocks"), named if isinstance(named, list) else [])
    yield from _entries(agent.get("memory_blocks"), None)


def _entries(blocks: Json, ids: list[Json] | None) -> Iterator[tuple[str, str]]:
    for block in objects_of(blocks):
        label, value = block.get("label"), block.get("value")
        if isinstance(label, str) and isinstance(value, str) and (ids is None or block.get("id") in ids):
            yield label, value


def _tools(agent: Mapping[str, Json], bundle: Mapping[str, Json]) -> Iterator[str]:
    """Yield the names of an agent's tools: those that it names in the bundle, and those by name."""
    ids = agent.get("tool_ids")
    for tool in objects_of(bundle.get("tools")):
        name = tool.get("name")
        if isinstance(name, str) and isinstance(ids, list) and tool.get("id") in ids:
            yield name
    yield from _strings(agent.get("tools"))


def _strings(value: Json) -> tuple[str, ...]:
    return tuple(text for text in value if isinstance(text, str) and text) if isinstance(value, list) else ()
