"""Whole runs recorded on AWS: the same end, the same states, the same calls."""

import json
import random
from collections import Counter
from typing import Any

from dcf.workflows.simulation import simulate
from tests.support.tables import rows

from .comparison import agrees, errors_agree
from .recordings import cases, known_difference

RUNS = cases("executions")
CONCURRENT = [case for case in RUNS if '"Map"' in json.dumps(case) or '"Parallel"' in json.dumps(case)]


def _context(case: Any) -> dict[str, Any]:
    """The context object as the recording account had it; Express runs and old recordings count no redrives."""
    execution: dict[str, Any] = {
        "Id": f"arn:aws:states:us-east-1:111111111111:{'express' if case['type'] == 'EXPRESS' else 'execution'}:m:r:x",
        "Input": case["input"],
        "Name": "run",
        "RoleArn": "snf_role_arn",
        "StartTime": "2026-01-01T00:00:00.000Z",
    }
    if "RedriveCount" in json.dumps(case["expected"]):
        execution["RedriveCount"] = 0
    machine = {"Id": "arn:aws:states:us-east-1:111111111111:stateMachine:m", "Name": "m"}
    return {"Execution": execution, "StateMachine": machine}


def _simulated(case: Any, schedule: random.Random | None = None) -> dict[str, Any]:
    mocks, context = case["task_mocks"], _context(case)
    return simulate(case["definition"], case["input"], mocks, schedule=schedule, context=context)


def _ends_alike(expected: Any, answer: Any) -> bool:
    if expected["status"] != answer["status"]:
        return False
    if expected["status"] == "SUCCEEDED":
        return agrees(expected["output"], answer["output"])
    return errors_agree(expected.get("error"), answer["error"])


@rows("case", RUNS, ids=lambda case: f"{case['id']} {case['name']}")
def test_a_run_ends_as_recorded(case: Any) -> None:
    answer = _simulated(case)
    known = known_difference("executions", case["id"])
    assert _ends_alike(case["expected"], answer) is (known is None), (case["expected"], answer)


@rows("case", [case for case in RUNS if "task_calls" in case], ids=lambda case: case["id"])
def test_the_tasks_are_called_as_recorded(case: Any) -> None:
    calls = [(call["state"], call["input"]) for call in _simulated(case)["task_calls"]]
    recorded = [(call["state"], call["parameters"]) for call in case["task_calls"]]
    assert agrees([list(call) for call in recorded], [list(call) for call in calls])


@rows("case", [case for case in RUNS if "trace" in case], ids=lambda case: case["id"])
def test_the_states_are_entered_and_left_as_recorded(case: Any) -> None:
    # AWS keeps the history of a distributed Map's iterations apart.
    recorded_states = {event["state"] for event in case["trace"]}
    events = [event for event in _simulated(case)["trace"] if event["event"] in ("entered", "exited")]
    events = [event for event in events if "DISTRIBUTED" not in json.dumps(case) or event["state"] in recorded_states]
    assert Counter(map(_moment, events)) == Counter(map(_moment, case["trace"]))
    for event in case["trace"]:
        twin = next((item for item in events if _moment(item) == _moment(event) and _data_agrees(event, item)), None)
        assert twin is not None, event
        events.remove(twin)


def _moment(event: Any) -> tuple[str, str]:
    return event["event"], event["state"]


def _data_agrees(recorded: Any, details: Any) -> bool:
    return all(agrees(recorded[name], details.get(name)) for name in ("input", "output") if name in recorded)


@rows("case", CONCURRENT, ids=lambda case: case["id"])
def test_no_schedule_changes_how_a_run_ends(case: Any) -> None:
    if known_difference("executions", case["id"]) is None:
        for seed in range(15):
            answer = _simulated(case, random.Random(seed))
            assert _ends_alike(case["expected"], answer), (seed, answer)
