"""Middleware of the SDK's server: limits, keys and capabilities, for requests that are no call of a tool.

Calls of tools are limited and watched in `envelope`, which does not know the SDK.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Final

from mcp.server.context import CallNext, ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_REQUEST, METHOD_NOT_FOUND

from dcf.core.access import Caller
from dcf.errors import RateLimited, Unauthorized
from dcf.tools.key_watch import KeyWatch
from dcf.tools.limits import refuse_excess

_CALL: Final = "tools/call"
_REFUSED: Final = -32029
"""JSON-RPC code of a refused request, of the range that is left to servers."""

_GREETINGS: Final = ("initialize", "server/discover")
_MAY_BE_EMPTY: Final = ("prompts", "resources")

_STREAM: Final = "subscriptions/listen"


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
                told = {"code": error.code, "retry_after_s": error.retry_after_s, "hint": error.hint}
                raise MCPError(_REFUSED, f"{error.code}: {error.message}", told) from None
        return await call_next(ctx)


class OfferedOnly:
    """Middleware that announces only what there is; the SDK announces prompts and resources in any case."""

    def __init__(self, is_empty: Callable[[str], Awaitable[bool]]) -> None:
        self._is_empty = is_empty

    async def __call__(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> Any:
        """Leave out of the server's capabilities what is empty; there are no methods for it either."""
        family = ctx.method.partition("/")[0]
        if family in _MAY_BE_EMPTY and await self._is_empty(family):
            raise MCPError(METHOD_NOT_FOUND, f"This server has no {family}.")
        answer = await call_next(ctx)
        if ctx.method not in _GREETINGS or answer is None:
            return answer
        if not isinstance(answer, Mapping):
            answer = answer.model_dump(by_alias=True, mode="json", exclude_none=True)
        offered = {
            name: value
            for name, value in answer["capabilities"].items()
            if name not in _MAY_BE_EMPTY or not await self._is_empty(name)
        }
        return {**answer, "capabilities": offered}


class WatchedStreams:
    """Middleware of the SDK that watches the keys of those who listen to a stream of events."""

    def __init__(self, watch: KeyWatch, who_calls: Callable[[], Caller]) -> None:
        self._watch = watch
        self._who_calls = who_calls

    async def __call__(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> Any:
        """Serve the stream until its key is gone; pass everything else on."""
        if ctx.method != _STREAM:
            return await call_next(ctx)

        async def serve() -> Mapping[str, Any] | Any:
            return await call_next(ctx)

        try:
            return await self._watch.during(self._who_calls(), serve)
        except Unauthorized as error:
            raise MCPError(INVALID_REQUEST, error.message) from None
