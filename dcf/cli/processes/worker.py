"""Runs a worker process: Python functions that serve one agent id, over MCP or with their own control plane.

At shutdown it takes no more work, lets running functions finish for a while, and releases the rest.
"""

import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import TYPE_CHECKING

from dcf.cli.places.choice import stay_here
from dcf.cli.processes.garbage import collect_when_loaded
from dcf.cli.termination import serve_until_signal
from dcf.values.records import record
from dcf.worker import ToolCaller, Worker
from dcf.worker.state_functions import StateFunction

if TYPE_CHECKING:
    from dcf.settings.process import Settings


@record(frozen=True, slots=True, kw_only=True)
class WorkerOptions:
    """How a worker process works. With `leashed` (by `dcf run`) it prints no report and ends at once."""

    server_url: str | None
    direct: bool
    lease_ttl_s: int
    concurrency: int
    grace_s: float
    as_json: bool
    leashed: bool
    unassigned: bool = False


def work(functions: Mapping[str, StateFunction], agent_id: str, settings: "Settings", options: WorkerOptions) -> None:
    """Serve the functions until told to stop."""
    sys.stderr.write(f"dcf: worker {agent_id} serves {', '.join(sorted(functions))}\n")
    sys.stderr.flush()
    ttl_s, concurrency = options.lease_ttl_s, options.concurrency
    with tools_for(settings, options.server_url, direct=options.direct) as tools:
        collect_when_loaded()
        if options.leashed:
            Worker(tools, agent_id, functions, lease_ttl_s=ttl_s, concurrency=concurrency).serve()
            return
        from dcf.cli.running.work_report import WorkReport

        report = WorkReport(agent_id, as_json=options.as_json)
        worker = Worker(
            tools,
            agent_id,
            functions,
            lease_ttl_s=ttl_s,
            concurrency=concurrency,
            witness=report,
            unassigned=options.unassigned,
        )
        ending_signal = serve_until_signal(partial(_serve_on_thread, worker))
        report.stopping(ending_signal.name, options.grace_s)
        report.stopped(worker.drain(options.grace_s))
    sys.exit(128 + ending_signal)


def tools_for(settings: "Settings", server_url: str | None, *, direct: bool) -> AbstractContextManager[ToolCaller]:
    """Return the tools of a server, or of this process."""
    return _here(settings) if direct else _at_server(settings, server_url)


def _serve_on_thread(worker: Worker, tell: Callable[[BaseException], None]) -> None:
    def serve() -> None:
        try:
            worker.serve()
        except BaseException as error:  # noqa: BLE001 - raised in the main thread; also SystemExit of a function
            tell(error)

    threading.Thread(target=serve, name="dcf-worker", daemon=True).start()


@contextmanager
def _at_server(settings: "Settings", server_url: str | None) -> Iterator[ToolCaller]:
    from dcf.tools.calling.client import connect

    key = None if settings.api_key is None else settings.api_key.get_secret_value()
    with connect(server_url or settings.server_url, api_key=key) as tools:
        yield tools


@contextmanager
def _here(settings: "Settings") -> Iterator[ToolCaller]:
    from dcf.application.application import open_application
    from dcf.cli.processes.server_line import server_line
    from dcf.cli.reading import views
    from dcf.tools.calling.direct import DirectTools, control_plane_here

    stay_here(serves=True)
    with open_application(settings) as application, control_plane_here(application) as here:
        views.say(server_line(application, application.health.checked()))
        yield DirectTools(here)
