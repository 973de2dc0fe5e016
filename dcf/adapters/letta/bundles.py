"""Reads an agent from an .af v2 bundle, as the arguments to create it on Letta. Pure.

The agent is created by one `agents.create`, not by importing the file. A failed import leaves blocks and tools behind.
An import overwrites tools of the same name for all agents, and needs a recompile. If the file has no system message, it
makes agents that answer every message with a 500 (all measured). The call `agents.create` makes the agent with its
blocks, or nothing. The price: messages of the bundle are not copied, so a worker begins without a history.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field

from dcf.errors import InvalidArgument
from dcf.ports import AgentWish
from dcf.values.json_text import Json
from dcf.values.records import record

_COPIED = (
    "agent_type", "compaction_settings", "context_window_limit", "description", "embedding", "embedding_config",
    "llm_config", "max_files_open", "max_tokens", "message_buffer_autoclear", "metadata", "model", "model_settings",
    "parallel_tool_calls", "per_file_view_window_char_limit", "response_format", "secrets", "system", "timezone",
    "tool_exec_environment_variables", "tool_rules",
)  # fmt: skip
_COPIED_OF_BLOCK = ("label", "value", "description", "read_only", "limit", "metadata")
_COPIED_OF_SOURCE = (
    "json_schema", "return_char_limit", "pip_requirements", "npm_requirements", "default_requires_approval",
    "enable_parallel_execution",
)  # fmt: skip
"""The exported fields of a Python tool. Its `source_type` is left out: Letta 0.16.8 exports "json" for Python."""


@record(frozen=True, slots=True, kw_only=True)
class BundledTool:
    """A tool that a bundle names. `server` is set for a tool of an MCP server, `source` for one in Python.

    `details` are further arguments of `tools.upsert` for one in Python.
    """

    name: str
    server: str | None = None
    source: str | None = None
    details: Mapping[str, Json] = field(default_factory=dict)


@record(frozen=True, slots=True, kw_only=True)
class Blueprint:
    """An agent of a bundle with its local ids resolved: arguments of `agents.create`, tools, tags.

    It gets all tools of `servers`.
    """

    arguments: Mapping[str, Json]
    blocks: tuple[Mapping[str, Json], ...]
    tools: tuple[BundledTool, ...]
    tags: tuple[str, ...]
    servers: tuple[str, ...] = ()


def read_wish(wish: AgentWish) -> Blueprint:
    """Return the agent of the wish's template if that is an agent of an .af file, else the one that the wish describes.

    A description in neutral words has `instructions`, which .af agents do not have.
    """
    if wish.template and "instructions" not in wish.template:
        return read_agent(wish.template, wish.bundle)
    wish_arguments: dict[str, Json] = {"system": wish.instructions} if wish.instructions else {}
    chosen: dict[str, Json] = {} if wish.model is None else {"model": wish.model}
    return Blueprint(
        arguments=wish_arguments | chosen | {"include_base_tools": False},
        blocks=tuple({"label": label, "value": text} for label, text in wish.texts.items()),
        tools=tuple(BundledTool(name=name) for name in wish.tools),
        servers=wish.mcp_servers,
        tags=(),
    )


def read_agent(agent: Mapping[str, Json], bundle: Mapping[str, Json]) -> Blueprint:
    """Return the agent with its blocks and tools resolved. Raise InvalidArgument if the bundle lacks one of them."""
    blocks = [*_inline_blocks(agent), *_resolved(agent, bundle, "block")]
    labels = [block["label"] for block in blocks]
    if len(set(labels)) < len(labels):
        raise InvalidArgument(f"The template {_name(agent)} has two blocks with the same label.")
    tools = [_tool(entry, agent) for entry in _resolved(agent, bundle, "tool")]
    tools += [BundledTool(name=name) for name in _strings(agent, "tools")]
    return Blueprint(
        arguments={key: agent[key] for key in _COPIED if agent.get(key) is not None}
        | {"include_base_tools": agent.get("include_base_tools") is True},
        blocks=tuple(blocks),
        tools=tuple({tool.name: tool for tool in tools}.values()),
        tags=_strings(agent, "tags"),
    )


def _inline_blocks(agent: Mapping[str, Json]) -> Iterator[Mapping[str, Json]]:
    for block in _objects(agent, "memory_blocks"):
        yield _block(block, agent)


def _resolved(agent: Mapping[str, Json], bundle: Mapping[str, Json], kind: str) -> Iterator[Mapping[str, Json]]:
    """Yield the entries that the agent's `block_ids` or `tool_ids` name."""
    entries = {entry.get("id"): entry for entry in _objects(bundle, f"{kind}s")}
    for local_id in _strings(agent, f"{kind}_ids"):
        if local_id not in entries:
            raise InvalidArgument(
                f"The template {_name(agent)} needs {kind} '{local_id[:40]}', which its bundle does not hold.",
                f"Export the agent again, or take the id out of {kind}_ids.",
            )
        yield _block(entries[local_id], agent) if kind == "block" else entries[local_id]


def _block(block: Mapping[str, Json], agent: Mapping[str, Json]) -> Mapping[str, Json]:
    if not all(isinstance(block.get(key), str) and "\0" not in block[key] for key in ("label", "value")):
        raise InvalidArgument(f"A block of the template {_name(agent)} has no label or value.")
    return {key: block[key] for key in _COPIED_OF_BLOCK if block.get(key) is not None}


def _tool(entry: Mapping[str, Json], agent: Mapping[str, Json]) -> BundledTool:
    name = entry.get("name")
    if not isinstance(name, str) or not name:
        raise InvalidArgument(f"A tool of the template {_name(agent)} has no name.")
    if entry.get("tool_type") == "external_mcp":
        return BundledTool(name=name, server=_server_of(entry, name))
    source = entry.get("source_code")
    if entry.get("tool_type", "custom") == "custom" and isinstance(source, str):
        details = {key: entry[key] for key in _COPIED_OF_SOURCE if entry.get(key) not in (None, {})}
        return BundledTool(name=name, source=source, details=details)
    return BundledTool(name=name)


def _server_of(entry: Mapping[str, Json], name: str) -> str:
    """Return the name of a tool's MCP server: from its metadata, else from its `mcp:` tag."""
    metadata = entry.get("metadata_") or entry.get("metadata")
    mcp = metadata.get("mcp") if isinstance(metadata, dict) else None
    if isinstance(mcp, dict) and isinstance(mcp.get("server_name"), str):
        return str(mcp["server_name"])
    for tag in _strings(entry, "tags"):
        if tag.startswith("mcp:"):
            return tag.removeprefix("mcp:")
    raise InvalidArgument(f"The template's tool '{name[:80]}' does not say which MCP server it belongs to.")


def _objects(holder: Mapping[str, Json], field: str) -> list[Mapping[str, Json]]:
    sequence = _sequence(holder, field)
    if not all(isinstance(item, Mapping) for item in sequence):
        raise InvalidArgument(f"The template's {field} must be a list of objects.")
    return list(sequence)


def _strings(holder: Mapping[str, Json], field: str) -> tuple[str, ...]:
    sequence = _sequence(holder, field)
    if not all(isinstance(item, str) and item for item in sequence):
        raise InvalidArgument(f"The template's {field} must be a list of strings.")
    return tuple(sequence)


def _sequence(holder: Mapping[str, Json], field: str) -> Sequence[Json]:
    value = holder.get(field) or []
    if not isinstance(value, list | tuple):
        raise InvalidArgument(f"The template's {field} must be a list.")
    return value


def _name(agent: Mapping[str, Json]) -> str:
    return f"'{str(agent.get('name') or agent.get('id') or '?')[:60]}'"
