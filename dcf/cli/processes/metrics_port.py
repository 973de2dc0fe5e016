"""/metrics on a port of its own, if `dcf serve` gets one: then the network too decides who may reach it.

It has the same checks of Host, Origin and API key as /mcp, which no longer serves it.
"""

import socket
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import anyio
from starlette.applications import Starlette

from dcf.features.health.routes import PATH
from dcf.settings.process import Settings
from dcf.tools.http.server import HttpServer


@dataclass(frozen=True, kw_only=True)
class MetricsApart:
    """The application that is served in addition to the main one, if any, and its address for programs."""

    told: Mapping[str, str]
    beside: HttpServer | None = None
    listener: socket.socket | None = None

    async def serve(self, main: HttpServer, listener: socket.socket) -> None:
        """Serve the main application, and the additional one until the main one has ended."""
        if self.beside is None or self.listener is None:
            await main.serve([listener])
            return
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self.beside.serve, [self.listener])
            await main.serve([listener])
            self.beside.should_exit = True


@contextmanager
def metrics_apart(
    app: Starlette, settings: Settings, listen: Callable[[Settings], socket.socket]
) -> Iterator[MetricsApart]:
    """Move /metrics from an application to its port, if one is set and the application has it; else do nothing."""
    routes = [route for route in app.router.routes if getattr(route, "path", None) == PATH]
    if settings.metrics_port is None or not routes:
        yield MetricsApart(told={})
        return
    app.router.routes[:] = [route for route in app.router.routes if route not in routes]
    alone = Starlette(routes=routes, middleware=app.user_middleware)
    with listen(settings.model_copy(update={"mcp_port": settings.metrics_port})) as listener:
        host, port = listener.getsockname()[:2]
        url = f"http://{f'[{host}]' if ':' in host else host}:{port}{PATH}"
        sys.stderr.write(f"dcf: Metrics on {url}\n")
        yield MetricsApart(
            told={"metrics": url}, beside=HttpServer(alone, settings, log_config=None), listener=listener
        )
