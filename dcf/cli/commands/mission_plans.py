"""Checks a plan of Mission Control for `dcf validate`: the files of `.claude/workflows/NAME`."""

from pathlib import Path

import typer

from dcf.cli import exit_codes
from dcf.cli.commands.formats import print_json
from dcf.cli.text import clean
from dcf.errors import InvalidArgument

_WORKFLOW = "workflow.md"
_LONGEST = 1000


def plan_folder(file: Path) -> Path | None:
    """Return the directory of the plan that is meant: it itself, or its workflow.md; None for another file."""
    if file.is_dir() and (file / _WORKFLOW).is_file():
        return file
    return file.parent if file.name == _WORKFLOW and file.is_file() else None


def judge_plan(folder: Path, *, as_json: bool) -> int:
    """Print what is wrong with a plan, or that it is valid; return the exit code."""
    from dcf.authoring.mission_files import FOLDER, read_texts
    from dcf.authoring.mission_plans import read_plan
    from dcf.values.located import Report

    folder = folder.resolve()
    if folder.parent.parts[-2:] != FOLDER.parts:
        raise InvalidArgument(f"{clean(folder)} is not in {FOLDER}.", f"Move it to {FOLDER}/{clean(folder.name)}.")
    report = Report()
    texts = read_texts(folder.parents[2], folder.name, Path.home(), report)
    plan = None if texts is None else read_plan(texts, report)
    if as_json:
        problems = [problem.as_json() for problem in report.problems]
        phases = [] if plan is None else [phase.as_json() for phase in plan.phases]
        print_json({"ok": plan is not None, "problems": problems, "phases": phases})
    else:
        for problem in report.problems:
            typer.echo(clean(f"{FOLDER}/{folder.name}/{problem}", _LONGEST))
        count = f"{len(report.problems)} problems" if len(report.problems) != 1 else "1 problem"
        typer.echo(f"✔ {clean(folder.name)} is valid" if plan is not None else f"✘ {count}")
    return exit_codes.OK if plan is not None else exit_codes.NO
