"""How commands are named: by noun, with the same word for the same thing; and what a word that is none is answered."""

import re
from collections import defaultdict

from dcf.cli import command_table
from dcf.cli.command_table import DAILY, NOUNS
from dcf.cli.commands.moved import MOVED
from tests.cli.conftest import Dcf
from tests.support.paths import ROOT
from tests.support.tables import rows

NAMES = {row.full_name for row in command_table.rows()}
LINES, COLUMNS = 40, 80


def test_help_fits_a_screen_and_has_a_line_for_each_daily_command_and_each_noun(dcf: Dcf) -> None:
    lines = dcf("--help").output.rstrip("\n").split("\n")
    assert len(lines) < LINES, "the prompt takes a line"
    assert [line for line in lines if len(line) > COLUMNS] == []
    listed = [names for line in lines if (names := re.match(r"  (\w+(?:, \w+)*)  ", line))]
    assert [name for names in listed for name in names[1].split(", ")] == [*DAILY, *NOUNS]


def test_each_command_is_daily_or_has_one_of_the_nouns() -> None:
    assert {name for name in NAMES if " " not in name} == set(DAILY)
    assert {name.partition(" ")[0] for name in NAMES if " " in name} == set(NOUNS)
    assert 12 <= len(NOUNS) <= 17
    assert all(len(name.split()) <= 2 for name in NAMES)


def test_nouns_have_no_words_of_their_own_for_what_all_of_them_do() -> None:
    verbs = defaultdict(set)
    for name in NAMES - set(DAILY):
        noun, verb = name.split()
        verbs[verb].add(noun)
    assert not set(verbs) & {"list", "get", "create", "put", "remove", "search"} - {"search"}
    assert verbs["search"] == {"runs"}, "which is the search in all that was written"
    assert verbs["ls"] >= {*NOUNS} - {"runs", "tasks", "workflows", "store"}


@rows("noun", NOUNS)
def test_help_of_a_noun_lists_its_commands(dcf: Dcf, noun: str) -> None:
    shown = dcf(noun, "--help", COLUMNS="100").output
    listed = re.findall(r"^│ ([a-z]+) ", shown.partition("Commands")[2], re.MULTILINE)
    assert listed == sorted(name.split()[1] for name in NAMES if name.startswith(f"{noun} "))


def test_a_command_that_moved_is_none_any_more_and_is_one_now() -> None:
    assert set(MOVED) & NAMES == set()
    assert set(MOVED.values()) <= NAMES


def test_the_changelog_has_each_command_that_moved() -> None:
    table = (ROOT / "CHANGELOG.md").read_text("utf-8").partition("| former |")[2]
    cells = [re.findall(r"`([^`]+)`", line) for line in table.splitlines()]
    assert {old: new for row in cells for old, new in zip(row[::2], row[1::2], strict=True)} == MOVED


@rows("old", MOVED)
def test_an_old_command_is_answered_with_its_name_of_now(dcf: Dcf, old: str) -> None:
    refused = dcf(*old.split(), "some-run", COLUMNS="200")
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert f"This command is `dcf {MOVED[old]}`." in refused.stderr


@rows(
    ("words", "meant"),
    [
        ("runs ls", "ls"),
        ("runs cancel order-42", "cancel"),
        ("runs rm order-42", "runs delete"),
        ("tasks list", "inbox"),
        ("findings list", "findings ls"),
        ("keys delete 0123", "keys revoke"),
        ("context delete prod", "context rm"),
        ("project ls", "projects"),
        ("journal order-42", "journal ls"),
    ],
)
def test_a_word_that_other_programs_use_is_answered_with_the_one_of_dcf(dcf: Dcf, words: str, meant: str) -> None:
    refused = dcf(*words.split(), COLUMNS="200")
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert f"This command is `dcf {meant}`." in refused.stderr
