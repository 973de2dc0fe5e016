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
"""Evidence that the sentence contains already."""
_OPEN: Final = frozenset({"running", "paused", "blocked"})


def why(
    workflow_id: OptionalRun = None,
    state: Annotated[str | None, typer.Argument(help="Only this state, also if it waits for others.")] = None,
    file: Annotated[
        Path | None, typer.Option(help="Of a run that was exported to this file: as it was then. No RUN, but STATE.")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Explain why a run, or one state of it, does not move, and what helps.

    What is stuck comes first. A cause is reported once, not for each state that waits for it.
    """
    if file is not None and state is not None:
        raise typer.BadParameter("Name a run, or a file with --file.", param_hint="RUN")
    document = (
        export_files.read_file(file).explanation(workflow_id) if file is not None else _explained(workflow_id, state)
    )
    is_open = document["run_status"] in _OPEN
    if not is_open and not as_json and workflow_id is not None:
        print_ended(_overview(workflow_id))
    elif as_json:
        fields = ExplainedRun.__dataclass_fields__
        print_json({name: document[name] for name in fields if name in document})
    else:
        print_explanation(document)


def _explained(workflow_id: str | None, state: str | None) -> Mapping[str, Json]:
    if workflow_id is None:
        raise typer.BadParameter("Name a run, or a file with --file.", param_hint="RUN")
    return call_verb("explain_run", workflow_id=workflow_id, state=state)


def _overview(workflow_id: str) -> Mapping[str, Json]:
    """Read how an ended run ended."""
    from dcf.cli.places.place import place
    from dcf.cli.reading.answers import overview
    from dcf.runs.views.inner_states import EACH

    with place() as used:
        return overview(used, workflow_id, EACH)


def print_ended(document: Mapping[str, Json]) -> None:
    """Print how a run ended: its failed states with their errors, and the command that continues or repeats it."""
    out, meta = console(), document["meta"]
    run, status = clean(meta["workflow_id"]), meta["status"]
    out.print(Text.assemble(status_text(status), f"  {run}"), soft_wrap=True)
    failed = {path: doc for path, doc in document["states"].items() if doc["status"] == "failed"}
    for path, doc in failed.items():
        attempts = (
            f" after {doc['attempts']} {'attempt' if doc['attempts'] == 1 else 'attempts'}" if doc["attempts"] else ""
        )
        text = f"! {path} failed{attempts}: {doc.get('last_error') or 'no error was recorded'}"
        print_wrapped(out, Text(clean(text, _LONGEST), style="yellow"), indent=2)
    reason = [str(meta[name]) for name in ("error", "cause", "finalize_note") if meta.get(name)]
    if not failed and reason:
        print_wrapped(out, Text(clean(": ".join(reason), _LONGEST)), indent=2)
    for aim, call in _next_calls(run, status, is_final=bool(meta.get("finalized_at"))):
        out.print(Text(f"  → {aim}: {clean(as_command(call), _LONGEST)}"), soft_wrap=True)


def _next_calls(run: str, status: str, *, is_final: bool) -> list[tuple[str, Mapping[str, Json]]]:
    """Return what may be done with an ended run; a finalized run can only be repeated."""
    named = {"workflow_id": run}
    calls = [("Read its history", {"tool": "read_run_events", "arguments": named})]
    if status in {"failed", "cancelled"} and not is_final:
        calls.append(("Correct the cause, then continue it", {"tool": "retry_run", "arguments": named}))
    return [*calls, ("Run it again as a new run", {"tool": "rerun", "arguments": named})]


def print_explanation(document: Mapping[str, Json]) -> None:
    """Print an explanation for people: for each finding a sentence, its facts, and what to do."""
    out = console()
    heading = Text.assemble(status_text(document["run_status"]), f"  {clean(document['workflow_id'])}")
    out.print(heading, soft_wrap=True)
    if not document["findings"]:
        has_ended = document["run_status"] not in _OPEN
        out.print(Text("The run has ended." if has_ended else "Nothing holds it up."), soft_wrap=True)
    for finding in document["findings"]:
        print_finding(finding)
    if document["unread_states"]:
        out.print(Text(f"{document['unread_states']} more open states were not looked at."), soft_wrap=True)


def print_findings(findings: Sequence[Mapping[str, Json]]) -> None:
    """Print what holds a run up, below the run: all that is stuck, else the first finding about normal progress."""
    for finding in [finding for finding in findings if finding.get("stuck")] or findings[:1]:
        print_finding(finding)


def print_finding(finding: Mapping[str, Json]) -> None:
    """Print one finding: yellow if it is stuck, plain if it ends automatically."""
    out = console()
    mark, style = ("!", "yellow") if finding.get("stuck") else ("·", "")
    text = f"{mark} {finding['cause']}: {clean(finding['sentence'], _LONGEST)}"
    print_wrapped(out, Text(text, style=style), indent=2)
    facts = [
        f"{name}={_shown(value)}"
        for name, value in finding["evidence"].items()
        if name not in _HIDDEN and value not in (None, [], {})
    ]
    if facts:
        print_wrapped(out, Text(f"  {' '.join(facts)}", style="dim"), indent=4)
    remedy = finding["remedy"]
    call = remedy["call"]
    text = in_commands(clean(remedy["sentence"], _LONGEST), known=call["arguments"])
    print_wrapped(out, Text(f"  → {text}"), indent=4)
    out.print(Text(f"    {clean(as_command(call), _LONGEST)}", style="bold"), soft_wrap=True)


def _shown(value: Json) -> str:
    """Return a fact on one line."""
    if isinstance(value, list):
        return ",".join(clean(part) for part in value)
    if isinstance(value, dict):
        return ",".join(f"{clean(name)}:{'never' if part is None else clean(part)}" for name, part in value.items())
    return clean(value, _LONGEST)
