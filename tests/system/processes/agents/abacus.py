"""A small MCP server as a process: `python abacus.py TOOL stdio`, or `python abacus.py TOOL sse|streamable-http PORT`.

Its tool says in its answer in which process it ran, and by which transport.
"""

import os
import sys
from typing import Literal, cast

from mcp.server import MCPServer

Transport = Literal["stdio", "sse", "streamable-http"]


def serve(tool: str, transport: Transport, port: int) -> None:
    server = MCPServer(name="abacus", log_level="ERROR")

    def add(first: int, second: int) -> str:
        return f"{first + second} by {transport} in {os.getpid()}"

    server.add_tool(add, name=tool, description="Add two numbers.")
    if transport == "stdio":
        server.run()
    elif transport == "sse":
        server.run("sse", port=port)
    else:
        server.run("streamable-http", port=port)


if __name__ == "__main__":
    serve(sys.argv[1], cast("Transport", sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 0)
