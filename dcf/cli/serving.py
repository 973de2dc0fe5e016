"""Long-running processes: the MCP server and the worker. Everything they print goes to standard error."""

import importlib
import importlib.util
import socket
import sys
from pathlib import Path

import anyio
import uvicorn

from dcf.application import Application, open_application
from dcf.errors import InvalidArgument
from dcf.settings import Settings
from dcf.tools.client import connect
from dcf.tools.server import build_http_app, build_server, select_tools
from dcf.worker import FUNCTIONS, Worker


def serve(transport: str, settings: Settings, fd: int | None) -> None:
    """Serve the tools until told to stop."""
    if transport not in {"stdio", "http"}:
        raise InvalidArgument(f"There is no transport '{transport[:20]}'.", "Use --transport stdio or http.")
    select_tools(settings.toolsets, read_only=settings.read_only)
    with open_application(settings) as application:
        for warning in application.server.warnings if settings.redis_url is not None else ():
            _say(f"warning: {warning}")
        if transport == "stdio":
            build_server(application).run("stdio")
        else:
            _serve_http(application, fd)


def work(functions: str, agent_id: str, server_url: str, lease_ttl_s: int) -> None:
    """Serve the functions until told to stop."""
    load_functions(functions)
    if not FUNCTIONS:
        raise InvalidArgument(f"{functions} registers no task function.", 'Decorate one with @task("StateName").')
    _say(f"worker {agent_id} serves {', '.join(sorted(FUNCTIONS))}")
    with connect(server_url) as tools:
        Worker(tools, agent_id, lease_ttl_s=lease_ttl_s).serve()


def load_functions(source: str) -> None:
    """Import a Python file or module, which registers its functions as it is imported."""
    path = Path(source)
    if path.suffix != ".py":
        try:
            importlib.import_module(source)
        except ModuleNotFoundError as error:
            raise InvalidArgument(f"There is no Python module '{error.name}'.", "Check the name.") from None
        return
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise InvalidArgument(f"There is no Python file {path}.", "Check the path.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)


def _serve_http(application: Application, fd: int | None) -> None:
    settings = application.settings
    listener = _listener(settings) if fd is None else socket.socket(fileno=fd)
    host, port = listener.getsockname()[:2]
    _say(f"MCP on http://{host}:{port}/mcp")
    config = uvicorn.Config(build_http_app(application), log_level="warning", timeout_graceful_shutdown=3)
    anyio.run(uvicorn.Server(config).serve, [listener])


def _listener(settings: Settings) -> socket.socket:
    try:
        return socket.create_server((settings.mcp_host, settings.mcp_port), backlog=512)
    except OSError as error:
        raise InvalidArgument(
            f"Cannot listen on {settings.mcp_host}:{settings.mcp_port}: {error.strerror}.",
            "Choose another --host or --port (0 takes a free one).",
        ) from None


def _say(text: str) -> None:
    sys.stderr.write(f"dcf: {text}\n")
    sys.stderr.flush()
