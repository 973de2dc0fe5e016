"""The command `dcf run`: starts everything that a run needs, and stops it at the end."""

from pathlib import Path
from typing import Annotated

import typer

from dcf.cli import functions, views
from dcf.cli.documents import as_workflow, read_given, read_workflow
from dcf.cli.language import EXIT_NOT_SUCCEEDED
from dcf.cli.live_progress import LiveProgress
from dcf.cli.pipeline import Job, execute, new_run_id
from dcf.cli.text import json_text
from dcf.core.definition import read_definition
from dcf.errors import DcfError
from dcf.settings import read_settings
from dcf.values.identifiers import check_id
from dcf.values.json_text import Json


def mount(app: typer.Typer) -> None:
    """Add the command to an application."""
    app.command()(run)


def run(
    workflow: Annotated[Path, typer.Argument(help="Workflow document (JSON); a shipped one is found by its name.")],
    run_input: Annotated[
        str | None, typer.Option("--input", help="Run input: a JSON file, JSON itself, or - for standard input.")
    ] = None,
    workers: Annotated[
        str | None,
        typer.Option(help="Python file or module with the task functions; default: the workflow's name with .py."),
    ] = None,
    run_id: Annotated[
        str | None, typer.Option("--id", help="Id of this run; default: a new one. The same id again continues it.")
    ] = None,
    timeout: Annotated[float, typer.Option(help="Give up after this many seconds.", min=1)] = 600,
    lease_ttl: Annotated[int, typer.Option(help="Lease length of the workers in seconds.", min=1, max=3600)] = 30,
    copies: Annotated[int, typer.Option(help="Worker processes per state, for wide Maps.", min=1, max=64)] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON on standard output instead of text.")] = False,
) -> None:
    """Run a workflow here: starts Redis (unless REDIS_URL is set), an MCP server and worker processes for each state.

    Progress goes to standard error, the result to standard output. The exit code is 0 only if the run succeeded.

    Example:  dcf run workflows/order_processing.json --input workflows/order_processing/order.json

    --json prints one object: workflow_id, status, output, error, cause, states {name: {status, attempts, started_at,
    finished_at}} (of Parallel and Map also type, scope and tally). If there is no result, because the run
    could not begin or its processes failed, status is null, error a code and cause a sentence.
    """
    try:
        job = _job(workflow, run_input, workers, run_id, timeout, lease_ttl, copies)
        run_id = job.run_id
        with LiveProgress(quiet=as_json) as show:
            result, logs = execute(job, read_settings(), show, show.say)
    except DcfError as error:
        if as_json:
            typer.echo(json_text(_no_result(run_id, error), indent=2))
        raise
    except KeyboardInterrupt as stop:  # printed only here: the live table would overwrite it
        views.say(" ".join(["Interrupted.", *views.notes_of(stop)]))
        raise
    if as_json:
        typer.echo(json_text(result, indent=2))
    else:
        views.print_result(result, logs)
    raise typer.Exit(0 if result["status"] == "succeeded" else EXIT_NOT_SUCCEEDED)


def _job(
    workflow: Path,
    run_input: str | None,
    workers: str | None,
    run_id: str | None,
    timeout: float,
    lease_ttl: int,
    copies: int,
) -> Job:
    """Read the files and check everything that can be checked before a process is started."""
    definition = read_definition(as_workflow(read_workflow(workflow), workflow.stem))
    source = functions.default_source(workflow) if workers is None else functions.check_source(workers)
    return Job(
        definition=definition,
        run_input={} if run_input is None else read_given(run_input, "--input"),
        workers=source,
        run_id=new_run_id(definition) if run_id is None else check_id(run_id, "--id"),
        timeout_s=timeout,
        lease_ttl_s=lease_ttl,
        copies=copies,
    )


def _no_result(run_id: str | None, error: DcfError) -> dict[str, Json]:
    """Return the object that `dcf run --json` prints when there is no result."""
    document: dict[str, Json] = {"workflow_id": run_id, "status": None, "output": None}
    return document | {"error": error.code, "cause": error.message, "states": {}}
