"""The command `dcf`: parses arguments, calls, prints, and gives every outcome an exit code.

Exit codes: 0 fine (for `run`: the run succeeded), 1 the run did not succeed, 2 wrong arguments, 3 there is no such run,
4 Redis or the server cannot be used, 130 interrupted. Modules that import the MCP SDK are imported where they are
needed: that import takes a second.
"""

import json
import logging
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from dcf import __version__
from dcf.application import Application, open_application
from dcf.cli import views
from dcf.core.inspection import is_ready, public_state
from dcf.core.json_text import Json, parse
from dcf.data import find_file
from dcf.errors import DcfError, InvalidArgument, NotFound, StoreUnavailable, StoreUnsuitable
from dcf.settings import read_settings

EXIT_RUN_FAILED = 1
EXIT_USAGE = 2
EXIT_NOT_FOUND = 3
EXIT_UNAVAILABLE = 4
EXIT_INTERRUPTED = 130

app = typer.Typer(
    name="dcf",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    help="""Run Amazon States Language workflows by choreography: agents coordinate themselves through Redis.

    Try it:  dcf run workflows/order_processing.json --input workflows/order_processing/order.json

    Without REDIS_URL an embedded Redis is started and shared by all dcf processes of yours; its data is kept in
    DCF_DATA_DIR (default ~/.local/share/dcf).""",
)

JsonFlag = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of text.")]
RunArgument = Annotated[str, typer.Argument(metavar="RUN", help="The run's workflow_id (see `dcf ls`).")]


def main() -> None:
    """Entry point of the console script."""
    logging.basicConfig(level=logging.WARNING, format="dcf: %(levelname)s %(name)s: %(message)s", stream=sys.stderr)
    try:
        app()
    except DcfError as error:
        views.print_error(error)
        sys.exit(_exit_code(error))
    except KeyboardInterrupt:
        sys.exit(EXIT_INTERRUPTED)


def _exit_code(error: DcfError) -> int:
    if isinstance(error, NotFound):
        return EXIT_NOT_FOUND
    if isinstance(error, StoreUnavailable | StoreUnsuitable):
        return EXIT_UNAVAILABLE
    return EXIT_USAGE if isinstance(error, InvalidArgument) else EXIT_RUN_FAILED


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"dcf {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    _: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Options of `dcf` itself."""


@app.command()
def run(
    workflow: Annotated[Path, typer.Argument(help="Workflow document (JSON); a shipped one is found by its name.")],
    input_file: Annotated[Path | None, typer.Option("--input", help="Run input (JSON file); default: {}.")] = None,
    workers: Annotated[
        str | None,
        typer.Option(help="Python file or module with the task functions; default: the workflow's name with .py."),
    ] = None,
    workflow_id: Annotated[str | None, typer.Option("--id", help="Id of this run; default: a new one.")] = None,
    timeout: Annotated[float, typer.Option(help="Give up after this many seconds.", min=1)] = 600,
    lease_ttl: Annotated[int, typer.Option(help="Lease length of the workers in seconds.", min=1, max=3600)] = 30,
    as_json: JsonFlag = False,
) -> None:
    """Run a workflow here: starts Redis (unless REDIS_URL is set), an MCP server and one worker process per state.

    The exit code is 0 only if the run succeeded. Progress goes to standard error, the result to standard output.
    """
    from dcf.cli.pipeline import Pipeline

    pipeline = Pipeline(
        document=_read_json(workflow),
        run_input={} if input_file is None else _read_json(input_file),
        workers=_workers_module(workflow, workers),
        workflow_id=workflow_id,
        timeout_s=timeout,
        lease_ttl_s=lease_ttl,
    )
    result = pipeline.execute(views.progress(quiet=as_json))
    if as_json:
        _print_json(result)
    else:
        views.print_result(result)
    raise typer.Exit(0 if result["status"] == "succeeded" else EXIT_RUN_FAILED)


@app.command()
def serve(
    transport: Annotated[str, typer.Option(help="stdio or http (Streamable HTTP, stateless).")] = "stdio",
    host: Annotated[str | None, typer.Option(help="Address to bind (http); default DCF_MCP_HOST.")] = None,
    port: Annotated[int | None, typer.Option(help="Port to bind (http), 0 for a free one; default 8337.")] = None,
    toolsets: Annotated[
        str | None, typer.Option(help="Serve only these: planning,execution,notification (default all).")
    ] = None,
    read_only: Annotated[bool, typer.Option("--read-only", help="Serve only tools that change nothing.")] = False,
    fd: Annotated[int | None, typer.Option(hidden=True, help="Listening socket to inherit.")] = None,
) -> None:
    """Serve the MCP tools. Any number of servers may run on one Redis, behind any balancer.

    http: the endpoint is /mcp; /healthz and /readyz tell how it is. stdio: for clients that start the server.
    """
    from dcf.cli import serving

    changes: dict[str, object] = {}
    if host is not None:
        changes["mcp_host"] = host
    if port is not None:
        changes["mcp_port"] = port
    if toolsets is not None:
        changes["toolsets"] = tuple(part.strip() for part in toolsets.split(",") if part.strip())
    if read_only:
        changes["read_only"] = True
    serving.serve(transport, read_settings().model_copy(update=changes), fd)


@app.command()
def worker(
    functions: Annotated[str, typer.Argument(help="Python file or module that registers task functions.")],
    agent_id: Annotated[str, typer.Option(help="The agent id whose events this worker handles.")],
    server: Annotated[str | None, typer.Option(help="URL of the MCP server; default DCF_SERVER_URL.")] = None,
    lease_ttl: Annotated[int, typer.Option(help="Lease length in seconds; it is renewed by itself.", min=1)] = 30,
) -> None:
    """Serve Python functions for states: waits for events of one agent id, leases, works, writes, notifies.

    Register functions with a decorator:  from dcf.worker import task;  @task("StateName") def work(given): ...
    """
    from dcf.cli import serving

    serving.work(functions, agent_id, server or read_settings().server_url, lease_ttl)


@app.command()
def pulse(
    once: Annotated[bool, typer.Option("--once", help="One look at every live run, then exit.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Be the clock: fires due timers and delivers owed notifications. Any number may run; servers do it as well."""
    with _application() as found:
        while True:
            done = found.notifications.pulse()
            if once:
                _print_json({"done": done}) if as_json else typer.echo(f"{done} things were due")
                return
            time.sleep(found.settings.pulse_interval_s)


@app.command("ls")
def list_runs(
    limit: Annotated[int, typer.Option(help="How many, newest first.", min=1, max=1000)] = 20,
    as_json: JsonFlag = False,
) -> None:
    """List runs, newest first."""
    with _application() as found:
        rows = [row for row in (_run_row(found, name) for name in found.control_plane.index.newest(limit)) if row]
    if as_json:
        _print_json(rows)
    else:
        views.print_runs(rows)


@app.command()
def show(workflow_id: RunArgument, as_json: JsonFlag = False) -> None:
    """Show where a run stands: its states, who holds what until when, output or error."""
    with _application() as found:
        document = _run_document(found, workflow_id)
    if as_json:
        _print_json(document)
    else:
        views.print_run(document)


@app.command()
def events(
    workflow_id: RunArgument,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Keep printing until the run is over.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object per line.")] = False,
) -> None:
    """Print what happened in a run, in order."""
    with _application() as found:
        found.control_plane.run(workflow_id)
        last = "0"
        while True:
            over = found.control_plane.read(workflow_id, ()).meta_document or {}
            happenings = found.history.after(workflow_id, last)
            for happening in happenings:
                last = happening.event_id
                typer.echo(json.dumps(happening.as_json())) if as_json else views.print_event(happening.as_json())
            if not happenings and (not follow or over.get("status") != "running"):
                return
            if not happenings:
                time.sleep(0.2)


@app.command()
def doctor(as_json: JsonFlag = False) -> None:
    """Check what dcf runs on: Redis, its modules, and what its data would survive."""
    settings = read_settings()
    with open_application(settings) as found:
        report: dict[str, Json] = {
            "dcf": __version__,
            "python": sys.version.split()[0],
            "redis": "REDIS_URL" if settings.redis_url is not None else f"embedded in {settings.data_dir}",
            "redis_version": found.server.version,
            "modules": list(found.server.modules),
            "appendonly": found.server.appendonly,
            "appendfsync": found.server.appendfsync,
            "maxmemory_policy": found.server.maxmemory_policy,
            "live_runs": len(found.control_plane.index.live()),
            "warnings": list(found.server.warnings),
        }
    if as_json:
        _print_json(report)
    else:
        views.print_report(report)


@contextmanager
def _application() -> Iterator[Application]:
    with open_application(read_settings()) as found:
        yield found


def _run_row(found: Application, workflow_id: str) -> dict[str, Json] | None:
    """One line of the list; None for an index entry whose run was never created or has expired."""
    try:
        snapshot = found.control_plane.read(workflow_id)
    except NotFound:
        return None
    meta = snapshot.meta_document or {}
    done = sum(doc.status.is_terminal for doc in snapshot.states.values())
    return {
        "workflow_id": workflow_id,
        "workflow_name": meta.get("workflow_name"),
        "status": meta.get("status"),
        "states_done": done,
        "states": len(snapshot.states),
        "created_at": meta.get("created_at"),
        "finished_at": meta.get("finished_at"),
    }


def _run_document(found: Application, workflow_id: str) -> dict[str, Json]:
    snapshot = found.control_plane.read(workflow_id)
    meta = snapshot.meta_document or {}
    assert snapshot.meta is not None, "read() raises for a run that does not exist"
    states = {
        name: public_state(doc) | {"ready": is_ready(snapshot.meta, doc, snapshot.now)}
        for name, doc in snapshot.states.items()
    }
    return {"meta": dict(meta), "states": states, "outputs": dict(snapshot.outputs)}


def _read_json(path: Path) -> Json:
    found = find_file(path)
    if found is None:
        raise InvalidArgument(f"There is no file {path}.", "Check the path.")
    try:
        return parse(found.read_text("utf-8"), name=str(path), max_bytes=1024 * 1024)
    except (OSError, UnicodeDecodeError):
        raise InvalidArgument(f"{path} cannot be read as UTF-8 text.", "Check the file.") from None


def _workers_module(workflow: Path, workers: str | None) -> str:
    if workers is not None:
        return workers
    found = find_file(workflow.with_suffix(".py"))
    if found is None:
        raise InvalidArgument(
            f"There are no task functions at {workflow.with_suffix('.py')}.",
            "Pass the Python file or module that registers them with --workers.",
        )
    return str(found)


def _print_json(document: Json) -> None:
    typer.echo(json.dumps(document, indent=2, ensure_ascii=False))
