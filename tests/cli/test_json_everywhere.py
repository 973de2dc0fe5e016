"""All commands have a sentence of help, --json and a group, and suggest a command for a mistyped word."""

import re
from collections.abc import Iterator
from inspect import getdoc

from dcf.cli import command_table
from dcf.cli.command_group import command_of
from dcf.cli.command_table import named
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


def test_help_of_pages_names_the_option_that_continues(dcf: Dcf) -> None:
    shown = re.sub(r"[│\s]+", " ", dcf("artifacts", "ls", "--help", COLUMNS="200").output)
    assert "without their content. --cursor continues after a page." in shown
    assert "next_cursor" not in shown


def test_command_table_has_the_first_paragraph_of_the_docstring_of_each_function() -> None:
    listed = {row.full_name: row for row in command_table.rows()}
    assert len(listed) == sum(1 for _ in command_table.rows())
    own = [row for row in listed.values() if row.function is not None]
    assert [row.summary for row in own] == [_summary_of(row.function or "") for row in own]


def _summary_of(function: str) -> str:
    return " ".join((getdoc(named(function)) or "").split("\n\n")[0].split())


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
