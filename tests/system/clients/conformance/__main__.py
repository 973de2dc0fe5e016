"""Our app with what the conformance suite needs added, as a process of its own: its tools must not be in any other."""

import json
import socket
import sys
from dataclasses import replace
from typing import Any

import anyio
import uvicorn
from mcp.server import MCPServer
from mcp.server.context import CallNext, ServerRequestContext
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from dcf.application.application import Application, open_application
from dcf.settings.process import read_settings
from dcf.tools.mcp.listing import Shown, ToolList
from dcf.tools.mcp.middleware import UnknownTools
from dcf.tools.mcp.server import build_server, over_http
from dcf.verbs.authentication import the_local_user
from dcf.verbs.registry import TOOLS
from tests.system.clients.conformance import registered
from tests.system.clients.conformance.content import add_content
from tests.system.clients.conformance.questions import add_questions

_FORGOTTEN = frozenset({"logging/setLevel", "resources/subscribe", "resources/unsubscribe"})


async def accept(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> Any:
    """Accept what the SDK's server leaves to its user, and forget it: nothing here outlives a request."""
    if ctx.method in _FORGOTTEN and ctx.protocol_version in HANDSHAKE_PROTOCOL_VERSIONS:
        return {}
    return await call_next(ctx)


class EveryTool(Shown):
    """Shows the tools of the suite too, which the table of verbs does not have."""

    def __call__(self, _: ServerRequestContext[Any, Any]) -> frozenset[str]:
        """Return the names of all tools that the server was given."""
        return frozenset(self._scopes)


async def list_all(server: MCPServer[None], application: Application) -> None:
    """Let our middleware know the tools of the SDK; a caller with the scope read sees them."""
    ours = TOOLS[registered.json_schema_2020_12_tool.__name__]
    specs = {tool.name: replace(ours, name=tool.name) for tool in await server.list_tools()}
    specs |= TOOLS
    shown = EveryTool(specs.values(), the_local_user(application.settings))
    knowing: dict[type[Any], Any] = {
        ToolList: ToolList(shown),
        UnknownTools: UnknownTools(specs.values(), shown),
    }
    for place, text in enumerate(server.middleware):
        server.middleware[place] = knowing.get(type(text), text)


def main() -> None:
    """Serve on a free port until killed."""
    with open_application(read_settings()) as application, socket.create_server(("127.0.0.1", 0)) as listener:
        server = build_server(application)
        add_content(server)
        add_questions(server)
        anyio.run(list_all, server, application)
        server.middleware.append(accept)
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"
        sys.stdout.write(json.dumps({"url": url}) + "\n")
        sys.stdout.flush()
        config = uvicorn.Config(over_http(server, application, protected_url=None), log_level="warning")
        anyio.run(uvicorn.Server(config).serve, [listener])


if __name__ == "__main__":
    main()
