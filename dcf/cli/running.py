"""The command `dcf run`: everything that a run needs, started here, and ended with it."""

from pathlib import Path
from typing import Annotated

import typer

from dcf.cli import functions, views
from dcf.cli.documents import read_json, read_workflow
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
    input_file: Annotated[Path | None, typer.Option("--input", help="Run input (JSON file); default: {}.")] = None,
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
    finished_at}} (of Parallel and Map also type, scope and tally). If the run could not even begin, its status is
    null, error a code and cause a sentence.
    """
    try:
        job = _job(workflow, input_file, workers, run_id, timeout, lease_ttl, copies)
        with LiveProgress(quiet=as_json) as show:
            result, logs = _execute(job, show)
    except DcfError as error:
        if as_json:
            typer.echo(json_text(_no_result(run_id, error), indent=2))
        raise
    if as_json:
        typer.echo(json_text(result, indent=2))
    else:
        views.print_result(result, logs)
    raise typer.Exit(0 if result["status"] == "succeeded" else EXIT_NOT_SUCCEEDED)


def _job(
    workflow: Path,
    input_file: Path | None,
    workers: str | None,
    run_id: str | None,
    timeout: float,
    lease_ttl: int,
    copies: int,
) -> Job:
    """Read the files and check everything that can be checked before a process is started."""
    definition = read_definition(read_workflow(workflow))
    source = functions.default_source(workflow) if workers is None else functions.check_source(workers)
    return Job(
        definition=definition,
        run_input={} if input_file is None else read_json(input_file),
        workers=source,
        run_id=new_run_id(definition) if run_id is None else check_id(run_id, "--id"),
        timeout_s=timeout,
        lease_ttl_s=lease_ttl,
        copies=copies,
    )


def _execute(job: Job, progress: LiveProgress) -> tuple[dict[str, Json], Path | None]:
    try:
        return execute(job, read_settings(), progress)
    except KeyboardInterrupt:
        views.say(f"interrupted; the same command with --id {job.run_id} continues the run")
        raise


def _no_result(run_id: str | None, error: DcfError) -> dict[str, Json]:
    """Make the object that `dcf run --json` prints when there is no result."""
    document: dict[str, Json] = {"workflow_id": run_id, "status": None, "output": None}
    return document | {"error": error.code, "cause": error.message, "states": {}}
