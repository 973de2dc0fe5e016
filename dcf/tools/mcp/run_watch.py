"""Tells subscribers of runs that they changed: resources `dcf://runs/ID` and those below it.

One task of a server looks once a second at the last event of each run with a listener, in one round trip. So it notices
changes by any process. Subscriptions exist since the protocol's revision 2026-07-28, as a stream that a client opens;
how many runs are watched is bounded.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

import anyio
import anyio.to_thread
from mcp.server.context import CallNext, ServerRequestContext
from mcp.server.subscriptions import InMemorySubscriptionBus, ResourceUpdated
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS

from dcf.core.access.model import Scope
from dcf.errors import DcfError
from dcf.store.events.history import History
from dcf.tools.mcp.middleware import REFUSED, STREAM
from dcf.tools.mcp.resources import run_of
from dcf.verbs.authentication import WhoCalls

EVERY_S: Final = 1.0
MOST_OF_ONE: Final = 32
"""Resources that one stream may listen to."""
MOST_OF_CALLER: Final = 256
"""Resources that the streams of one caller may listen to, so that it leaves room to others."""
MOST: Final = 1000
"""Resources that are watched for all."""


@dataclass(slots=True)
class RunWatch:
    """The runs that somebody listens to, and what is known of them."""

    history: History
    bus: InMemorySubscriptionBus = field(default_factory=InMemorySubscriptionBus)
    every_s: float = field(default_factory=lambda: EVERY_S)
    _listening: Counter[str] = field(default_factory=Counter)
    _of_callers: Counter[str] = field(default_factory=Counter)
    _known: dict[str, str | None] = field(default_factory=dict)

    @contextmanager
    def listening(self, uris: frozenset[str], caller: str = "") -> Iterator[None]:
        """Watch the runs of these resources meanwhile; raise MCPError if they are too many."""
        if len(uris) > MOST_OF_ONE or len(self._listening.keys() | uris) > MOST:
            text = f"At most {MOST_OF_ONE} runs can be listened to by one stream, and {MOST} by all."
            raise MCPError(INVALID_PARAMS, text)
        if self._of_callers[caller] + len(uris) > MOST_OF_CALLER:
            raise MCPError(REFUSED, f"At most {MOST_OF_CALLER} runs can be listened to by one caller.")
        self._listening.update(uris)
        self._of_callers[caller] += len(uris)
        try:
            yield
        finally:
            self._listening.subtract(uris)
            self._listening = +self._listening
            self._of_callers[caller] -= len(uris)
            self._of_callers = +self._of_callers

    async def keep(self) -> None:
        """Look without end. A look that fails is left out: the next look notices the same changes."""
        while True:
            await anyio.sleep(self.every_s)
            try:
                await self.look()
            except DcfError:
                continue

    async def look(self) -> None:
        """Look once, and report the runs that changed since the last look."""
        runs = {uri: run for uri in self._listening if (run := run_of(uri)) is not None}
        if not runs:
            self._known.clear()
            return
        newest = await anyio.to_thread.run_sync(self.history.newest_ids, sorted(set(runs.values())))
        changed = {run for run, last in newest.items() if run in self._known and self._known[run] != last}
        self._known = dict(newest)
        for uri, run in runs.items():
            if run in changed:
                await self.bus.publish(ResourceUpdated(uri=uri))


ProjectOf: TypeAlias = Callable[[str], str | None]
"""Returns the project of a run; None if it has none, or there is no such run."""


class RunListeners:
    """Middleware of the SDK: who opens a stream has the runs watched that it names."""

    def __init__(self, watch: RunWatch, who_calls: WhoCalls, project_of: ProjectOf = lambda _: None) -> None:
        self._watch = watch
        self._who_calls = who_calls
        self._project_of = project_of

    async def __call__(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> Any:
        """Serve the stream; pass everything else on."""
        uris = _asked(ctx.params) if ctx.method == STREAM else frozenset()
        if not uris:
            return await call_next(ctx)
        caller = self._who_calls()
        if Scope.READ not in caller.scopes:
            raise MCPError(REFUSED, "forbidden: Listening to runs needs the scope 'read'.")
        if caller.project is not None:
            await anyio.to_thread.run_sync(self._refuse_others, uris, caller.project)
        with self._watch.listening(uris, caller.name):
            return await call_next(ctx)

    def _refuse_others(self, uris: frozenset[str], project: str) -> None:
        """Raise MCPError if one of the runs is not of the project, or is not there."""
        for uri in uris:
            if self._project_of(run_of(uri) or "") != project:
                raise MCPError(REFUSED, f"unknown_run: There is no run at {uri[:200]}.")


def _asked(params: Mapping[str, Any] | None) -> frozenset[str]:
    """Return the resources that a request to listen names; the SDK checks its form afterwards."""
    notifications = (params or {}).get("notifications")
    uris = notifications.get("resourceSubscriptions") if isinstance(notifications, Mapping) else None
    subscribed = uris if isinstance(uris, list) else []
    return frozenset(uri for uri in subscribed if isinstance(uri, str) and run_of(uri) is not None)
