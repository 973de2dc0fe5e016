"""The MCP server: dcf's registry of tools behind the SDK's server, over stdio or Streamable HTTP.

The SDK's own argument handling is not used: it silently drops unknown arguments and shows pydantic's messages to
callers (measured, mcp 2.3). So `envelope` validates and answers the calls of dcf's tools.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from functools import partial
from typing import Any

import anyio
from mcp.server import MCPServer
from mcp.server.context import ServerMiddleware
from mcp.server.mcpserver.context import Context
from mcp.server.mcpserver.tools import Tool
from mcp.server.mcpserver.utilities.func_metadata import ArgModelBase, FuncMetadata
from mcp_types import CallToolResult, InputRequiredResult, TextContent, ToolAnnotations
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from dcf.application.application import Application
from dcf.core.access.model import Scope
from dcf.features.a2a.routes import a2a_routes
from dcf.features.artifacts.routes import artifact_routes
from dcf.features.external.routes import task_token_routes
from dcf.features.health.readiness import Readiness
from dcf.features.health.routes import metrics_routes
from dcf.features.people.elicitation import asked
from dcf.tools.http.bodies import LimitedBodies, PlainFraming, body_budget
from dcf.tools.mcp.instructions import Instructions, instructions_for
from dcf.tools.mcp.listing import Shown, ToolList, is_own_program
from dcf.tools.mcp.mcp_server import ControlPlaneServer
from dcf.tools.mcp.middleware import Metering, OutputSchemas, UnknownTools, WatchedStreams, nothing_changes
from dcf.tools.mcp.profile_middleware import SystemProfiles, named
from dcf.tools.mcp.pulse import keep_pulse
from dcf.tools.mcp.reading import ToolReading
from dcf.tools.mcp.run_watch import RunListeners, RunWatch
from dcf.tools.mcp.selection import callable_tools
from dcf.values.records import record, replace
from dcf.verbs.authentication import (
    KeyVerifier,
    Unavailable,
    WhoCalls,
    auth_settings,
    metadata_route,
    the_local_user,
    who_called_over_http,
)
from dcf.verbs.endpoints import security_of
from dcf.verbs.envelope import call
from dcf.verbs.key_watch import KeyWatch
from dcf.verbs.limits import Meter, meter_of
from dcf.verbs.listed_tools import ALL, AUTO
from dcf.verbs.merged.answers import Asked, as_listed
from dcf.verbs.merged.merged_tools import meant
from dcf.verbs.progress import StreamsWhereAsked, reporting
from dcf.verbs.registry import ToolSpec
from dcf.version import __version__

_PATH = "/mcp"
_ALIAS = "/api/mcp"
"""The address that OpenFactory's document gives."""


@record(frozen=True, slots=True, kw_only=True)
class Additions:
    """The additions of a process: middleware that sees every message first, and further scopes of the local user.

    `connected` is entered for each connection, and once for all clients of Streamable HTTP. Its value is the
    `lifespan_context` of their requests.
    """

    before: Sequence[ServerMiddleware[Any]] = ()
    grants: frozenset[Scope] = frozenset()
    connected: Callable[[], AbstractAsyncContextManager[Any]] = nullcontext


NOTHING_ADDED = Additions()


class RegisteredTool(Tool):
    """A tool of dcf's registry as the SDK's type."""

    spec: Any
    application: Any
    who_calls: Any
    meter: Any
    watch: Any
    reading: Any
    shown: Any

    async def run(
        self,
        arguments: dict[str, Any],
        context: Context[Any, Any],
        convert_result: bool = False,  # noqa: ARG002 - the SDK's signature
    ) -> CallToolResult | InputRequiredResult:
        """Run the call; the text and the structured content of the answer are equal."""
        verb, sent = meant(self.spec, arguments)
        call_arguments = await asked(verb, sent, context, self.reading)
        if isinstance(call_arguments, InputRequiredResult):
            return call_arguments
        caller = self.who_calls()
        work = partial(call, verb, self.application, call_arguments, caller, self.meter, self.watch)
        reply = await reporting(verb, sent, context, work)
        if not is_own_program(context):
            asked_for = Asked(self.spec.name, verb.name, caller.scopes, self.shown(context.request_context))
            reworded = as_listed(reply.payload, asked_for)
            if reworded != reply.payload:  # the text of the reply is made already
                reply = replace(reply, payload=reworded)
        return CallToolResult(
            content=[TextContent(type="text", text=reply.text)],
            structured_content=dict(reply.payload),
            is_error=reply.broken,
        )


def build_server(
    application: Application, *, protected_url: str | None = None, added: Additions = NOTHING_ADDED
) -> MCPServer[None]:
    """Return the MCP server of this process: for the local user, or at a protected URL for callers with a key."""
    settings = application.settings
    specs = callable_tools(settings.toolsets, read_only=settings.read_only)
    who_calls = the_local_user(settings, added.grants) if protected_url is None else who_called_over_http
    meter = meter_of(settings)
    watch = None if protected_url is None else KeyWatch(application.keys)
    runs, reading = RunWatch(application.history), ToolReading(application, who_calls, meter)
    shown = Shown(specs, who_calls, AUTO if named(settings.profile) else settings.profile)

    @asynccontextmanager
    async def lifespan(_: MCPServer[None]) -> AsyncIterator[Any]:
        async with added.connected() as connection, anyio.create_task_group() as tasks:
            tasks.start_soon(keep_pulse, application)
            tasks.start_soon(runs.keep)
            if watch is not None:
                tasks.start_soon(watch.keep)
            try:
                yield connection
            finally:
                tasks.cancel_scope.cancel()
                with anyio.CancelScope(shield=True):
                    await application.reader.close()

    return ControlPlaneServer(
        reading,
        specs,
        lists_all=settings.profile == ALL,
        name="dcf",
        title="dcf control plane",
        instructions=instructions_for(frozenset()),  # `Instructions` puts those of the caller's list in their place
        version=__version__,
        tools=[_registered(spec, application, who_calls, meter, watch, shown) for spec in specs],
        lifespan=lifespan,
        subscriptions=runs.bus,
        log_level="WARNING",
        middleware=[
            *added.before,
            SystemProfiles(reading, watch),  # its calls are limited as those of the tools that they need
            Metering((spec.name for spec in specs), who_calls),
            OutputSchemas(specs, always=settings.output_schemas),
            ToolList(shown),
            Instructions(shown),
            UnknownTools(specs, shown),
            nothing_changes,
            *([] if watch is None else [WatchedStreams(watch, who_calls)]),
            RunListeners(runs, who_calls, application.projects.of_run),
        ],
        auth=None if protected_url is None else auth_settings(protected_url),
        token_verifier=None if protected_url is None else KeyVerifier(application.keys, application.refusals),
    )


def build_http_app(
    application: Application, url: str | None = None, *, added: Additions = NOTHING_ADDED, over_sse: bool = False
) -> Starlette:
    """Return the ASGI app: /mcp, /task-tokens, /artifacts, /a2a, /healthz (it lives), /readyz (tools can succeed).

    /metrics is there if this process counts (`metrics.count`).

    `url` is where the app listens; clients may use another one (DCF_PUBLIC_URL). `over_sse`: the older
    transport of MCP is served as well, at /sse.
    """
    settings = application.settings
    protected = None if settings.auth == "off" else settings.public_url or url or settings.server_url
    server = build_server(application, protected_url=protected, added=added)
    app = over_http(server, application, protected_url=protected, reports_progress=False)
    if over_sse:
        sse = server.sse_app(
            transport_security=security_of(settings),
            host=settings.mcp_host,
            max_request_body_size=settings.max_body_bytes,
        )
        app.router.routes.extend(sse.routes)
    return app


def over_http(
    server: MCPServer[None], application: Application, *, protected_url: str | None, reports_progress: bool = True
) -> Starlette:
    """Serve a server of `build_server` over HTTP; add tools to it before this call.

    Only if an added tool reports progress is every answer an event stream; of dcf's own, those that wait are, for
    clients that ask for it (`progress`).
    """
    settings = application.settings
    readiness = Readiness(application.health.checked)

    async def healthz(_: Request) -> Response:
        return JSONResponse({"ok": True, "version": __version__})

    async def readyz(_: Request) -> Response:
        status, members = await readiness.answer()
        return JSONResponse(members, status_code=status)

    _route(server, "/healthz", healthz)
    _route(server, "/readyz", readyz)
    app = server.streamable_http_app(
        stateless_http=True,
        json_response=not reports_progress,
        transport_security=security_of(settings),
        host=settings.mcp_host,
        max_request_body_size=settings.max_body_bytes,
    )
    if not reports_progress:
        server.session_manager.asgi_app.app = StreamsWhereAsked(server.session_manager)
    endpoint = next(route for route in app.router.routes if isinstance(route, Route) and route.path == _PATH)
    app.router.routes.append(Route(_ALIAS, endpoint.endpoint))
    for path in (_PATH, _ALIAS):
        app.router.routes.insert(0, Route(path, no_stream, methods=["GET", "DELETE"]))
    who_calls = the_local_user(settings) if protected_url is None else who_called_over_http
    asks = protected_url is not None
    routes = task_token_routes(application, who_calls, meter_of(settings), security_of(settings), asks=asks)
    app.router.routes.extend(routes)
    routes = artifact_routes(application, who_calls, meter_of(settings), security_of(settings), asks=asks)
    app.router.routes.extend(routes)
    routes = metrics_routes(application, who_calls, meter_of(settings), security_of(settings), asks=asks)
    app.router.routes.extend(routes)
    url = protected_url or settings.public_url or settings.server_url
    others = a2a_routes(application, who_calls, meter_of(settings), security_of(settings), url=url, asks=asks)
    app.router.routes.extend(others)
    bodies = Middleware(LimitedBodies, body_budget(settings), settings.max_request_values)
    app.user_middleware.append(bodies)  # innermost: behind authentication
    if protected_url is not None:
        app.router.routes.insert(0, metadata_route(protected_url))
        app.add_middleware(Unavailable)
    app.add_middleware(PlainFraming)
    return app


async def no_stream(_: Request) -> Response:
    """Answer 405 to methods of sessions: a stateless server would keep an idle stream open for every old client."""
    return Response(status_code=405, headers={"Allow": "POST"})


def _route(server: MCPServer[None], path: str, handler: Callable[[Request], Awaitable[Response]]) -> None:
    add: Callable[[Callable[[Request], Awaitable[Response]]], object] = server.custom_route(path, methods=["GET"])
    add(handler)


def _registered(
    spec: ToolSpec, application: Application, who_calls: WhoCalls, meter: Meter, watch: KeyWatch | None, shown: Shown
) -> RegisteredTool:
    return RegisteredTool(
        fn=spec.run,
        name=spec.name,
        title=None,
        context_kwarg=None,
        description=spec.description,  # `ControlPlaneServer.list_tools` puts it into the words of lists
        parameters={},  # `ControlPlaneServer.list_tools` fills it in; the SDK reads it only for arguments in headers
        fn_metadata=FuncMetadata(arg_model=ArgModelBase),
        is_async=True,
        annotations=_hints(spec),
        spec=spec,
        application=application,
        who_calls=who_calls,
        meter=meter,
        watch=watch,
        reading=ToolReading(application, who_calls, meter),
        shown=shown,
    )


def _hints(spec: ToolSpec) -> ToolAnnotations:
    """Return the one thing that tells a tool from others: that it is read-only, or whether it destroys."""
    return (
        ToolAnnotations(read_only_hint=True) if spec.read_only else ToolAnnotations(destructive_hint=spec.destructive)
    )
