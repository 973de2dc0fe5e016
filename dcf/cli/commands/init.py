"""The command `dcf init`: makes a directory with a workflow that runs at once. It needs no Redis."""

import importlib.util
import keyword
import re
import shutil
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Final

import typer

from dcf.cli.arguments import JsonFlag
from dcf.cli.commands.formats import print_json
from dcf.cli.text import clean
from dcf.errors import InvalidArgument
from dcf.values.identifiers import check_id

_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,39}", re.ASCII)
_TAKEN: Final = frozenset({"dcf", "pytest", "test"})
_FLOW: Final = (
    ("flow.py", "flow.py.txt", "the workflow: a flow, and the functions of its steps"),
    ("input.json", "flow_input.json.txt", "an input"),
    ("test_flow.py", "flow_test.py.txt", "tests in virtual time"),
    ("README.md", "flow_readme.md.txt", "how to run, test and change it"),
    ("AGENTS.md", "flow_agents.md.txt", "how flows are written, for coding agents"),
)
_ASL: Final = (
    ("{module}.json", "asl_workflow.json.txt", "the workflow"),
    ("{module}.py", "asl_functions.py.txt", "a Python function for each of its Tasks"),
    ("input.json", "asl_input.json.txt", "an input"),
    ("test_{module}.py", "asl_test.py.txt", "tests of both"),
    ("README.md", "asl_readme.md.txt", "how to run, test and change it"),
)
"""The files of a project: name, template, purpose."""


def init(
    name: Annotated[
        Path, typer.Argument(metavar="NAME", help="The directory to make; its name is that of the workflow.")
    ],
    asl: Annotated[
        bool, typer.Option("--asl", help="Write the workflow as a document in Amazon States Language, not as a flow.")
    ] = False,
    mission_control: Annotated[
        bool,
        typer.Option(
            "--mission-control",
            help="Write .claude/workflows/NAME, agents and the lines of .claude/CLAUDE.md into the current directory.",
        ),
    ] = False,
    workflow_id: Annotated[
        str | None, typer.Option(help="Id of the workflow, for those files: what start_workflow returned.")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Make a directory with a new workflow: a flow in Python, an input, tests, a README, and AGENTS.md.

    The workflow runs at once. Files that exist are never overwritten.

    Example:  dcf init greetings && cd greetings && dcf run flow.py --input input.json

    --json prints {directory, files, next}.
    """
    title = _checked(name.resolve().name)
    if mission_control:
        _make_mission(title, workflow_id, as_json=as_json)
        return
    if workflow_id is not None:
        raise InvalidArgument("--workflow-id is about --mission-control.", "Add that option, or leave this one out.")
    module = _module_of(title) if asl else "flow"
    texts = _texts(_ASL if asl else _FLOW, title, module)
    _write(name, {file: text for file, (text, _) in texts.items()})
    workflow = f"{module}.json" if asl else "flow.py"
    following = [f"{_command()} run {workflow} --input input.json", *_tests()]
    if str(name) != ".":
        following.insert(0, f"cd {name}")
    if as_json:
        print_json({"directory": str(name), "files": list(texts), "next": following})
        return
    typer.echo(f"Made in {clean(name)}:")
    for file, (_, purpose) in texts.items():
        typer.echo(f"  {file:<{max(map(len, texts))}}  {purpose}")
    typer.echo("Next:")
    for line in following:
        typer.echo(f"  {line}")


def _make_mission(name: str, workflow_id: str | None, *, as_json: bool) -> None:
    """Write the files of a workflow of Mission Control into the current directory."""
    from dcf.cli.commands.mission_files import write_mission

    done = write_mission(Path.cwd(), name, None if workflow_id is None else check_id(workflow_id, "--workflow-id"))
    following = [f"{_command()} validate .claude/workflows/{name}"]
    if as_json:
        print_json({"directory": ".", "files": done, "next": following})
        return
    for file, outcome in done.items():
        typer.echo(f"  {file}  {outcome}")
    typer.echo(f"Next:\n  {following[0]}")


def _checked(name: str) -> str:
    """Return the name of a workflow; raise InvalidArgument if a shell or a file would not take it."""
    if not _NAME.fullmatch(name):
        raise InvalidArgument(
            f"'{clean(name, 60)}' cannot be the name of a workflow.",
            "Take letters, digits, - and _, at most 40, a letter first.",
        )
    return name


def _module_of(name: str) -> str:
    """Return the name of the Python file of a document with this name; raise InvalidArgument if it hides another."""
    module = name.replace("-", "_")
    if module in sys.stdlib_module_names | _TAKEN or keyword.iskeyword(module):
        raise InvalidArgument(
            f"A Python file '{module}.py' would hide Python's or dcf's own '{module}'.",
            f"Take another name, such as {name}-flow.",
        )
    return module


def _texts(files: Iterable[tuple[str, str, str]], name: str, module: str) -> dict[str, tuple[str, str]]:
    """Return the text and the purpose of each file, by its name."""
    from dcf.cli.commands.mission_files import filled
    from dcf.workflows.language import describe_flows

    words = {"name": name, "module": module, "page": describe_flows()}
    return {file.format(module=module): (filled(template, words), purpose) for file, template, purpose in files}


def _write(directory: Path, texts: Mapping[str, str]) -> None:
    """Write the files; refuse, and write none, if there is one of them already."""
    there = [file for file in texts if (directory / file).exists()]
    if there:
        raise InvalidArgument(f"{directory / there[0]} is there already.", "Take another name, or move it away.")
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for file, text in texts.items():
            with (directory / file).open("x", encoding="utf-8") as opened:
                opened.write(text)
    except OSError as error:
        raise InvalidArgument(f"{directory} cannot be written: {error.strerror}.", "Check the path.") from None


def _command() -> str:
    """Return how dcf is called here: by its path where the shell would not find it."""
    program = Path(sys.executable).with_name("dcf")
    return "dcf" if shutil.which("dcf") or not program.exists() else str(program)


def _tests() -> list[str]:
    """Return the commands that run the tests of a project: pytest is no part of dcf."""
    is_missing = importlib.util.find_spec("pytest") is None
    return [*([f"{_python()} -m pip install pytest"] if is_missing else []), f"{_python()} -m pytest"]


def _python() -> str:
    return "python" if shutil.which("dcf") and shutil.which("python") else sys.executable
