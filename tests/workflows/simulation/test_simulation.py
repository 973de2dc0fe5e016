"""Whole runs with mocked tasks in virtual time: timeouts, tolerance, readers, schedules."""

import random
from typing import Any

import pytest

from dcf.asl.pausing import AT_ONCE
from dcf.errors import InvalidArgument, InvalidDefinition
from dcf.workflows.simulation import simulate
from tests.support.tables import rows

END = {"Type": "Succeed"}


def _run(states: dict[str, Any], document: Any = None, mocks: Any = None, **more: Any) -> dict[str, Any]:
    head = more.pop("head", {})
    definition = {"StartAt": next(iter(states)), "States": states, **head}
    return simulate(definition, {} if document is None else document, mocks or {}, **more)


def test_a_workflow_document_is_run_by_its_asl() -> None:
    states = {"A": {"Type": "Task", "AgentBinding": {"skills": []}, "End": True}}
    document = {"workflow_id": "w", "asl": {"StartAt": "A", "States": states}}
    answer = simulate(document, {"x": 1}, {"A": [{"output": 5}]})
    assert (answer["status"], answer["output"]) == ("SUCCEEDED", 5)
    assert answer["task_calls"] == [{"state": "A", "path": "A", "input": {"x": 1}}]


def test_a_wrong_definition_is_refused() -> None:
    with pytest.raises(InvalidDefinition):
        simulate({}, {})


def test_the_run_has_a_time_limit_that_nothing_catches() -> None:
    catch = [{"ErrorEquals": ["States.ALL"], "Next": "E"}]
    states = {"T": {"Type": "Task", "Catch": catch, "TimeoutSeconds": 20, "Next": "E"}, "E": END}
    assert _run(states, mocks={"T": [{"never": True}]}, head={"TimeoutSeconds": 10})["status"] == "TIMED_OUT"
    assert _run(states, mocks={"T": [{"never": True}]}, head={"TimeoutSeconds": 30})["status"] == "SUCCEEDED"
    assert (
        _run({"W": {"Type": "Wait", "Seconds": 11, "Next": "E"}, "E": END}, head={"TimeoutSeconds": 10})["error"]
        == "States.Timeout"
    )


def test_a_task_that_expires_does_not_hold_up_its_neighbours() -> None:
    def branch(name: str, **more: Any) -> dict[str, Any]:
        return {"StartAt": name, "States": {name: {"Type": "Task", "End": True, **more}}}

    branches = [branch("A", TimeoutSeconds=100), branch("B", TimeoutSeconds=5)]
    answer = _run(
        {"P": {"Type": "Parallel", "Branches": branches, "End": True}},
        mocks={"A": [{"timed_out": True, "cause": "A"}], "B": [{"timed_out": True, "cause": "B"}]},
    )
    assert (answer["status"], answer["error"], answer["cause"]) == ("FAILED", "States.Timeout", "B")


TOLERANT = {
    "Type": "Map",
    "ToleratedFailurePercentage": 50,
    "ItemProcessor": {"StartAt": "I", "States": {"I": {"Type": "Task", "End": True}}},
    "End": True,
}


@rows("concurrency", [0, 1, 2])
@rows("silent", [False, True])
def test_failures_are_tolerated_up_to_the_share(concurrency: int, silent: bool) -> None:
    rule = {"Variable": "$", "NumericLessThan": 0, "Next": "F"}
    choice = {
        "I": {"Type": "Choice", "Choices": [rule], "Default": "O"},
        "F": {"Type": "Fail", "Error": "X"},
        "O": END,
    }
    processor = {"StartAt": "I", "States": choice} if silent else TOLERANT["ItemProcessor"]
    mocks: list[dict[str, Any]] = [{"input": item, "error": "X"} for item in (-1, -2, -3)]
    mocks += [{"input": item, "output": item} for item in (1, 2)]
    state = {"M": {**TOLERANT, "MaxConcurrency": concurrency, "ItemProcessor": processor}}
    for seed in range(8):
        chance = random.Random(seed)
        bearable = _run(state, [-1, 1, -2, 2], {"I": mocks}, schedule=chance)
        assert (bearable["status"], bearable["output"]) == ("SUCCEEDED", [1, 2])
        assert _run(state, [-1, 1, -2, -3], {"I": mocks}, schedule=chance)["error"] == "X"


def test_a_map_of_many_items_that_all_fail_is_followed_without_recursion() -> None:
    failing = {"F": {"Type": "Fail", "Error": "X"}}
    processor = {"StartAt": "F", "States": failing}
    state = {**TOLERANT, "ToleratedFailurePercentage": 100, "MaxConcurrency": 1, "ItemProcessor": processor}
    answer = _run({"M": state}, list(range(2_000)))
    assert (answer["status"], answer["output"]) == ("SUCCEEDED", [])


@rows(
    ("config", "text", "items"),
    [
        ({"InputType": "JSON"}, '[{"a": 1}, 2]', [{"a": 1}, 2]),
        ({"InputType": "JSONL", "MaxItems": 2}, "1\n2\n\n3\n", [1, 2]),
        (
            {"InputType": "CSV", "CSVHeaderLocation": "FIRST_ROW"},
            "a,b\n1\n2,3,4\n",
            [{"a": "1", "b": ""}, {"a": "2", "b": "3"}],
        ),
        (
            {"InputType": "CSV", "CSVHeaderLocation": "GIVEN", "CSVHeaders": ["a"], "CSVDelimiter": "PIPE"},
            '"x|y"|z\n',
            [{"a": "x|y"}],
        ),
        ({"InputType": "CSV", "CSVHeaderLocation": "FIRST_ROW"}, "a,a\n1,2\n", None),
        ({"InputType": "JSON"}, "7", None),
        ({"InputType": "JSON"}, "[", None),
        ({"InputType": "JSON"}, None, None),
    ],
)
def test_items_are_read_from_files(config: Any, text: str | None, items: Any) -> None:
    state = {
        "Type": "Map",
        "ItemReader": {"Resource": "s3", "Parameters": {"Bucket": "b", "Key": "k"}, "ReaderConfig": config},
        "ItemProcessor": {
            "ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"},
            "StartAt": "I",
            "States": {"I": {"Type": "Pass", "End": True}},
        },
        "End": True,
    }
    answer = _run({"M": state}, files={} if text is None else {"b/k": text})
    if items is None:
        assert answer["error"] == "States.ItemReaderFailed"
    else:
        assert answer["output"] == items


@rows("seed", range(4))
def test_a_map_whose_last_item_is_one_failure_too_many_is_not_joined(seed: int) -> None:
    choice = {"Variable": "$", "BooleanEquals": True, "Next": "Bad"}
    processor = {
        "ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"},
        "StartAt": "Which",
        "States": {
            "Which": {"Type": "Choice", "Choices": [choice], "Default": "Good"},
            "Bad": {"Type": "Fail"},
            "Good": {"Type": "Task", "End": True},
        },
    }
    state = {"Type": "Map", "ToleratedFailureCount": 1, "MaxConcurrency": 1, "ItemProcessor": processor, "End": True}
    answer = _run({"M": state}, [True, False, True], schedule=random.Random(seed))
    assert (answer["status"], answer["error"]) == ("FAILED", "States.ExceedToleratedFailureThreshold")
    borne = _run({"M": state}, [True, False, False])
    assert borne["output"] == [False, False]
    entered = [event["path"] for event in borne["trace"] if event["event"] == "entered"]
    assert len(entered) == len(set(entered))


def test_items_of_a_map_that_its_neighbour_cancelled_are_not_read() -> None:
    processor = {
        "ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"},
        "StartAt": "I",
        "States": {"I": {"Type": "Pass", "End": True}},
    }
    reader = {"Resource": "s3", "Parameters": {"Key": "k"}, "ReaderConfig": {"InputType": "JSON"}}
    branches = [
        {
            "StartAt": "M",
            "States": {"M": {"Type": "Map", "ItemProcessor": processor, "ItemReader": reader, "End": True}},
        },
        {"StartAt": "F", "States": {"F": {"Type": "Fail", "Error": "X"}}},
    ]
    catch = [{"ErrorEquals": ["X"], "Next": "T"}]
    states = {
        "P": {"Type": "Parallel", "Branches": branches, "Catch": catch, "End": True},
        "T": {"Type": "Task", "End": True},
    }
    assert _run(states, files={"k": "[1]"})["output"] == {"Error": "X", "Cause": None}


def test_how_many_items_are_read_and_batched_may_be_the_text_of_a_number() -> None:
    processor = {
        "ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"},
        "StartAt": "I",
        "States": {"I": {"Type": "Pass", "End": True}},
    }
    config = {"InputType": "JSON", "MaxItemsPath": "$.read"}
    state = {
        "Type": "Map",
        "ItemReader": {"Resource": "s3", "Parameters": {"Key": "k"}, "ReaderConfig": config},
        "ItemBatcher": {"MaxItemsPerBatchPath": "$.batch"},
        "MaxConcurrencyPath": "$.batch",
        "ItemProcessor": processor,
        "End": True,
    }
    answer = _run({"M": state}, {"read": "5", "batch": "2"}, files={"k": "[1, 2, 3, 4, 5, 6]"})
    assert answer["output"] == [{"Items": [1, 2]}, {"Items": [3, 4]}, {"Items": [5]}]


@rows("kind", ["Task", "Parallel", "Map"])
def test_a_state_that_is_tried_again_is_entered_once(kind: str) -> None:
    inner = {"StartAt": "I", "States": {"I": {"Type": "Task", "End": True}}}
    bodies: dict[str, Any] = {"Task": {}, "Parallel": {"Branches": [inner]}, "Map": {"ItemProcessor": inner}}
    state = {"Type": kind, **bodies[kind], "Retry": [{"ErrorEquals": ["States.ALL"]}], "End": True}
    broken = [{"error": "X"}] * 2
    answer = _run({"S": state}, [1], {"S": broken, "I": broken})
    events = [event["event"] for event in answer["trace"] if event["state"] == "S"]
    assert (answer["status"], events) == ("SUCCEEDED", ["entered", "retried", "retried", "exited"])


def test_a_scope_that_is_tried_again_is_entered_once_although_a_pause_came_before_it() -> None:
    states: dict[str, Any] = {f"P{at}": {"Type": "Pass", "Next": f"P{at + 1}"} for at in range(AT_ONCE)}
    inner = {"StartAt": "I", "States": {"I": {"Type": "Task", "End": True}}}
    retry = [{"ErrorEquals": ["States.ALL"]}]
    states[f"P{AT_ONCE}"] = {"Type": "Parallel", "Branches": [inner], "Retry": retry, "End": True}
    answer = _run(states, mocks={"I": [{"error": "X"}]})
    events = [event["event"] for event in answer["trace"] if event["type"] == "Parallel"]
    assert (answer["status"], events) == ("SUCCEEDED", ["entered", "retried", "exited"])


def test_a_failure_without_a_name_or_a_cause_has_neither() -> None:
    catch = [{"ErrorEquals": ["States.TaskFailed"], "Next": "E"}]
    failed = _run({"T": {"Type": "Task", "End": True}}, mocks={"T": {"error": None}})
    assert (failed["status"], failed["error"], failed["cause"]) == ("FAILED", None, None)
    caught = _run({"T": {"Type": "Task", "Catch": catch, "End": True}, "E": END}, mocks={"T": {"error": None}})
    assert caught["output"] == {"Error": None, "Cause": None}


@rows(
    ("limits", "caught"),
    [
        ({"TimeoutSeconds": 5}, "States.Timeout"),
        ({"HeartbeatSeconds": 5}, "States.HeartbeatTimeout"),
        ({"TimeoutSeconds": 9, "HeartbeatSeconds": 5}, "States.HeartbeatTimeout"),
        ({}, "States.Timeout"),
    ],
)
def test_a_task_that_never_answers_times_out_in_the_way_its_limits_say(limits: dict[str, Any], caught: str) -> None:
    catch = [{"ErrorEquals": [caught], "Next": "E"}]
    states = {"T": {"Type": "Task", **limits, "Catch": catch, "End": True}, "E": END}
    head = {"TimeoutSeconds": 6} if limits else {}
    answer = _run(states, mocks={"T": {"never": True}}, head=head)
    assert answer["output"] == {"Error": "States.Timeout", "Cause": None}


def test_the_timeout_of_a_task_comes_before_the_heartbeat_of_the_same_length() -> None:
    catch = [{"ErrorEquals": ["States.HeartbeatTimeout"], "Next": "E"}]
    limits = {"TimeoutSecondsPath": "$.five", "HeartbeatSecondsPath": "$.five"}
    states = {"T": {"Type": "Task", **limits, "Catch": catch, "End": True}, "E": END}
    assert _run(states, {"five": 5}, {"T": {"never": True}})["status"] == "FAILED"


def test_an_output_that_is_given_for_a_task_must_match_its_schema() -> None:
    schema = {"type": "object", "required": ["total"]}
    machine = {"StartAt": "A", "States": {"A": {"Type": "Task", "OutputSchema": schema, "End": True}}}
    assert simulate(machine, {}, {"A": {"output": {"total": 1}}})["output"] == {"total": 1}
    with pytest.raises(InvalidArgument, match="'A' does not match its OutputSchema: the output: 'total' is missing"):
        simulate(machine, {}, {"A": {"output": {}}})
    assert simulate(machine, {"given": 1})["output"] == {"given": 1}, "a Task without an answer passes its input on"


def test_what_a_task_tells_its_worker_changes_nothing_of_how_a_machine_runs() -> None:
    details = {"Instructions": "{% $states.input %}", "OutputSchema": True, "Errors": ["Late"], "Skills": ["skill://a"]}
    rule = [{"ErrorEquals": ["Late"], "IntervalSeconds": 1}]
    task = {"Type": "Task", "Parameters": {"a.$": "$.n"}, "ResultPath": "$.got", "Retry": rule, "End": True}
    inner = {"StartAt": "B", "States": {"B": task}}
    mocks: Any = {"B": [{"error": "Late"}, {"output": 1}, {"output": 2}]}
    plain, own = (
        simulate(
            {"StartAt": "A", "States": {"A": {"Type": "Map", "ItemProcessor": item_processor, "End": True}}},
            [{"n": 1}],
            mocks,
        )
        for item_processor in (inner, {"StartAt": "B", "States": {"B": task | details}})
    )
    assert plain == own
