"""The output of the commands for people. Text from runs is untrusted: markup and control characters are neutralized."""

import sys
from collections.abc import Container, Iterable, Mapping
from datetime import UTC, datetime

from rich.console import Console, Group, OverflowMethod, RenderableType
from rich.table import Table
from rich.text import Text

from dcf.cli.documents import InvalidDocument
from dcf.cli.reading.notes import attempts, child_of, duration, elapsed, kept_signals, note, used_up
from dcf.cli.text import clean, json_text
from dcf.errors import DcfError, InvalidDefinition, StoreUnavailable
from dcf.runs.views.inner_states import tree
from dcf.values.json_text import Json

_MARKS = {
    "pending": ("·", "dim"),
    "running": ("▶", "cyan"),
    "succeeded": ("✔", "green"),
    "failed": ("✘", "red"),
    "skipped": ("-", "dim"),
    "cancelled": ("◼", "yellow"),
    "partial": ("◐", "yellow"),
    "paused": ("‖", "yellow"),
    "blocked": ("⊘", "yellow"),
    "stuck": ("!", "yellow"),
}
_WIDE = 500
"""Columns where there is no screen: a pipe or a file gets each row on one line."""

_LONGEST = 5000
_INVALID_FLOW = "invalid_flow"
_USUAL_NAME = 24  # a state's name up to this length is not cut; the note next to it is
_INDENT = 5
_FACTS = (
    *("created_at", "started_at", "paused_at", "finished_at", "finalized_at", "finalize_note", "planner_agent_id"),
    *("tags", "rerun_of", "reruns", "retried"),
)


def console(*, stderr: bool = False) -> Console:
    """Return a console as wide as the terminal; where there is no terminal, as wide as the text needs."""
    stream = sys.stderr if stderr else sys.stdout
    return Console(stderr=stderr, highlight=False, width=None if stream.isatty() else _WIDE)


def status_text(status: object) -> Text:
    """Show a status as mark, word and colour; never as colour alone."""
    mark, style = _MARKS.get(str(status), ("?", ""))
    return Text(f"{mark} {clean(status)}", style=style, no_wrap=True)


def listed_status(row: Mapping[str, Json]) -> Text:
    """Show how a run of the list stands."""
    from dcf.core.leasing.blockers import listed_word

    return status_text(listed_word(row))


def run_word(about: Mapping[str, Json]) -> str:
    """Return the status of a run, by its meta document or its line in the list, in a word for people."""
    from dcf.core.leasing.blockers import word_of

    return word_of(about)


def print_error(error: DcfError) -> None:
    """Print on standard error what is wrong and what to do."""
    out = console(stderr=True)
    if isinstance(error, InvalidDefinition):
        _print_problems(out, error)
        return
    if error.code == _INVALID_FLOW:
        _print_complaints(out, error)
        return
    _line(out, f"dcf: {clean(error.code)}: {clean(error.message, _LONGEST)}", "red", _INDENT)
    at = error.place if isinstance(error, StoreUnavailable) else None
    text = None if at is None else f"It was looked for at {at}."
    from dcf.cli.wording import in_commands  # the table of calls, which most commands need not load

    for sentence in filter(None, (text, error.hint, *notes_of(error))):
        _line(out, f"     {in_commands(clean(sentence, _LONGEST))}", indent=_INDENT)


def _print_complaints(out: Console, error: DcfError) -> None:
    """List what cannot be compiled; each complaint has a line of source with marks below it."""
    _line(out, f"dcf: {clean(error.code)}: the flow cannot be compiled:", "red")
    for line in error.message.split("\n"):
        out.print(Text(clean(line, _LONGEST)), soft_wrap=True, highlight=False)
    _line(out, f"     {clean(error.hint, _LONGEST)}", indent=_INDENT)


def _print_problems(out: Console, error: InvalidDefinition) -> None:
    """List what is wrong with a workflow, each problem once."""
    from dcf.cli.wording import in_commands

    count = "a problem" if len(error.problems) == 1 else f"{len(error.problems)} problems"
    places = error.places if isinstance(error, InvalidDocument) else {}
    file = clean(error.file) if isinstance(error, InvalidDocument) else "The workflow"
    _line(out, f"dcf: {clean(error.code)}: {file} has {count}:", "red")
    for problem in error.problems:
        at = places.get(problem.path)
        place = "" if at is None else f" (line {at.line}, column {at.column})"
        text = f"{problem.code}: {problem.message} {in_commands(problem.hint)}"
        _line(out, clean(f"     {problem.path or '/'}{place}: {text}", _LONGEST), indent=2 * _INDENT)
    _line(out, "     Correct the workflow; `dcf validate FILE` checks it without running it.")


def notes_of(error: BaseException) -> list[str]:
    """Return the notes on an error that are for the user of the command."""
    return getattr(error, "__notes__", [])


def say(sentence: str) -> None:
    """Print a sentence on standard error, apart from the result."""
    _line(console(stderr=True), f"dcf: {clean(sentence, _LONGEST)}", indent=_INDENT)


def print_line(sentence: str) -> None:
    """Print a line on standard output and flush it, so that a pipe gets it at once."""
    _line(console(), clean(sentence, _LONGEST))
    sys.stdout.flush()


def table(
    columns: Iterable[str],
    rows: Iterable[Iterable[object]],
    *,
    whole: Container[str] = (),
    right: Container[str] = (),
    overflow: OverflowMethod = "fold",
) -> Table:
    """Return a table without lines; columns that are `whole` are not wrapped, those to the `right` are numbers.

    Cells are escaped, but for those that are a Text already.
    """
    made = Table(box=None, pad_edge=False, header_style="bold")
    for name in columns:
        made.add_column(name, no_wrap=name in whole, overflow=overflow, justify="right" if name in right else "left")
    for row in rows:
        made.add_row(*(cell if isinstance(cell, Text) else Text(clean(cell)) for cell in row))
    return made


def run_view(
    meta: Mapping[str, Json], states: Mapping[str, Json], now: datetime, more: Mapping[str, int] | None = None
) -> RenderableType:
    """Show a run as a heading and a table of states; `more` counts the rows left out, by Parallel or Map."""
    own = [doc for path, doc in states.items() if "/" not in path]
    ended = sum(doc["status"] not in {"pending", "running"} for doc in own)
    facts = (meta.get("workflow_id"), f"{ended} of {len(own)} done", elapsed(meta, now), meta.get("workflow_name"))
    names = "".join(f"  {clean(fact)}" for fact in facts if fact)
    heading = Text.assemble(status_text(run_word(meta)), names, no_wrap=True, overflow="ellipsis")
    return Group(heading, states_table(states, now, more))


def states_table(states: Mapping[str, Json], now: datetime, more: Mapping[str, int] | None = None) -> Table:
    """Return one row per state, with open states inside it below: status, attempts, duration and the reason."""
    labelled = [(row, clean("  " * row.depth + row.label)) for row in tree(states, more or {})]
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("state", overflow="ellipsis", no_wrap=all(len(name) <= _USUAL_NAME for _, name in labelled))
    table.add_column("status", no_wrap=True, min_width=11)
    table.add_column("attempts", justify="right", no_wrap=True)
    table.add_column("time", justify="right", no_wrap=True)
    table.add_column("note", overflow="ellipsis")
    for row, name in labelled:
        if row.path is None:
            table.add_row(Text(name, style="dim", no_wrap=True, overflow="ellipsis"))
            continue
        doc = states[row.path]
        cells = (attempts(doc), duration(doc, now), note(doc, now))
        table.add_row(_cell(name), status_text(doc["status"]), *map(_cell, cells))
    return table


def _print_why(out: Console, about: Mapping[str, Json]) -> None:
    """Print why a run did not succeed: its error and cause; a cancelled run has the reason as its cause."""
    cleans = [clean(about[name], _LONGEST) for name in ("error", "cause") if about.get(name) is not None]
    if cleans:
        _line(out, ": ".join(cleans), "red")


def print_document(out: Console, document: Json) -> None:
    """Print indented JSON; a long line of it stays one line, which can be copied."""
    for line in json_text(document, indent=2).split("\n"):
        out.print(Text(line), soft_wrap=True)


def print_run(document: Mapping[str, Json]) -> None:
    """Print a run for `dcf show`."""
    out = console()
    meta = document["meta"]
    exported_at = document.get("exported_at")
    now = datetime.fromisoformat(exported_at) if exported_at else datetime.now(UTC)
    out.print(run_view(meta, document["states"], now, document["more"]))
    for name in _FACTS:
        if meta.get(name) is not None:
            value = ", ".join(meta[name]) if isinstance(meta[name], list) else meta[name]
            _line(out, f"{name}: {clean(value, _LONGEST)}")
    for sentence in (child_of(meta), kept_signals(meta), used_up(meta)):
        if sentence:
            _line(out, clean(sentence, _LONGEST))
    print_outcome(meta)


def print_outcome(meta: Mapping[str, Json]) -> None:
    """Print the error of a run, or its output if it succeeded."""
    out = console()
    _print_why(out, meta)
    if meta.get("status") == "succeeded":
        print_document(out, meta.get("output"))


def print_event(event: Mapping[str, Json]) -> None:
    """Print one event for `dcf runs events`."""
    data = {name: value for name, value in event.items() if name not in {"id", "at", "type", "state"}}
    fields = " ".join(f"{clean(name)}={clean(value)}" for name, value in data.items() if value is not None)
    line = f"{event['at'][11:23]}  {clean(event['type']):<18} {clean(event['state'] or '')}  {fields}".rstrip()
    if sys.stdout.isatty():
        print_wrapped(console(), Text(line), indent=14)
    else:
        sys.stdout.write(line + "\n")
    sys.stdout.flush()


def _cell(text: str) -> Text:
    """Return a cell that is shortened instead of wrapped."""
    return Text(text, no_wrap=True, overflow="ellipsis")


def print_wrapped(out: Console, text: Text, indent: int = 0) -> None:
    """Print a sentence: on a terminal broken between words, all lines but the first indented; elsewhere on one line."""
    if out.width >= _WIDE or text.cell_len <= out.width:
        out.print(text, soft_wrap=True)
        return
    first, *_ = text.wrap(out, out.width)
    rest = text[len(first.plain) :]
    out.print(first, soft_wrap=True)
    rest = rest[len(rest.plain) - len(rest.plain.lstrip()) :]
    for line in rest.wrap(out, max(1, out.width - indent)):
        out.print(Text(" " * indent) + line, soft_wrap=True)


def _line(out: Console, text: str, style: str = "", indent: int = 0) -> None:
    print_wrapped(out, Text(text, style=style), indent)
