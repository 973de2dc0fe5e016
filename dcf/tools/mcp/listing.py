"""The answer to `tools/list`, cached: it depends on the caller's scopes only and never changes in a process.

Building and validating the list costs the SDK ten times as much as sending it. Middleware is provisional in the
SDK, so no other module but `key_watch` uses it.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from mcp.server.context import CallNext, ServerRequestContext
from mcp.server.mcpserver.context import Context

from dcf.core.access.model import Caller, Scope
from dcf.verbs.authentication import WhoCalls
from dcf.verbs.listed_tools import AUTO, HEADER, listed_for
from dcf.verbs.registry import ToolSpec

_METHOD = "tools/list"


_OWN: Final = "dcf"
"""How the clients of this package introduce themselves: `tools/calling/messages.py`."""


def is_own_program(context: Context[Any, Any]) -> bool:
    """Return True for a client of this package: it calls verbs, and words next calls and hints by itself."""
    params = context.session.client_params
    return params is not None and params.client_info.name == _OWN


def shown_in(ctx: ServerRequestContext[Any, Any], caller: Caller, profile: str) -> frozenset[str]:
    """Return the names of the tools that a caller is shown who makes this request."""
    return listed_for(caller, profile, header_of(ctx, HEADER))


class ToolList:
    """Caches the answer by version, scopes and profile; a caller sees the tools of its profile that it may call."""

    def __init__(self, specs: Iterable[ToolSpec], who_calls: WhoCalls, profile: str = AUTO) -> None:
        self._scopes = {spec.name: spec.scope for spec in specs}
        self._who_calls = who_calls
        self._profile = profile
        self._answers: dict[tuple[str, frozenset[Scope], frozenset[str]], dict[str, Any]] = {}

    async def __call__(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> Any:
        """Return the cached answer, or cache the SDK's."""
        if ctx.method != _METHOD:
            return await call_next(ctx)
        caller = self._who_calls()
        names = shown_in(ctx, caller, self._profile)
        known = (ctx.protocol_version, caller.scopes, names)
        if known not in self._answers:
            answer = await call_next(ctx)
            if not isinstance(answer, Mapping):
                return answer
            self._answers[known] = self._shown(answer, caller, names)
        return self._answers[known]

    def _shown(self, answer: Mapping[str, Any], caller: Caller, names: frozenset[str]) -> dict[str, Any]:
        callable_ones = [tool for tool in answer["tools"] if self._scopes[tool["name"]] in caller.scopes]
        return {**answer, "tools": [tool for tool in callable_ones if tool["name"] in names]}


def header_of(ctx: ServerRequestContext[Any, Any], name: str) -> str | None:
    """Return a header of an HTTP request; None over stdio."""
    headers: Mapping[str, str] | None = getattr(getattr(ctx, "request", None), "headers", None)
    return None if headers is None else headers.get(name)
