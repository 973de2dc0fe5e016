"""Caches the answer to `tools/list`: it depends on the caller's scopes only and never changes in a process.

Building and validating the list costs the SDK ten times as much as sending it. Middleware is provisional in the
SDK, so no other module but `key_watch` uses it.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from mcp.server.context import CallNext, ServerRequestContext

from dcf.core.access import Scope
from dcf.tools.authentication import WhoCalls
from dcf.tools.registry import ToolSpec

_METHOD = "tools/list"


class ToolList:
    """Caches the answer by protocol version and scopes; a caller sees only the tools that it may call."""

    def __init__(self, specs: Iterable[ToolSpec], who_calls: WhoCalls) -> None:
        self._scopes = {spec.name: spec.scope for spec in specs}
        self._who_calls = who_calls
        self._answers: dict[tuple[str, frozenset[Scope]], dict[str, Any]] = {}

    async def __call__(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> Any:
        """Return the cached answer, or cache the SDK's."""
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
