"""The commands that need no Redis: show the workflow language, validate and simulate a workflow file.

The validation is imported only where it is needed: its JSON Schema library takes a tenth of a second to import.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer
from rich.text import Text

from dcf.cli import exit_codes
from dcf.cli.arguments import JsonFlag, RunInput, ValuesArgument
from dcf.cli.commands.formats import print_json
from dcf.cli.commands.mission_plans import judge_plan, plan_folder
from dcf.cli.documents import read_given, read_workflow, read_workflow_text, workflow_name_of
from dcf.cli.flow_files import is_flow
from dcf.cli.patience import patience
from dcf.cli.reading.source_places import failed_in, print_places
from dcf.cli.reading.views import console, print_wrapped, table
from dcf.cli.running.run_input import read_input
from dcf.cli.text import clean, json_text
from dcf.data import find_directory
from dcf.values.json_text import Json

if TYPE_CHECKING:
    from dcf.workflows.validation import Finding, Validation

_LONGEST: Final = 1000
_ASSIGN: Final = "Name agents with `dcf start --assign TASK=AGENT`, or give `dcf run` functions for them."
_STAGES: Final = {
    "input": "not JSON",
    "schema": "form",
    "imports": "imports",
    "references": "references",
    "static": "names and steps",
    "graph": "language",
}

_File = Annotated[
    Path, typer.Argument(help="A flow (FILE.py), a workflow or an ASL machine (JSON, YAML); a shipped one by name.")
]


def language(
    python: Annotated[
        bool, typer.Option("--python", help="Show how a workflow is written in Python, as a flow; else as a document.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Show how a workflow is written, on one page: examples that are valid, data, agents, limits.

    Give a coding agent the page of --python before it writes a flow.

    --json prints {language}, the page.
    """
    from dcf.workflows.language import describe, describe_flows

    page = describe_flows() if python else describe()
    if as_json:
        print_json({"language": page})
    else:
        typer.echo(page, nl=False)


def validate(
    file: _File,
    imports_dir: Annotated[
        Path | None,
        typer.Option(
            help="Directory that af_imports must lie below, unless below DCF_AGENTS_DIR; default: the file's."
        ),
    ] = None,
    skills_dir: Annotated[
        Path | None, typer.Option(help="Directory that skill_imports must lie below; default: DCF_MANIFESTS_DIR.")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Check a workflow without running it: its form, its imports, the agents and skills it names, every ASL rule.

    Of a directory .claude/workflows/NAME (Mission Control) the phases, agents and scopes of workflow.md are checked.

    Each problem is one line, FILE:LINE:COLUMN: code: what is wrong and what to do.

    Exit codes: 0 valid, 1 not valid, 2 the file cannot be read.

    --json prints {file, ok, stage, schema_errors, resolution, graph, warnings, defaulted, problems}; stage is the first
    that found a problem: input (no JSON), schema (form), imports, references, graph (language). Each problem has path
    (JSON Pointer), line, column, code, message, hint and stage; defaulted is what the workflow leaves open.
    """
    from dcf.cli.positions import flow_places, locate

    plan = plan_folder(file)
    if plan is not None:
        raise typer.Exit(judge_plan(plan, as_json=as_json))
    path, text = read_workflow_text(file)
    verdict = _judge(text, workflow_name_of(file), imports_dir or path.parent, skills_dir)
    doubted = {_place_of(warning) for warning in verdict.warnings}
    paths = {problem.path for problem in verdict.problems} | (doubted - {""})
    places = {} if verdict.stage == "input" else flow_places(text, paths) if is_flow(file) else locate(text, paths)
    if as_json:
        _print_json(file, verdict, places)
    else:
        _print_verdict(file, verdict, places)
    raise typer.Exit(exit_codes.OK if verdict.ok else exit_codes.NO)


def simulate(
    file: _File,
    values: ValuesArgument = None,
    run_input: RunInput = None,
    mocks: Annotated[
        str | None,
        typer.Option("--mocks", help='Answers of each Task, in order: {"Task": [{"output": …}, {"error": …}]}.'),
    ] = None,
    signals: Annotated[
        str | None,
        typer.Option("--signals", help='Signals that are sent: [{"name": …, "payload": …, "after": SECONDS}].'),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Run a workflow here with mocked Tasks and virtual time, and show every state that was entered and left.

    An answer is {"output": …}, {"error": …, "cause": …}, {"timed_out": true} or {"never": true}; with "after" it comes
    that many seconds later. An agent's Task without an answer returns its input. People, signals, callbacks and child
    runs follow the rules of a run: of a human task the output is {"choice": …, "comment": …, "answer": …,
    "answered_by": …, "group": …}; without an answer it waits for its deadline. The exit code is 0 only if the run
    succeeded.
    """
    from dcf.workflows.simulation import read_signals
    from dcf.workflows.simulation import simulate as run_simulation

    document = read_workflow(file)
    step = read_input(file, run_input, values or ())
    answers = {} if mocks is None else read_given(mocks, "--mocks")
    sent = () if signals is None else read_signals(read_given(signals, "--signals"))
    with patience("simulating the run"):
        result = run_simulation(document, step, answers, signals=sent)
    if as_json:
        print_json(result)
    else:
        _print_run(result)
        print_places(document, failed_in(result["trace"]))
    raise typer.Exit(exit_codes.OK if result["status"] == "SUCCEEDED" else exit_codes.NO)


def _judge(text: str, name: str, imports_dir: Path, skills_dir: Path | None) -> "Validation":
    from dcf.settings.process import read_settings
    from dcf.workflows.validation.given import validate_given

    settings = read_settings()
    return validate_given(
        text,
        name=name,
        remedy=_ASSIGN,
        imports_base_dir=imports_dir,
        skills_base_dir=skills_dir or find_directory(settings.manifests_dir),
        agents_dir=find_directory(settings.agents_dir),
    )


def _place(places: Mapping[str, tuple[int, int]], finding: "Finding") -> dict[str, int | None]:
    line, column = places.get(finding.path, (None, None))
    return {"line": line, "column": column}


def _print_json(file: Path, verdict: "Validation", places: Mapping[str, tuple[int, int]]) -> None:
    members = {name: value for name, value in verdict.as_json().items() if name not in {"ok", "exit_code"}}
    problems = [problem.as_json() | _place(places, problem) for problem in verdict.problems]
    head: dict[str, Json] = {"file": str(file), "ok": verdict.ok, "stage": verdict.stage}
    print_json(head | members | {"problems": problems})


def _print_verdict(file: Path, verdict: "Validation", places: Mapping[str, tuple[int, int]]) -> None:
    out = console()
    for problem in verdict.problems:
        place = ":".join(str(number) for number in places.get(problem.path, ()))
        where = f"{clean(str(file))}:{place}:" if place else f"{clean(str(file))}:"
        sentence = f"{problem.code}: {problem.message} {problem.hint}"
        print_wrapped(out, Text.assemble((where, "bold"), f" {clean(sentence, _LONGEST)}"), indent=4)
    for warning in verdict.warnings:
        pointer = _place_of(warning)
        place = ":".join(str(number) for number in places.get(pointer, ()))
        sentence = f"{file}:{place}{warning.removeprefix(pointer)}" if place else warning
        print_wrapped(out, Text(f"warning: {clean(sentence, _LONGEST)}", style="yellow"), indent=4)
    if verdict.stage is None:
        for sentence in verdict.defaulted:
            print_wrapped(out, Text(f"default: {clean(sentence, _LONGEST)}", style="dim"), indent=4)
        out.print(Text(f"✔ {clean(str(file))} is valid", style="green"), soft_wrap=True)
        return
    count = "1 problem" if len(verdict.problems) == 1 else f"{len(verdict.problems)} problems"
    out.print(Text(f"✘ {count}; the first stage that failed: {_STAGES[verdict.stage]}", style="red"), soft_wrap=True)


def _place_of(warning: str) -> str:
    """Return the JSON Pointer before a warning, empty without one."""
    return warning.partition(": ")[0] if warning.startswith("/") else ""


def _print_run(result: Mapping[str, Json]) -> None:
    out = console()
    columns = ("step", "what", "state", "type", "data")
    events = enumerate(result["trace"], 1)
    cells = ((step, event["event"], clean(event["path"], 60), event["type"], _data(event)) for step, event in events)
    out.print(table(columns, cells, whole=columns, right=("step",), overflow="ellipsis"))
    good = result["status"] == "SUCCEEDED"
    out.print(Text(f"{'✔' if good else '✘'} {clean(result['status'])}", style="green" if good else "red"))
    shown = result["output"] if good else {name: result.get(name) for name in ("error", "cause")}
    for line in json_text(shown, indent=2).split("\n"):
        out.print(Text(line), soft_wrap=True)


def _data(event: Mapping[str, Json]) -> str:
    """Return the input or output of an event, or its error."""
    if event.get("error") is not None:
        return clean(f"{event['error']}: {event.get('cause')}")
    for name, sign in (("input", "← "), ("output", "→ ")):
        if name in event:
            return sign + clean(json_text(event[name]), 120)
    return ""
