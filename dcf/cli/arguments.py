"""Arguments and options that several commands have, with the same words in each."""

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from dcf.cli.places.completion import complete_run

JsonFlag: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON on standard output instead of text.")]
LoadedFd: TypeAlias = Annotated[
    int | None, typer.Option("--loaded-fd", hidden=True, help="Pipe for the news that all is loaded: for `dcf run`.")
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
