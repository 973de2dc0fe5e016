"""A round of a loop has its own data: it takes no input, retry count or item of an earlier visit."""

from typing import Any

from dcf.core.documents.model import RunStatus
from tests.support import ahead
from tests.support.workflows.machines import Document, workflow
from tests.support.workflows.scopes import task, when
from tests.support.world import World

DONE: Document = {"Type": "Succeed"}
INNER: Document = {"Inner": {"Type": "Pass", "End": True}}


def test_a_task_that_was_retried_in_one_round_has_all_retries_in_the_next(timely: World) -> None:
    retry: list[Any] = [{"ErrorEquals": ["Busy"], "IntervalSeconds": 1, "MaxAttempts": 1}]
    again = when("$.over", "Done", "Work", IsPresent=True)
    states: Document = {
        "Work": task("Check", ResultPath="$.did", Retry=retry),
        "Check": task("Again"),
        "Again": again,
        "Done": DONE,
    }
    run = timely.create(workflow(states), run_input={"round": 1})
    for number in (1, 2):
        timely.fail(run, "Work", timely.acquire(run, "Work"), "Busy")
        assert timely.run_status(run) is RunStatus.RUNNING, "each round may try again once"
        ahead.let_pass(timely, 5)
        timely.do(run, "Work", output=number)
        assert timely.given(run, "Check") == {"round": number, "did": number}
        timely.do(run, "Check", output={"round": number + 1})

    retried = [event.data["retry"] for event in timely.history_of(run) if event.type == "StateRetried"]
    assert retried == [1, 1]


def test_a_map_that_reads_its_items_in_a_loop_reads_them_for_this_round(timely: World) -> None:
    reader = {"Resource": "s3", "Parameters": {"Key.$": "$.key"}, "ReaderConfig": {"InputType": "JSON"}}
    mode = {"ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"}}
    processor = {**mode, "StartAt": "Inner", "States": INNER}
    read = {"Type": "Map", "InputPath": "$.about", "ItemReader": reader, "ItemProcessor": processor, "Next": "Check"}
    states: Document = {
        "Read": read,
        "Check": task("Again"),
        "Again": when("$.over", "Done", "Read", IsPresent=True),
        "Done": DONE,
    }
    assert timely.items is not None
    timely.items.texts = {"one": "[1]", "two": "[2]"}
    run = timely.create(workflow(states), run_input={"about": {"key": "one"}})
    assert timely.given(run, "Check") == [1]

    timely.do(run, "Check", output={"about": {"key": "two"}})

    assert timely.given(run, "Check") == [2]
