"""`tools/list` from a cache: what a caller sees depends on its scopes only, and never changes while the process lives.

Building and checking the list costs the SDK ten times as much as sending it. Middleware is provisional in the SDK, so
this is the only place that has some.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from mcp.server.context import CallNext, ServerRequestContext

from dcf.core.access import Scope
from dcf.tools.authentication import WhoCalls
from dcf.tools.registry import ToolSpec

_METHOD = "tools/list"


class ToolList:
    """Remembers the answer by protocol version and scopes; a caller sees only tools that it may call."""

    def __init__(self, specs: Iterable[ToolSpec], who_calls: WhoCalls) -> None:
        self._scopes = {spec.name: spec.scope for spec in specs}
        self._who_calls = who_calls
        self._answers: dict[tuple[str, frozenset[Scope]], dict[str, Any]] = {}

    async def __call__(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> Any:
        """Answer from the cache, or remember what the SDK answers."""
        if ctx.method != _METHOD:
            return await call_next(ctx)
        known = (ctx.protocol_version, self._who_calls().scopes)
        if known not in self._answers:
            answer = await call_next(ctx)
            if not isinstance(answer, Mapping):
                return answer
            self._answers[known] = self._shown(answer, known[1])
        return self._answers[known]

    def _shown(self, answer: Mapping[str, Any], scopes: frozenset[Scope]) -> dict[str, Any]:
        tools = [tool for tool in answer["tools"] if self._scopes[tool["name"]] in scopes]
        return {**answer, "tools": tools}
