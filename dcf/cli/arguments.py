"""Arguments and options that several commands have, with the same words in each, and what a shell completes in them."""

from typing import Annotated, Final, TypeAlias

import typer

from dcf.cli import opening
from dcf.errors import DcfError

_OFFERED: Final = 50
"""The newest runs, of which a shell completes those that begin as typed."""


def complete_run(incomplete: str) -> list[tuple[str, str]]:
    """Return the ids of the newest runs that begin so, with what each is; nothing where Redis cannot be asked."""
    from dcf.core.listing.runs import RunQuery

    try:
        settings = opening.settings()
        if settings.redis_url is None and not settings.data_dir.exists():
            return []  # nothing was run yet: no server is started for a press of a key
        with opening.application() as found:
            runs = found.run_list.list_runs(RunQuery(limit=_OFFERED)).rows
    except DcfError:  # a message would stand in the middle of what is being typed
        return []
    begun = (one for one in runs if one.workflow_id.startswith(incomplete))
    return [(one.workflow_id, f"{one.status}, {one.workflow_name}") for one in begun]


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
OptionalRun: TypeAlias = Annotated[
    str | None,
    typer.Argument(metavar="RUN", help="The run's workflow_id (see `dcf ls`).", autocompletion=complete_run),
]
