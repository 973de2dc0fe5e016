"""Serves the stub over Streamable HTTP: /mcp has all tools, /mcp/SERVER those of one server.

Also /healthz, /metrics and /metrics/reset. Every route checks Host and Origin, so that a page in a browser cannot reset
the counters of a test.
"""

from collections.abc import Awaitable, Callable

import anyio
import anyio.to_thread
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp
from mcp.server.transport_security import TransportSecurityMiddleware, TransportSecuritySettings
from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool,
)
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from dcf.settings.process import Settings
from dcf.stub.config import StubTool
from dcf.stub.service import Service, StubOutcome
from dcf.values.json_text import Json, dump
from dcf.version import __version__

Sleep = Callable[[float], Awaitable[None]]
"""Waits for some seconds."""

_PATH = "/mcp"
_Endpoint = Callable[[Request], Awaitable[Response]]


def build_app(service: Service, settings: Settings, sleep: Sleep = anyio.sleep) -> Starlette:
    """Return the ASGI app of a stub. It accepts the Host and Origin headers that `settings` allow."""
    security = TransportSecuritySettings(
        enable_dns_rebinding_protection=settings.mcp_enable_dns_rebinding_protection,
        allowed_hosts=list(settings.mcp_allowed_hosts),
        allowed_origins=list(settings.mcp_allowed_origins),
    )
    server = _mcp_server(service, sleep)
    app = server.streamable_http_app(stateless_http=True, json_response=False, transport_security=security)
    one_server = _OneServer(service, StreamableHTTPASGIApp(server.session_manager))
    no_stream: list[str] = ["GET", "DELETE"]
    app.router.routes[:0] = [
        *(Route(path, _no_stream, methods=no_stream) for path in (_PATH, f"{_PATH}/{{server}}")),
        Route(f"{_PATH}/{{server}}", one_server),
        *_plain_routes(service, TransportSecurityMiddleware(security)),
    ]
    return app


class _OneServer:
    """Passes requests for an existing server to the MCP app, which reads the server from the path; others get a 404."""

    def __init__(self, service: Service, protocol: ASGIApp) -> None:
        self._service = service
        self._protocol = protocol

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._service.has(scope["path_params"]["server"]):
            await self._protocol(scope, receive, send)
            return
        missing = JSONResponse({"ok": False, "error": "The stub has no server of this name."}, status_code=404)
        await missing(scope, receive, send)


def _plain_routes(service: Service, guard: TransportSecurityMiddleware) -> list[Route]:
    def guarded(answer: Callable[[], Json]) -> _Endpoint:
        async def endpoint(request: Request) -> Response:
            refusal = await guard.validate_request(request)
            return refusal or JSONResponse(answer())

        return endpoint

    def reset() -> Json:
        service.metrics.reset()
        return {"ok": True}

    return [
        Route("/healthz", guarded(lambda: _health(service))),
        Route("/metrics", guarded(service.metrics.as_json)),
        Route("/metrics/reset", guarded(reset), methods=["POST"]),
    ]


def _health(service: Service) -> Json:
    """Return the body of /healthz: the served tools, and why a changed configuration file is not in use."""
    config = service.file.current()
    served = {"servers": len(config.servers), "tools": sum(1 for _ in config.tools)}
    return {"ok": True, "version": __version__, **served, "config_problem": service.file.problem}


async def _no_stream(_: Request) -> Response:
    """Refuse a method that only MCP sessions need."""
    return Response(status_code=405, headers={"Allow": "POST"})


def _mcp_server(service: Service, sleep: Sleep) -> Server:
    async def list_tools(ctx: ServerRequestContext, _: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=[_listed(name, tool) for name, tool in service.tools(_server_of(ctx))])

    async def call_tool(ctx: ServerRequestContext, params: CallToolRequestParams) -> CallToolResult:
        arguments = params.arguments or {}
        # In a thread: reading a changed configuration and validating arguments would block the event loop.
        outcome = await anyio.to_thread.run_sync(service.decide, _server_of(ctx), params.name, arguments)
        if outcome.wait_s:
            await sleep(outcome.wait_s)
        return _result(outcome)

    return Server("dcf-stub", version=__version__, on_list_tools=list_tools, on_call_tool=call_tool)


def _server_of(ctx: ServerRequestContext) -> str | None:
    request: Request | None = ctx.request
    return None if request is None else request.path_params.get("server")


def _listed(name: str, tool: StubTool) -> Tool:
    meta = {
        "serverId": tool.server,
        "version": tool.document["version"],
        "originalName": tool.name,
        "latencyMs": tool.latency_ms,
        "rateLimitRps": tool.rps,
        "defaultResponse": tool.default_response,
    }
    return Tool(
        name=name,
        description=tool.description,
        input_schema=dict(tool.params_schema),
        output_schema=None if tool.result_schema is None else dict(tool.result_schema),
        _meta=meta,
    )


def _result(outcome: StubOutcome) -> CallToolResult:
    """Convert a payload: an object also as structured content, a text as it is, anything else as JSON text."""
    if outcome.error is not None:
        return CallToolResult(content=[TextContent(type="text", text=outcome.error)], is_error=True)
    payload = {"result": None} if outcome.payload is None else outcome.payload
    text = payload if isinstance(payload, str) else dump(payload)
    structured = payload if isinstance(payload, dict) else None
    return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=structured)
