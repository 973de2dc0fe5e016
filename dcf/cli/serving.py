"""Runs the servers: of the MCP tools, and of a stub configuration. Messages for people go to standard error."""

import gc
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

import anyio
from starlette.applications import Starlette

from dcf.application import Application, open_application
from dcf.cli.log_throttle import throttle_logs
from dcf.errors import InvalidArgument
from dcf.settings import Settings
from dcf.stub.config_file import ConfigFile
from dcf.stub.server import build_app
from dcf.stub.service import Service
from dcf.tools.authentication import refuse_exposure
from dcf.tools.http_server import HttpServer
from dcf.tools.profiles import select_tools
from dcf.tools.server import build_http_app, build_server

_GC_THRESHOLDS = (50_000, 20, 20)

Announce = Callable[[Mapping[str, object]], None]
"""Prints, for a program, that the process is ready."""


def serve(transport: str, settings: Settings, fd: int | None, announce: Announce) -> None:
    """Serve the tools until told to stop."""
    select_tools(settings.toolsets, read_only=settings.read_only, profile=settings.profile)  # raises for wrong names
    with ExitStack() as stack:
        application = stack.enter_context(open_application(settings))
        for finding in application.health.checked().not_as_asked():
            _say(" ".join(filter(None, (f"{finding.level}: {finding.sentence}", finding.remedy))))
        if transport == "stdio":
            _end_at_once_when_told(stack)
            build_server(application).run("stdio")
        else:
            _serve_http(application, fd, announce)


def _end_at_once_when_told(stack: ExitStack) -> None:
    """Let a signal end this process even while a thread waits for standard input, which cannot be interrupted."""

    def end(number: int, _: object) -> None:
        stack.close()
        os._exit(128 + number)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, end)


def serve_stub(path: Path, settings: Settings, seed: int, announce: Announce) -> None:
    """Serve the tools of a stub configuration until told to stop."""
    service = Service(ConfigFile(path), seed=seed, now=lambda: datetime.now(UTC), monotonic=time.monotonic)
    with open_listener(settings) as listener:
        _serve_app(build_app(service, settings), settings, listener, _url_of(listener), announce)


def _serve_http(application: Application, fd: int | None, announce: Announce) -> None:
    settings = application.settings
    refuse_exposure(settings, settings.mcp_host, application.keys)
    with open_listener(settings) if fd is None else socket.socket(fileno=fd) as listener:
        url = _url_of(listener)
        _serve_app(build_http_app(application, url), settings, listener, url, announce)


def _url_of(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/mcp"


def _serve_app(app: Starlette, settings: Settings, listener: socket.socket, url: str, announce: Announce) -> None:
    _say(f"MCP on {url}")
    announce({"url": url})
    server = HttpServer(app, settings, log_level="warning", timeout_graceful_shutdown=3)
    throttle_logs()
    _collect_garbage_rarely()
    anyio.run(server.serve, [listener])


def _collect_garbage_rarely() -> None:
    """Leave what has been loaded out of garbage collections, and make them rarer.

    By default they take most of the time in which a long request is parsed, and nobody else is answered meanwhile.
    """
    gc.freeze()
    gc.set_threshold(*_GC_THRESHOLDS)


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
