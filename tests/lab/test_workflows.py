"""The lab's own expectation of its workflows is that of dcf's simulation, which shares no code with it."""

import json
from typing import Any

import dcf
from lab.expectation import answer_of
from lab.workflows import Workflow, draw
from tests.support.tables import rows

ENOUGH = 20
"""More often than any workflow of the lab calls one Task with the same input."""


def mocks_of(workflow: Workflow) -> dict[str, list[dict[str, Any]]]:
    """The answers of the lab's workers, for every input that they may see."""
    mocks: dict[str, list[dict[str, Any]]] = {}
    for path, inputs in workflow.expected.inputs.items():
        name = path.rpartition("/")[2]
        for value in inputs:
            kind, answer = answer_of(name, value)
            details = {
                "ok": {"output": answer},
                "error": {"error": answer, "cause": "as drawn"},
                "never": {"never": True},
            }
            mocks.setdefault(name, []).extend([{"input": value, **details[kind]}] * ENOUGH)
    for name, outside in workflow.expected.outside.items():
        for value, result in outside:
            # A child run answers with its output, which the simulation puts into what the Task gets.
            output = result["Output"] if result and name.startswith("Child") else result
            comes: dict[str, Any] = {"never": True} if output is None else {"output": output}
            mocks.setdefault(name, []).extend([{"input": value, **comes}] * ENOUGH)
    for path, descriptions in workflow.expected.asked.items():
        name = path.rpartition("/")[2]
        for description in descriptions:
            answer = {"choice": "approve", "answer": answer_of(name, description["details"])[1]}
            mocks.setdefault(name, []).extend([{"input": description, "output": answer}] * ENOUGH)
    return mocks


@rows("first", range(0, 300, 50))
def test_what_is_expected_of_a_workflow_is_what_the_simulation_says(first: int) -> None:
    for seed in range(first, first + 50):
        workflow = draw(seed)
        simulate = dcf.simulate(workflow.definition["asl"], workflow.run_input, mocks_of(workflow))
        expected = workflow.expected
        assert simulate["status"].lower() == expected.status, seed
        assert simulate.get("output") == expected.output, seed
        assert simulate.get("error") == expected.error, seed


def test_a_seed_gives_the_same_workflow_again() -> None:
    assert json.dumps(draw(7).definition) == json.dumps(draw(7).definition)
    assert draw(7).expected == draw(7).expected


def test_workflows_of_many_seeds_have_every_kind_of_state() -> None:
    drawn = json.dumps([draw(seed).definition for seed in range(100)])
    kinds = ("Task", "Pass", "Choice", "Wait", "Fail", "Parallel", "Map")
    assert all(f'"Type": "{kind}"' in drawn for kind in kinds)
    assert all(f'"{field}"' in drawn for field in ("Retry", "Catch", "TimeoutSeconds", "HeartbeatSeconds"))
