"""What AWS answered, compared with what dcf.asl answers; the origin is told in cases/README.md."""

import json
from pathlib import Path
from typing import Any

import pytest

from dcf.asl.engine import Enter, Failed, Succeeded, complete, start
from dcf.asl.parsing import parse_machine
from dcf.asl.paths import parse_path


def _cases(name: str) -> list[Any]:
    text = (Path(__file__).parent / "cases" / name).read_text(encoding="utf-8")
    found: list[Any] = json.loads(text)
    return found


@pytest.mark.parametrize("case", _cases("choice_rules.json"), ids=lambda case: json.dumps(case["rule"]))
def test_a_choice_rule_decides_as_recorded(case: Any) -> None:
    states = {
        "Choose": {"Type": "Choice", "Choices": [{**case["rule"], "Next": "Yes"}], "Default": "No"},
        "Yes": {"Type": "Succeed"},
        "No": {"Type": "Succeed"},
    }
    machine, problems = parse_machine({"StartAt": "Choose", "States": states})
    assert machine is not None, problems
    outcome = start(machine, case["input"], {}).outcome
    assert outcome == Succeeded(state="Yes" if case["chosen"] else "No", output=case["input"])


@pytest.mark.parametrize("case", _cases("paths.json"), ids=lambda case: case["path"])
def test_a_path_finds_what_was_recorded(case: Any) -> None:
    assert parse_path(case["path"]).read(case["input"], {}) == case["value"]


@pytest.mark.parametrize("case", _cases("runs.json"), ids=lambda case: case["name"])
def test_a_run_ends_as_recorded(case: Any) -> None:
    machine, problems = parse_machine(case["definition"])
    assert machine is not None, problems
    answers = {state: iter(mocks) for state, mocks in case["task_mocks"].items()}
    outcome = start(machine, case["input"], {}).outcome
    while isinstance(outcome, Enter):
        answer = next(answers[outcome.state])
        assert outcome.effective == answer["input"]
        outcome = complete(machine, outcome.state, outcome.raw, answer["output"], {}).outcome
    assert not isinstance(outcome, Failed)
    assert outcome.output == case["expected"]["output"]
