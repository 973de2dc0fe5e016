"""The command `dcf why`: why a run does not move, and what to do about it."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.text import Text

from dcf.cli.arguments import JsonFlag, OptionalRun
from dcf.cli.commands.derived import call_verb
from dcf.cli.commands.formats import print_json
from dcf.cli.reading import export_files
from dcf.cli.reading.views import console, print_wrapped, status_text
from dcf.cli.text import clean
from dcf.cli.wording import as_command, in_commands
from dcf.features.diagnosis.records import ExplainedRun
from dcf.values.json_text import Json

_LONGEST: Final = 2000
_HIDDEN: Final = ("root",)
"""Evidence that stands in the sentence already."""


def why(
    workflow_id: OptionalRun = None,
    state: Annotated[str | None, typer.Argument(help="Only this state, also one that waits for others.")] = None,
    file: Annotated[
        Path | None, typer.Option(help="Of a run that was exported to this file: as it was then. No RUN, but STATE.")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Explain why a run, or one state of it, does not move, and what helps.

    What is stuck comes first. Reported is what is at the root, not each state that waits for it.
    """
    if file is not None and state is not None:
        raise typer.BadParameter("Name a run, or a file with --file.", param_hint="RUN")
    document = (
        export_files.read_file(file).explanation(workflow_id) if file is not None else _explained(workflow_id, state)
    )
    if as_json:
        fields = ExplainedRun.__dataclass_fields__
        print_json({name: document[name] for name in fields if name in document})
    else:
        print_explanation(document)


def _explained(workflow_id: str | None, state: str | None) -> Mapping[str, Json]:
    if workflow_id is None:
        raise typer.BadParameter("Name a run, or a file with --file.", param_hint="RUN")
    return call_verb("explain_run", workflow_id=workflow_id, state=state)


def print_explanation(document: Mapping[str, Json]) -> None:
    """Print an explanation for people: for each finding a sentence, its facts, and what to do."""
    out = console()
    heading = Text.assemble(status_text(document["run_status"]), f"  {clean(document['workflow_id'])}")
    out.print(heading, soft_wrap=True)
    if not document["findings"]:
        over = document["run_status"] not in {"running", "paused", "blocked"}
        out.print(Text("It is over." if over else "Nothing holds it up."), soft_wrap=True)
    for finding in document["findings"]:
        print_finding(finding)
    if document["unread_states"]:
        out.print(Text(f"{document['unread_states']} more open states were not looked at."), soft_wrap=True)


def print_findings(findings: Sequence[Mapping[str, Json]]) -> None:
    """Print what holds a run up, below the run: what is stuck, and else the first of what goes on by itself."""
    for finding in [one for one in findings if one.get("stuck")] or findings[:1]:
        print_finding(finding)


def print_finding(finding: Mapping[str, Json]) -> None:
    """Print one finding: what is stuck in yellow, what goes on by itself in plain."""
    out = console()
    mark, style = ("!", "yellow") if finding.get("stuck") else ("·", "")
    told = f"{mark} {finding['cause']}: {clean(finding['sentence'], _LONGEST)}"
    print_wrapped(out, Text(told, style=style), indent=2)
    facts = [
        f"{name}={_shown(value)}"
        for name, value in finding["evidence"].items()
        if name not in _HIDDEN and value not in (None, [], {})
    ]
    if facts:
        print_wrapped(out, Text(f"  {' '.join(facts)}", style="dim"), indent=4)
    remedy = finding["remedy"]
    call = remedy["call"]
    told = in_commands(clean(remedy["sentence"], _LONGEST), known=call["arguments"])
    print_wrapped(out, Text(f"  → {told}"), indent=4)
    out.print(Text(f"    {clean(as_command(call), _LONGEST)}", style="bold"), soft_wrap=True)


def _shown(value: Json) -> str:
    """Return a fact on one line."""
    if isinstance(value, list):
        return ",".join(clean(one) for one in value)
    if isinstance(value, dict):
        return ",".join(f"{clean(name)}:{'never' if one is None else clean(one)}" for name, one in value.items())
    return clean(value, _LONGEST)
