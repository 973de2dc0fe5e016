"""The command `dcf runs export`: a run as one JSON file, a page or a report for people, a picture or a trace."""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, TextIO, TypeAlias, TypeVar

import typer

from dcf.cli.arguments import OptionalRun, check_run_or_file
from dcf.cli.patience import patience
from dcf.cli.reading import run_parts
from dcf.cli.reading.export_files import read_file
from dcf.cli.reading.views import say
from dcf.cli.text import clean, json_text
from dcf.errors import InvalidArgument, InvalidDefinition
from dcf.values.json_text import Json

if TYPE_CHECKING:
    Maker: TypeAlias = Callable[[Mapping[str, Json], Iterator[tuple[str, Any]], Iterator[Mapping[str, Json]]], str]
    Form: TypeAlias = Callable[[run_parts.RunParts, list[int]], Iterator[str]]

Part = TypeVar("Part")

As: TypeAlias = Literal["json", "html", "markdown", "svg", "mermaid", "trace"]


_STATES_SHOWN: Final = 2_000
_EVENTS_SHOWN: Final = 5_000
_OPEN: Final = ("pending", "running")
_STDOUT: Final = Path("-")


def export(
    workflow_id: OptionalRun = None,
    to: Annotated[Path, typer.Option(help="Write to this file; - is standard output.")] = _STDOUT,
    html: Annotated[
        bool, typer.Option("--html", help="Short for -o html: a page for people, which opens without network.")
    ] = False,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Short for -o markdown: a report, with the run's journal.")
    ] = False,
    file: Annotated[Path | None, typer.Option(help="Of a JSON export in this file; not for json and markdown.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="-o json, which is the default.")] = False,
    named: Annotated[As | None, typer.Option("--format", "-o", help="What to make of it; json is the default.")] = None,
) -> None:
    """Export a run: its workflow, documents, history, journal and artifacts as JSON, or what people look at.

    -o html, markdown: a page, a report. svg, mermaid: its graph. trace: its timeline, for ui.perfetto.dev.

    The JSON is read elsewhere, without Redis: show, events, why, graph, timeline and export take  --file FILE.

    Lease tokens are not exported; inputs, outputs and errors are, as the agents wrote them.
    """
    check_run_or_file(workflow_id, file)
    flags: dict[As, bool] = {"html": html, "markdown": markdown, "json": as_json}
    ases: set[As] = {name for name, is_set in flags.items() if is_set} | ({named} if named else set())
    if len(ases) > 1:
        raise InvalidArgument("-o, --json, --html and --markdown exclude each other.", "Leave out all but one of them.")
    form: As = next(iter(ases), "json")
    if file is not None and form not in _OF_FILES:
        raise InvalidArgument("The file is an export already.", "Add --html to make a page of it, or -o svg.")
    if file is not None:
        exported = read_file(file)
        with _opened(to) as out:
            out.write(_OF_FILES[form](exported.head, iter(exported.states.items()), iter(exported.events)))
    elif workflow_id is not None:
        _export_run(workflow_id, to, _form(form))
    if to != _STDOUT:
        say(f"Written to {to}")


def shown(file: Path) -> dict[str, Json]:
    """Return what `dcf show` prints of an exported run: its own states, and those that were open inside them."""
    exported = read_file(file)
    own = (path for path, state in exported.states.items() if "/" not in path or state.get("status") in _OPEN)
    return {
        "meta": dict(exported.meta),
        "states": {path: exported.state(path) for path in own},
        "outputs": {path: state["output"] for path, state in exported.states.items() if "output" in state},
        "more": {},
        "findings": exported.findings,
        "exported_at": exported.head["exported_at"],
    }


def _export_run(workflow_id: str, output: Path, form: "Form") -> None:
    with run_parts.opened(workflow_id, is_copied=True) as run:
        done = [0]
        with _opened(output) as out, _export_progress(output, lambda: done[0]):
            for part in form(run, done):
                out.write(part)


def _json(run: run_parts.RunParts, done: list[int]) -> Iterator[str]:
    lists: list[tuple[str, Iterator[Json]]] = [
        ("events", _counted(run.events, done)),
        ("journal", _counted(run.journal, done)),
        ("artifacts", _counted(run.artifacts, done)),
    ]
    return _parts(run.head, _counted(run.states, done), lists)


def _form(form: As) -> "Form":
    if form in _OF_FILES:
        return partial(_whole, _OF_FILES[form])
    return _report if form == "markdown" else _json


def _whole(make: "Maker", run: run_parts.RunParts, done: list[int]) -> Iterator[str]:
    yield make(run.head, _counted(run.states, done), _counted(run.events, done))


def _report(run: run_parts.RunParts, done: list[int]) -> Iterator[str]:
    from dcf.workflows.drawing.markdown_report import markdown_report

    for line in markdown_report(run.head, _counted(run.states, done), _counted(run.journal, done)):
        yield f"{line}\n"


def _export_progress(output: Path, count: Callable[[], int]) -> AbstractContextManager[None]:
    """Show how many states and events are exported, unless they are printed."""
    return (
        nullcontext() if output == _STDOUT and sys.stdout.isatty() else patience("states and events exported:", count)
    )


def _counted(parts: Iterator[Part], done: list[int]) -> Iterator[Part]:
    for part in parts:
        done[0] += 1
        yield part


def _parts(
    head: Mapping[str, Json], states: Iterator[tuple[str, Json]], lists: Sequence[tuple[str, Iterator[Json]]]
) -> Iterator[str]:
    """Yield the text of an export, a line for each part, so that no run is too large to be written."""
    for name, value in head.items():
        yield f"{'{' if name == 'format' else ','}\n{json_text(name)}: {json_text(value)}"
    yield ',\n"states": {'
    for number, (path, state) in enumerate(states):
        yield f"{',' if number else ''}\n{json_text(path)}: {json_text(state)}"
    yield "\n}"
    for name, parts in lists:
        yield f",\n{json_text(name)}: ["
        for number, part in enumerate(parts):
            yield f"{',' if number else ''}\n{json_text(part)}"
        yield "\n]"
    yield "\n}\n"


def _page_of(head: Mapping[str, Json], states: Iterator[tuple[str, Json]], events: Iterator[Mapping[str, Json]]) -> str:
    from dcf.workflows.drawing.report import html_report

    shown = dict(islice(states, _STATES_SHOWN))
    shown_events = list(islice(events, _EVENTS_SHOWN))
    left_out = [
        f"This page has the first {most:,} {kind}; the JSON export has all."
        for kind, rest, most in (("states", states, _STATES_SHOWN), ("events", events, _EVENTS_SHOWN))
        if next(rest, None) is not None
    ]
    return html_report(
        head, shown, shown_events, _picture(head, shown), left_out, map(_worded, head["explanation"]["findings"])
    )


def _worded(finding: Mapping[str, Json]) -> dict[str, Json]:
    """Return a finding whose remedy is in the words of the command line."""
    from dcf.cli.wording import as_command, in_commands

    remedy = finding["remedy"]
    sentence = in_commands(remedy["sentence"], known=remedy["call"]["arguments"])
    return {**finding, "remedy": {"sentence": sentence, "command": as_command(remedy["call"])}}


def _picture(head: Mapping[str, Json], states: Mapping[str, Any]) -> str:
    """Draw the workflow with the statuses of its states; nothing for a workflow that this version cannot read."""
    try:
        return _drawn("svg", head, states)
    except InvalidDefinition:
        return ""


def _drawn(form: Literal["svg", "mermaid"], head: Mapping[str, Json], states: Mapping[str, Any]) -> str:
    """Draw the workflow with the statuses of its states; raise InvalidDefinition if the workflow cannot be read."""
    from dcf.features.export.form import ExportedRun
    from dcf.features.export.survey_operations import survey_of_export
    from dcf.workflows.drawing import draw_mermaid, draw_svg

    drawn = survey_of_export(ExportedRun(head=head, states=states))
    if form == "mermaid":
        return draw_mermaid(drawn.machine, drawn.statuses, drawn.shares)
    return draw_svg(drawn.machine, drawn.statuses, drawn.shares, title=clean(head.get("workflow_id")))


def _graph_of(
    form: Literal["svg", "mermaid"],
    head: Mapping[str, Json],
    states: Iterator[tuple[str, Json]],
    _events: Iterator[Mapping[str, Json]],
) -> str:
    try:
        return _drawn(form, head, dict(states))
    except InvalidDefinition:
        raise InvalidArgument("The workflow of the run cannot be read.", "Export it --as json or trace.") from None


def _trace_of(head: Mapping[str, Json], states: Iterator[tuple[str, Any]], events: Iterator[Mapping[str, Json]]) -> str:
    from dcf.cli.reading.timelines import made
    from dcf.workflows.drawing.trace import chrome_trace

    return json_text(chrome_trace(made(head, states, events), str(head.get("workflow_id")))) + "\n"


_OF_FILES: "Final[Mapping[As, Maker]]" = {
    "html": _page_of,
    "svg": partial(_graph_of, "svg"),
    "mermaid": partial(_graph_of, "mermaid"),
    "trace": _trace_of,
}
"""What is made of documents and history alone, and so also of a file."""


@contextmanager
def _opened(output: Path) -> Iterator[TextIO]:
    if output == _STDOUT:
        yield sys.stdout
        sys.stdout.flush()
        return
    try:
        with output.open("w", encoding="utf-8") as out:
            yield out
    except OSError:
        raise InvalidArgument(f"{output} cannot be written.", "Check the path.") from None
