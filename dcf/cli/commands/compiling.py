"""The command `dcf compile`: prints the state machine that a flow becomes."""

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from dcf.cli.text import json_text

if TYPE_CHECKING:
    from dcf.errors import Problem
    from dcf.flow.compiling import CompiledFlow
    from dcf.flow.refusals import Complaint
    from dcf.values.json_text import Json


def mount(app: typer.Typer) -> None:
    """Add the command to an application."""
    app.command(name="compile")(compile_file)


def compile_file(
    flow: Annotated[str, typer.Argument(metavar="FILE.py[:FLOW]", help="A Python file with a flow.")],
    to: Annotated[
        Literal["dcf", "aws"],
        typer.Option(help="dcf: the workflow document; aws: the machine for AWS Step Functions, with ${placeholders}."),
    ] = "dcf",
    as_json: Annotated[
        bool, typer.Option("--json", help="Print {document, places}: also the line of Python of each state.")
    ] = False,
) -> None:
    """Print the workflow document that a flow becomes: Amazon States Language with JSONata, complete without the file.

    If the flow cannot be compiled, the command lists each line with the code to write instead. Nothing is started.

    With --to aws, the Task of a function invokes a Lambda function. The Task of an agent or a person sends a message
    with its task token to a queue, and waits (.waitForTaskToken). Placeholders name functions, queues and machines.

    Example:  dcf compile flow.py > flow.json

    --json prints {document, places}; places are FILE:LINE:COLUMN by state.
    """
    from dcf.cli.flow_files import read_flow
    from dcf.core.definitions.sources import SOURCE

    compiled = read_flow(flow)
    own = {name: value for name, value in compiled.document.items() if name != SOURCE}
    document = _for_aws(compiled) if to == "aws" else own
    places = compiled.document[SOURCE]["states"]
    typer.echo(json_text({"document": document, "places": places} if as_json else document, indent=2))


def _for_aws(compiled: "CompiledFlow") -> "dict[str, Json]":
    """Return the machine for Step Functions; raise InvalidFlow with the lines of what has no place there."""
    from dcf.errors import InvalidDefinition
    from dcf.flow.refusals import InvalidFlow
    from dcf.workflows.step_functions import for_step_functions

    try:
        return for_step_functions(compiled.document)
    except InvalidDefinition as error:
        raise InvalidFlow([_complaint(compiled, problem) for problem in error.problems]) from None


def _complaint(compiled: "CompiledFlow", problem: "Problem") -> "Complaint":
    """Return what is wrong with a state as a complaint about the line that it comes from."""
    from dcf.flow.refusals import Complaint
    from dcf.flow.source import lines_of

    names = [part.replace("~1", "/").replace("~0", "~") for part in problem.path.split("/")]
    place = next(compiled.places[name] for name in reversed(names) if name in compiled.places)
    line = lines_of(place.file)[place.line - 1]
    text = {"message": problem.message, "advice": problem.hint, "source": line}
    return Complaint(file=place.file, line=place.line, column=place.column, end=len(line) + 1, **text)
