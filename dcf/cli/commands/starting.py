"""The commands `dcf start`, `rerun` and `retry`: begin a run, or let it go on, for agents elsewhere or started later.

They write to Redis directly, not through a server: a user who can reach Redis is trusted already.
"""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from dcf.cli import opening
from dcf.cli.arguments import JsonFlag, RunArgument, ValuesArgument
from dcf.cli.authorship import accepted, by_the_local_user
from dcf.cli.commands.lifecycle import Reason, RequestId
from dcf.cli.documents import read_given, read_workflow, workflow_name_of
from dcf.cli.flow_files import is_flow
from dcf.cli.patience import patience
from dcf.cli.running.run_input import read_input
from dcf.cli.text import clean, json_text
from dcf.cli.wording import in_commands
from dcf.data import find_file
from dcf.errors import InvalidArgument
from dcf.values.open_tasks import open_tasks_warning

if TYPE_CHECKING:
    from collections.abc import Container, Sequence

    from dcf.application.application import Application
    from dcf.core.definitions.model import Definition
    from dcf.core.documents.answers import Created
    from dcf.values.json_text import Json

LAST_DELIVERIES_S: Final = 60.0
"""How long a command waits for deliveries to an agent platform."""

_ASSIGN: Final = "Nobody is told of them; name agents with --assign."
_NAMED: Final = 5
"""States that `dcf retry` names on its line."""

_SHA256: Final = re.compile(r"[0-9a-f]{64}\Z", re.ASCII)
_FILE: Final = re.compile(r"[/\\]|\.json\Z|\.py(:\w+)?\Z")


def mount(app: typer.Typer) -> None:
    """Add the commands to an application."""
    for command in (start, rerun, retry):
        app.command()(command)


def start(
    workflow: Annotated[
        str,
        typer.Argument(metavar="FILE|NAME@VERSION|SHA256", help="A workflow document, or one that was started before."),
    ],
    values: ValuesArgument = None,
    run_input: Annotated[
        str | None, typer.Option("--input", help="Run input: a JSON file, JSON itself, or - for standard input.")
    ] = None,
    assign: Annotated[
        list[str] | None,
        typer.Option(help="STATE=AGENT, or AGENT for all Tasks; may be repeated: several agents are a pool."),
    ] = None,
    tag: Annotated[list[str] | None, typer.Option(help="Short name to find the run by; may be repeated.")] = None,
    project: Annotated[str | None, typer.Option(help="Project that the run belongs to.")] = None,
    run_id: Annotated[str | None, typer.Option("--id", help="Id of this run; default: a new one.")] = None,
    planner: Annotated[str | None, typer.Option(help="Agent that is told when the run ends.")] = None,
    definition_ref: Annotated[
        str | None,
        typer.Option("--definition", help="What of the catalogue it is carried out by: KIND:NAME[@VERSION]."),
    ] = None,
    gates: Annotated[
        str | None, typer.Option(help="Gates of every Task: a JSON array as in the field Gates, a file, or -.")
    ] = None,
    expiry_s: Annotated[
        int | None,
        typer.Option("--expiry", min=1, max=31_536_000, help="Seconds that it is kept once it is finalized."),
    ] = None,
    attempts: Annotated[
        int, typer.Option("--max-attempts", min=1, max=1000, help="Leases of one state before the run fails.")
    ] = 10,
    keep: Annotated[bool, typer.Option("--keep/--no-keep", help="Keep the document, to start it by its name.")] = True,
    request_id: RequestId = None,
    reason: Reason = None,
    as_json: JsonFlag = False,
) -> None:
    """Start a run and return: its agents do the work, such as `dcf worker` with their agent id.

    FILE may be Python with a flow: FILE.py, or FILE.py:FLOW. Its input may be given as NAME=VALUE or NAME=@FILE.

    A document is kept when it is started: NAME@VERSION, NAME (the newest version) or its SHA-256 starts it again.

    Example:  dcf start hello.json --input name.json --assign Greet=greeter

    Prints the id of the run, with --json {workflow_id, status, existed, definition {name, version, sha256}}.
    """
    from dcf.core.lifecycle.creation import Create
    from dcf.core.lifecycle.starting import Start, check_tags, request_to_start
    from dcf.features.gates.syntax import gates_given
    from dcf.runs.starting import id_for
    from dcf.values.identifiers import check_agents, check_id

    parsed_input = read_input(workflow, run_input, values or ())
    checked = () if gates is None else gates_given(read_given(gates, "--gates"), "--gates")
    document = document_of(workflow)
    with opening.application() as found, by_the_local_user():
        belongs_to = None if project is None else check_id(project, "--project")
        entry = found.starting.resolve(workflow, belongs_to, document)
        definition = entry.definition
        assigned = assignment_of(assign or (), definition, definition.bound if is_flow(workflow) else ())
        wish = Create(
            workflow_id=check_id(run_id or id_for(definition, request_id, None), "--id"),
            definition=definition,
            run_input=parsed_input,
            agents=check_agents(assigned, set(definition.skills), name="--assign"),
            planner_agent_id=None if planner is None else check_id(planner, "--planner"),
            retention_s=expiry_s,
            max_attempts=attempts,
            tags=check_tags(tag or []),
            gates=checked,
            project=belongs_to,
            definition_ref=found.catalogue.pin(definition_ref, belongs_to),
        )
        request = None if request_id is None else request_to_start(wish, request_id)
        start_request = Start(wish=wish, request=request, reason=reason)
        answer = found.starting.start(start_request, to_keep=entry if document is None or keep else None)
        tell(found, wish.workflow_id, accepted(answer, wish.workflow_id), definition, as_json=as_json)


def rerun(
    workflow_id: RunArgument,
    from_state: Annotated[
        str | None, typer.Option("--from", help="Begin with this state; those before it are kept with their outputs.")
    ] = None,
    run_input: Annotated[
        str | None, typer.Option("--input", help="Another input: a JSON file, JSON itself, or -. Not with --from.")
    ] = None,
    assign: Annotated[
        list[str] | None, typer.Option(help="STATE=AGENT, or AGENT for all Tasks, in place of those before.")
    ] = None,
    run_id: Annotated[str | None, typer.Option("--id", help="Id of the new run; default: a new one.")] = None,
    request_id: RequestId = None,
    reason: Reason = None,
    as_json: JsonFlag = False,
) -> None:
    """Repeat a run as a new one: from its beginning, or with --from STATE from there, with the input it had.

    STATE is a state of the workflow itself, not one inside a Parallel or Map. The run may go on or be over. Both runs
    name each other.

    Example:  dcf rerun order-42 --from CalculatePricing

    Prints the id of the new run, with --json {workflow_id, status, existed, definition {name, version, sha256}}.
    """
    from dcf.core.lifecycle.repeating import Rerun
    from dcf.runs.starting import id_for
    from dcf.values.identifiers import check_agents, check_id

    if from_state is not None and run_input is not None:
        raise InvalidArgument("With --from the state gets the input that it had.", "Leave out --input, or --from.")
    given = () if run_input is None else (read_given(run_input, "--input"),)
    with opening.application() as found, by_the_local_user():
        definition = found.control_plane.run(workflow_id).definition
        new = check_id(run_id or id_for(definition, request_id, None, workflow_id), "--id")
        agents = check_agents(assignment_of(assign or (), definition), set(definition.skills), name="--assign")
        asked = Rerun(workflow_id=new, run_input=given, from_state=from_state, agents=agents, reason=reason)
        answer = accepted(found.starting.rerun(workflow_id, asked, request_id), workflow_id)
        tell(found, new, answer, definition, as_json=as_json)


def retry(run: RunArgument, reason: Reason = None, request_id: RequestId = None, as_json: JsonFlag = False) -> None:
    """Continue a run that failed, timed out, was cancelled or is on hold. All that succeeded is kept, also in a Map.

    The rest is entered again with the input it had, and all its attempts and retries. A finalized run (`dcf run`
    finalizes its own) is not retried: repeat it with `dcf rerun`.

    Example:  dcf retry order-42 --reason "the rates are back"
    """
    with opening.application() as found, by_the_local_user(), patience("reading where the run came to a halt"):
        answer = accepted(found.retrying.retry(run, reason=reason, request_id=request_id), run)
        found.clock.finish(LAST_DELIVERIES_S)
    if as_json:
        typer.echo(json_text({"workflow_id": run, **answer.answer, "repeated": answer.repeated}, indent=2))
        return
    states = ", ".join(map(clean, answer.answer["states"][:_NAMED]))
    typer.echo(f"{clean(run)} goes on in {states}. {in_commands(answer.answer['hint'], run)}")


def tell(found: "Application", run: str, answer: "Created", definition: "Definition", *, as_json: bool) -> None:
    """Wait until the agents are told, and print the id of the run."""
    with patience("telling the agents"):
        found.clock.finish(LAST_DELIVERIES_S)
    _warn(answer, definition)
    if not as_json:
        typer.echo(clean(run))
        return
    about: dict[str, Json] = {"name": definition.name, "version": definition.version, "sha256": definition.sha256}
    typer.echo(
        json_text(
            {
                "workflow_id": run,
                "status": answer.meta["status"],
                "existed": answer.existed,
                "definition": about,
            },
            indent=2,
        )
    )


def _warn(answer: "Created", definition: "Definition") -> None:
    """Say on standard error which Tasks nobody is told of."""
    from dcf.cli.reading.views import say

    assigned = answer.meta.get("agents") or {}
    warning = open_tasks_warning([name for name in definition.skills if not assigned.get(name)], _ASSIGN)
    if warning is not None and answer.meta.get("status") == "running":
        say(warning)


def document_of(workflow: str) -> "Definition | None":
    """Return the definition in a file; None if the argument names a kept one."""
    from dcf.core.definitions.model import read_given as read_workflow_given

    file = Path(workflow)
    if _SHA256.match(workflow) or (find_file(file) is None and not _FILE.search(workflow) and workflow != "-"):
        return None
    return read_workflow_given(read_workflow(file), workflow_name_of(file))


def assignment_of(
    given: "Sequence[str]", definition: "Definition", left_out: "Container[str]" = ()
) -> dict[str, list[str]]:
    """Return the agents of each state. One for all Tasks does not do those that are left out."""
    pools: dict[str, list[str]] = {}
    everybody = [name for name in definition.skills if name not in left_out]
    for one in given:
        state, equals, agent = one.rpartition("=")
        if equals and not state:
            raise InvalidArgument("--assign names no state.", "Write --assign STATE=AGENT, or AGENT for all Tasks.")
        for name in (state,) if equals else everybody:
            pools.setdefault(name, []).append(agent)
    return pools
