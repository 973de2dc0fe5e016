"""The answer to `tools/list`, cached: it depends on what the caller is shown and never changes in a process.

Building and validating the list costs the SDK ten times as much as sending it. Middleware is provisional in the
SDK, so no other module but `key_watch` uses it.
"""

from collections.abc import Hashable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from typing import Any, Final

from mcp.server.context import CallNext, ServerRequestContext
from mcp.server.mcpserver.context import Context

from dcf.core.access.model import Scope
from dcf.verbs.authentication import WhoCalls
from dcf.verbs.listed_tools import AUTO, HEADER, listed_for
from dcf.verbs.registry import ToolSpec

_METHOD = "tools/list"


_OWN: Final = "dcf"
"""How the clients of this package introduce themselves: `tools/calling/messages.py`."""


def is_own_program(context: Context[Any, Any]) -> bool:
    """Return True for a client of this package: it calls verbs, and words next calls and hints itself."""
    params = context.session.client_params
    return params is not None and params.client_info.name == _OWN


class Shown:
    """Which tools the caller of a request is shown: those served and of its profile that it may call.

    Whatever names tools to a model asks this: the list, the instructions, next calls, and what was probably meant.
    """

    def __init__(self, specs: Iterable[ToolSpec], who_calls: WhoCalls, profile: str = AUTO) -> None:
        self._scopes = {spec.name: spec.scope for spec in specs}
        self._who_calls = who_calls
        self._profile = profile
        self._known: dict[tuple[Hashable, Hashable], frozenset[str]] = {}

    def __call__(self, ctx: ServerRequestContext[Any, Any]) -> frozenset[str]:
        """Return the names of the tools. There are few profiles and sets of scopes, so they are kept."""
        caller = self._who_calls()
        names = listed_for(caller, self._profile, header_of(ctx, HEADER))
        if (caller.scopes, names) not in self._known:
            served = (name for name in names if self._scopes.get(name) in caller.scopes)
            self._known[caller.scopes, names] = frozenset(served)
        return self._known[caller.scopes, names]

    @property
    def scopes(self) -> AbstractSet[Scope]:
        """The scopes of the caller of this request."""
        return self._who_calls().scopes


class ToolList:
    """Caches the answer by version and by what is shown."""

    def __init__(self, shown: Shown) -> None:
        self._shown = shown
        self._answers: dict[tuple[str, frozenset[str]], dict[str, Any]] = {}

    async def __call__(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> Any:
        """Return the cached answer, or cache the SDK's."""
        if ctx.method != _METHOD:
            return await call_next(ctx)
        names = self._shown(ctx)
        known = (ctx.protocol_version, names)
        if known not in self._answers:
            answer = await call_next(ctx)
            if not isinstance(answer, Mapping):
                return answer
            self._answers[known] = {**answer, "tools": [tool for tool in answer["tools"] if tool["name"] in names]}
        return self._answers[known]


def header_of(ctx: ServerRequestContext[Any, Any], name: str) -> str | None:
    """Return a header of an HTTP request; None over stdio."""
    headers: Mapping[str, str] | None = getattr(getattr(ctx, "request", None), "headers", None)
    return None if headers is None else headers.get(name)
