"""MCP servers registered with Letta. They are shared by all agents and never deleted here.

Deleting one would remove its tools from every agent, and also those of a server with equal tool names (measured). Tool
names are global: a second server with the same tool name takes it over for all agents. So a name that another server
has is refused before dcf's server is registered.
"""

from collections.abc import Mapping
from typing import Any

from letta_client.types import Tool

from dcf.adapters.letta.client import LettaClient, asking
from dcf.errors import InvalidArgument, ToolUnavailable
from dcf.values.json_text import Json
from dcf.values.records import record

_TRANSPORTS = {"http": "streamable_http", "streamable_http": "streamable_http", "sse": "sse", "stdio": "stdio"}


@record(frozen=True, slots=True, kw_only=True)
class Address:
    """How Letta reaches an MCP server: an URL, or a command that it starts itself."""

    kind: str
    url: str | None = None
    command: str | None = None
    args: tuple[str, ...] = ()

    def config(self, headers: Mapping[str, str]) -> dict[str, Json]:
        """Return the address as an argument of `mcp_servers.create`."""
        if self.kind == "stdio":
            return {"mcp_server_type": "stdio", "command": self.command, "args": list(self.args)}
        config: dict[str, Json] = {"mcp_server_type": self.kind, "server_url": self.url}
        return config | ({"custom_headers": dict(headers)} if headers else {})


class Servers:
    """Registers MCP servers and finds their tools."""

    def __init__(self, client: LettaClient) -> None:
        self._client = client

    def tool_ids(self, server: Mapping[str, Json], names: tuple[str, ...]) -> dict[str, str]:
        """Return the ids of these tools of the server, by name. Register the server first if Letta does not have it."""
        name = _name(server)
        server_id = self._find(server) or self._register(server, names)
        tools = self._tools(server_id)
        if not set(names) <= tools.keys():
            self._refresh(server_id, name)  # the server has new tools, or was down when it was registered
            tools = self._tools(server_id)
        for tool in names:
            if tool not in tools:
                raise ToolUnavailable(f"The MCP server '{name}' serves no tool '{tool[:80]}'.")
            if _owner(tools[tool]) != name:
                raise _taken(tool)
        return {tool: tools[tool].id for tool in names}

    def all_tool_ids(self, server: Mapping[str, Json]) -> dict[str, str]:
        """Return the ids of all tools of the server, by name. Register the server first if Letta does not have it."""
        server_id = self._find(server) or self._register(server, ())
        return {name: tool.id for name, tool in self._tools(server_id).items() if _owner(tool) == _name(server)}

    def _find(self, server: Mapping[str, Json]) -> str | None:
        """Return the id of the server of this name. One at another address must be neither used nor changed."""
        name, address = _name(server), read_address(server)
        with asking():
            known = self._client.read.mcp_servers.list()
        for item in known:
            if item.server_name == name:
                if _address_of(item) != address:
                    raise ToolUnavailable(
                        f"Letta knows an MCP server '{name}' at another address.",
                        "Rename the server in the registry, or change its address in Letta.",
                    )
                return item.id
        return None

    def _register(self, server: Mapping[str, Json], names: tuple[str, ...]) -> str:
        name, headers = _name(server), server.get("headers") or {}
        self._check_names_are_free(names, name)
        config: Any = read_address(server).config(headers)
        try:
            with asking(refused=lambda: _not_registered(name)):
                made = self._client.write.mcp_servers.create(server_name=name, config=config)
        except ToolUnavailable:
            registered = self._find(server)  # another process may have registered it meanwhile
            if registered is None:
                raise
            return registered
        return made.id or ""

    def _check_names_are_free(self, names: tuple[str, ...], server: str) -> None:
        if not names:
            return
        with asking():
            known = self._client.read.tools.list(names=list(names), limit=len(names)).items
        for tool in known:
            if _owner(tool) != server:
                raise _taken(tool.name or "?")

    def _tools(self, server_id: str) -> dict[str, Tool]:
        with asking(refused=lambda: ToolUnavailable("An MCP server was taken out of Letta meanwhile.")):
            return {tool.name: tool for tool in self._client.read.mcp_servers.tools.list(server_id) if tool.name}

    def _refresh(self, server_id: str, name: str) -> None:
        with asking(refused=lambda: _unreachable(name)):
            self._client.write.mcp_servers.refresh(server_id)


def read_address(server: Mapping[str, Json]) -> Address:
    """Return the address in a registry's description of a server."""
    kind = _TRANSPORTS.get(str(server.get("transport", "streamable_http")))
    if kind is None:
        raise ToolUnavailable(
            f"Letta has no transport '{str(server.get('transport'))[:40]}'.", "Use streamable_http, sse or stdio."
        )
    field = "command" if kind == "stdio" else "url"
    if not isinstance(server.get(field), str) or not server[field]:
        raise InvalidArgument(f"The registry's server '{_name(server)}' has no {field}.")
    if kind != "stdio":
        return Address(kind=kind, url=server["url"])
    return Address(kind=kind, command=server["command"], args=tuple(map(str, server.get("args") or ())))


def _address_of(known: Any) -> Address:
    kind = known.mcp_server_type
    if kind == "stdio":
        return Address(kind=kind, command=known.command, args=tuple(known.args))
    return Address(kind=str(kind), url=known.server_url)


def _name(server: Mapping[str, Json]) -> str:
    name = server.get("name")
    if not isinstance(name, str) or not name or ":" in name:  # Letta reads a tool's server from its tag `mcp:<name>`
        raise InvalidArgument("A registry's server needs a name without colons.")
    return name


def _owner(tool: Tool) -> str | None:
    """Return the name of the MCP server that a call of this tool goes to."""
    tags = (tag.removeprefix("mcp:") for tag in tool.tags or () if tag.startswith("mcp:"))
    return next(tags, None)


def _taken(tool: str) -> ToolUnavailable:
    return ToolUnavailable(
        f"In Letta the tool name '{tool[:80]}' belongs to something else.",
        "Tool names are global there: rename the tool, for example with its server's name in front.",
    )


def _not_registered(name: str) -> ToolUnavailable:
    return ToolUnavailable(
        f"Letta refuses to connect to the MCP server '{name}'.",
        "Since 0.16.7 it takes only public addresses over HTTP: serve it at one, or have Letta start it over stdio.",
    )


def _unreachable(name: str) -> ToolUnavailable:
    return ToolUnavailable(f"The MCP server '{name}' does not answer Letta.", "Start it, then load the skill again.")
