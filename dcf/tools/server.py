"""The MCP server: our registry of tools behind the SDK's server, over stdio or Streamable HTTP.

The SDK's own argument handling is not used: it drops unknown arguments silently and lets pydantic's text out
(measured, mcp 2.3). A tool of ours therefore validates and answers by itself, in `envelope`.
"""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import anyio
import anyio.to_thread
from mcp.server import MCPServer
from mcp.server.mcpserver.context import Context
from mcp.server.mcpserver.tools import Tool
from mcp.server.mcpserver.utilities.func_metadata import ArgModelBase, FuncMetadata
from mcp.server.transport_security import TransportSecuritySettings
from mcp_types import CallToolResult, TextContent, ToolAnnotations
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from dcf import __version__
from dcf.application import Application
from dcf.core.json_text import Json, dump
from dcf.errors import DcfError, InvalidArgument
from dcf.settings import Settings
from dcf.tools import agents, authoring, execution, leases, notification, planning, skills, validation
from dcf.tools.envelope import call
from dcf.tools.registry import TOOLS, ToolSpec

log = logging.getLogger(__name__)

_PATH = "/mcp"

_TOOLSETS = {
    "planning": (planning, validation),
    "execution": (execution, leases),
    "notification": (notification,),
    "agents": (agents,),
    "skills": (skills,),
    "authoring": (authoring,),
}
"""Importing a module registers its tools; the order of toolsets is the order in which clients see them."""

_RANKS = {module.__name__: rank for rank, module in enumerate(sum(_TOOLSETS.values(), ()))}

_TYPES = ("object", "array", "string", "number", "boolean", "null")
_SAYS_TYPE = frozenset({"type", "anyOf", "$ref", "const", "enum"})
_SAYS_NOTHING = frozenset({("title", str), ("default", type(None)), ("additionalProperties", bool)})

INSTRUCTIONS = """dcf coordinates agents that carry out a workflow together. Planner: get_skillset, validate_workflow,
create_workflow_control_plane, create_worker_agents, notify_next_worker_agent (starts it), await_workflow_event,
finalize_workflow. Worker: await_workflow_event (or claim_ready_state), then get_my_assignment, whose `next` lists the
calls in order: acquire_state_lease, load_skill, do the work, renew_state_lease while it lasts,
update_workflow_control_plane with new_status and output_json, notify_next_worker_agent with your state, unload_skill,
release_state_lease. Every answer has a code; when it is not ok, error says what is wrong and hint what to do next."""


class RegisteredTool(Tool):
    """A tool of our registry in the SDK's terms."""

    spec: Any
    application: Any

    async def run(
        self,
        arguments: dict[str, Any],
        context: Context[Any, Any],  # noqa: ARG002 - the SDK's signature
        convert_result: bool = False,  # noqa: ARG002 - the SDK's signature
    ) -> CallToolResult:
        """Answer the call; text and structured content say the same."""
        reply = await call(self.spec, self.application, arguments)
        return CallToolResult(
            content=[TextContent(type="text", text=dump(reply.payload))],
            structured_content=dict(reply.payload),
            is_error=reply.broken,
        )


def select_tools(toolsets: Iterable[str], *, read_only: bool) -> list[ToolSpec]:
    """List the tools of these toolsets (all, when none is named); read-only wins over everything."""
    wanted = set(toolsets)
    unknown = wanted.difference(_TOOLSETS)
    if unknown:
        raise InvalidArgument(
            f"There is no toolset '{min(unknown)[:40]}'.", f"Toolsets are: {', '.join(_TOOLSETS)} (DCF_TOOLSETS)."
        )
    chosen = [
        spec for spec in TOOLS.values() if (not wanted or spec.toolset in wanted) and (spec.read_only or not read_only)
    ]
    return sorted(chosen, key=lambda spec: _RANKS.get(spec.run.__module__, len(_RANKS)))


def build_server(application: Application) -> MCPServer[None]:
    """Make the MCP server of this process."""
    settings = application.settings
    specs = select_tools(settings.toolsets, read_only=settings.read_only)

    @asynccontextmanager
    async def lifespan(_: MCPServer[None]) -> AsyncIterator[None]:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(keep_pulse, application)
            try:
                yield
            finally:
                tasks.cancel_scope.cancel()
                with anyio.CancelScope(shield=True):
                    await application.reader.close()

    return MCPServer(
        name="dcf",
        title="dcf control plane",
        instructions=" ".join(INSTRUCTIONS.split()),
        version=__version__,
        tools=[_registered(spec, application) for spec in specs],
        lifespan=lifespan,
        log_level="WARNING",
    )


def build_http_app(application: Application) -> Starlette:
    """Make the ASGI app: /mcp, /healthz (the process lives) and /readyz (Redis answers)."""
    server = build_server(application)
    settings = application.settings

    async def healthz(_: Request) -> Response:
        return JSONResponse({"ok": True, "version": __version__})

    async def readyz(_: Request) -> Response:
        problem = await anyio.to_thread.run_sync(_probe, application)
        return JSONResponse({"ok": problem is None, "problem": problem}, status_code=200 if problem is None else 503)

    _route(server, "/healthz", healthz)
    _route(server, "/readyz", readyz)
    app = server.streamable_http_app(
        stateless_http=True, json_response=False, transport_security=_security(settings), host=settings.mcp_host
    )
    app.router.routes.insert(0, Route(_PATH, no_stream, methods=["GET", "DELETE"]))
    return app


async def no_stream(_: Request) -> Response:
    """Refuse what only sessions need; a stateless server would keep an idle stream open for every old client."""
    return Response(status_code=405, headers={"Allow": "POST"})


def _route(server: MCPServer[None], path: str, handler: Callable[[Request], Awaitable[Response]]) -> None:
    add: Callable[[Callable[[Request], Awaitable[Response]]], object] = server.custom_route(path, methods=["GET"])
    add(handler)


async def keep_pulse(application: Application) -> None:
    """Look at all live runs again and again, as their clock; a failed look is logged and the next one comes."""
    while True:
        try:
            await anyio.to_thread.run_sync(application.notifications.pulse)
        except DcfError as error:
            log.warning("pulse: %s: %s", error.code, error.message)
        except Exception:  # a defect met while looking at one run must not stop the clock of all others
            log.exception("pulse failed")
        await anyio.sleep(application.settings.pulse_interval_s)


def _probe(application: Application) -> str | None:
    try:
        application.control_plane.index.newest(1)
    except DcfError as error:
        return f"{error.code}: {error.message}"
    return None


def _registered(spec: ToolSpec, application: Application) -> RegisteredTool:
    return RegisteredTool(
        fn=spec.run,
        name=spec.name,
        title=None,
        context_kwarg=None,
        description=spec.description,
        parameters=_parameters(spec),
        fn_metadata=FuncMetadata(arg_model=ArgModelBase, output_schema=_schema(spec.answer.model_json_schema())),
        is_async=True,
        annotations=ToolAnnotations(
            read_only_hint=spec.read_only,
            destructive_hint=spec.destructive,
            idempotent_hint=spec.idempotent,
            open_world_hint=False,
        ),
        spec=spec,
        application=application,
    )


def _parameters(spec: ToolSpec) -> dict[str, Json]:
    """Make the input schema; the tool's description is not told twice."""
    found = _typed(_schema(spec.arguments.model_json_schema()))
    del found["description"]
    return {**found, "additionalProperties": False}


def _typed(node: Json) -> Json:
    """Say of every property and item which types it may have, and be it any.

    Letta 0.16.8 leaves out a tool, without a word, one of whose parameters has no type (measured).
    """
    if not isinstance(node, dict):
        return node
    found: dict[str, Json] = dict(node)
    if "anyOf" in found:
        found["anyOf"] = [_typed(one) for one in found["anyOf"]]
    if "items" in found:
        found["items"] = _typed(found["items"])
    if "properties" in found:
        found["properties"] = {name: _typed(part) for name, part in found["properties"].items()}
    return found if found.keys() & _SAYS_TYPE else {**found, "type": list(_TYPES), "items": {}}


def _schema(found: Json) -> Json:
    """Leave out of a JSON Schema what pydantic adds to everything: it says nothing and costs tokens."""
    if isinstance(found, Mapping):
        return {name: _schema(part) for name, part in found.items() if (name, type(part)) not in _SAYS_NOTHING}
    if isinstance(found, list):
        return [_schema(part) for part in found]
    return found


def _security(settings: Settings) -> TransportSecuritySettings:
    return TransportSecuritySettings(
        enable_dns_rebinding_protection=settings.mcp_enable_dns_rebinding_protection,
        allowed_hosts=list(settings.mcp_allowed_hosts),
        allowed_origins=list(settings.mcp_allowed_origins),
    )
