"""Middleware of the SDK's server: limits and keys, for requests that are no call of a tool.

Calls of tools are limited and watched in `envelope`, which does not know the SDK.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from mcp.server.context import CallNext, ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_REQUEST, CallToolResult, TextContent

from dcf.core.access.model import Caller
from dcf.errors import RateLimited, Unauthorized
from dcf.tools.mcp.listing import Shown, header_of
from dcf.values.json_text import dump
from dcf.verbs.answers.legal_calls import unknown_tool
from dcf.verbs.key_watch import KeyWatch
from dcf.verbs.limits import refuse_excess
from dcf.verbs.registry import ToolSpec, printable

_CALL: Final = "tools/call"
_DISCOVER: Final = "server/discover"
REFUSED: Final = -32029
"""JSON-RPC code of a refused request, of the range that is left to servers."""

STREAM: Final = "subscriptions/listen"

OUTPUT_SCHEMAS: Final = "x-dcf-output-schemas"
"""The HTTP header by which a client asks for the schemas of answers."""

_LIST: Final = "tools/list"
_YES: Final = frozenset({"1", "true", "yes", "on"})


class Metering:
    """Middleware that refuses what is no call of a known tool: those are refused with the tool's own answer."""

    def __init__(self, tools: Iterable[str], who_calls: Callable[[], Caller]) -> None:
        self._tools = frozenset(tools)
        self._who_calls = who_calls

    async def __call__(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> Any:
        """Pass the request on, or raise the protocol's error with the code and the wait as its data."""
        is_own = ctx.method == _CALL and (ctx.params or {}).get("name") in self._tools
        if ctx.request_id is not None and not is_own:  # a notification has no answer in which to refuse it
            try:
                refuse_excess(self._who_calls())
            except RateLimited as error:
                data = {"code": error.code, "retry_after_s": error.retry_after_s, "hint": error.hint}
                raise MCPError(REFUSED, f"{error.code}: {error.message}", data) from None
        return await call_next(ctx)


class UnknownTools:
    """Middleware that answers the call of a tool that there is not with the one that was probably meant."""

    def __init__(self, specs: Iterable[ToolSpec], shown: Shown) -> None:
        self._specs = {spec.name: spec for spec in specs}
        self._shown = shown

    async def __call__(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> Any:
        """Pass on calls of tools that there are, and everything else."""
        name = (ctx.params or {}).get("name")
        if ctx.method != _CALL or not isinstance(name, str) or name in self._specs:
            return await call_next(ctx)
        shown = self._shown(ctx)
        offered = {name: spec.description for name, spec in self._specs.items() if name in shown}
        answer = unknown_tool(printable(name), offered)
        text = TextContent(type="text", text=dump(answer))
        return CallToolResult(content=[text], structured_content=answer, is_error=True)


class OutputSchemas:
    """Middleware that adds the schemas of answers to a list of tools, for a client that asks for them.

    No model needs them, and they make the list twice as long. With `always` every client gets them.
    """

    def __init__(self, specs: Iterable[ToolSpec], *, always: bool = False) -> None:
        self._specs = {spec.name: spec for spec in specs}
        self._always = always

    async def __call__(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> Any:
        """Return the list with the schemas; pass everything else on."""
        answer = await call_next(ctx)
        if ctx.method != _LIST or not isinstance(answer, Mapping) or not (self._always or _asks(ctx)):
            return answer
        from dcf.verbs.answers.schemas import answer_schema  # noqa: PLC0415 - few clients ask for them

        tools = [{**tool, "outputSchema": answer_schema(self._specs[tool["name"]])} for tool in answer["tools"]]
        return {**answer, "tools": tools}


def _asks(ctx: ServerRequestContext[Any, Any]) -> bool:
    return (header_of(ctx, OUTPUT_SCHEMAS) or "").lower() in _YES


class WatchedStreams:
    """Middleware of the SDK that watches the keys of callers with an open stream of events."""

    def __init__(self, watch: KeyWatch, who_calls: Callable[[], Caller]) -> None:
        self._watch = watch
        self._who_calls = who_calls

    async def __call__(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> Any:
        """Serve the stream until its key is gone; pass everything else on."""
        if ctx.method != STREAM:
            return await call_next(ctx)

        async def serve() -> Mapping[str, Any] | Any:
            return await call_next(ctx)

        try:
            return await self._watch.during(self._who_calls(), serve)
        except Unauthorized as error:
            raise MCPError(INVALID_REQUEST, error.message) from None


async def nothing_changes(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> Any:
    """Middleware that tells clients the truth about lists of tools, prompts and resources: no message says of changes.

    The SDK says that they may, wherever a client can listen to anything. Clients would keep a stream open for nothing.
    """
    answer = await call_next(ctx)
    if ctx.method == _DISCOVER and isinstance(answer, Mapping):
        offered = {
            name: {**part, "listChanged": False} if "listChanged" in part else part
            for name, part in answer["capabilities"].items()
        }
        return {**answer, "capabilities": offered}
    return answer
