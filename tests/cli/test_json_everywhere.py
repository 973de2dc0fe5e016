"""What all commands have in common: a sentence of help, --json, a group; and what is offered for a mistyped word."""

import re
from collections.abc import Iterator
from pathlib import Path

from dcf.cli import command_table
from dcf.cli.command_group import command_of, declared_by
from tests.cli.conftest import Dcf
from tests.support.tables import rows


def commands() -> Iterator[tuple[tuple[str, ...], object]]:
    """Every command, with the words that name it."""
    for row in command_table.rows():
        yield tuple(row.full_name.split()), command_of(row)


COMMANDS = dict(commands())


@rows("path", COMMANDS, ids=" ".join)
def test_every_command_has_help_and_offers_json(dcf: Dcf, path: tuple[str, ...]) -> None:
    shown = dcf(*path, "--help", COLUMNS="200")
    text = re.sub(r"[│╭╮╰╯─\s]+", " ", shown.output)
    assert "--json" in text
    assert "--leash" not in text
    assert re.search(r"Usage: dcf " + " ".join(path) + r" .*[A-Z][a-z]+ [^.]{10,}[.:]", text)


def test_help_of_pages_names_the_option_that_goes_on(dcf: Dcf) -> None:
    shown = re.sub(r"[│\s]+", " ", dcf("artifacts", "ls", "--help", COLUMNS="200").output)
    assert "without their content. --cursor goes on after a page." in shown
    assert "next_cursor" not in shown


def test_command_table_equals_what_its_modules_declare() -> None:
    listed = [(row.module, row.full_name, row.summary) for row in command_table.rows() if row.module is not None]
    assert len({name for _, name, _ in listed}) == len(listed)
    declared = [
        (module, name, " ".join((command.help or "").split("\n\n")[0].split()))
        for module in {module for module, _, _ in listed}
        for name, command in declared_by(module).commands.items()
    ]
    assert sorted(listed) == sorted(declared)


def test_every_module_that_declares_commands_is_in_the_command_table() -> None:
    """A module of the command line that has `mount` declares commands."""
    here = Path(command_table.__file__).parent
    declaring = {
        ".".join(path.relative_to(here).with_suffix("").parts)
        for path in here.rglob("*.py")
        if "\ndef mount(app: typer.Typer)" in path.read_text("utf-8")
    }
    assert declaring == {row.module for row in command_table.rows() if row.module is not None}


@rows(
    ("arguments", "offered"),
    [
        (("lss",), "Did you mean 'ls'"),
        (("wtach", "x"), "Did you mean 'watch'"),
        (("keys", "revok"), "Did you mean 'revoke'"),
        (("show", "x", "--jsn"), "--json"),
        (("run",), "Missing argument"),
    ],
    ids=" ".join,
)
def test_a_mistyped_word_is_answered_with_the_near_one(dcf: Dcf, arguments: tuple[str, ...], offered: str) -> None:
    refused = dcf(*arguments, COLUMNS="120")
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert offered in refused.stderr


def test_help_is_the_same_after_a_command_was_run(dcf: Dcf) -> None:
    before = dcf("--help").output
    for row in command_table.rows():
        dcf(*row.full_name.split(), "--help")
    assert dcf("--help").output == before
