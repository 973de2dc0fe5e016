"""Long chains of states without workers continue in further transactions, by the timer loop too, to a clear end."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from dcf.asl.pausing import AT_ONCE
from dcf.core.documents.answers import NothingReady
from dcf.core.documents.decision import ReadSet
from dcf.core.documents.model import RunStatus, Status
from dcf.workflows.simulation import simulate
from tests.support import ahead
from tests.support.tables import rows
from tests.support.trouble import dies
from tests.support.workflows.machines import Document, workflow
from tests.support.workflows.scopes import END, each, parallel, task, when
from tests.support.world import World

ROUNDS = 600
TOO_MANY = 30_000


def counting(following: str, body: Document | None = None) -> Document:
    """A loop that adds one to `n`, goes through `body`, and ends when `n` is `until`."""
    more = body or {}
    names = [*more, "Enough"]
    inner = {name: state | {"Next": after} for (name, state), after in zip(more.items(), names[1:], strict=True)}
    added = {"n.$": "States.MathAdd($.n, 1)", "until.$": "$.until"}
    return {
        "Add": {"Type": "Pass", "Parameters": added, "Next": names[0]},
        **inner,
        "Enough": when("$.n", "Add", following, NumericLessThanPath="$.until"),
    }


def passing(length: int, following: str) -> Document:
    """A number of Pass states in a row."""
    names = [f"P{number}" for number in range(length)]
    return {name: {"Type": "Pass", "Next": after} for name, after in pairwise([*names, following])}


def from_zero(rounds: int = ROUNDS) -> Document:
    return {"n": 0, "until": rounds}


ALONE = workflow(counting("Done") | {"Done": END})
BETWEEN = workflow({"First": task("Add"), **counting("After"), "After": task()})
IN_EACH = workflow({"Each": each(counting("Done") | {"Done": END}, "After"), "After": task()})
IN_A_BRANCH = workflow(
    {
        "Both": parallel(counting("Done") | {"Done": END}, {"Work": task()}, following="After"),
        "After": task(),
    }
)


def ended(world: World, run: str) -> tuple[str, Any, Any, Any]:
    meta = world.meta(run)
    return meta["status"].upper(), meta.get("output"), meta.get("error"), meta.get("cause")


def simulated(document: Document, run_input: Any) -> tuple[str, Any, Any, Any]:
    result = simulate(document, run_input)
    return result["status"], result.get("output"), result.get("error"), result.get("cause")


def look_until(world: World, run: str, so: Callable[[], bool]) -> None:
    for _ in range(10):
        if so():
            return
        ahead.look(world, run)
    raise AssertionError(f"not so although the clock looked; listed: {ahead.timers(world, run)}")


def is_ready(world: World, run: str, state: str) -> bool:
    doc = world.known(run, state).get(state)
    return doc is not None and doc.status is Status.PENDING and doc.is_ready and doc.kind is None


def test_a_loop_of_any_length_below_the_limit_ends_well_in_a_run_as_in_a_simulation(timely: World) -> None:
    run = timely.create(ALONE, run_input=from_zero())

    assert ended(timely, run) == ("SUCCEEDED", {"n": ROUNDS, "until": ROUNDS}, None, None)
    assert ended(timely, run) == simulated(ALONE, from_zero())
    states = [event.state for event in timely.history_of(run) if event.type == "StateSucceeded"]
    assert len(states) == 2 * ROUNDS + 1
    assert ahead.timers(timely, run) == {}


def test_a_loop_without_end_fails_with_what_the_limit_is(real: World) -> None:
    run = real.create(ALONE, run_input=from_zero(TOO_MANY))

    status, _, error, cause = ended(real, run)
    assert (status, error) == ("FAILED", "States.Runtime")
    assert "25000 events" in cause
    assert ended(real, run) == simulated(ALONE, from_zero(TOO_MANY))


@rows("empty", ["a Map of nothing", "a Parallel of nothing to wait for", "a Wait of no time"])
def test_a_loop_through_what_is_over_at_once_ends_too(real: World, empty: str) -> None:
    nothing = {"Nothing": {"Type": "Pass", "End": True}}
    body = {
        "a Map of nothing": each(nothing, ItemsPath="$.none", ResultPath=None),
        "a Parallel of nothing to wait for": parallel(nothing, ResultPath=None),
        "a Wait of no time": {"Type": "Wait", "Seconds": 0},
    }[empty]
    body.pop("End", None)
    again = when("$.stop", "Done", "Over", IsPresent=True)
    document = workflow({"Over": body | {"Next": "Again"}, "Again": again, "Done": END})

    run = real.create(document, run_input={"none": []})

    status, _, error, cause = ended(real, run)
    assert (status, error, "25000 events" in cause) == ("FAILED", "States.Runtime", True)


def test_what_is_tried_again_is_counted_even_where_the_failure_is_caught(real: World) -> None:
    catch = [{"ErrorEquals": ["States.Runtime", "States.ParameterPathFailure"], "Next": "Work"}]
    caught = task(Catch=catch, Parameters={"a.$": "$.nothing.there"})

    run = real.create(workflow({"Work": caught}))

    assert ended(real, run)[2] == "States.Runtime"


def test_a_task_or_a_wait_among_them_begins_the_count_anew(timely: World) -> None:
    rest: Document = {"Type": "Wait", "Seconds": 5, "Next": "P0"}
    states = {"Add": {"Type": "Pass", "Next": "Rest"}, "Rest": rest, **passing(9, "After"), "After": task()}
    run = timely.create(workflow(states))
    ahead.look(timely, run)

    (entry,) = timely.store.read(run, ReadSet(entries=("After",))).entries.values()
    assert entry.silent == 0


def test_the_completion_that_leads_into_a_chain_is_told_what_comes_after_it(timely: World) -> None:
    run = timely.create(BETWEEN)
    token = timely.acquire(run, "First")

    answers = [timely.complete(run, "First", token, from_zero()) for _ in range(2)]

    assert [(answer.next_states, answer.repeated) for answer in answers] == [(("After",), False), (("After",), True)]
    assert timely.given(run, "After") == {"n": ROUNDS, "until": ROUNDS}
    assert [event.type for event in timely.history_of(run) if event.state == "After"] == ["StateEntered"]


def test_the_completion_that_leads_into_a_chain_can_lease_what_comes_after_it(timely: World) -> None:
    run = timely.create(BETWEEN)
    token = timely.acquire(run, "First")

    first, again = (timely.complete(run, "First", token, from_zero(), claim_ttl_s=60) for _ in range(2))

    assert first.claimed is not None
    assert again.claimed is not None
    assert (first.claimed.state, first.claimed.given) == ("After", {"n": ROUNDS, "until": ROUNDS})
    assert again.claimed.doc.lease.token == first.claimed.doc.lease.token


def test_a_chain_that_ends_the_run_says_so_to_the_completion_and_its_repetition(timely: World) -> None:
    run = timely.create(workflow({"First": task("Add"), **counting("Done"), "Done": END}))
    token = timely.acquire(run, "First")

    answers = [timely.complete(run, "First", token, from_zero()) for _ in range(2)]

    assert [answer.run_status for answer in answers] == [RunStatus.SUCCEEDED] * 2


@rows("number", [1, 2])
def test_the_clock_goes_on_with_a_chain_whose_process_died_between_two_transactions(timely: World, number: int) -> None:
    run = timely.create(BETWEEN)
    timely.plane.kick_off(run, "initial")
    token = timely.acquire(run, "First")

    assert dies(timely, number, lambda: timely.complete(run, "First", token, from_zero()))

    assert not is_ready(timely, run, "After")
    assert timely.complete(run, "First", token, from_zero()).repeated
    look_until(timely, run, lambda: is_ready(timely, run, "After"))
    assert timely.given(run, "After") == {"n": ROUNDS, "until": ROUNDS}
    assert timely.owed(run) > 0


@pytest.mark.parametrize("number", [1, 2])
def test_whoever_creates_a_run_may_die_within_its_first_chain(timely: World, number: int) -> None:
    wish = timely.wish(workflow({**counting("After"), "After": task()}), run_input=from_zero(), agents={"After": "ann"})
    run = wish.workflow_id

    assert dies(timely, number, lambda: timely.plane.create(wish))
    look_until(timely, run, lambda: is_ready(timely, run, "After"))

    assert timely.owed(run) == 0
    timely.plane.kick_off(run, "initial")
    timely.notifications.deliver(run)
    assert [event["target_state"] for event in timely.messages("ann")] == ["After"]


def test_nobody_is_told_of_what_a_chain_led_to_before_the_run_was_kicked_off(timely: World) -> None:
    run = timely.create(workflow({**counting("After"), "After": task()}), run_input=from_zero())

    assert is_ready(timely, run, "After")
    assert timely.owed(run) == 0
    timely.plane.kick_off(run, "initial")
    assert timely.owed(run) == 1


def test_nobody_can_lease_a_state_before_which_a_chain_paused(timely: World) -> None:
    run = timely.create(BETWEEN)
    token = timely.acquire(run, "First")
    dies(timely, 1, lambda: timely.complete(run, "First", token, from_zero()))
    (paused,) = ahead.timers(timely, run)

    assert timely.doc(run, paused).kind == "Pass"
    assert getattr(timely.try_acquire(run, paused), "code", None) == "not_ready"
    assert isinstance(timely.claim(run, "ann"), NothingReady)


def test_chains_go_on_inside_every_iteration_of_a_map(timely: World) -> None:
    run = timely.create(IN_EACH, run_input=[from_zero(rounds) for rounds in (300, 1, 400)])

    timely.do(run, "After", output=timely.given(run, "After"))

    assert ended(timely, run) == simulated(IN_EACH, [from_zero(rounds) for rounds in (300, 1, 400)])
    assert [result["n"] for result in timely.meta(run)["output"]] == [300, 1, 400]


@rows("number", range(1, 5))
def test_the_clock_goes_on_with_chains_inside_a_map_whose_process_died(timely: World, number: int) -> None:
    wish = timely.wish(IN_EACH, run_input=[from_zero(rounds) for rounds in (300, 1, 400)])

    assert dies(timely, number, lambda: timely.plane.create(wish))
    look_until(timely, wish.workflow_id, lambda: is_ready(timely, wish.workflow_id, "After"))

    assert [result["n"] for result in timely.given(wish.workflow_id, "After")] == [300, 1, 400]


@rows("most", [0, 1, 7])
def test_a_map_of_many_items_on_which_nobody_works_is_done_bit_by_bit(real: World, most: int) -> None:
    twice = {"One": {"Type": "Pass", "Next": "Two"}, "Two": {"Type": "Pass", "End": True}}
    document = workflow({"Each": each(twice, MaxConcurrency=most)})
    items = list(range(3 * AT_ONCE))

    run = real.create(document, run_input=items)

    assert ended(real, run) == ("SUCCEEDED", items, None, None)
    assert ended(real, run) == simulated(document, items)


def test_maps_inside_a_map_are_entered_bit_by_bit_as_well(real: World) -> None:
    inner = each({"One": {"Type": "Pass", "End": True}})
    document = workflow({"Rows": each({"Row": inner})})
    rows = [list(range(30)) for _ in range(50)]

    run = real.create(document, run_input=rows)

    assert ended(real, run) == ("SUCCEEDED", rows, None, None)
    assert ended(real, run) == simulated(document, rows)


def test_failures_that_a_map_bears_are_counted_over_all_transactions(real: World) -> None:
    states = {"Odd": when("$.odd", "Bad", "Good", BooleanEquals=True), "Bad": {"Type": "Fail"}, "Good": END}
    document = workflow({"Each": each(states, ToleratedFailureCount=AT_ONCE)})
    items = [{"odd": bool(number % 2)} for number in range(2 * AT_ONCE)]
    for more in ([], [{"odd": True}]):
        run = real.create(document, run_input=items + more)

        assert ended(real, run)[0] == ("FAILED" if more else "SUCCEEDED")
        assert ended(real, run)[:2] == simulated(document, items + more)[:2]


def test_a_chain_in_a_branch_is_void_when_another_branch_fails(real: World) -> None:
    run = real.create(IN_A_BRANCH, run_input=from_zero(TOO_MANY // 10))
    token = real.acquire(run, "Both/1/Work")
    real.fail(run, "Both/1/Work", token)

    assert ended(real, run)[:3] == ("FAILED", None, "Broken")
    assert ahead.timers(real, run) == {}


def test_a_branch_that_fails_at_once_takes_back_the_pause_of_its_neighbour(timely: World) -> None:
    failing = {"Bad": {"Type": "Fail", "Error": "Bad"}}
    document = workflow({"Both": parallel(counting("Done") | {"Done": END}, failing)})
    run = timely.create(document, run_input=from_zero())

    assert ended(timely, run)[:3] == ("FAILED", None, "Bad")
    assert ahead.timers(timely, run) == {}
    assert all(doc.status.is_terminal for doc in timely.every_doc(run).values())


ENDING = [{"ErrorEquals": ["States.ALL"], "Next": "Done"}]

BODY: Document = {
    "Rest": {"Type": "Wait", "Seconds": 0},
    "Both": {"Type": "Parallel", "Branches": [{"StartAt": "L", "States": {"L": END}}], "ResultPath": None},
    "None": {
        "Type": "Map",
        "ItemsPath": "$.none",
        "ItemProcessor": {"StartAt": "I", "States": {"I": END}},
        "ResultPath": None,
    },
}


@rows("before", range(7))
def test_a_chain_may_pause_before_a_state_of_any_type(timely: World, before: int) -> None:
    loop = counting("Last", BODY)
    loop["Add"]["Parameters"]["none.$"] = "$.none"
    document = workflow({**passing(before, "Add"), **loop, "Last": END})
    run_input = from_zero(250) | {"none": []}

    run = timely.create(document, run_input=run_input)

    assert ended(timely, run) == ("SUCCEEDED", {"n": 250, "until": 250, "none": []}, None, None)
    assert ended(timely, run) == simulated(document, run_input)


@rows("before", [AT_ONCE - 1, AT_ONCE, AT_ONCE + 1])
def test_a_chain_may_pause_before_a_fail_state_or_the_end(timely: World, before: int) -> None:
    for last in ({"Type": "Fail", "Error": "Bad", "Cause": "why"}, END):
        document = workflow({**passing(before, "Last"), "Last": last})

        run = timely.create(document)

        assert ended(timely, run) == simulated(document, {})
        assert ahead.timers(timely, run) == {}


def test_a_trace_of_a_simulation_does_not_show_where_the_engine_paused() -> None:
    result = simulate(ALONE, from_zero())
    assert len(result["trace"]) == 2 * (2 * ROUNDS + 1)
    assert {event["event"] for event in result["trace"]} == {"entered", "exited"}


def test_a_state_entered_again_after_a_task_goes_by_what_it_got_then(timely: World) -> None:
    scored = each({"Score": task()}, "Check", ItemsPath="$.items", ResultPath="$.scores")
    states = {
        "Before": {"Type": "Pass", "Next": "Each"},
        "Each": scored,
        "Check": task("Each", Catch=ENDING),
        "Done": END,
    }
    run = timely.create(workflow(states), run_input={"visit": 1, "items": [1]})
    timely.do(run, "Each/0/Score", output="first")
    timely.do(run, "Check", output={"visit": 2, "items": [2]})

    timely.do(run, "Each/0/Score", output="second")

    assert timely.given(run, "Check") == {"visit": 2, "items": [2], "scores": ["second"]}


def test_a_task_that_was_retried_and_is_entered_again_goes_by_what_it_got_then(timely: World) -> None:
    retry = [{"ErrorEquals": ["Busy"], "MaxAttempts": 1}]
    states = {"Work": task("Check", Retry=retry, ResultPath="$.done"), "Check": task("Work", Catch=ENDING), "Done": END}
    run = timely.create(workflow(states), run_input={"visit": 1})
    timely.fail(run, "Work", timely.acquire(run, "Work"), "Busy")
    ahead.let_pass(timely, 10)
    timely.do(run, "Work", output=1)
    timely.do(run, "Check", output={"visit": 2})

    timely.fail(run, "Work", timely.acquire(run, "Work"), "Busy")
    ahead.let_pass(timely, 10)
    timely.do(run, "Work", output=2)

    assert timely.given(run, "Check") == {"visit": 2, "done": 2}
