"""Runs the servers of the MCP tools and of the web page. Messages for people go to standard error."""

import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Protocol

import anyio
from starlette.applications import Starlette

from dcf import metrics
from dcf.application.application import Application, open_application
from dcf.cli.log_throttle import throttle_logs
from dcf.cli.processes.garbage import collect_when_loaded
from dcf.cli.processes.metrics_port import metrics_apart
from dcf.cli.processes.server_line import server_line
from dcf.cli.wording import in_commands
from dcf.errors import InvalidArgument
from dcf.features.health.routes import AllMetrics
from dcf.settings.process import Settings
from dcf.telemetry import tracing
from dcf.telemetry.otlp_metrics import collector_of, sending
from dcf.tools.http.server import HttpServer, nothing, stopped_by_signals
from dcf.tools.mcp.selection import select_tools
from dcf.tools.mcp.server import NOTHING_ADDED, Additions, build_http_app, build_server
from dcf.verbs.authentication import refuse_exposure

_KEY_WAIT_S = 60.0
_KEY_LOOK_S = 0.02

Announce = Callable[[Mapping[str, object]], None]
"""Prints, for a program, that the process is ready."""


class ServedDirectory(Protocol):
    """The directory of a project for which a profile is served, in the process of the server."""

    @property
    def line(self) -> str:
        """Say for people what is served."""

    def settings(self, settings: Settings) -> Settings:
        """Return the settings of the server."""

    def additions(self, application: Application) -> Additions:
        """Return what is added to the server."""

    def end(self, then: Callable[[], object]) -> None:
        """End what runs for the directory, and call `then`."""


def serve(
    transport: str,
    settings: Settings,
    fd: int | None,
    announce: Announce,
    *,
    web: bool = False,
    may_act: bool = False,
    with_metrics: bool = False,
    project: ServedDirectory | None = None,
) -> None:
    """Serve the tools until told to stop; over HTTP the web page and /metrics as well, if they are asked for.

    With a project the tools work in its directory, and `sse` is a transport too.
    """
    if project is not None:
        settings = project.settings(settings)
    if with_metrics or settings.metrics_port is not None:
        metrics.count()
    collector = collector_of()
    if collector is not None:
        metrics.count(is_served=False)
    select_tools(settings.toolsets, read_only=settings.read_only, profile=settings.profile)  # raises for wrong names
    if tracing.current is not None:
        _ = tracing.current.live  # the SDK of MCP begins a span for each message that is part of a trace
    with ExitStack() as stack:
        application = stack.enter_context(open_application(settings))
        report = application.health.checked()
        _say(server_line(application, report))
        for finding in report.not_as_asked():
            _say(f"{finding.level}: {finding.sentence} {in_commands(finding.remedy or '')}".rstrip())
        if collector is not None:
            stack.enter_context(sending(collector, AllMetrics(application, metrics.count()).read))
        added = NOTHING_ADDED
        if project is not None:
            _say(project.line)
            added = project.additions(application)
        if transport == "stdio":
            _end_at_once_on_signal(stack, _at_once if project is None else project.end)
            build_server(application, added=added).run("stdio")
        else:
            build = partial(build_http_app, added=added, over_sse=transport == "sse")
            also = ("/sse",) if transport == "sse" else ("/api/mcp",) if settings.profile == "openfactory" else ()
            _serve_http(application, fd, announce, build, web=web, may_act=may_act, also=also)


def _end_at_once_on_signal(stack: ExitStack, first: Callable[[Callable[[], object]], None]) -> None:
    """Let a signal end this process even while a thread waits for standard input, which cannot be interrupted.

    `first` ends everything else that runs, and calls its argument once that is done.
    """

    def leave(number: int) -> None:
        stack.close()
        os._exit(128 + number)

    def end(number: int, _: object) -> None:
        first(partial(leave, number))

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, end)


def _at_once(then: Callable[[], object]) -> None:
    then()


def serve_web(settings: Settings, announce: Announce, *, may_act: bool = False) -> None:
    """Serve the web page alone until told to stop. `may_act`: it may change things, not only show them."""
    from dcf.web.live.streams import LivePages
    from dcf.web.sessions import PATH
    from dcf.web.site import build_site

    with open_application(settings) as application:
        _say(server_line(application, application.health.checked()))
        refuse_exposure(settings, settings.mcp_host, application.keys)
        with open_listener(settings) as listener:
            url, live = f"{url_of(listener).removesuffix('/mcp')}{PATH}/runs", LivePages(application)
            app = build_site(application, live, may_act=may_act)
            serve_app(app, settings, listener, url, announce, what="The web page", stopping=live.stop)


def _serve_http(
    application: Application,
    fd: int | None,
    announce: Announce,
    build: Callable[[Application, str], Starlette],
    *,
    web: bool,
    may_act: bool = False,
    also: Sequence[str] = (),
) -> None:
    settings = application.settings
    if fd is not None and settings.auth == "keys":
        _await_key(application)
    refuse_exposure(settings, settings.mcp_host, application.keys)
    with open_listener(settings) if fd is None else socket.socket(fileno=fd) as listener:
        url = url_of(listener)
        app = build(application, url)
        stopping = _add_pages(app, application, may_act=may_act) if web else nothing
        serve_app(app, settings, listener, url, announce, also=also, stopping=stopping)


def _await_key(application: Application) -> None:
    """Wait until there is an API key: `dcf run`, which passes the socket, makes its keys while this process starts."""
    end = time.monotonic() + _KEY_WAIT_S
    while not application.keys.any_active() and time.monotonic() < end:
        time.sleep(_KEY_LOOK_S)


def _add_pages(app: Starlette, application: Application, *, may_act: bool) -> Callable[[], None]:
    """Serve the web page as well; return what ends its event streams."""
    from dcf.web.live.streams import LivePages
    from dcf.web.site import ENTRANCE, pages

    live = LivePages(application)
    app.router.routes.extend([ENTRANCE, pages(application, live, may_act=may_act)])
    return live.stop


def url_of(listener: socket.socket) -> str:
    """Return the URL of the MCP endpoint at the listener's address."""
    host, port = listener.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/mcp"


def serve_app(
    app: Starlette,
    settings: Settings,
    listener: socket.socket,
    url: str,
    announce: Announce,
    *,
    what: str = "MCP",
    also: Sequence[str] = (),
    stopping: Callable[[], None] = nothing,
) -> None:
    """Announce the URL and other paths of it, then serve the application on the listener until told to stop."""
    for address in (url, *(f"{url.removesuffix('/mcp')}{path}" for path in also)):
        _say(f"{what} on {address}")
    plain = {"log_config": None} if settings.log_format == "json" else {}  # its lines then look as all others do
    with metrics_apart(app, settings, open_listener) as apart:
        server = HttpServer(app, settings, stopping=stopping, log_level="warning", timeout_graceful_shutdown=3, **plain)
        with stopped_by_signals(server):
            announce({"url": url, **apart.told})
            throttle_logs()
            collect_when_loaded()
            anyio.run(apart.serve, server, listener)


def open_listener(settings: Settings) -> socket.socket:
    """Return a listening socket, as the settings say, whose connections send answers without delay (TCP_NODELAY)."""
    family = socket.AF_INET6 if ":" in settings.mcp_host else socket.AF_INET
    try:
        listener = socket.create_server((settings.mcp_host, settings.mcp_port), family=family, backlog=512)
    except OSError as error:
        raise InvalidArgument(
            f"Cannot listen on {settings.mcp_host}:{settings.mcp_port}: {error.strerror}.",
            "Choose another --host or --port (0 takes a free one).",
        ) from None
    # asyncio sets TCP_NODELAY only on sockets that say they are TCP; without it an answer is 40 ms late (measured).
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


def _say(text: str) -> None:
    sys.stderr.write(f"dcf: {text}\n")
    sys.stderr.flush()
