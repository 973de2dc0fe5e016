"""Tells a client that asked for it how a long wait goes, so that it does not give the call up.

Over HTTP such a call is answered as an event stream. That takes 40 KB more while it waits, so every other call is
answered as one JSON document (measured, mcp 2.3).
"""

import copy
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, TypeVar

import anyio
import anyio.to_thread
from mcp.server.mcpserver.context import Context
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp_types import INVALID_REQUEST
from starlette.responses import JSONResponse
from starlette.types import Message, Receive, Scope, Send

from dcf.values.json_text import Json, repeated_key
from dcf.verbs.envelope import waits
from dcf.verbs.registry import TOOLS, ToolSpec

EVERY_S: Final = 5.0
_TOKEN: Final = b'"progressToken"'
_STREAM: Final = b"text/event-stream"
_LONGEST: Final = 64 * 1024
"""Bytes of a request that waits; a longer one is not looked through here, but on a thread."""

Answer = TypeVar("Answer")


async def reporting(
    spec: ToolSpec, arguments: Mapping[str, Json], context: Context[Any, Any], work: Callable[[], Awaitable[Answer]]
) -> Answer:
    """Return what the work answers; meanwhile tell a client that wants to know how long it has waited."""
    if not waits(spec) or not _is_asked(context):
        return await work()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_report, context, _longest(spec, arguments))
        answer = await work()
        tasks.cancel_scope.cancel()
    return answer


async def _report(context: Context[Any, Any], total: float | None) -> None:
    waited = 0.0
    while True:
        await anyio.sleep(EVERY_S)
        waited += EVERY_S
        of = "" if total is None else f" of {total:g}"
        await context.report_progress(waited, total, f"Nothing yet: waited {waited:g}{of} seconds.")


def _is_asked(context: Context[Any, Any]) -> bool:
    meta: Mapping[str, Any] = context.request_context.meta or {}
    return "progress_token" in meta or "progressToken" in meta


def _longest(spec: ToolSpec, arguments: Mapping[str, Json]) -> float | None:
    """Return how long the call waits at most."""
    field = spec.arguments.model_fields.get("timeout_s")
    wait_s = arguments.get("timeout_s", None if field is None else field.default)
    return float(wait_s) if isinstance(wait_s, int | float) else None


async def _repeated_key(body: bytes) -> str | None:
    """Say which key a request has twice: the SDK takes the last, and a proxy may have looked at the first."""
    return repeated_key(body) if len(body) <= _LONGEST else await anyio.to_thread.run_sync(repeated_key, body)


class StreamsWhereAsked:
    """The SDK's handler of requests, with an event stream as the answer to a wait whose client wants to hear of it."""

    def __init__(self, manager: StreamableHTTPSessionManager) -> None:
        self._manager = manager
        self._handle = manager.asgi_app.app
        self._names = tuple(f'"{name}"'.encode() for name, spec in TOOLS.items() if waits(spec))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request; the middleware before this one has read its whole body."""
        first: list[Message] = [await receive()]

        async def again() -> Message:
            return first.pop() if first else await receive()

        repeated = await _repeated_key(first[0].get("body", b""))
        if repeated is not None:
            wrong = {"code": INVALID_REQUEST, "message": f"The request is ambiguous: {repeated}."}
            await JSONResponse({"jsonrpc": "2.0", "id": None, "error": wrong}, 400)(scope, again, send)
            return
        handle = self._handle
        if self._wants_stream(first[0].get("body", b""), scope):
            streaming = copy.copy(self._manager)
            streaming.json_response = False
            handle = streaming._handle_request  # noqa: SLF001 - the manager chooses for all requests, not for one
        await handle(scope, again, send)

    def _wants_stream(self, body: bytes, scope: Scope) -> bool:
        if len(body) > _LONGEST or _TOKEN not in body or not any(name in body for name in self._names):
            return False
        return any(_STREAM in value for name, value in scope["headers"] if name == b"accept")
