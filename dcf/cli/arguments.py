"""Arguments and options that several commands have, with the same words in each."""

from typing import Annotated, TypeAlias

import typer

JsonFlag: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON on standard output instead of text.")]
RunArgument: TypeAlias = Annotated[str, typer.Argument(metavar="RUN", help="The run's workflow_id (see `dcf ls`).")]
