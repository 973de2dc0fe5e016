"""The command `dcf compile`: prints the state machine that a flow becomes."""

from typing import Annotated, Final, Literal

import typer

from dcf.cli.commands.formats import print_json
from dcf.cli.text import clean
from dcf.errors import InvalidArgument

_DOCUMENT: Final = (
    "A document of Step Functions goes back as it is: AWS takes it once each Task has its Resource again."
)


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
    `dcf workflows language --python` shows how a flow is written.

    With --to aws, the Task of a function invokes a Lambda function. The Task of an agent or a person sends a message
    with its task token to a queue, and waits (.waitForTaskToken). A Map with tolerated failures is a distributed one.
    Placeholders name functions, queues and machines.

    Example:  dcf compile flow.py > flow.json

    --json prints {document, places}; places are FILE:LINE:COLUMN by state.
    """
    from dcf.cli.flow_files import is_flow, read_flow
    from dcf.core.definitions.sources import SOURCE
    from dcf.workflows.step_functions import for_step_functions

    if flow.endswith(".json") and not is_flow(flow):
        raise InvalidArgument(f"{clean(flow)} is a document, and dcf compile takes a flow in Python.", _DOCUMENT)
    compiled = read_flow(flow)
    own = {name: value for name, value in compiled.document.items() if name != SOURCE}
    document = for_step_functions(compiled.document) if to == "aws" else own
    places = compiled.document[SOURCE]["states"]
    print_json({"document": document, "places": places} if as_json else document)
