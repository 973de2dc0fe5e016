"""What all commands have in common: a sentence of help, --json, a group; and what is offered for a mistyped word."""

import re
from collections.abc import Iterator

import typer.main
from typer.core import TyperGroup

from dcf.cli import panels
from dcf.cli.app import app
from tests.cli.conftest import Dcf
from tests.support.tables import rows

ROOT = typer.main.get_command(app)


def commands(group: object = ROOT, before: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], object]]:
    assert isinstance(group, TyperGroup)
    for name, command in group.commands.items():
        if isinstance(command, TyperGroup):
            yield from commands(command, (*before, name))
        else:
            yield (*before, name), command


COMMANDS = dict(commands())


@rows("path", COMMANDS, ids=" ".join)
def test_every_command_has_help_and_offers_json(dcf: Dcf, path: tuple[str, ...]) -> None:
    shown = dcf(*path, "--help", COLUMNS="200")
    text = re.sub(r"[│╭╮╰╯─\s]+", " ", shown.output)
    assert "--json" in text
    assert "--leash" not in text
    assert re.search(r"Usage: dcf " + " ".join(path) + r" .*[A-Z][a-z]+ [^.]{10,}[.:]", text)


def test_every_command_stands_in_one_of_the_groups(dcf: Dcf) -> None:
    shown = dcf("--help", COLUMNS="120").output
    titles = re.findall(r"╭─ (.+?) ─", shown)
    assert titles == ["Options", *panels.ORDER]
    for name in {path[0] for path in COMMANDS}:
        assert len(re.findall(rf"^│ {name} ", shown, re.MULTILINE)) == 1


@rows(
    ("arguments", "offered"),
    [
        (("lss",), "Did you mean 'ls'"),
        (("wtach", "x"), "Did you mean 'watch'"),
        (("keys", "creat"), "Did you mean 'create'"),
        (("show", "x", "--jsn"), "--json"),
        (("run",), "Missing argument"),
    ],
    ids=" ".join,
)
def test_a_mistyped_word_is_answered_with_the_near_one(dcf: Dcf, arguments: tuple[str, ...], offered: str) -> None:
    refused = dcf(*arguments, COLUMNS="120")
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert offered in refused.stderr
