"""Long chains of states that nobody works in: a transaction does a part of one, those that follow do the rest.

Whoever committed goes on at once; should it die, the clock does. What a loop does is of this round, not of an earlier.
"""

from typing import Any

import pytest

from dcf.asl.limits import AT_ONCE
from dcf.core.model import RunStatus, Status
from tests.support import ahead
from tests.support.machines import Document, workflow
from tests.support.scopes import each, parallel, task, when
from tests.support.trouble import dies
from tests.support.world import World

DONE: Document = {"Type": "Succeed"}
ONE_MORE: Document = {"Type": "Pass", "Parameters": {"n.$": "States.MathAdd($.n, 1)"}, "Next": "More"}


def rounds(count: int, after: Document = DONE, *, body: Document | None = None) -> Document:
    """A loop that goes round so often, and what comes after it."""
    first = {"Type": "Pass", "Next": "Add"} if body is None else {**body, "Next": "Add"}
    states = {"Body": first, "Add": ONE_MORE, "More": when("$.n", "Body", "After", NumericLessThan=count)}
    return {**states, "After": after}


def test_a_loop_of_thousands_of_silent_states_is_over_when_the_run_is_created(world: World) -> None:
    run = world.create(workflow(rounds(700)), run_input={"n": 0})

    assert (world.run_status(run), world.meta(run)["output"]) == (RunStatus.SUCCEEDED, {"n": 700})
    history = [event.type for event in world.history_of(run) if event.state == "Add"]
    assert history == ["StateSucceeded"] * 700
    assert ahead.timers(world, run) == {}


def test_a_state_that_one_transaction_leaves_over_looks_like_any_other_after_the_next(world: World) -> None:
    states = rounds((AT_ONCE - 1) // 3, {"Type": "Pass", "Next": "Last"})
    run = world.create(workflow({**states, "Last": {"Type": "Pass", "End": True}}), run_input={"n": 0})

    before, last = world.doc(run, "After"), world.doc(run, "Last")
    assert (last.status, list(last.waits_for), last.kind) == (Status.SUCCEEDED, ["After"], before.kind)
    assert [event.type for event in world.history_of(run) if event.state == "Last"] == ["StateSucceeded"]


def test_a_completion_leases_the_task_behind_a_long_chain_and_says_so_again(world: World) -> None:
    run = world.create(workflow({"First": task("Body"), **rounds(700, task())}), agents={"First": "w", "After": "w"})
    token = world.acquire(run, "First")

    told = world.complete(run, "First", token, {"n": 0}, owner="w", claim_ttl_s=60)

    assert told.next_states == ("After",)
    assert told.claimed is not None
    assert (told.claimed.state, world.given(run, "After")) == ("After", {"n": 700})
    again = world.complete(run, "First", token, {"n": 0}, owner="w", claim_ttl_s=60)
    assert (again.repeated, again.next_states, again.claimed is not None) == (True, ("After",), True)


def test_a_task_behind_a_long_chain_is_announced_once_and_only_when_the_run_is_kicked_off(world: World) -> None:
    run = world.create(workflow(rounds(700, task())), run_input={"n": 0}, agents={"After": "ann"})
    assert (world.doc(run, "After").status, world.owed(run)) == (Status.PENDING, 0)

    world.plane.kick_off(run, "start")

    world.notifications.pulse()
    assert [message["target_state"] for message in world.messages("ann")] == ["After"]


@pytest.mark.parametrize("commit", [1, 2])
def test_where_a_process_dies_in_the_middle_of_a_chain_the_clock_goes_on(timely: World, commit: int) -> None:
    run = timely.create(workflow({"First": task("Body"), **rounds(1_100)}))
    token = timely.acquire(run, "First")

    assert dies(timely, commit, lambda: timely.complete(run, "First", token, {"n": 0}))

    assert timely.run_status(run) is RunStatus.RUNNING
    (left,) = ahead.timers(timely, run)
    assert timely.doc(run, left).status is Status.RUNNING
    ahead.look(timely, run)
    assert (timely.run_status(run), timely.meta(run)["output"]) == (RunStatus.SUCCEEDED, {"n": 1_100})


def test_an_endless_loop_fails_the_run_and_says_why(real: World) -> None:
    run = real.create(workflow(rounds(1_000_000)), run_input={"n": 0})

    meta = real.meta(run)
    assert (meta["status"], meta["error"]) == ("failed", "States.Runtime")
    assert "12500 states in a row" in meta["cause"]
    assert ahead.timers(real, run) == {}


INNER: Document = {"Inner": {"Type": "Pass", "End": True}}
FILTERED: Document = {"Parameters": {"n.$": "$.n"}, "ResultSelector": {"n.$": "$[0].n"}}


@pytest.mark.parametrize(
    "body",
    [
        parallel(INNER, **FILTERED),
        each(INNER, ItemsPath="$.items", ItemSelector={"n.$": "$.n"}, ResultSelector={"n.$": "$[0].n", "items": [1]}),
        {"Type": "Wait", "Seconds": 0},
    ],
    ids=["Parallel", "Map", "Wait"],
)
def test_a_state_that_is_left_over_in_one_round_gets_the_data_of_that_round(world: World, body: Document) -> None:
    ended = {name: value for name, value in body.items() if name != "End"}
    states = rounds(550, body=ended)
    # Six states a round: two transactions end somewhere else, the third before the body.
    states["Add"] = {**ONE_MORE, "Parameters": {**ONE_MORE["Parameters"], "items": [1]}, "Next": "Idle"}
    states |= {"Idle": {"Type": "Pass", "Next": "Idler"}, "Idler": {"Type": "Pass", "Next": "More"}}
    run = world.create(workflow(states), run_input={"n": 0, "items": [1]})

    assert world.meta(run)["output"]["n"] == 550
    added = [event for event in world.history_of(run) if event.state == "Add"]
    assert len(added) == 550, "no round was gone twice"


def test_a_map_of_thousands_of_silent_items_is_joined(real: World) -> None:
    items = list(range(2_500))
    run = real.create(workflow({"Each": each(INNER)}), run_input=items)

    assert (real.run_status(run), real.meta(run)["output"]) == (RunStatus.SUCCEEDED, items)
    assert ahead.timers(real, run) == {}


def test_a_task_that_was_retried_in_one_round_has_the_input_and_the_retries_of_the_next(timely: World) -> None:
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
