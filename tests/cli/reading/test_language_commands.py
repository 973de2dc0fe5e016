import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

import dcf
from dcf.cli import exit_codes
from dcf.cli.app import app
from dcf.core.definitions.model import read_definition
from tests.support.paths import ROOT
from tests.support.tables import rows

Call = Callable[..., Result]


TASK = {"Type": "Task", "AgentBinding": {"agent_template_ref": {"name": "worker"}}, "End": True}
LOST = {**TASK, "AgentBinding": {"agent_template_ref": {"name": "no-such-template"}}}
GOOD = {
    "workflow_id": "w",
    "workflow_name": "Small <b>",
    "version": "1.0.0",
    "af_imports": [{"uri": "worker.af"}],
    "asl": {"StartAt": "A", "States": {"A": TASK}},
}
TWO = {"StartAt": "A", "States": {"A": {"Type": "Task", "Next": "B"}, "B": {"Type": "Wait", "Seconds": 5, "End": True}}}


@pytest.fixture
def call(tmp_path: Path) -> Call:
    def invoke(*arguments: object) -> Result:
        result = CliRunner().invoke(app, [str(argument) for argument in arguments])
        if not isinstance(result.exception, SystemExit | None):
            raise result.exception
        return result

    (tmp_path / "worker.af").write_text('{"agents": [{"id": "agent-0", "name": "worker"}]}')
    return invoke


@pytest.fixture
def write(tmp_path: Path) -> Callable[[Any], Path]:
    def put(document: Any, name: str = "workflow.json") -> Path:
        path = tmp_path / name
        path.write_text(document if isinstance(document, str) else json.dumps(document, indent=2))
        return path

    return put


def test_a_valid_workflow_is_said_to_be_valid(call: Call, write: Callable[..., Path]) -> None:
    for document in (GOOD, TWO):
        result = call("validate", write(document))
        assert result.exit_code == 0
        assert result.output.endswith("is valid\n")


def test_a_machine_with_a_name_is_judged_as_a_machine_as_dcf_run_takes_it(
    call: Call, write: Callable[..., Path]
) -> None:
    """As the one in docs/guides/runs.md."""
    (shown,) = re.findall(r"```json\n(\{\"workflow_name\".+)\n```", (ROOT / "docs/guides/runs.md").read_text("utf-8"))
    assert call("validate", write(shown)).output.endswith("is valid\n")
    assert dcf.validate(shown) == {"ok": True, "exit_code": 0, "problems": []}
    assert read_definition(json.loads(shown)).name == "hello"
    wrong = json.loads(shown.replace('"Greet": {', '"Greeting": {'))
    assert call("validate", write(wrong)).exit_code == 1
    assert dcf.validate(wrong)["problems"][0]["path"] == "/asl/StartAt"


def test_a_document_that_binds_agents_is_judged_with_them(call: Call, write: Callable[..., Path]) -> None:
    bound = {"workflow_name": "x", "asl": {"StartAt": "A", "States": {"A": LOST}}}
    assert call("validate", write(bound)).exit_code == 1
    assert call("validate", write({"workflow_name": "x", "skill_imports": [], "asl": TWO})).exit_code == 0


def test_an_input_may_be_a_file_json_itself_or_standard_input(call: Call, write: Callable[..., Path]) -> None:
    machine = write({"StartAt": "A", "States": {"A": {"Type": "Pass", "End": True}}})
    text = '{"n": [1, "\u00e4"]}'
    for source in (write(text, "given.json"), text, f" {text}"):
        result = call("simulate", machine, "--input", source, "--json")
        assert json.loads(result.output)["output"] == json.loads(text)
    piped = CliRunner().invoke(app, ["simulate", str(machine), "--input", "-", "--json"], input=text)
    assert json.loads(piped.output)["output"] == json.loads(text)


def test_a_workflow_on_standard_input_is_judged_in_words_of_the_command_line() -> None:
    piped = CliRunner().invoke(
        app, ["validate", "-"], input='{"StartAt": "A", "States": {"A": {"Type": "Task", "End": true}}}'
    )
    assert piped.exit_code == 0, piped.output
    assert "workflow_name: workflow\n" in piped.output
    assert "dcf start --assign" in piped.output
    assert "agents_map_json" not in piped.output


def test_each_problem_stands_with_its_line_and_column(call: Call, write: Callable[..., Path]) -> None:
    path = write('{\n "StartAt": "A",\n "States": {\n  "A": {"Type": "Pass",\n    "Next": "Gone"}\n }\n}')
    result = call("validate", path)
    assert result.exit_code == 1
    assert f"{path}:5:5: unknown_state: State 'A': Next names 'Gone', which is no state." in result.output


def test_a_warning_stands_with_its_line_and_column(call: Call, write: Callable[..., Path]) -> None:
    path = write(
        '{"StartAt": "A", "States": {"A": {"Type": "Task",\n "Resource": "arn:aws:states:::sns:publish", "End": true}}}'
    )
    result = call("validate", path)
    assert result.exit_code == 0
    assert f"warning: {path}:2:2: dcf does not call arn:aws:states:::sns:publish." in result.output.replace(
        "\n    ", " "
    )


@rows(
    ("change", "stage"),
    [
        ({"surplus": 1}, "schema"),
        ({"asl": {"StartAt": "A", "States": {"A": LOST}}}, "references"),
        ({"asl": {"StartAt": "B", "States": {"A": TASK}}}, "graph"),
    ],
)
def test_the_first_stage_that_failed_is_named(call: Call, write: Callable[..., Path], change: Any, stage: str) -> None:
    result = call("validate", write(GOOD | change), "--json")
    document = json.loads(result.output)
    assert (result.exit_code, document["ok"], document["stage"]) == (1, False, stage)
    assert document["problems"][0]["line"] >= 1
    assert document.keys() == {
        "file",
        "ok",
        "stage",
        "schema_errors",
        "resolution",
        "graph",
        "warnings",
        "defaulted",
        "problems",
    }


def test_what_is_no_json_is_not_valid(call: Call, write: Callable[..., Path]) -> None:
    assert "line 1 column 2" in call("validate", write("{")).output
    assert call("validate", write("{")).exit_code == 1
    assert json.loads(call("validate", write("{"), "--json").output)["stage"] == "input"
    assert json.loads(call("validate", write("{"), "--json").output)["problems"][0]["line"] is None


def test_imports_may_lie_in_a_directory_that_is_named(
    call: Call, write: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere").mkdir()
    path = write(GOOD, "elsewhere/workflow.json")
    monkeypatch.setenv("DCF_AGENTS_DIR", str(tmp_path / "nowhere"))
    assert call("validate", path).exit_code == 1
    assert call("validate", path, "--imports-dir", tmp_path).exit_code == 0
    monkeypatch.setenv("DCF_AGENTS_DIR", str(tmp_path))
    assert call("validate", path).exit_code == 0


def test_text_from_a_file_cannot_command_the_terminal(call: Call, write: Callable[..., Path]) -> None:
    result = call("validate", write(GOOD | {"\x1b[2J[red]": 1}))
    assert "\x1b" not in result.output
    assert "[red]" in result.output


def test_a_simulation_shows_every_state_and_the_output(call: Call, write: Callable[..., Path]) -> None:
    run_input = write({"n": 1}, "input.json")
    mocks = write({"A": {"output": {"n": 2}}}, "mocks.json")
    result = call("simulate", write(TWO), "--input", run_input, "--mocks", mocks)
    assert result.exit_code == 0
    rows = [line.split() for line in result.output.splitlines()]
    assert rows[1][:5] == ["1", "entered", "A", "Task", "←"]
    assert rows[4][:5] == ["4", "exited", "B", "Wait", "→"]
    assert "✔ SUCCEEDED" in result.output
    assert '"n": 2' in result.output


def test_a_simulation_that_fails_says_why_and_has_exit_code_1(call: Call, write: Callable[..., Path]) -> None:
    mocks = write({"A": [{"error": "Broken", "cause": "by hand"}]}, "mocks.json")
    result = call("simulate", write(TWO), "--mocks", mocks, "--json")
    document = json.loads(result.output)
    assert result.exit_code == 1
    assert (document["status"], document["error"], document["cause"]) == ("FAILED", "Broken", "by hand")
    assert "Broken: by hand" in call("simulate", write(TWO), "--mocks", mocks).output


@rows("mocks", [[], {"A": [7]}, {"A": {"result": 1}}])
def test_mocks_of_the_wrong_form_are_refused(call: Call, write: Callable[..., Path], mocks: Any) -> None:
    path = write(mocks, "mocks.json")
    assert call("simulate", write(TWO), "--mocks", path).exit_code == exit_codes.USAGE
