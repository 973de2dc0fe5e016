"""Parallel and Map where little is usual: what ends as it begins, what is null, and what there is much of."""

from functools import partial
from typing import Any

import pytest

from dcf.asl.pausing import AT_ONCE
from dcf.core.documents.answers import Owed, Updated
from dcf.core.documents.model import RunStatus, Status
from dcf.store.connection.connections import Connections
from tests.support import ahead
from tests.support.agents.mocks import Files
from tests.support.redis.counting import CountingPool
from tests.support.tables import rows
from tests.support.trouble import dies
from tests.support.workflows.machines import Document, workflow
from tests.support.workflows.scopes import END, catching, distributed, each, parallel, task, when
from tests.support.world import World

FEW = 300
"""A few hundred: what one transaction may read, however large the workflow is."""

READER = {
    "Resource": "arn:aws:states:::s3:getObject",
    "ReaderConfig": {"InputType": "JSON"},
    "Parameters": {"Bucket": "shelf", "Key": "items.json"},
}
QUIET = {"Quiet": {"Type": "Pass", "End": True}}


def elsewhere(world: World, **more: Any) -> World:
    """Another process on the same runs, without a cache of them."""
    same: dict[str, Any] = {"connections": world.connections, "onlooker": world.onlooker, "clock": world.clock}
    return World(runs=world.runs, **same, **more)


def ready(world: World, run: str) -> list[str]:
    at = ahead.now(world)
    return sorted(path for path, doc in world.every_doc(run).items() if doc.is_claimable(at))


# Lanes: what comes after an iteration


@rows("silent", [1, 2, 5])
def test_iterations_that_fail_at_once_after_a_tolerated_failure_let_the_next_one_in(timely: World, silent: int) -> None:
    states = {"Way": when("$", "Bad", "Try", NumericEquals=0), "Try": task(), "Bad": {"Type": "Fail", "Error": "Bad"}}
    document = workflow({"Each": each(states, ToleratedFailureCount=9, MaxConcurrency=1)})
    run = timely.create(document, run_input=[1, *[0] * silent, 2])

    timely.fail(run, "Each/0/Try", timely.acquire(run, "Each/0/Try"))

    last = f"Each/{silent + 1}/Try"
    assert ready(timely, run) == [last]
    timely.do(run, last, output="last")
    assert (timely.run_status(run), timely.meta(run)["output"]) == (RunStatus.SUCCEEDED, ["last"])


def test_an_inner_map_in_which_too_many_failed_makes_room_in_the_lane_around_it(timely: World) -> None:
    inner = each({"Try": task()}, ItemsPath="$", ToleratedFailureCount=1)
    outer = each({"Inner": inner}, ToleratedFailureCount=1, MaxConcurrency=1)
    run = timely.create(workflow({"Outer": outer}), run_input=[[1, 2], [3]])

    for number in range(2):
        state = f"Outer/0/Inner/{number}/Try"
        timely.fail(run, state, timely.acquire(run, state))

    assert ready(timely, run) == ["Outer/1/Inner/0/Try"]
    timely.do(run, "Outer/1/Inner/0/Try", output="three")
    assert (timely.run_status(run), timely.meta(run)["output"]) == (RunStatus.SUCCEEDED, [["three"]])


ENDINGS = {
    "a Wait of no time": {"End": {"Type": "Wait", "Seconds": 0, "End": True}},
    "a Map of no items": {"End": each({"Leaf": task()}, Items="{% $states.input.none %}")},
    "a Choice without match": {
        "End": {"Type": "Choice", "Choices": [{"Condition": "{% false %}", "Next": "Done"}]},
        "Done": END,
    },
}


@rows("ending", ENDINGS.values(), ids=ENDINGS)
def test_each_iteration_sees_the_input_and_variables_around_the_map(timely: World, ending: Document) -> None:
    arguments = {"scaled": "{% $states.input.n * $factor %}", "of": "{% $states.input.of %}"}
    selector = {"n": "{% $states.context.Map.Item.Value %}", "of": "{% $states.input.name %}"}
    more: Document = {"Items": "{% $states.input.items %}", "ItemSelector": selector}
    around = each({"Score": task("End", Arguments=arguments), **ending}, **more, MaxConcurrency=1)
    known = {"Type": "Pass", "Assign": {"factor": 10}, "Next": "Each"}
    document = workflow({"Set": known, "Each": {**around, "ToleratedFailureCount": 2}})
    document["asl"]["QueryLanguage"] = "JSONata"
    run = timely.create(document, run_input={"name": "N", "items": [1, 2]})
    token = timely.acquire(run, "Each/0/Score")

    elsewhere(timely).complete(run, "Each/0/Score", token, {"none": []})

    assert timely.given(run, "Each/0/Score") == {"scaled": 10, "of": "N"}
    assert timely.given(run, "Each/1/Score") == {"scaled": 20, "of": "N"}


def test_the_next_iteration_is_given_what_its_selector_makes_after_a_wait_of_no_time(timely: World) -> None:
    states = {"Score": task("Pause"), "Pause": {"Type": "Wait", "Seconds": 0, "End": True}}
    selector = {"of.$": "$.name", "n.$": "$$.Map.Item.Value"}
    document = workflow({"Each": each(states, ItemsPath="$.items", ItemSelector=selector, MaxConcurrency=1)})
    run = timely.create(document, run_input={"name": "N", "items": [1, 2]})
    token = timely.acquire(run, "Each/0/Score")

    elsewhere(timely).complete(run, "Each/0/Score", token, 1)

    assert timely.given(run, "Each/1/Score") == {"of": "N", "n": 2}


@rows("results", [[None, "x"], ["x", None], [None, None]])
def test_a_null_result_is_kept_in_a_map_that_bore_a_failure(real: World, results: list[Any]) -> None:
    run = real.create(workflow({"Each": each({"Try": task()}, ToleratedFailureCount=1)}), run_input=[1, 2, 3])
    real.fail(run, "Each/0/Try", real.acquire(run, "Each/0/Try"))

    for number, result in enumerate(results, start=1):
        real.do(run, f"Each/{number}/Try", output=result)

    assert (real.run_status(run), real.meta(run)["output"]) == (RunStatus.SUCCEEDED, results)


def test_a_map_that_is_closed_and_opened_again_has_no_result_of_the_earlier_visit(timely: World) -> None:
    work = {"Variable": "$", "StringEquals": "work", "Next": "Work"}
    fine = {"Variable": "$", "StringEquals": "ok", "Next": "Ok"}
    states = {
        "Way": {"Type": "Choice", "Choices": [fine, work], "Default": "Bad"},
        "Ok": {"Type": "Pass", "End": True},
        "Work": task(),
        "Bad": {"Type": "Fail", "Error": "Bad"},
    }
    again = {"Type": "Pass", "Result": {"items": ["bad", "work"]}, "Next": "Each"}
    around = each(states, ItemsPath="$.items", ToleratedFailureCount=1, Catch=catching("Again"))
    document = workflow({"Each": around, "Again": again})
    run = timely.create(document, run_input={"items": ["ok", "bad", "bad"]})

    timely.do(run, "Each/1/Work", output="out")

    assert (timely.run_status(run), timely.meta(run)["output"]) == (RunStatus.SUCCEEDED, ["out"])


# Who may take what comes next


def leads(document: Document, state: str, output: Any, *, fails: bool = False) -> tuple[Document, str, Any, bool]:
    return document, state, output, fails


LEADS = {
    "the Catch of a scope": leads(
        workflow({"Both": parallel({"Bad": task()}, {"Good": task()}, Catch=catching("Next")), "Next": task()}),
        "Both/0/Bad",
        None,
        fails=True,
    ),
    "behind a Map of no items": leads(
        workflow({"First": task("Each"), "Each": each({"Leaf": task()}, "Next"), "Next": task()}), "First", []
    ),
    "behind a Wait of no time": leads(
        workflow({"First": task("W"), "W": {"Type": "Wait", "Seconds": 0, "Next": "Next"}, "Next": task()}), "First", 1
    ),
    "itself": leads(
        workflow({"Next": task("Way"), "Way": when("$", "End", "Next", NumericEquals=9), "End": END}), "Next", 1
    ),
    "behind a scope": leads(
        workflow({"One": parallel({"In": task()}, following="Next"), "Next": task()}), "One/0/In", 1
    ),
}


@rows("lead", LEADS.values(), ids=LEADS)
def test_a_completion_does_not_lease_what_is_assigned_to_another_agent(
    timely: World, lead: tuple[Document, str, Any, bool]
) -> None:
    document, state, output, fails = lead
    run = timely.create(document, agents={"Next": "other"})
    token = timely.acquire(run, state, "ann", any_owner=True)
    how: dict[str, Any] = {"status": Status.FAILED, "error": "Broken"} if fails else {"status": Status.SUCCEEDED}

    update = timely.update(run, state, token, output=output, owner="ann", claim_ttl_s=60, **how)

    assert isinstance(update, Updated)
    assert update.next_states == ("Next",)
    assert update.claimed is None
    assert timely.doc(run, "Next").lease.owner_agent_id is None


def test_a_state_whose_scope_is_not_open_is_skipped_when_its_agent_is_woken(timely: World) -> None:
    document = workflow({"Each": each({"Score": task()}, MaxConcurrency=1)})
    run = timely.create(document, run_input=[1, 2], agents={"Score": "sam"})

    target = timely.notifications.notify(run, "Each/1/Score", reason="nudge")

    assert (target.state, target.sent, target.skipped_not_ready) == ("Each/1/Score", False, True)
    assert not timely.messages("sam")


# The start of a run


def test_kicking_off_lets_the_clock_find_a_state_whose_time_is_over(timely: World) -> None:
    run = timely.create(workflow({"Both": parallel({"Quick": task(TimeoutSeconds=3)}, {"Slow": task()})}))
    timely.plane.kick_off(run, "initial")

    ahead.let_pass(timely, seconds=4)
    for state in ahead.due(timely, run):
        ahead.look_at(timely, run, state)

    assert (timely.run_status(run), timely.meta(run)["error"]) == (RunStatus.FAILED, "States.Timeout")


@pytest.mark.parametrize("reader", ["its creator", "the clock"])
def test_states_of_a_map_that_read_its_items_are_announced_with_the_kick_off(timely: World, reader: str) -> None:
    assert timely.items is not None
    timely.items.texts = {"shelf/items.json": "[1, 2]"}
    wish = timely.wish(workflow({"Each": distributed({"Score": task()}, ItemReader=READER)}), agents={"Score": "sam"})
    run = wish.workflow_id
    if reader == "the clock":
        assert dies(timely, 1, lambda: timely.plane.create(wish))
        ahead.look(timely, run)
    else:
        timely.plane.create(wish)
    timely.notifications.pulse()
    assert ready(timely, run) == ["Each/0/Score", "Each/1/Score"]
    assert (timely.owed(run), timely.messages("sam")) == (0, [])

    owed = timely.plane.kick_off(run, "initial")
    timely.notifications.pulse()

    assert isinstance(owed, Owed)
    assert sorted(event["target_state"] for event in timely.messages("sam")) == ["Each/0/Score", "Each/1/Score"]


# Failures


FAIL = {"Bad": {"Type": "Fail"}}
BY_WORK = {"Try": task("Bad"), **FAIL}


@rows("states", [FAIL, BY_WORK], ids=["at once", "after a task"])
@rows("kind", ["Parallel", "Map", "a Map that bears one", "a run"])
def test_a_failure_without_a_name_stays_without_one(timely: World, kind: str, states: Document) -> None:
    scope = {
        "Parallel": parallel(states, {"Other": task()}),
        "Map": each(states),
        "a Map that bears one": each(states, ToleratedFailureCount=1),
        "a run": parallel(states),
    }[kind]
    caught = {"Both": {**scope, "Catch": catching("Mend")}, "Mend": task()}
    run = timely.create(workflow({"Both": scope} if kind == "a run" else caught), run_input=[1, 2])

    while work := [path for path in ready(timely, run) if path.endswith("Try")]:
        timely.do(run, work[0])

    if kind == "a run":
        meta = timely.meta(run)
        assert (meta["status"], meta["error"], meta["cause"]) == ("failed", None, None)
    else:
        assert timely.given(run, "Mend") == {"Error": None, "Cause": None}


class BrokenShelf(Files):
    """A place to read items from that is out of order."""

    def read(self, expected: object) -> Any:
        raise ValueError("the shelf fell down")


def test_a_source_of_items_that_breaks_fails_the_map_and_lets_the_clock_go_on(timely: World) -> None:
    others = [timely.create(workflow({"Wait": {"Type": "Wait", "Seconds": 5, "End": True}})) for _ in range(4)]
    document = workflow({"Each": distributed({"Score": task()}, ItemReader=READER)})
    wishes = [timely.wish(document) for _ in range(4)]
    for wish in wishes:
        assert dies(timely, 1, partial(timely.plane.create, wish))
        timely.make_due(wish.workflow_id, "Each")
    for run in others:
        timely.make_due(run, "Wait")
    ahead.let_pass(timely, seconds=60)

    elsewhere(timely, items=BrokenShelf()).notifications.pulse()

    failed = [timely.meta(wish.workflow_id) for wish in wishes]
    assert {(meta["status"], meta["error"]) for meta in failed} == {("failed", "States.ItemReaderFailed")}
    assert {timely.run_status(run) for run in others} == {RunStatus.SUCCEEDED}


# Much of it


def test_what_leads_back_to_a_map_of_thousands_at_once_reads_a_few_hundred_documents(counting: CountingPool) -> None:
    world = World(connections=Connections(counting))
    inner = each({"Leaf": task()}, ItemsPath="$", MaxConcurrency=1)
    outer = each({"Inner": inner}, "Ask", ItemsPath="$.rows", MaxConcurrency=2000, ResultPath="$.done")
    way = when("$.rows", "Outer", "End", IsPresent=True)
    run = world.create(workflow({"Ask": task("Way"), "Way": way, "Outer": outer, "End": END}))
    counting.watched.clear()

    world.do(run, "Ask", output={"rows": [[1]]})
    world.do(run, "Outer/0/Inner/0/Leaf", output=1)
    world.do(run, "Ask", output={})

    assert world.run_status(run) is RunStatus.SUCCEEDED
    assert max(map(len, counting.watched)) <= FEW
    world.close()


def test_a_run_with_thousands_of_open_iterations_is_closed_in_steps_of_some_hundreds(
    counting: CountingPool, onlooker: Connections
) -> None:
    world = World(connections=Connections(counting), onlooker=onlooker)
    document = workflow({"Each": each({"Score": task()}, MaxConcurrency=2500)})
    run = world.create(document, run_input=list(range(2500)))
    counting.watched.clear()

    world.finalize(run)

    assert max(map(len, counting.watched)) <= FEW
    assert ahead.timers(world, run) == {}
    assert {doc.status for doc in world.every_doc(run).values()} == {Status.CANCELLED}
    world.close()


def test_hundreds_of_silent_iterations_take_logarithmically_many_round_trips(
    counting: CountingPool,
) -> None:
    small, large = (len(packets_over_silent_items(counting, number)) for number in (15, AT_ONCE // 2 - 10))

    assert large - small <= 8, "16 times the items, 4 more doublings"
    assert large <= 30


def test_thousands_of_silent_iterations_take_as_many_round_trips_a_transaction(
    counting: CountingPool,
) -> None:
    packets = packets_over_silent_items(counting, 2 * AT_ONCE)

    commits = sum("EXEC" in packet for packet in packets)
    assert commits <= 6, "two states for each item, and a pause after so many states"
    assert len(packets) <= 25 * commits


def packets_over_silent_items(counting: CountingPool, number: int) -> list[list[str]]:
    world = World(connections=Connections(counting))
    states = {"Way": when("$", "Score", "Quiet", NumericEquals=0), "Score": task(), **QUIET}
    run = world.create(workflow({"Each": each(states, MaxConcurrency=1)}), run_input=[0, *[1] * number])
    token = world.acquire(run, "Each/0/Score")
    with counting.counted() as packets:
        world.complete(run, "Each/0/Score", token, 0)
    assert world.meta(run)["output"] == [0, *[1] * number]
    world.close()
    return packets
