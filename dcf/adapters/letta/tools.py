"""Finds, creates, attaches and detaches tools of agents on Letta.

Known defect of Letta that dcf cannot work around: it parses `str` arguments of Python tools as JSON and passes Python's
rendering of them ("true" arrives as "True", "12e5" as "1200000.0"). Tools of MCP servers are not affected.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from letta_client.types import Tool

from dcf.adapters.letta.bundles import BundledTool
from dcf.adapters.letta.client import LettaClient, agent_unknown, asking
from dcf.adapters.letta.options import LettaOptions
from dcf.adapters.letta.servers import Servers
from dcf.errors import AgentUnknown, InvalidArgument, ToolUnavailable
from dcf.ports import ToolWish
from dcf.values.json_text import Json

_TAG = "dcf:source"
"""Tag of the Python tools that dcf created."""

_ALL = 1000
"""Page size that holds all tools: `agents.tools.list` repeats or drops tools from the second page on (measured)."""

_RETURN_LIMIT = 60_000


class Tools:
    """Attaches tools to agents. No tool is ever deleted, since other agents may use it."""

    def __init__(self, client: LettaClient, options: LettaOptions) -> None:
        self._client = client
        self._options = options
        self._servers = Servers(client)

    def attach(self, agent_id: str, wish: ToolWish) -> str:
        """Find or create the tool and attach it. Return its id."""
        tool_id = self._wished(wish)
        try:
            with asking(unknown=lambda: agent_unknown(agent_id)):
                self._client.write.agents.tools.attach(tool_id, agent_id=agent_id)
        except AgentUnknown:
            with asking(unknown=lambda: agent_unknown(agent_id)):
                self._client.read.agents.retrieve(agent_id)
            raise ToolUnavailable(f"Letta has no tool '{tool_id[:80]}'.") from None
        return tool_id

    def detach(self, agent_id: str, tool_id: str) -> None:
        """Detach the tool. Do nothing if the agent does not have it, or is gone."""
        with suppress(AgentUnknown), asking(unknown=lambda: agent_unknown(agent_id)):
            self._client.write.agents.tools.detach(tool_id, agent_id=agent_id)

    def bundled(self, tools: Sequence[BundledTool], servers: Sequence[str] = ()) -> list[str]:
        """Find or create these tools, and all of these servers. Raise ToolUnavailable if one is not available."""
        of_server: dict[str, list[str]] = {}
        for tool in tools:
            if tool.server is not None:
                of_server.setdefault(tool.server, []).append(tool.name)
        tool_ids: dict[str, str] = {}
        for server, names in of_server.items():
            tool_ids |= self._servers.tool_ids(self._known_server(server), tuple(names))
        by_name = [tool.name for tool in tools if tool.server is None and tool.source is None]
        tool_ids |= self._by_name(by_name)
        for tool in tools:
            if tool.source is not None:
                tool_ids[tool.name] = self._python(tool.name, tool.source, tool.details)
        whole: dict[str, str] = {}
        for server in servers:
            whole |= self._servers.all_tool_ids(self._known_server(server))
        return list((whole | {tool.name: tool_ids[tool.name] for tool in tools}).values())

    def lift_return_limits(self, agent_id: str) -> int:
        """Let the agent's tools return up to 60,000 characters (a tool property). Return how many were changed."""
        with asking(unknown=lambda: agent_unknown(agent_id)):
            letta_tools = self._client.read.agents.tools.list(agent_id, limit=_ALL).items
            short = [tool for tool in letta_tools if (tool.return_char_limit or 0) < _RETURN_LIMIT]
            for tool in short:
                self._client.write.tools.update(tool.id, return_char_limit=_RETURN_LIMIT)
        return len(short)

    def _wished(self, wish: ToolWish) -> str:
        kind = wish.definition.get("type")
        if kind == "mcp_server":
            if wish.server is None:
                raise ToolUnavailable(f"The tool '{wish.name[:80]}' has no server in the registry.")
            name = str(wish.definition.get("toolName") or wish.definition.get("operationId") or wish.name)
            return self._servers.tool_ids(wish.server, (name,))[name]
        if kind == "registered":
            return self._registered(str(wish.definition.get("platformToolId") or ""))
        if kind == "python_source":
            schema = wish.definition.get("json_schema")
            details = {"json_schema": dict(schema)} if schema else {}
            return self._python(wish.name, str(wish.definition.get("sourceCode") or ""), details)
        raise ToolUnavailable(f"The tool '{wish.name[:80]}' is of a kind that Letta does not have.")

    def _registered(self, tool_id: str) -> str:
        missing = ToolUnavailable(f"Letta has no tool '{tool_id[:80]}'.", "Check platformToolId in the manifest.")
        if not tool_id.strip():
            raise missing
        with asking(unknown=lambda: missing):
            return self._client.read.tools.retrieve(tool_id).id

    def _known_server(self, name: str) -> Mapping[str, Json]:
        server = self._options.mcp_servers.get(name)
        return self._options.find_server(name) if server is None else server

    def _by_name(self, names: Sequence[str]) -> dict[str, str]:
        ids = {tool.name: tool.id for tool in self._named(names) if tool.name}
        for name in names:
            if name not in ids:
                raise ToolUnavailable(f"Letta has no tool named '{name[:80]}'.", "Check the template's tools.")
        return ids

    def _named(self, names: Sequence[str]) -> list[Tool]:
        if not names:
            return []
        with asking():
            return self._client.read.tools.list(names=list(names), limit=len(names)).items

    def _python(self, name: str, source: str, details: Mapping[str, Any]) -> str:
        """Create a Python tool, unless Letta has it with the same source. Never overwrite a tool of other origin."""
        known = self._named([name])
        for tool in known:
            if tool.source_code == source:
                return tool.id  # it brings nothing that Letta does not run already
        if not self._options.allow_python_source:
            raise ToolUnavailable(
                f"The tool '{name[:80]}' brings Python source, which this server does not allow.",
                "It would run with the Letta server's rights; an operator can allow it.",
            )
        if any(_TAG not in (tool.tags or ()) for tool in known):
            raise ToolUnavailable(f"In Letta the tool name '{name[:80]}' belongs to something else.")
        with asking(refused=lambda: _unusable(name)):
            made = self._client.write.tools.upsert(source_code=source, tags=[_TAG], **details)
        if made.name != name:
            raise InvalidArgument(f"The source of '{name[:80]}' defines '{str(made.name)[:80]}' as its last function.")
        return made.id


def _unusable(name: str) -> ToolUnavailable:
    return ToolUnavailable(
        f"Letta cannot make a tool of the source of '{name[:80]}'.",
        "Its last function needs types and a docstring that describes every argument, or a json_schema.",
    )
