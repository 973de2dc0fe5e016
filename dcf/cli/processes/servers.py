"""The commands `dcf serve`, `dcf worker` and `dcf store pulse`: processes that run until a signal ends them.

They import the parts of dcf that they work with when they run: their help does not need them.
"""

import logging
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from dcf.cli import opening
from dcf.cli.arguments import AllowActions, Direct, Grace, JsonFlag, LeaseTtl, Leash, LoadedFd, Server
from dcf.cli.processes.models import make_models_at_first_use
from dcf.cli.text import json_text
from dcf.errors import DcfError, InvalidArgument
from dcf.values.json_text import Json

if TYPE_CHECKING:
    from dcf.application.application import Application
    from dcf.cli.processes.serve import ServedDirectory
    from dcf.settings.process import Settings

_SSE_PORT = 8000
"""Port of `--transport sse` where none is named, as DeepWork's."""

_LAST_DELIVERIES_S = 60.0
"""How long `dcf store pulse --once` waits for deliveries to an agent platform."""

log = logging.getLogger(__name__)


def serve(
    transport: Annotated[
        str | None,
        typer.Option(
            help="stdio, http (Streamable HTTP), or sse for a DeepWork project; default stdio, with --port http."
        ),
    ] = None,
    host: Annotated[str | None, typer.Option(help="Address to bind (http); default DCF_MCP_HOST or 127.0.0.1.")] = None,
    port: Annotated[
        int | None,
        typer.Option(help="Port to bind (http, sse), 0 for a free one; default 8337, sse 8000.", min=0, max=65535),
    ] = None,
    toolsets: Annotated[str | None, typer.Option(help="Serve only these: planning,execution,... (all).")] = None,
    profile: Annotated[
        str | None,
        typer.Option(
            help="Tools to list: all, or those for worker, member, planner, operator, person or assistant; or another "
            "system's: deepwork, openfactory, midex, mission-control. Default: by the key."
        ),
    ] = None,
    auth: Annotated[str | None, typer.Option(help="keys, or off for loopback without API keys (http).")] = None,
    read_only: Annotated[bool, typer.Option("--read-only", help="Serve only tools that change nothing.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print {url} on standard output when ready (http).")] = False,
    web: Annotated[bool, typer.Option("--web", help="The web page as well, at /ui (http).")] = False,
    allow_actions: AllowActions = False,
    metrics: Annotated[bool, typer.Option("--metrics", help="Serve /metrics for Prometheus (http).")] = False,
    metrics_port: Annotated[int | None, typer.Option(help="Port of /metrics alone (http).", min=0, max=65535)] = None,
    path: Annotated[
        Path | None, typer.Option(help="Directory of a DeepWork project (profile deepwork); stdio: the current one.")
    ] = None,
    quality_gate: Annotated[
        str | None,
        typer.Option(metavar="CMD", help="Command that reviews outputs in it; default: that of .deepwork/config.yml."),
    ] = None,
    fd: Annotated[int | None, typer.Option(hidden=True, help="Listening socket to inherit.")] = None,
    leash: Leash = False,
) -> None:
    """Serve the MCP tools. Any number of servers may run on one Redis, behind any balancer.

    http: the endpoint is /mcp; /healthz and /readyz tell how it is.  dcf serve --transport http --port 8337

    stdio: for clients that start the server themselves; standard output then belongs to the protocol.
    """
    if transport is None:
        transport = "stdio" if port is None else "http"
    _check_transport(transport, as_json=as_json, web=web, metrics=metrics or metrics_port is not None)
    if allow_actions and not web:
        raise InvalidArgument("--allow-actions is about the web page.", "Add --web, or leave it out.")
    make_models_at_first_use()
    profile = None if profile is None else profile.replace("_", "-")  # as mission_control
    settings = opening.server_settings(host, port, toolsets, profile, auth, read_only=read_only)
    if metrics_port is not None:
        settings = settings.model_copy(update={"metrics_port": metrics_port})
    if transport == "stdio" and settings.profile_directory is None:
        settings = settings.model_copy(update={"profile_directory": Path.cwd()})
    if leash:
        from dcf.cli.child_processes import hold_leash

        hold_leash()
    from dcf.cli.processes import serve as serving

    project = _project(settings, path, quality_gate, transport)
    if transport == "sse" and "mcp_port" not in settings.model_fields_set:
        settings = settings.model_copy(update={"mcp_port": _SSE_PORT})
    announce = _print_line if as_json else (lambda _: None)
    try:
        serving.serve(
            transport, settings, fd, announce, web=web, may_act=allow_actions, with_metrics=metrics, project=project
        )
    except DcfError as error:
        if transport != "stdio":
            raise
        _end_with(error)


def _end_with(error: DcfError) -> NoReturn:
    """Print why the server did not start, tell the client, which waits for an answer, and end."""
    from dcf.cli import exit_codes
    from dcf.cli.processes.failed_start import tell_client
    from dcf.cli.reading import views

    views.print_error(error)
    tell_client(error)
    raise typer.Exit(exit_codes.of_error(error)) from None


def _check_transport(transport: str, *, as_json: bool, web: bool, metrics: bool) -> None:
    """Raise InvalidArgument for a transport that is none, and for what stdio cannot serve."""
    if transport not in {"stdio", "http", "sse"}:
        raise InvalidArgument(f"There is no transport '{transport[:20]}'.", "Use --transport stdio, http or sse.")
    if transport != "stdio":
        return
    if as_json:
        raise InvalidArgument("With stdio, standard output belongs to the protocol.", "Leave out --json.")
    if web:
        raise InvalidArgument(
            "The web page needs HTTP.", "Add --transport http, or start `dcf web` as a second process."
        )
    if metrics:
        raise InvalidArgument("/metrics is served over HTTP.", "Use --transport http.")


def _project(
    settings: "Settings", path: Path | None, quality_gate: str | None, transport: str
) -> "ServedDirectory | None":
    """Return the project that is served; modules of a profile are imported only where it is served."""
    if settings.profile == "deepwork":
        from dcf.cli.processes.project import served_project

        return served_project(path, quality_gate, here=transport != "http")
    if path is not None or quality_gate is not None:
        option = "--path" if path is not None else "--quality-gate"
        raise InvalidArgument(f"{option} is about the profile deepwork.", "Add --profile deepwork.")
    if settings.profile == "mission-control" and transport == "stdio" and settings.profile_directory is not None:
        from dcf.cli.processes.mission_directory import MissionDirectory

        return MissionDirectory(settings.profile_directory.resolve())
    if transport == "sse":
        raise InvalidArgument("SSE is served for one project (--profile deepwork --path DIR).", "Use --transport http.")
    return None


def worker(
    source: Annotated[
        str, typer.Argument(metavar="FUNCTIONS", help="Python file or module that registers task functions.")
    ],
    agent_id: Annotated[str, typer.Option(help="The agent id whose events this worker handles.")],
    server: Server = None,
    state: Annotated[
        list[str] | None, typer.Option(help="Serve only this state; may be repeated. Default: all registered.")
    ] = None,
    lease_ttl: LeaseTtl = 30,
    concurrency: Annotated[
        int,
        typer.Option(
            help="States that it works on at the same time: async ones on one event loop, others on threads.",
            min=1,
            max=1000,
        ),
    ] = 1,
    direct: Direct = False,
    grace: Grace = 20,
    unassigned: Annotated[
        bool, typer.Option("--unassigned", help="Also take states that no agent is assigned to, of any run.")
    ] = False,
    check: Annotated[bool, typer.Option("--check", help="Only import the functions and tell which.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print {agent_id, states}, then a line for what happens to each state.")
    ] = False,
    leash: Leash = False,
    loaded_fd: LoadedFd = None,
) -> None:
    """Serve Python functions for states: waits for events of one agent id, leases, works, writes, notifies.

    It calls the tools of an MCP server, or with --direct those of its own process, on the Redis that the settings name.

    Register functions with a decorator:  from dcf.worker import task;  @task("StateName") def work(given): ...

    A function gets the state's input and returns its output, JSON values both; raise TaskFailed(error, cause) to fail
    the state. It may be killed at any moment, and any number of copies may run: what was not completed is done again.
    Ctrl-C and SIGTERM let it finish what it has in hand (--grace); a second one ends it at once.

    --json prints lines {event, workflow_id, state}: taken, done, failed, lost; at the end stopping and stopped with
    counts. They must be read, or it stops when the pipe is full.

    Example:  dcf worker workflows/order_processing.py --agent-id pricing-1 --state CalculatePricing
    """
    from dcf.cli.child_processes import hold_leash, say_loaded
    from dcf.cli.processes import functions
    from dcf.values.identifiers import check_id

    check_id(agent_id, "--agent-id")
    if direct and server is not None:
        raise InvalidArgument("With --direct no server is called.", "Leave out --direct or --server.")
    if leash:
        if not direct:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)  # nothing needs cleaning up
        hold_leash()
    state_functions = functions.load_functions(source, state or ())
    say_loaded(loaded_fd)
    if as_json:
        _print_line({"agent_id": agent_id, "states": sorted(state_functions)})
    if check:
        from dcf.cli.reading import views

        views.say(f"{source} has functions for {', '.join(sorted(state_functions))}")
        return
    from dcf.cli.processes import worker as working

    options = working.WorkerOptions(
        server_url=server,
        direct=direct,
        lease_ttl_s=lease_ttl,
        concurrency=concurrency,
        grace_s=grace,
        as_json=as_json,
        leashed=leash,
        unassigned=unassigned,
    )
    working.work(state_functions, agent_id, opening.settings(), options)


def pulse(
    once: Annotated[bool, typer.Option("--once", help="One look at every live run, then exit.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Be the clock: fires due timers and delivers owed notifications. Any number may run; servers do it as well.

    With --json one object {done} for each look that found something to do, or for the one look of --once.
    """
    from dcf.cli.processes.server_line import server_line
    from dcf.cli.reading import views

    with opening.application(serves=True) as application:
        if once:
            done = application.clock.pulse()
            _print_done(done + application.clock.finish(_LAST_DELIVERIES_S), as_json=as_json)
            return
        views.say(server_line(application, application.health.checked()))
        while True:
            done = _look(application)
            if done:
                _print_done(done, as_json=as_json)
            time.sleep(application.settings.pulse_interval_s)


def _look(application: "Application") -> int:
    """Look once at every live run, and do one step of the sweep; log and return when Redis is unreachable."""
    try:
        return application.clock.pulse() + application.sweep.step()
    except DcfError as error:
        log.warning("pulse: %s: %s", error.code, error.message)
        return 0


def _print_line(document: Json) -> None:
    """Print one JSON object on one line and flush it, for a program that reads it."""
    sys.stdout.write(json_text(document) + "\n")
    sys.stdout.flush()


def _print_done(done: int, *, as_json: bool) -> None:
    if as_json:
        _print_line({"done": done})
    else:
        typer.echo("1 thing was due" if done == 1 else f"{done} things were due")
