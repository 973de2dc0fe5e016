"""The command `dcf init`: makes a directory with a workflow that runs at once. It needs no Redis."""

import keyword
import re
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from string import Template
from typing import Annotated, Final

import typer

from dcf.cli.arguments import JsonFlag
from dcf.cli.text import clean, json_text
from dcf.data import PACKAGE
from dcf.errors import InvalidArgument

_SCAFFOLD: Final = PACKAGE / "cli" / "scaffold"
_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,39}", re.ASCII)
_TAKEN: Final = frozenset({"dcf", "pytest", "test"})
_FILES: Final = (
    ("{module}.json", "workflow.json.txt", "the workflow"),
    ("{module}.py", "functions.py.txt", "a Python function for each of its Tasks"),
    ("input.json", "input.json.txt", "an input"),
    ("test_{module}.py", "test.py.txt", "tests of both"),
    ("README.md", "readme.md.txt", "how to run, test and change it"),
)


def mount(app: typer.Typer) -> None:
    """Add the command to an application."""
    app.command()(init)


def init(
    name: Annotated[
        Path, typer.Argument(metavar="NAME", help="The directory to make; its name is that of the workflow.")
    ],
    as_json: JsonFlag = False,
) -> None:
    """Make a directory with a new workflow, Python functions for its Tasks, an input, tests and a README.

    What it makes runs at once. Files that are there already are never overwritten.

    Example:  dcf init greetings && cd greetings && dcf run greetings.json --input input.json

    --json prints {directory, files, next}.
    """
    module = _module_of(name.resolve().name)
    texts = _texts(name.resolve().name, module)
    _write(name, texts)
    following = [f"{_command()} run {module}.json --input input.json", f"{_python()} -m pytest"]
    if str(name) != ".":
        following.insert(0, f"cd {name}")
    if as_json:
        typer.echo(json_text({"directory": str(name), "files": list(texts), "next": following}, indent=2))
        return
    typer.echo(f"Made in {clean(name)}:")
    for file, (_, _, what) in zip(texts, _FILES, strict=True):
        typer.echo(f"  {file:<{max(map(len, texts))}}  {what}")
    typer.echo("Next:")
    for line in following:
        typer.echo(f"  {line}")


def _module_of(name: str) -> str:
    """Return the name of the Python file for a workflow of this name; raise InvalidArgument if it cannot have one."""
    if not _NAME.fullmatch(name):
        raise InvalidArgument(
            f"'{clean(name, 60)}' cannot be the name of a workflow and of a Python file.",
            "Take letters, digits, - and _, at most 40, a letter first.",
        )
    module = name.replace("-", "_")
    if module in sys.stdlib_module_names | _TAKEN or keyword.iskeyword(module):
        raise InvalidArgument(
            f"A Python file '{module}.py' would stand in the way of Python's or dcf's own '{module}'.",
            f"Take another name, such as {name}-flow.",
        )
    return module


def _texts(name: str, module: str) -> dict[str, str]:
    """Return the text of each file, by its name."""
    return {
        file.format(module=module): Template((_SCAFFOLD / source).read_text("utf-8")).substitute(
            name=name, module=module
        )
        for file, source, _ in _FILES
    }


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
    beside = Path(sys.executable).with_name("dcf")
    return "dcf" if shutil.which("dcf") or not beside.exists() else str(beside)


def _python() -> str:
    return "python" if shutil.which("dcf") and shutil.which("python") else sys.executable
