"""The stub over Streamable HTTP: /mcp serves all tools, /mcp/SERVER those of one; /healthz, /metrics, /metrics/reset.

Every route checks Host and Origin, the plain ones too: a page in a browser must not reset what a test counts.
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

from dcf import __version__
from dcf.settings import Settings
from dcf.stub.config import StubTool
from dcf.stub.service import Service, StubOutcome
from dcf.values.json_text import Json, dump

Sleep = Callable[[float], Awaitable[None]]
"""Lets seconds pass."""

_PATH = "/mcp"
_Endpoint = Callable[[Request], Awaitable[Response]]


def build_app(service: Service, settings: Settings, sleep: Sleep = anyio.sleep) -> Starlette:
    """Make the ASGI app of a stub; the accepted Host and Origin headers are those of our own server."""
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
    """Lets requests for a server that exists through to the protocol; which one it is stands in their path."""

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
    """Say that the stub serves, what, and whether the file on disk is what it serves."""
    config = service.file.current()
    served = {"servers": len(config.servers), "tools": sum(1 for _ in config.tools)}
    return {"ok": True, "version": __version__, **served, "config_problem": service.file.problem}


async def _no_stream(_: Request) -> Response:
    """Refuse what only sessions need."""
    return Response(status_code=405, headers={"Allow": "POST"})


def _mcp_server(service: Service, sleep: Sleep) -> Server:
    async def list_tools(ctx: ServerRequestContext, _: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=[_listed(name, tool) for name, tool in service.tools(_server_of(ctx))])

    async def call_tool(ctx: ServerRequestContext, params: CallToolRequestParams) -> CallToolResult:
        arguments = params.arguments or {}
        # On a thread: reading a changed configuration and checking arguments against schemas take their time.
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
    """Show a payload: an object also as structured content, text as it is, anything else as JSON text."""
    if outcome.error is not None:
        return CallToolResult(content=[TextContent(type="text", text=outcome.error)], is_error=True)
    payload = {"result": None} if outcome.payload is None else outcome.payload
    text = payload if isinstance(payload, str) else dump(payload)
    structured = payload if isinstance(payload, dict) else None
    return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=structured)
