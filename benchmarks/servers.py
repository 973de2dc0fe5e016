"""`python -m benchmarks.servers bare|dcf http|stdio FILE`: a server in a process of its own, for its CPU to be read.

`bare` is the SDK alone: a trivial tool, and as many others as dcf has, with the same schemas, so that both list the
same. `dcf` is ours on the Redis of REDIS_URL, without keys. Both run on the same uvicorn. FILE gets URL and process id.
"""

import os
import socket
import sys
from pathlib import Path
from typing import Any

import anyio
import uvicorn
from mcp.server import MCPServer
from mcp.server.mcpserver.tools import Tool
from starlette.applications import Starlette

from dcf.application.application import open_application
from dcf.settings.process import Settings
from dcf.tools.mcp.selection import select_tools
from dcf.tools.mcp.server import build_http_app, build_server
from dcf.verbs.schemas import listed_of


def bare_server() -> MCPServer[Any]:
    """Make a server of the SDK's own."""
    server: MCPServer[Any] = MCPServer(name="bare", log_level="WARNING")

    def add(a: int, b: int) -> dict[str, int]:
        return {"sum": a + b}

    server.add_tool(add, description="Add two numbers.")
    trivial = Tool.from_function(add)
    for spec in select_tools((), read_only=False)[1:]:
        named = {"name": spec.name, "description": spec.description, "parameters": listed_of(spec)}
        server._tool_manager._tools[spec.name] = trivial.model_copy(update=named)  # noqa: SLF001 - no other way in
    return server


def serve(app: Starlette, file: Path) -> None:
    """Serve on a free port."""
    with socket.create_server(("127.0.0.1", 0), backlog=128) as listener:
        # asyncio does it only for sockets that say they are TCP; without it each answer waits 40 ms for an ACK.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        _announce(file, f"http://127.0.0.1:{listener.getsockname()[1]}/mcp")
        anyio.run(uvicorn.Server(uvicorn.Config(app, log_level="warning")).serve, [listener])


def _announce(file: Path, url: str) -> None:
    draft = file.with_suffix(".new")
    draft.write_text(f"{url} {os.getpid()}")
    draft.replace(file)


def main(kind: str, transport: str, file: Path) -> None:
    """Serve until the process is ended."""
    if transport == "stdio":
        _announce(file, "stdio")
    if kind == "bare":
        if transport == "stdio":
            bare_server().run("stdio")
        else:
            serve(bare_server().streamable_http_app(stateless_http=True), file)
        return
    with open_application(Settings()) as application:
        if transport == "stdio":
            build_server(application).run("stdio")
        else:
            serve(build_http_app(application), file)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
