"""The command `dcf graph`: draws a workflow file, or a run with the statuses of its states."""

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal

import typer

from dcf.cli import opening
from dcf.cli.documents import InvalidDocument, parse_document, read_workflow_text
from dcf.cli.flow_files import is_flow
from dcf.cli.patience import patience
from dcf.cli.places.choice import elsewhere
from dcf.cli.reading import run_parts
from dcf.cli.reading.views import run_word, say
from dcf.cli.text import clean, json_text
from dcf.data import find_file
from dcf.errors import (
    DcfError,
    InvalidArgument,
    InvalidDefinition,
    NotFound,
    ServerUnreachable,
    StoreUnavailable,
    StoreUnsuitable,
    UnknownRun,
)
from dcf.values.json_text import Json

if TYPE_CHECKING:
    from dcf.asl.machine import Machine
    from dcf.runs.views.survey import Survey
    from dcf.workflows.drawing import Share

Format = Literal["text", "mermaid", "svg"]
Printed = Literal["text", "mermaid", "svg", "json"]

_RUN_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}\Z", re.ASCII)
_HINT: Final = "Check the path, or take the run's workflow_id from `dcf ls`."


def graph(
    source: Annotated[
        str | None,
        typer.Argument(
            metavar="FILE|RUN", help="Workflow or plain ASL machine (JSON, YAML), or a run's workflow_id (`dcf ls`)."
        ),
    ] = None,
    form: Annotated[
        Printed, typer.Option("--format", "-o", help="text, mermaid, svg, or json: how the states stand, no picture.")
    ] = "text",
    to: Annotated[Path | None, typer.Option(help="Write to this file instead of standard output.")] = None,
    file: Annotated[Path | None, typer.Option(help="A run that was exported to this file (dcf runs export).")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="-o json.")] = False,
) -> None:
    """Draw a workflow, or a run with how its states stand: as text, as a Mermaid flowchart or as SVG.

    Dashed lines are errors that are caught. All iterations of a Map share one picture, with counts. A file wins over a
    run of the same name.

    --json prints {workflow_id, workflow_name, status, statuses {path: status}, maps {path: {size, done, failed}},
    left_out}; of a file workflow_id and status are null, and statuses and maps are empty.
    """
    if (source is None) == (file is None):
        raise typer.BadParameter("Name a workflow file or a run, or an export with --file.", param_hint="FILE|RUN")
    drawn = _exported(file) if file is not None else _drawn(source or "")
    if drawn.left_out:
        say(f"a part of the run: {drawn.left_out} or more states inside Parallel and Map were not looked at")
    if as_json or form == "json":
        picture = json_text(_document(drawn), indent=2) + "\n"
    else:
        title = clean(drawn.meta.get("title") or drawn.meta.get("workflow_name") or source or file)
        picture = render(drawn.machine, drawn.statuses, drawn.shares, form=form, title=title)
    if to is None:
        typer.echo(picture, nl=False)
        return
    try:
        to.write_text(picture, "utf-8")
    except OSError:
        raise InvalidArgument(f"{to} cannot be written.", "Check the path.") from None


def render(
    machine: "Machine",
    statuses: Mapping[str, str] | None = None,
    shares: "Mapping[str, Share] | None" = None,
    *,
    form: Format = "text",
    title: str = "Workflow",
) -> str:
    """Draw a machine; `statuses` by state path and `shares` by the path of a Map show the progress of a run."""
    from dcf.workflows.drawing import draw_mermaid, draw_svg, draw_text

    if form == "svg":
        return draw_svg(machine, statuses, shares, title=title)
    draw = draw_mermaid if form == "mermaid" else draw_text
    return draw(machine, statuses, shares)


def _drawn(file: str) -> "Survey":
    return _file(Path(file)) if is_flow(file) or find_file(Path(file)) is not None else _run(file)


def _exported(file: Path) -> "Survey":
    """Read an exported run; raise InvalidArgument if its workflow cannot be read."""
    from dcf.cli.reading.export_files import read_file
    from dcf.features.export.survey_operations import survey_of_export

    try:
        drawn = survey_of_export(read_file(file))
    except InvalidDefinition:
        raise InvalidArgument("The workflow of the exported run cannot be read.", "Export the run again.") from None
    title = f"{drawn.meta.get('workflow_name')}: {drawn.meta.get('workflow_id')}, {run_word(drawn.meta)}"
    return replace(drawn, meta={**drawn.meta, "title": title})


def _file(path: Path) -> "Survey":
    from dcf.asl.syntax.parsing import parse_machine
    from dcf.core.definitions.forms import as_workflow, asl_of, is_bare
    from dcf.features import installed_language  # noqa: F401 - a workflow is read
    from dcf.runs.views.survey import Survey

    text = read_workflow_text(path)[1]
    document = parse_document(text, path)
    prefix = "" if is_bare(document) else "/asl"
    document = as_workflow(document, path.name)
    machine, problems = parse_machine(asl_of(document) if isinstance(document, dict) else document, prefix)
    if machine is None:
        raise InvalidDocument(str(path), text, InvalidDefinition(problems))
    name = document.get("workflow_name") if isinstance(document, dict) else None
    named = name if isinstance(name, str) and name else None
    meta = {"workflow_name": named, "title": named or path.name}
    return Survey(machine=machine, meta=meta, statuses={}, shares={}, left_out=0)


def _run(workflow_id: str) -> "Survey":
    """Read a run; does not connect to Redis when the argument cannot be the id of a run."""
    if not _RUN_ID.match(workflow_id):
        raise InvalidArgument(f"There is no file {workflow_id[:200]}.", _HINT)
    try:
        drawn = _surveyed_there(workflow_id) if elsewhere() else _surveyed_here(workflow_id)
    except (StoreUnavailable, StoreUnsuitable, ServerUnreachable) as error:
        raise type(error)(
            f"There is no file {workflow_id}, and no run can be read: {error.message}", error.hint
        ) from None
    except DcfError as error:
        if error.code != UnknownRun.code:
            raise
        raise NotFound(f"There is no file and no run '{workflow_id}'.", _HINT) from None
    part = ", read in part" if drawn.left_out else ""
    title = f"{drawn.meta.get('workflow_name')}: {workflow_id}, {run_word(drawn.meta)}{part}"
    return replace(drawn, meta={**drawn.meta, "title": title})


def _surveyed_here(workflow_id: str) -> "Survey":
    from dcf.runs.views.survey import MOST

    with opening.application() as application, patience("reading the run"):
        return application.runs.survey(workflow_id, MOST)


def _surveyed_there(workflow_id: str) -> "Survey":
    from dcf.features.export.form import ExportedRun
    from dcf.features.export.survey_operations import survey_of_export

    with run_parts.opened(workflow_id) as run, patience("reading the run"):
        return survey_of_export(ExportedRun(head=run.head, states=dict(run.states)))


def _document(drawn: "Survey") -> dict[str, Json]:
    shown = {name: drawn.meta.get(name) for name in ("workflow_id", "workflow_name", "status")}
    maps = {
        path: {"size": share.size, "done": share.done, "failed": share.failed} for path, share in drawn.shares.items()
    }
    return {**shown, "statuses": dict(drawn.statuses), "maps": maps, "left_out": drawn.left_out}
