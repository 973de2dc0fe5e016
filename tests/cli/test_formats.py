"""How answers are printed: -o is one mechanism for all commands, and names go into the next command."""

import json

import pytest
import yaml

from dcf.cli import command_table
from dcf.cli.command_table import NOUNS
from dcf.cli.commands.formats import Chosen, choose, print_json
from tests.cli.conftest import Dcf, Seed
from tests.support.tables import rows

ANSWERING = {row.full_name: row for row in command_table.rows() if not row.serves}


@rows("name", ANSWERING)
def test_every_command_with_an_answer_has_the_option(dcf: Dcf, name: str) -> None:
    text = dcf(*name.split(), "--help", COLUMNS="200").output
    assert "-o " in text
    assert ("--watch" in text) is ANSWERING[name].is_watched
    assert name in {"runs export", "graph"} or "<json|yaml|table|name>" in text


def test_a_list_has_all_formats(dcf: Dcf, seed: Seed) -> None:
    run = seed()
    listed = json.loads(dcf("ls", "--limit", 1, "-o", "json").stdout)
    assert listed == json.loads(dcf("ls", "--limit", 1, "--json").stdout)
    assert listed == yaml.safe_load(dcf("ls", "--limit", 1, "-o", "yaml").stdout)
    assert dcf("ls", "--limit", 1, "-o", "name").stdout == f"{run}\n"
    assert dcf("ls", "--limit", 1, "-o", "table").stdout == dcf("ls", "--limit", 1).stdout
    assert dcf("ls", "--limit", 1, "--json", "-o", "yaml").exit_code == 2
    assert dcf("ls", "--limit", 1, "-o", "xml").exit_code == 2


def test_names_are_the_arguments_of_the_next_command(dcf: Dcf, seed: Seed) -> None:
    run = seed(agent="agent-1")
    assert dcf("show", run, "-o", "name").stdout == f"{run}\n"
    (name,) = dcf("states", "ls", "--run", run, "-o", "name").stdout.splitlines()
    assert name.split() == [run, "Only"]
    assert dcf("states", "release", *name.split(), "--yes", "-o", "name").stdout == f"{name}\n"
    assert dcf("inbox", run, "-o", "name").stdout == ""


def test_several_documents_are_told_apart_in_each_format(dcf: Dcf, seed: Seed) -> None:
    run = seed()
    events = [json.loads(line) for line in dcf("runs", "events", run, "-o", "json").stdout.splitlines()]
    assert list(yaml.safe_load_all(dcf("runs", "events", run, "-o", "yaml").stdout)) == events
    assert dcf("runs", "events", run, "-o", "name").stdout.split() == [event["id"] for event in events]


@rows("words", [("doctor",), ("agents", "tools")], ids=" ".join)
def test_an_answer_without_names_is_refused(dcf: Dcf, words: tuple[str, ...]) -> None:
    refused = dcf(*words, "-o", "name")
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert "The answer of this command has no names." in refused.stderr


@rows("form", ["json", "yaml", "name"])
def test_no_format_prints_what_a_terminal_interprets(capsys: pytest.CaptureFixture[str], form: str) -> None:
    choose(Chosen(form, ("workflow_id",)))  # type: ignore[arg-type]  # one of the formats
    print_json([{"workflow_id": "a\x1b[2J\u202eb"}])
    printed = capsys.readouterr().out
    assert printed.startswith(("[", "- workflow_id: ", "a[2Jb"))
    assert not {"\x1b", "\u202e"} & set(printed)


def test_names_of_a_noun_are_fields_of_its_answers(dcf: Dcf, seed: Seed) -> None:
    """A listing that is empty has no names, and one of another noun would be refused."""
    listings = [noun for noun in NOUNS if f"{noun} ls" in ANSWERING]
    run = seed()
    for noun in listings:
        arguments = [run] if noun in {"gates", "journal", "artifacts"} else []
        assert dcf(noun, "ls", *arguments, "-o", "name").exit_code == 0, noun
