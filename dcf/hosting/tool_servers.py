"""The tools that an agent gets: those of MCP servers, only the ones it is allowed, called by the host on its behalf.

The only module of the host that knows MCP. A server is connected to once for each turn, not for each call.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import field
from typing import TYPE_CHECKING, Any, Final

from dcf.errors import DcfError
from dcf.hosting.protocol import AgentTool, Json, ToolResult
from dcf.values.json_text import dump
from dcf.values.records import record

if TYPE_CHECKING:
    from mcp import Client

CALL_S: Final = 120.0
"""How long a call of a tool may take."""

_MOST_PAGES: Final = 100


class ToolsMissing(DcfError):
    """A tool that an agent needs is not there, or its server does not answer."""

    code = "tools_missing"
    default_hint = "Start the MCP server, or correct what the agents file says of it."


@record(frozen=True, slots=True, kw_only=True)
class ToolServer:
    """An MCP server by its URL, or by the command that starts it. `over_sse`: the URL is of the older transport.

    Of its tools the agent gets those named by `allowed`, which must be there; without names all of them.
    """

    name: str
    url: str = ""
    over_sse: bool = False
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    command: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    allowed: tuple[str, ...] = ()


class ServedTools:
    """The tools of one turn, under their own names; where two servers have one of a name, as SERVER__TOOL."""

    def __init__(self) -> None:
        self._tools: dict[str, AgentTool] = {}
        self._places: dict[str, tuple[Client, str]] = {}

    def list(self) -> Sequence[AgentTool]:
        """Return the tools that the agent may call."""
        return list(self._tools.values())

    async def call(self, name: str, arguments: Mapping[str, Json]) -> ToolResult:
        """Call a tool; what goes wrong is a result too."""
        if name not in self._places:
            return ToolResult(
                f"There is no tool '{name}'. The tools are: {', '.join(self._tools) or 'none'}.", is_error=True
            )
        client, known_as = self._places[name]
        try:
            result = await client.call_tool(known_as, dict(arguments), read_timeout_seconds=CALL_S)
        except Exception as error:  # noqa: BLE001 - the model reads what went wrong and decides
            return ToolResult(f"{type(error).__name__}: {error}", is_error=True)
        return ToolResult(_text_of(result), bool(result.is_error))

    async def add(self, server: ToolServer, client: "Client") -> None:
        """Offer the tools of a server; raise ToolsMissing if a needed tool is missing."""
        tools_by_name = {tool.name: tool for tool in await _listed(client)}
        missing = [name for name in server.allowed if name not in tools_by_name]
        if missing:
            raise ToolsMissing(f"The MCP server '{server.name}' has no tool {', '.join(missing)}.")
        for name in server.allowed or tools_by_name:
            own = name if name not in self._tools else f"{server.name}__{name}"
            tool = tools_by_name[name]
            self._tools[own] = AgentTool(name=own, description=tool.description or "", parameters=tool.input_schema)
            self._places[own] = (client, name)


@asynccontextmanager
async def opened_tools(servers: Sequence[ToolServer]) -> AsyncIterator[ServedTools]:
    """Connect to the servers for a turn; raise ToolsMissing if one cannot be reached or lacks a tool."""
    tools = ServedTools()
    async with AsyncExitStack() as stack:
        for server in servers:
            client = await _connected(server, stack)
            await tools.add(server, client)
        yield tools


async def _listed(client: "Client") -> Sequence[Any]:
    """Return the tools of a server, page by page."""
    tools, cursor = [], None
    for _ in range(_MOST_PAGES):
        page = await client.list_tools(cursor=cursor)
        tools += page.tools
        cursor = page.next_cursor
        if cursor is None:
            break
    return tools


async def _connected(server: ToolServer, stack: AsyncExitStack) -> "Client":
    from mcp import Client, StdioServerParameters  # noqa: PLC0415 - takes a second to import, and few agents need it
    from mcp.client.sse import sse_client  # noqa: PLC0415
    from mcp.client.streamable_http import streamable_http_client  # noqa: PLC0415
    from mcp.shared._httpx_utils import create_mcp_http_client  # noqa: PLC0415

    if server.command:
        program, *arguments = server.command
        place: Any = StdioServerParameters(command=program, args=arguments, env=dict(server.environment) or None)
    elif server.over_sse:
        place = sse_client(server.url, headers=dict(server.headers))
    else:
        http = await stack.enter_async_context(create_mcp_http_client(headers=dict(server.headers)))
        place = streamable_http_client(server.url, http_client=http)
    try:
        return await stack.enter_async_context(Client(place))
    except Exception as error:  # noqa: BLE001 - whatever the SDK raises, in groups
        raise ToolsMissing(f"The MCP server '{server.name}' cannot be used ({type(error).__name__}).") from None


def _text_of(result: Any) -> str:
    """Return what a model reads of a result: its texts, or what it has instead, as JSON."""
    texts = [part.text for part in result.content if part.type == "text"]
    if texts:
        return "\n".join(texts)
    if result.structured_content is not None:
        return dump(result.structured_content)
    return dump([part.model_dump(mode="json", exclude_none=True) for part in result.content])
