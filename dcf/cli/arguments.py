"""Arguments and options that several commands have, with the same words in each."""

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from dcf.cli.places.completion import complete_run

JsonFlag: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON on standard output instead of text.")]
LoadedFd: TypeAlias = Annotated[
    int | None, typer.Option("--loaded-fd", hidden=True, help="Pipe for the news that all is loaded: for `dcf run`.")
]
Leash: TypeAlias = Annotated[bool, typer.Option(hidden=True, help="End when standard input ends: for `dcf run`.")]
Server: TypeAlias = Annotated[str | None, typer.Option(help="URL of the MCP server; default DCF_SERVER_URL.")]
Direct: TypeAlias = Annotated[
    bool, typer.Option("--direct", help="Call no server: the control plane is in this process.")
]
LeaseTtl: TypeAlias = Annotated[
    int, typer.Option(help="Lease length in seconds; leases are renewed automatically.", min=1, max=3600)
]
Grace: TypeAlias = Annotated[
    float, typer.Option(help="Grace period in seconds for running states at shutdown.", min=0, max=3600)
]
Yes: TypeAlias = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
RunInput: TypeAlias = Annotated[
    str | None, typer.Option("--input", help="Run input: a JSON file, JSON itself, or - for standard input.")
]
AllowActions: TypeAlias = Annotated[
    bool, typer.Option("--allow-actions", help="Let the web page change things, as far as the key of the reader may.")
]
RunArgument: TypeAlias = Annotated[
    str, typer.Argument(metavar="RUN", help="The run's workflow_id (see `dcf ls`).", autocompletion=complete_run)
]
ValuesArgument: TypeAlias = Annotated[
    list[str] | None,
    typer.Argument(metavar="[NAME=VALUE]...", help="Input of a flow: NAME=VALUE, or NAME=@FILE.", show_default=False),
]
ExportedFile: TypeAlias = Annotated[
    Path | None, typer.Option(help="Of a run that was exported to this file (dcf runs export).")
]
OptionalRun: TypeAlias = Annotated[
    str | None, typer.Argument(metavar="RUN", help="The run's workflow_id (see `dcf ls`).", autocompletion=complete_run)
]


def check_run_or_file(workflow_id: str | None, file: Path | None) -> None:
    """Raise typer.BadParameter unless either a run or the file of an exported one is named."""
    if (workflow_id is None) == (file is None):
        raise typer.BadParameter("Name a run, or a file with --file.", param_hint="RUN")
