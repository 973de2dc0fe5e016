"""Workflows in YAML: they become the same document as JSON, and a problem has its line in the YAML."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import dcf.testing
from dcf.authoring.yaml_documents import json_of_yaml
from dcf.cli.app import app
from dcf.cli.positions import Position, locate
from dcf.client.arguments import document_text
from dcf.errors import InvalidArgument
from tests.support.tables import rows

MACHINE = """\
# Sends an invoice to each customer.
StartAt: Each
States:
  Each:
    Type: Map
    ItemsPath: $.customers
    MaxConcurrency: 2
    ItemProcessor:
      StartAt: Name
      States:
        Name: {Type: Pass, End: true}
    Catch:
    - ErrorEquals: [States.ALL]
      Next: Failed
    End: true
  Failed:
    Type: Fail
    Error: "Send:Failed"
    Cause: |
      Two
      lines
"""


def test_yaml_becomes_the_same_document_as_json() -> None:
    document = json.loads(json_of_yaml(MACHINE, "m.yaml"))

    assert document["States"]["Each"]["ItemProcessor"]["States"] == {"Name": {"Type": "Pass", "End": True}}
    assert document["States"]["Each"]["Catch"] == [{"ErrorEquals": ["States.ALL"], "Next": "Failed"}]
    assert document["States"]["Failed"] == {"Type": "Fail", "Error": "Send:Failed", "Cause": "Two\nlines\n"}


@rows(
    ("pointer", "line", "column"),
    [
        ("/StartAt", 2, 1),
        ("/States/Each/MaxConcurrency", 7, 5),
        ("/States/Each/ItemProcessor/States/Name", 11, 9),
        ("/States/Each/Catch/0/Next", 14, 7),
        ("/States/Failed/Error", 18, 5),
    ],
)
def test_a_key_keeps_its_line_and_column(pointer: str, line: int, column: int) -> None:
    assert locate(json_of_yaml(MACHINE, "m.yaml"), [pointer])[pointer] == Position(line, column)


def test_an_alias_is_the_value_that_its_anchor_names() -> None:
    assert json.loads(json_of_yaml("a: &x {n: 1}\nb: *x\nc: 2\n", "m.yaml")) == {"a": {"n": 1}, "b": {"n": 1}, "c": 2}


@rows(
    ("text", "message"),
    [
        ("a: [1\nb: 2\n", "m.yaml:2: This is not valid YAML."),
        ("a: 1\na: 2\n", "m.yaml:2: The key 'a' is written twice."),
        ("a:\n  b: !Sub x\n", "m.yaml:2: The tag !Sub is not read."),
        ("", "m.yaml:1: The file holds nothing."),
    ],
)
def test_yaml_that_is_not_read_is_refused_with_its_line(text: str, message: str) -> None:
    with pytest.raises(InvalidArgument) as refused:
        json_of_yaml(text, "m.yaml")
    assert refused.value.message == message


def test_validate_names_the_line_of_the_yaml_file(tmp_path: Path) -> None:
    (tmp_path / "m.yml").write_text(MACHINE.replace("Next: Failed", "Next: Faild"))

    result = CliRunner().invoke(app, ["validate", str(tmp_path / "m.yml")])

    assert result.exit_code == 1
    assert "m.yml:14:7: " in result.output.replace("\n", "")


def test_python_takes_the_path_of_a_yaml_file(tmp_path: Path) -> None:
    (tmp_path / "invoices.yaml").write_text(MACHINE)

    assert json.loads(document_text(tmp_path / "invoices.yaml"))["workflow_name"] == "invoices"
    run = dcf.testing.run(tmp_path / "invoices.yaml", {"customers": ["ada", "bob"]})
    assert run.output == ["ada", "bob"]
