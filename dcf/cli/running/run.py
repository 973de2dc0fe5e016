"""The command `dcf run`: starts everything that a run needs, and stops it at the end.

The modules that carry a run out are imported only for a run: `dcf --help` imports this module too.
"""

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dcf.cli import exit_codes
from dcf.cli.arguments import JsonFlag, ValuesArgument
from dcf.cli.commands.formats import print_json
from dcf.cli.flow_files import is_flow, source_of
from dcf.cli.places.choice import stay_here
from dcf.errors import DcfError, InvalidArgument
from dcf.values.json_text import Json

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dcf.cli.running.ending import Ending
    from dcf.cli.running.live_progress import LiveProgress
    from dcf.cli.running.run_request import Job
    from dcf.core.definitions.model import Definition


def run(
    workflow: Annotated[
        Path,
        typer.Argument(help="A flow (FILE.py, FILE.py:FLOW) or a workflow (JSON, YAML); a shipped one by its name."),
    ],
    values: ValuesArgument = None,
    run_input: Annotated[
        str | None,
        typer.Option(
            "--input", help="Run input: a JSON file, JSON itself, or - for standard input; of a flow also NAME=VALUE."
        ),
    ] = None,
    workers: Annotated[
        str | None,
        typer.Option(help="Python file or module with the task functions; default: the workflow's name with .py."),
    ] = None,
    agents: Annotated[
        Path | None,
        typer.Option(help="Agents file (TOML): its agents are hosted here and work on the Tasks; see `dcf host`."),
    ] = None,
    assign: Annotated[
        list[str] | None,
        typer.Option(help="STATE=AGENT: an agent or a person elsewhere does this Task, not a function here."),
    ] = None,
    run_id: Annotated[
        str | None, typer.Option("--id", help="Id of this run; default: a new one. The same id again continues it.")
    ] = None,
    timeout: Annotated[float, typer.Option(help="Cancel the run after this many seconds.", min=1)] = 600,
    lease_ttl: Annotated[int, typer.Option(help="Lease length of the workers in seconds.", min=1, max=3600)] = 30,
    copies: Annotated[
        int | None, typer.Option(help="Worker processes; default 1, with --direct none.", min=1, max=64)
    ] = None,
    concurrency: Annotated[
        int | None,
        typer.Option(
            help="States that a worker process works on at the same time, on threads; default: one for each Task, at"
            " most 10.",
            min=1,
            max=1000,
        ),
    ] = None,
    direct: Annotated[
        bool, typer.Option("--direct", help="Run the functions in this process, without a server.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Run a workflow here: starts Redis (unless REDIS_URL is set), an MCP server and a worker process for all Tasks.

    With --direct there is no server and no worker process: the control plane and the functions are in this one. With
    --direct --copies N the functions run in N worker processes, each with a control plane of its own. With --agents
    models or handlers work on the Tasks, hosted by one process more.

    Progress goes to standard error, the result to standard output. The exit code is 0 only if the run succeeded.

    A flow is compiled, and its file has the functions. Its arguments may be given as NAME=VALUE or NAME=@FILE.

    Example:  dcf run flow.py --input urls=@urls.json topic=storage

    Example:  dcf run workflows/order_processing.json --input workflows/order_processing/order.json

    --json prints one object: workflow_id, status, output, error, cause, states {name: {status, attempts, started_at,
    finished_at}} (of Parallel and Map also type, scope and tally). If there is no result, because the run
    could not begin or its processes failed, status is null, error a code and cause a sentence.
    """
    began = time.monotonic()
    try:
        files = (workflow, run_input, workers, agents)
        job = _job(*files, values or (), assign or [], run_id, timeout, lease_ttl, copies, concurrency, direct=direct)
        run_id = job.run_id
        stay_here(serves=True)
        from dcf.cli.running.execution import execute
        from dcf.cli.running.live_progress import LiveProgress

        with LiveProgress(quiet=as_json) as show:
            _announce(job, show)
            ending = execute(job, show, show.say)
    except DcfError as error:
        if as_json:
            print_json(_no_result(run_id, error))
        raise
    except KeyboardInterrupt as stop:  # printed only here: the live table would overwrite it
        from dcf.cli.reading import views

        views.say(" ".join(["Interrupted.", *views.notes_of(stop)]))
        raise
    if as_json:
        print_json(ending.result)
    else:
        _print(job, ending, time.monotonic() - began)
    raise typer.Exit(exit_codes.of_run(ending.result["status"]))


def _print(job: "Job", ending: "Ending", took_s: float) -> None:
    from dcf.cli.reading.source_places import lines_of
    from dcf.cli.running.ending import command_again, print_ending
    from dcf.core.definitions.sources import failed_states

    result = ending.result
    lines = lines_of(job.definition.document, failed_states(result["states"], result["cause"]))
    print_ending(ending, took_s, again=command_again(sys.argv[1:]), lines=lines)


def _announce(job: "Job", show: "LiveProgress") -> None:
    """Name the run before anything is started, and the Tasks that are done elsewhere."""
    if not show.is_live:
        show.say(f"starting run {job.run_id}")
    for state, agents in job.elsewhere.items():
        by_hand = f"`dcf states resolve {job.run_id} {state} --output JSON` completes it by hand"
        show.say(f"{state} is left to {' or '.join(agents)}; {by_hand}.")
    for name in job.asking:
        show.say(f"{name} will ask a person; `dcf inbox {job.run_id}` then shows the question, and how to answer.")


def _job(
    workflow: Path,
    run_input: str | None,
    workers: str | None,
    agents: Path | None,
    values: "Sequence[str]",
    assign: "Sequence[str]",
    run_id: str | None,
    timeout: float,
    lease_ttl: int,
    copies: int | None,
    concurrency: int | None,
    *,
    direct: bool,
) -> "Job":
    """Read the files and check everything that can be checked before a process is started."""
    from dcf.cli.documents import read_definition_of
    from dcf.cli.processes import functions
    from dcf.cli.running.run_input import read_input
    from dcf.cli.running.run_request import MOST_AT_ONCE, Job, new_run_id, read_assignments
    from dcf.values.identifiers import check_id

    definition = read_definition_of(workflow)
    elsewhere = {**_bound(workflow, definition), **read_assignments(assign, definition)}
    hosted = _hosted(agents, definition)
    source = None if workers is None else functions.check_source(workers)
    if source is None and definition.skills.keys() - elsewhere.keys() - hosted.keys():
        _refuse_unhosted(agents, definition.skills.keys() - elsewhere.keys() - hosted.keys())
        source = source_of(workflow) if is_flow(workflow) else functions.default_source(workflow)
    return Job(
        definition=definition,
        run_input=read_input(workflow, run_input, values),
        workers=source,
        run_id=new_run_id(definition) if run_id is None else check_id(run_id, "--id"),
        timeout_s=timeout,
        lease_ttl_s=lease_ttl,
        copies=copies or (0 if direct and agents is None else 1),
        concurrency=concurrency or min(MOST_AT_ONCE, max(1, len(definition.skills))),
        direct=direct,
        elsewhere=elsewhere,
        agents_file=agents,
        hosted=hosted,
    )


def _bound(workflow: Path, definition: "Definition") -> dict[str, list[str]]:
    """Return the agents of the Tasks that a flow gives to agents by name; a document leaves them to its functions."""
    return {state: [agent] for state, agent in definition.bound.items()} if is_flow(workflow) else {}


def _hosted(agents: Path | None, definition: "Definition") -> dict[str, list[str]]:
    if agents is None:
        return {}
    from dcf.cli.running.run_request import hosted_tasks
    from dcf.hosting.agents_file import read_agents_file

    return hosted_tasks(read_agents_file(agents), definition)


def _refuse_unhosted(agents: Path | None, names: "Iterable[str]") -> None:
    if agents is not None:
        raise InvalidArgument(
            f"No agent of {agents} works on: {', '.join(sorted(names))}.",
            "Add them to the `tasks` of an agent, or pass --workers or --assign.",
        )


def _no_result(run_id: str | None, error: DcfError) -> dict[str, Json]:
    """Return the object that `dcf run --json` prints when there is no result."""
    document: dict[str, Json] = {"workflow_id": run_id, "status": None, "output": None}
    return document | {"error": error.code, "cause": error.message, "states": {}}
