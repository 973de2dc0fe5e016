"""Where JSON and workflows come from: a file, standard input, or the command line."""

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dcf.cli.documents import InvalidDocument, read_definition_of, read_given
from dcf.errors import InvalidArgument
from tests.support.tables import rows

PASS = {"StartAt": "A", "States": {"A": {"Type": "Pass", "End": True}}}


@pytest.fixture
def pipe(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    def put(text: str) -> None:
        monkeypatch.setattr("sys.stdin", io.StringIO(text))

    return put


@rows(
    ("text", "value"),
    [
        ('{"a": [1]}', {"a": [1]}),
        ("[1, 2]", [1, 2]),
        ('"text"', "text"),
        (" \n{}", {}),
        ("17", 17),
        ("-2.5", -2.5),
        ("true", True),
        ("null", None),
    ],
)
def test_json_may_stand_on_the_command_line(text: str, value: Any) -> None:
    assert read_given(text, "--input") == value


def test_a_file_called_like_a_number_is_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("2026").write_text('"a year"')
    assert read_given("2026", "--input") == "a year"
    assert read_given("2027", "--input") == 2027


def test_json_and_workflows_may_be_piped(pipe: Callable[[str], None]) -> None:
    pipe('\ufeff{"a": 1}')
    assert read_given("-", "--input") == {"a": 1}
    pipe(json.dumps(PASS))
    assert read_definition_of(Path("-")).name == "workflow"


@rows(
    ("given", "told"),
    [
        ('{"a": 1,\n "b" 2}', "--input is not valid JSON: line 2, column 6: Expecting ':' delimiter."),
        ("[1, NaN]", "--input is not valid JSON: NaN is not a JSON number."),
        ('{"a": 1, "a": 2}', "--input is not valid JSON: the key 'a' appears twice in one object."),
        ("-", "standard input is not valid JSON: it is empty."),
    ],
)
def test_broken_json_is_told_with_its_place_and_without_words_meant_for_tool_calls(
    pipe: Callable[[str], None], given: str, told: str
) -> None:
    pipe(" \n")
    with pytest.raises(InvalidArgument) as raised:
        read_given(given, "--input")
    name = "standard input" if given == "-" else "--input"
    assert (raised.value.message, raised.value.hint) == (told, f"Correct {name}.")


@rows("wrap", [False, True], ids=["machine", "document"])
def test_each_problem_of_a_workflow_has_a_line_also_in_a_bare_machine(tmp_path: Path, wrap: bool) -> None:
    machine = {"StartAt": "A", "States": {"A": {"Type": "Pass", "Next": "Gone"}}}
    path = tmp_path / "w.json"
    path.write_text(json.dumps({"asl": machine} if wrap else machine, indent=1))
    with pytest.raises(InvalidDocument) as raised:
        read_definition_of(path)
    (place,) = raised.value.places.values()
    assert path.read_text().splitlines()[place.line - 1].strip().startswith('"Next"')
