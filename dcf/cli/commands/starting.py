"""The command `dcf start`, and what `dcf start`, `rerun` and `retry` print.

This module reads a file and sends its content to the verb, which checks it as it checks the call of an agent.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from dcf.cli.arguments import JsonFlag, RunInput, ValuesArgument
from dcf.cli.commands.derived import call_verb, print_record
from dcf.cli.commands.forms import assigned, read_assignment
from dcf.cli.commands.lifecycle import Reason, RequestId
from dcf.cli.documents import read_given, read_workflow, workflow_name_of
from dcf.cli.flow_files import is_flow
from dcf.cli.reading.views import say
from dcf.cli.running.run_input import read_input
from dcf.cli.text import clean
from dcf.cli.wording import in_commands
from dcf.data import find_file
from dcf.values.json_text import Json, dump
from dcf.verbs.answers.beginnings import TO_ASSIGN

if TYPE_CHECKING:
    from collections.abc import Container, Sequence

    from dcf.core.definitions.model import Definition

_ASSIGN: Final = "No agent is notified of them; name agents with --assign."
_NAMED: Final = 5
"""States that `dcf retry` names on its line."""

_SHA256: Final = re.compile(r"[0-9a-f]{64}\Z", re.ASCII)
_FILE: Final = re.compile(r"[/\\]|\.json\Z|\.py(:\w+)?\Z")


def start(
    workflow: Annotated[
        str,
        typer.Argument(metavar="FILE|NAME@VERSION|SHA256", help="A workflow document, or the name of a stored one."),
    ],
    values: ValuesArgument = None,
    run_input: RunInput = None,
    assign: Annotated[
        list[str] | None,
        typer.Option(help="STATE=AGENT, or AGENT for all Tasks; may be repeated: several agents are a pool."),
    ] = None,
    tag: Annotated[list[str] | None, typer.Option(help="Short name to find the run by; may be repeated.")] = None,
    project: Annotated[str | None, typer.Option(help="Project that the run belongs to.")] = None,
    run_id: Annotated[str | None, typer.Option("--id", help="Id of this run; default: a new one.")] = None,
    planner: Annotated[str | None, typer.Option(help="Agent to notify when the run ends.")] = None,
    definition_ref: Annotated[
        str | None,
        typer.Option("--definition", help="Its definition in the catalogue: KIND:NAME[@VERSION]."),
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

    Prints the id of the run, with --json {workflow_id, run_status, existed, definition {name, version, sha256},
    warnings, defaulted, hint}.
    """
    run_input_given = read_input(workflow, run_input, values or ())
    document = document_of(workflow)
    answer = call_verb(
        "start_run",
        workflow_json=None if document is None else dump(document.document),
        definition=workflow if document is None else None,
        workflow_id=run_id,
        input_json=dump(run_input_given),
        agents_map_json=_agents(workflow, document, assign or ()),
        planner_agent_id=planner,
        project=project,
        definition_ref=definition_ref,
        tags_json=tag or None,
        expiry_secs=expiry_s,
        max_attempts=attempts,
        gates=None if gates is None else _gates(gates),
        keep=keep,
        request_id=request_id,
        reason=reason,
    )
    if as_json:
        print_record("start_run", answer)
    else:
        show_started(answer, {})


def show_started(answer: Mapping[str, Json], _: Mapping[str, Json]) -> None:
    """Print the id of the run, and on standard error the Tasks without an agent, and the agents that are unknown."""
    for warning in answer["warnings"]:
        about, names_remedy, _ = warning.partition(TO_ASSIGN)
        say(f"{clean(about)}{_ASSIGN if names_remedy else ''}")
    typer.echo(clean(answer["workflow_id"]))


def show_retried(answer: Mapping[str, Json], _: Mapping[str, Json]) -> None:
    """Print the states in which the run continues."""
    states = ", ".join(map(clean, answer["states"][:_NAMED]))
    run = clean(answer["workflow_id"])
    typer.echo(f"{run} continues in {states}. {in_commands(clean(answer['hint']), known=answer)}")


def _gates(text: str) -> "Json":
    from dcf.features.gates.syntax import gates_given

    gates = read_given(text, "--gates")
    gates_given(gates, "--gates")
    return gates


def _agents(workflow: str, document: "Definition | None", assign: "Sequence[str]") -> "Mapping[str, Json] | None":
    """Return who does what. One agent for all Tasks of a flow does not do those that name their own."""
    if document is None:
        return read_assignment(assign, "--assign")
    return assignment_of(assign, document, document.bound if is_flow(workflow) else ()) or None


def document_of(workflow: str) -> "Definition | None":
    """Return the definition in a file; None if the argument names a kept one."""
    from dcf.core.definitions.model import read_given as read_workflow_given
    from dcf.features import installed_language  # noqa: F401 - a workflow is read

    file = Path(workflow)
    if _SHA256.match(workflow) or (find_file(file) is None and not _FILE.search(workflow) and workflow != "-"):
        return None
    return read_workflow_given(read_workflow(file), workflow_name_of(file))


def assignment_of(
    assignments: "Sequence[str]", definition: "Definition", left_out: "Container[str]" = ()
) -> dict[str, list[str]]:
    """Return the agents of each state. One for all Tasks does not do those that are left out."""
    pools: dict[str, list[str]] = {}
    everybody = [name for name in definition.skills if name not in left_out]
    for state, agent in assigned(assignments, "--assign"):
        for name in (state,) if state else everybody:
            pools.setdefault(name, []).append(agent)
    return pools
