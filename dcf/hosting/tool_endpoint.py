"""Serves the tools of a turn over MCP on loopback, for agents that take an address; who calls needs its token.

As small as the protocol allows: one POST, one answer, no sessions, no streams. Imports only the standard library.
"""

import asyncio
import json
import secrets
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final

from dcf.hosting.protocol import AgentTools, Json, ToolResult, as_json
from dcf.values.records import record

_VERSION: Final = "2025-06-18"
_LONGEST: Final = 64 * 1024 * 1024
_LONGEST_OF_STRANGERS: Final = 64 * 1024
"""Bytes of a body that are read of who has no token, so that the answer can be read."""
_LONGEST_NUMBER: Final = 12
_UNKNOWN_METHOD: Final = -32601


@record(frozen=True, slots=True, kw_only=True)
class ToolAddress:
    """Where the tools are, and the headers to send there."""

    url: str
    headers: Mapping[str, str] = field(repr=False)


@contextmanager
def served(tools: AgentTools) -> Iterator[ToolAddress]:
    """Serve tools from a running event loop, until the block ends."""
    token = secrets.token_hex(16)
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler_for(tools, token, asyncio.get_running_loop()))
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        url = f"http://127.0.0.1:{server.server_address[1]}/mcp"
        yield ToolAddress(url=url, headers={"Authorization": f"Bearer {token}"})
    finally:
        server.shutdown()
        server.server_close()


def _result(tools: AgentTools, loop: asyncio.AbstractEventLoop, method: str, params: Mapping[str, Json]) -> Json | None:
    """Return the result of a request; None if there is no such method."""
    if method == "initialize":
        version, about = params.get("protocolVersion", _VERSION), {"name": "dcf-host", "version": "1"}
        return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": about}
    if method == "tools/list":
        return {"tools": [_listed(tool.name, tool.description, tool.parameters) for tool in tools.list()]}
    if method == "tools/call":
        call = tools.call(params["name"], params.get("arguments") or {})
        result: ToolResult = asyncio.run_coroutine_threadsafe(call, loop).result()
        return {"content": [{"type": "text", "text": result.text}], "isError": result.is_error}
    return {} if method == "ping" else None


def _handler_for(tools: AgentTools, token: str, loop: asyncio.AbstractEventLoop) -> type[BaseHTTPRequestHandler]:
    class Endpoint(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            shown = self.headers.get("Authorization", "").encode("utf-8", "surrogateescape")
            is_known = secrets.compare_digest(shown, f"Bearer {token}".encode())
            content = self._content(_LONGEST if is_known else _LONGEST_OF_STRANGERS)
            request = _request(content) if is_known else None
            if request is None:
                self._send(400 if is_known else 401)
                return
            if "id" not in request:
                self._send(202)
                return
            result = _result(tools, loop, request["method"], request.get("params") or {})
            unknown = {"code": _UNKNOWN_METHOD, "message": "There is no such method."}
            answer = {"error": unknown} if result is None else {"result": result}
            self._send(200, as_json({"jsonrpc": "2.0", "id": request["id"], **answer}).encode())

        def _content(self, longest: int) -> bytes:
            """Return the body. A body that is too long or has no length is not read, and the connection ends."""
            length = self.headers.get("Content-Length", "0")
            if not length.isdecimal() or len(length) > _LONGEST_NUMBER or int(length) > longest:
                self.close_connection = True
                return b""
            return self.rfile.read(int(length))

        def do_GET(self) -> None:
            self._send(405)

        def _send(self, status: int, content: bytes = b"") -> None:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of http.server
            """Say nothing: standard error is for what goes wrong."""

    return Endpoint


def _request(content: bytes) -> dict[str, Json] | None:
    """Return a request; None for a body that is none."""
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) and isinstance(document.get("method"), str) else None


def _listed(name: str, description: str, parameters: Mapping[str, Json]) -> dict[str, Json]:
    return {"name": name, "description": description, "inputSchema": dict(parameters)}
