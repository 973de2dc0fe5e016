"""Reads the lines of shell blocks: which programs they start, and whether dcf has the commands that they name."""

import re
import shlex
import tomllib
from collections.abc import Callable, Iterator
from functools import cache
from importlib.util import find_spec
from typing import Any, Final

import typer
import typer.main

from dcf.cli.app import app
from dcf.cli.places.choice import name_context
from dcf.settings.process import VARIABLES
from tests.support.paths import ROOT

_ASSIGNMENT: Final = re.compile(r"([A-Za-z_]\w*)=.*", re.DOTALL)
_BETWEEN: Final = frozenset({"&&", "||", "|", ";", "&"})
_REDIRECTIONS: Final = frozenset({"<", ">", ">>"})
_KEYWORDS: Final = frozenset({"do", "then", "if", "while"})
_FOREIGN: Final = frozenset(
    {"cd", "cp", "curl", "diff", "done", "echo", "export", "fi", "for", "git", "helm", "kubectl", "openssl"}
    | {"pipx", "pip", "redis-check-aof", "redis-cli", "redis-server", "sh", "source", ".", "npx", "uvx", "kill"}
)
"""Programs of others, of which nothing is checked but that the line can be read."""

_SERVICES: Final = ("dcf-mcp", "pulse", "redis")


class Unknown(AssertionError):
    """A line names what does not exist."""


@cache
def _root() -> Any:
    return typer.main.get_command(app)


def commands_of(text: str) -> Iterator[list[str]]:
    """Yield the words of each simple command of a block."""
    for line in text.replace("\\\n", " ").splitlines():
        lexer = shlex.shlex(re.sub(r"(^|\s)#.*", "", line), posix=True, punctuation_chars="|&;<>")
        lexer.whitespace_split, lexer.commenters = True, ""
        words: list[str] = []
        for word in lexer:
            if word in _BETWEEN:
                yield words
                words = []
            else:
                words.append(word)
        yield words


def check_command(words: list[str]) -> list[str]:
    """Check one simple command, and return its words without assignments and redirections."""
    words = _without_redirections(words)
    while words and ((assigned := _ASSIGNMENT.fullmatch(words[0])) or words[0] in _KEYWORDS):
        if assigned and assigned[1].startswith(("DCF_", "REDIS_")) and assigned[1] not in VARIABLES:
            raise Unknown(f"dcf has no setting {assigned[1]}")
        words = words[1:]
    if words:
        program = words[0].rpartition("/")[2] if words[0].startswith((".venv/", "./", "/")) else words[0]
        check = _CHECKS.get(program)
        if check is not None:
            check(words[1:])
        elif program not in _FOREIGN:
            raise Unknown(f"no check for the program {program}")
    return words


def check_dcf(words: list[str]) -> None:
    """Parse the words behind `dcf` as dcf does, without a call of the command."""
    context = _root().make_context("dcf", [*words])
    try:
        while hasattr(context.command, "resolve_command"):
            name, command, rest = context.command.resolve_command(context, [*context._protected_args, *context.args])
            context = command.make_context(name, rest, parent=context)
    except typer.Exit:  # of --help and --version
        pass
    finally:
        name_context(None)


def _without_redirections(words: list[str]) -> list[str]:
    targets = {position + 1 for position, word in enumerate(words) if word in _REDIRECTIONS}
    return [word for position, word in enumerate(words) if position not in targets and word not in _REDIRECTIONS]


def _check_make(words: list[str]) -> None:
    targets = [word for word in words if not _ASSIGNMENT.fullmatch(word)]
    makefile = (ROOT / "Makefile").read_text("utf-8")
    for target in targets:
        if not re.search(rf"^{re.escape(target)}:", makefile, re.MULTILINE):
            raise Unknown(f"the Makefile has no target {target}")


def _check_python(words: list[str]) -> None:
    if words[0] == "-m":
        if words[1] not in {"venv", "pytest"} and find_spec(words[1]) is None:
            raise Unknown(f"there is no module {words[1]}")
        if words[1] == "dcf":
            check_dcf(words[2:])
    elif not words[0].endswith(".py"):
        raise Unknown(f"python {words[0]} runs no file and no module")


def _check_pip(words: list[str]) -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    for named in re.findall(r"\[([\w,-]+)\]", " ".join(words)):
        if not set(named.split(",")) <= set(extras):
            raise Unknown(f"dcf has no extra {named}")


def _check_docker(words: list[str]) -> None:
    """Check what services of docker-compose.yml run of dcf, whose image begins with `dcf`."""
    if "compose" not in words[:1] or not {"run", "exec"} & set(words):
        return
    position = next((index for index, word in enumerate(words) if word in _SERVICES), None)
    if position is None:
        raise Unknown("docker-compose.yml has no such service")
    inside = words[position + 1 :]
    if "run" in words[:position]:
        check_dcf(inside)
    else:
        check_command(inside)


def _check_xargs(words: list[str]) -> None:
    count, command = words[0].removeprefix("-n"), words[1:]
    check_command([*command, *["PLACEHOLDER"] * int(count)])


def _check_claude(words: list[str]) -> None:
    if "--" in words:
        check_command(words[words.index("--") + 1 :])


_CHECKS: Final[dict[str, Callable[[list[str]], None]]] = {
    "dcf": check_dcf,
    "make": _check_make,
    "python": _check_python,
    "python3": _check_python,
    "pip": _check_pip,
    "pipx": _check_pip,
    "docker": _check_docker,
    "xargs": _check_xargs,
    "claude": _check_claude,
}
