"""The answer to `tools/list`, cached: it depends on the caller's scopes only and never changes in a process.

Building and validating the list costs the SDK ten times as much as sending it. Middleware is provisional in the
SDK, so no other module but `key_watch` uses it.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from mcp.server.context import CallNext, ServerRequestContext

from dcf.core.access.model import Caller, Scope
from dcf.verbs.authentication import WhoCalls
from dcf.verbs.listed_tools import AUTO, HEADER, listed_for
from dcf.verbs.registry import ToolSpec

_METHOD = "tools/list"


class ToolList:
    """Caches the answer by version, scopes and profile; a caller sees the tools of its profile that it may call."""

    def __init__(self, specs: Iterable[ToolSpec], who_calls: WhoCalls, profile: str = AUTO) -> None:
        self._scopes = {spec.name: spec.scope for spec in specs}
        self._who_calls = who_calls
        self._profile = profile
        self._answers: dict[tuple[str, frozenset[Scope], frozenset[str] | None], dict[str, Any]] = {}

    async def __call__(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> Any:
        """Return the cached answer, or cache the SDK's."""
        if ctx.method != _METHOD:
            return await call_next(ctx)
        caller = self._who_calls()
        names = listed_for(caller, self._profile, _wanted(ctx))
        known = (ctx.protocol_version, caller.scopes, names)
        if known not in self._answers:
            answer = await call_next(ctx)
            if not isinstance(answer, Mapping):
                return answer
            self._answers[known] = self._shown(answer, caller, names)
        return self._answers[known]

    def _shown(self, answer: Mapping[str, Any], caller: Caller, names: frozenset[str] | None) -> dict[str, Any]:
        callable_ones = [tool for tool in answer["tools"] if self._scopes[tool["name"]] in caller.scopes]
        return {**answer, "tools": [tool for tool in callable_ones if names is None or tool["name"] in names]}


def _wanted(ctx: ServerRequestContext[Any, Any]) -> str | None:
    """Return the profile that an HTTP request asks for."""
    headers: Mapping[str, str] | None = getattr(getattr(ctx, "request", None), "headers", None)
    return None if headers is None else headers.get(HEADER)
