"""`dcf.testing`: a workflow runs with its functions in a test, in virtual time, and its story can be asserted on."""

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from dcf import testing
from dcf.errors import InvalidArgument, InvalidDefinition
from dcf.testing import NEVER, After
from dcf.worker import TaskContext, TaskFailed, TaskFunction
from tests.support.tables import rows
from tests.support.workflows.scopes import machine, parallel, task

RETRY = {"ErrorEquals": ["Busy"], "IntervalSeconds": 60, "MaxAttempts": 3, "BackoffRate": 2}


def one(**more: Any) -> dict[str, Any]:
    return {"asl": {"StartAt": "A", "States": {"A": {"Type": "Task", "End": True, **more}}}}


class Busy(Exception):
    pass


def busy(times: int) -> TaskFunction:
    calls = []

    def work(document: Any) -> Any:
        calls.append(document)
        if len(calls) <= times:
            raise Busy("try later")
        return len(calls)

    return work


def test_a_retry_with_backoff_passes_in_virtual_time() -> None:
    story = testing.run(one(Retry=[RETRY]), {}, {"A": busy(3)})
    assert (story.status, story.output, story.elapsed) == ("succeeded", 4, 60 + 120 + 240)
    assert (story.state("A").attempts, story.state("A").errors) == (4, ("Busy", "Busy", "Busy"))
    assert (story.state("A").entered_at, story.state("A").left_at) == (0, 420)
    assert [event["event"] for event in story.events] == ["entered", "retried", "retried", "retried", "exited"]


def test_a_failure_that_nothing_catches_ends_the_run_with_the_name_of_its_class() -> None:
    story = testing.run(one(Retry=[RETRY]), {}, {"A": busy(9)})
    assert (story.status, story.error, story.cause) == ("failed", "Busy", "try later")
    assert story.state("A").status == "failed"
    assert str(story) == "failed: Busy: try later after 420 s\nA: failed, attempts 4"


@rows(("named", "status"), [("KeyError", "succeeded"), ("States.TaskFailed", "succeeded"),
                                               ("States.ALL", "succeeded"), ("LookupError", "failed")])  # fmt: skip
def test_a_catch_names_the_class_of_the_exception_or_any_failure(named: str, status: str) -> None:
    flow = one(Catch=[{"ErrorEquals": [named], "Next": "B", "ResultPath": "$.failure"}])
    flow["asl"]["States"]["B"] = {"Type": "Pass", "End": True}

    def work(value: Any) -> Any:
        raise KeyError("price")

    story = testing.run(flow, {}, {"A": work})
    assert story.status == status
    if status == "succeeded":
        assert story.output == {"failure": {"Error": "KeyError", "Cause": "'price'"}}
        assert story.state("A").status == "caught"
        assert story.visited == ["A", "B"]


def test_a_wait_of_a_week_takes_no_time() -> None:
    flow = one()
    flow["asl"]["States"]["A"] = {"Type": "Wait", "Seconds": 7 * 86_400, "End": True}
    assert testing.run(flow, {}, {}).elapsed == 7 * 86_400


EACH = {
    "Each": {
        "Type": "Map",
        "ItemProcessor": {"StartAt": "Score", "States": {"Score": {"Type": "Task", "End": True}}},
        "ToleratedFailureCount": 1,
        "End": True,
    }
}


def test_a_map_and_a_parallel_go_as_in_a_run() -> None:
    flow = {"asl": {"StartAt": "Each", "States": EACH}}
    story = testing.run(flow, [1, 2, 3], {"Score": lambda value: value * 10})
    assert story.output == [10, 20, 30]
    assert [visit.path for visit in story.all("Score")] == ["Each/0/Score", "Each/1/Score", "Each/2/Score"]
    assert story.state("Each/1/Score").output == 20
    both = {"asl": machine({"Both": parallel({"Left": task()}, {"Right": task()})})}
    assert testing.run(both, 7, {"Left": lambda _: "l", "Right": lambda _: "r"}).output == ["l", "r"]


def test_a_function_is_told_which_call_it_is_and_its_key_is_that_of_the_visit() -> None:
    seen: list[TaskContext] = []

    def work(value: int, context: TaskContext) -> int:
        seen.append(context)
        context.heartbeat()
        context.log("looked", n=value)
        if context.attempt == 1:
            raise Busy
        return value + 1

    states: Any = {
        "A": {"Type": "Task", "Retry": [RETRY], "TimeoutSeconds": 100, "Next": "More"},
        "More": {"Type": "Choice", "Choices": [{"Variable": "$", "NumericLessThan": 2, "Next": "A"}], "Default": "End"},
        "End": {"Type": "Succeed"},
    }
    story = testing.run({"asl": {"StartAt": "A", "States": states}}, 0, {"A": work}, workflow_id="orders-1")
    assert [(item.attempt, item.epoch) for item in seen] == [(1, 1), (2, 2), (1, 3), (2, 4)]
    keys = [item.idempotency_key for item in seen]
    assert (keys[0] == keys[1], keys[2] == keys[3], keys[1] == keys[2]) == (True, True, False)
    assert {(item.workflow_id, item.state) for item in seen} == {("orders-1", "A")}
    began = datetime(2026, 1, 1, tzinfo=UTC)
    assert [(item.deadline - began).total_seconds() for item in seen if item.deadline] == [100, 160, 160, 220]
    assert [(line.state, line.message, line.fields["n"]) for line in story.log][:2] == [("A", "looked", 0)] * 2
    assert len(story.all("A")) == 2
    with pytest.raises(InvalidArgument, match="The state 'A' was entered 2 times") as refused:
        story.state("A")
    assert "all" in refused.value.hint


@dataclass
class Order:
    customer: str


def test_async_functions_and_checked_types_are_those_of_a_worker() -> None:
    async def greet(order: Order) -> Any:
        await asyncio.sleep(0)
        return f"Hello, {order.customer}!"

    assert testing.run(one(), {"customer": "Ada"}, {"A": greet}).output == "Hello, Ada!"
    assert testing.run(one(), {}, {"A": greet}).error == "DCF.InvalidInput"


# What no function does


def test_an_answer_stands_in_for_a_person_or_a_function() -> None:
    assert testing.run(one(), {}, {}, answers={"A": {"choice": "approve"}}).output == {"choice": "approve"}
    assert testing.run(one(), 2, {"A": busy(9)}, answers={"A": lambda value: value + 1}).output == 3
    story = testing.run(one(), {}, {}, answers={"A": TaskFailed("Rejected", "too dear")})
    assert (story.error, story.cause) == ("Rejected", "too dear")


def test_an_answer_may_come_later_or_too_late_or_never() -> None:
    limited = one(TimeoutSeconds=3600)
    story = testing.run(limited, {}, {}, answers={"A": After(3599, "just in time")})
    assert (story.output, story.elapsed) == ("just in time", 3599)
    for late in (After(3600, "too late"), NEVER):
        story = testing.run(limited, {}, {}, answers={"A": late})
        assert (story.status, story.error, story.elapsed) == ("failed", "States.Timeout", 3600)
    story = testing.run(one(), {}, {}, answers={"A": After(5, TaskFailed("Rejected", "no"))})
    assert (story.error, story.elapsed) == ("Rejected", 5)


def test_a_task_that_nobody_answers_is_told_by_name() -> None:
    with pytest.raises(InvalidArgument, match="The Task 'A' has neither a function nor an answer"):
        testing.run(one(), {}, {})


def test_a_name_that_no_task_has_is_told_with_the_nearest_one() -> None:
    flow = {"asl": {"StartAt": "Each", "States": EACH}}
    with pytest.raises(InvalidArgument, match="No Task of the workflow has the name 'Scor'") as refused:
        testing.run(flow, [], {"Scor": busy(0)})
    assert refused.value.hint == "Did you mean 'Score'?"
    with pytest.raises(InvalidArgument) as refused:
        testing.run(flow, [], {}, answers={"Approve": 1})
    assert refused.value.hint == "The Tasks are: Score."


def test_a_workflow_may_be_a_document_its_text_or_a_file(tmp_path: Path) -> None:
    (tmp_path / "flow.json").write_text('{"StartAt": "A", "States": {"A": {"Type": "Succeed"}}}')
    assert testing.run(tmp_path / "flow.json", 3, {}).output == 3
    assert testing.run(str(tmp_path / "flow.json"), 3, {}).output == 3
    assert testing.run((tmp_path / "flow.json").read_text(), 3, {}).output == 3
    with pytest.raises(InvalidDefinition):
        testing.run({"StartAt": "B", "States": {}}, 3, {})


@rows(
    ("name", "text", "reason"),
    [
        ("gone.json", None, "There is no file"),
        ("flow.py", "x = 1", "is a file of Python"),
        ("flow.json", "{,}", "is not JSON"),
    ],
)
def test_a_path_that_is_no_document_is_refused_with_the_reason(name: str, text: str | None, reason: str) -> None:
    with TemporaryDirectory() as directory:
        path = Path(directory) / name
        if text is not None:
            path.write_text(text)
        for workflow in (path, str(path)):
            with pytest.raises(InvalidArgument, match=reason):
                testing.run(workflow, 3, {})


def test_a_broken_text_is_refused_with_the_reason() -> None:
    with pytest.raises(InvalidArgument, match="The text is not JSON"):
        testing.run('{"StartAt": ', 3, {})


def test_one_function_can_be_called_with_a_context_of_its_own() -> None:
    context = testing.context("Charge", attempt=2)
    context.heartbeat()
    context.log("nothing happens")
    assert (context.state, context.attempt) == ("Charge", 2)
    assert context.idempotency_key == testing.context("Charge").idempotency_key
    assert context.idempotency_key != testing.context("Charge", visit=1).idempotency_key


SCHEMA = {"type": "object", "required": ["total"], "properties": {"total": {"type": "number"}}}


def test_a_function_whose_output_does_not_match_the_schema_fails_its_task() -> None:
    story = testing.run(one(OutputSchema=SCHEMA), {}, {"A": lambda value: {"total": "7"}})
    assert (story.status, story.error) == ("failed", "DCF.InvalidOutput")
    assert story.cause is not None
    assert '/total: Must be a number, not "7".' in story.cause
    assert testing.run(one(OutputSchema=SCHEMA), {}, {"A": lambda value: {"total": 7}}).status == "succeeded"


def test_an_answer_that_does_not_match_the_schema_is_a_mistake_of_the_test() -> None:
    with pytest.raises(InvalidArgument, match="'A' does not match its OutputSchema: the output: 'total' is missing"):
        testing.run(one(OutputSchema=SCHEMA), {}, answers={"A": {}})


def test_a_function_is_told_what_its_task_says() -> None:
    heard: list[TaskContext] = []

    def work(value: Any, context: TaskContext) -> Any:
        heard.append(context)
        return {"total": 7}

    document = one(Instructions="Price {% $states.input.id %}.", OutputSchema=SCHEMA, Errors=["Late"])
    testing.run(document, {"id": 4}, {"A": work})
    assert (heard[0].instructions, heard[0].output_schema, heard[0].errors) == ("Price 4.", SCHEMA, ("Late",))
