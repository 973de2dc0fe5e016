"""Runs a worker process: Python functions that serve one agent id, over MCP or beside a control plane of their own."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from dcf.worker import TaskFunction, ToolCaller, Worker

if TYPE_CHECKING:
    from dcf.settings import Settings


def work(
    functions: Mapping[str, TaskFunction],
    agent_id: str,
    settings: "Settings",
    *,
    server_url: str | None,
    direct: bool,
    lease_ttl_s: int,
    concurrency: int,
) -> None:
    """Serve the functions until told to stop."""
    sys.stderr.write(f"dcf: worker {agent_id} serves {', '.join(sorted(functions))}\n")
    sys.stderr.flush()
    with _here(settings) if direct else _at_server(settings, server_url) as tools:
        Worker(tools, agent_id, functions, lease_ttl_s=lease_ttl_s, concurrency=concurrency).serve()


@contextmanager
def _at_server(settings: "Settings", server_url: str | None) -> Iterator[ToolCaller]:
    from dcf.tools.client import connect

    key = None if settings.api_key is None else settings.api_key.get_secret_value()
    with connect(server_url or settings.server_url, api_key=key) as tools:
        yield tools


@contextmanager
def _here(settings: "Settings") -> Iterator[ToolCaller]:
    from dcf.application import open_application
    from dcf.tools.direct import DirectTools, control_plane_here

    with open_application(settings) as application, control_plane_here(application) as here:
        yield DirectTools(here)
