"""Scopes when processes die between two commits or repeat themselves, and Maps of many items."""

from typing import Any

from dcf.core.documents.answers import Leased, Updated
from dcf.core.documents.model import RunStatus, Status
from dcf.store.connection.connections import Connections
from tests.support import ahead
from tests.support.agents.crew import Crew
from tests.support.ahead import Ahead
from tests.support.redis.counting import CountingPool
from tests.support.tables import rows
from tests.support.trouble import dies
from tests.support.workflows.machines import Document, workflow
from tests.support.workflows.scopes import distributed, each, parallel, retrying, task, when
from tests.support.world import World, new_token

AFTER = {"After": task()}
AT_ONCE = 40
"""How many iterations run at once when the Map sets no limit."""


def pair() -> Document:
    return workflow({"Both": parallel({"Left": task()}, {"Right": task()}, following="After"), **AFTER})


def from_file(**more: Any) -> Document:
    reader = {
        "Resource": "arn:aws:states:::s3:getObject",
        "ReaderConfig": {"InputType": "JSON"},
        "Parameters": {"Bucket": "shelf", "Key": "items.json"},
    }
    return workflow({"Each": distributed({"Score": task()}, ItemReader=reader, **more)})


def numbered(size: int, **more: Any) -> tuple[Document, list[int]]:
    return workflow({"Each": each({"Score": task()}, "After", **more), **AFTER}), list(range(size))


def until(world: World, run: str, state: str, status: Status) -> None:
    """Let the clock look until a state has come so far."""
    for _ in range(6):
        result = world.known(run, state).get(state)
        if result is not None and result.status is status and result.is_ready:
            return
        ahead.look(world, run)
    raise AssertionError(f"{state} is {result} although the clock looked; listed: {ahead.timers(world, run)}")


# Processes that die, and requests that come twice


def test_the_clock_joins_a_scope_whose_last_completer_died_before_it_did(timely: World) -> None:
    run = timely.create(pair())
    timely.plane.kick_off(run, "initial")
    timely.do(run, "Both/0/Left", output="left")
    token = timely.acquire(run, "Both/1/Right")

    assert dies(timely, 1, lambda: timely.complete(run, "Both/1/Right", token, "right"))

    assert timely.doc(run, "Both/1/Right").status is Status.SUCCEEDED
    assert not timely.doc(run, "After").is_ready
    until(timely, run, "After", Status.PENDING)
    assert timely.given(run, "After") == ["left", "right"]


def test_a_repeated_write_that_joins_a_map_leaves_its_cancelled_states_to_the_sweep(
    timely: World,
) -> None:
    mended = [{"ErrorEquals": ["States.ALL"], "Next": "Mend"}]
    race = parallel({"Bad": task()}, {"Slow": task()}, following="Mend", Catch=mended)
    item = {"Race": race, "Mend": {"Type": "Pass", "End": True}}
    run = timely.create(workflow({"Each": each(item, "After"), **AFTER}), run_input=[1])
    bad, slow = (timely.acquire(run, f"Each/0/Race/{state}") for state in ("0/Bad", "1/Slow"))
    part: dict[str, Any] = {"output": "half", "request_id": "first"}
    timely.update(run, "Each/0/Race/1/Slow", slow, **part)
    assert dies(timely, 1, lambda: timely.fail(run, "Each/0/Race/0/Bad", bad))

    assert isinstance(timely.update(run, "Each/0/Race/1/Slow", slow, **part), Updated)

    assert timely.doc(run, "After").is_ready, "the repetition joined the Map"
    timely.do(run, "After", output="over")
    ahead.look(timely, run, times=4)
    assert timely.doc(run, "Each/0/Race/1/Slow").status is Status.CANCELLED
    assert ahead.timers(timely, run) == {}
    assert timely.event_types(run, "Each/0/Race/1/Slow").count("StateCancelled") == 1


def test_the_last_completer_that_comes_back_joins_the_scope_itself(timely: World) -> None:
    run = timely.create(pair())
    timely.do(run, "Both/0/Left", output="left")
    token = timely.acquire(run, "Both/1/Right")
    dies(timely, 1, lambda: timely.complete(run, "Both/1/Right", token, "right"))

    again = timely.complete(run, "Both/1/Right", token, "right")

    assert again.repeated
    until(timely, run, "After", Status.PENDING)
    assert timely.event_types(run, "Both").count("StateSucceeded") == 1


def test_repeating_the_last_completion_joins_once(timely: World) -> None:
    run = timely.create(pair())
    timely.do(run, "Both/0/Left", output="left")
    token = timely.acquire(run, "Both/1/Right")

    answers = [timely.complete(run, "Both/1/Right", token, "right") for _ in range(3)]

    assert [answer.repeated for answer in answers] == [False, True, True]
    assert {answer.next_states for answer in answers} == {answers[0].next_states}
    assert timely.event_types(run, "Both").count("StateSucceeded") == 1
    assert timely.event_types(run, "After").count("StateEntered") == 1
    timely.do(run, "After", output="over")
    assert timely.complete(run, "Both/1/Right", token, "right").repeated
    assert timely.meta(run)["output"] == "over"


def test_repeating_the_completion_that_ends_the_run_tells_so_again(timely: World) -> None:
    run = timely.create(workflow({"Both": parallel({"Left": task()}, {"Right": task()})}))
    timely.do(run, "Both/0/Left", output="left")
    token = timely.acquire(run, "Both/1/Right")

    answers = [timely.complete(run, "Both/1/Right", token, "right") for _ in range(2)]

    assert [answer.run_status for answer in answers] == [RunStatus.SUCCEEDED] * 2


@rows("owner", ["w", None], ids=["says who it is", "is known by its lease"])
def test_the_completion_that_joins_can_lease_what_follows_and_finds_that_lease_again(
    timely: World, owner: str | None
) -> None:
    run = timely.create(pair())
    timely.do(run, "Both/0/Left", output="left")
    token = timely.acquire(run, "Both/1/Right")

    wish: dict[str, Any] = {"output": "right", "owner": owner, "claim_ttl_s": 60}
    first, again = (timely.complete(run, "Both/1/Right", token, **wish) for _ in range(2))

    assert first.claimed is not None
    assert (first.claimed.state, first.claimed.given) == ("After", ["left", "right"])
    assert again.claimed is not None
    assert (again.claimed.state, again.claimed.doc.lease.token) == ("After", first.claimed.doc.lease.token)
    timely.complete(run, "After", again.claimed.doc.lease.token, "over")
    assert timely.meta(run)["output"] == "over"


@rows("size", [3, 6, 40])
def test_repeating_a_claim_finds_the_state_that_it_got_however_many_are_open(real: World, size: int) -> None:
    document, items = numbered(size)
    run = real.create(document, run_input=items)
    real.plane.kick_off(run, "initial")
    token = new_token()

    first, again = (real.claim(run, "ann", token) for _ in range(2))

    assert isinstance(first, Leased)
    assert isinstance(again, Leased)
    assert (again.state, again.outcome) == (first.state, "lease_already_held")


def test_a_repeated_claim_finds_a_lost_lease_that_it_took_over_among_many_open(timely: World) -> None:
    document, items = numbered(6)
    run = timely.create(document, run_input=items)
    timely.plane.kick_off(run, "initial")
    lost, token = timely.claim(run, "bob", ttl_s=5), new_token()
    ahead.until_next(timely, run)

    first, again = (timely.claim(run, "ann", token) for _ in range(2))

    assert isinstance(lost, Leased)
    assert isinstance(first, Leased)
    assert isinstance(again, Leased)
    assert first.state == lost.state
    assert again.state == first.state
    assert again.outcome == "lease_already_held"


def test_repeating_a_completion_that_led_back_into_its_own_scope_is_told_the_same(timely: World) -> None:
    around = {"Enough": when("$[0]", "Done", "Both", NumericEquals=9), "Done": {"Type": "Succeed"}}
    run = timely.create(workflow({"Both": parallel({"Left": task()}, following="Enough"), **around}))
    token = timely.acquire(run, "Both/0/Left")

    first, second = (timely.complete(run, "Both/0/Left", token, 1) for _ in range(2))

    assert second.repeated
    assert first.next_states == second.next_states == ("Both/0/Left",)
    assert timely.doc(run, "Both/0/Left").is_ready


def test_a_repeated_completion_that_opened_several_and_leased_one_lists_all_again(timely: World) -> None:
    both = parallel({"Left": task()}, {"Right": task()})
    run = timely.create(workflow({"First": task("Both"), "Both": both}))
    token = timely.acquire(run, "First")

    first, second = (timely.complete(run, "First", token, 1, claim_ttl_s=60) for _ in range(2))

    assert first.next_states == second.next_states == ("Both/0/Left", "Both/1/Right")
    assert first.claimed is not None
    assert second.claimed is not None
    assert first.claimed.state == second.claimed.state == "Both/0/Left"


def test_the_clock_joins_a_scope_that_ends_a_run(timely: World) -> None:
    run = timely.create(workflow({"Both": parallel({"Left": task()}, {"Right": task()})}), planner="pam")
    timely.do(run, "Both/0/Left", output="left")
    token = timely.acquire(run, "Both/1/Right")

    dies(timely, 1, lambda: timely.complete(run, "Both/1/Right", token, "right"))
    ahead.look(timely, run, times=3)
    timely.notifications.pulse()

    assert (timely.run_status(run), timely.meta(run)["output"]) == (RunStatus.SUCCEEDED, ["left", "right"])
    assert len(timely.messages("pam")) == 1


def test_a_completion_that_was_never_committed_leaves_its_lane_as_it_was(timely: World) -> None:
    document, items = numbered(3, MaxConcurrency=1)
    run = timely.create(document, run_input=items)
    token = timely.acquire(run, "Each/0/Score")

    assert dies(timely, 0, lambda: timely.complete(run, "Each/0/Score", token, "lost"))

    assert "Each/1/Score" not in timely.raw_docs(run)
    timely.complete(run, "Each/0/Score", token, "kept")
    assert timely.doc(run, "Each/1/Score").is_ready
    assert Crew(world=timely, run=run).finish()["output"] == ["kept", 1, 2]


def test_the_clock_goes_on_after_the_death_of_whoever_failed_too_often(timely: World) -> None:
    state = distributed({"Try": task()}, ToleratedFailureCount=1)
    run = timely.create(workflow({"Each": state}), run_input=[1, 2, 3])
    timely.fail(run, "Each/0/Try", timely.acquire(run, "Each/0/Try"))
    token = timely.acquire(run, "Each/1/Try")

    dies(timely, 1, lambda: timely.fail(run, "Each/1/Try", token))
    ahead.look(timely, run, times=4)

    assert timely.run_status(run) is RunStatus.FAILED
    assert timely.meta(run)["error"] == "States.ExceedToleratedFailureThreshold"


# Items from files


def test_a_map_opens_with_the_items_that_its_reader_brings(timely: World) -> None:
    assert timely.items is not None
    timely.items.texts = {"shelf/items.json": '["p", "q"]'}
    run = timely.create(from_file())

    assert timely.given(run, "Each/1/Score") == "q"
    assert Crew(world=timely, run=run).finish()["output"] == ["p", "q"]


def test_items_that_nobody_can_bring_fail_the_map(timely: World) -> None:
    run = timely.create(from_file())

    assert (timely.run_status(run), timely.meta(run)["error"]) == (RunStatus.FAILED, "States.ItemReaderFailed")


def test_the_clock_brings_the_items_if_whoever_entered_the_map_died(timely: World) -> None:
    assert timely.items is not None
    timely.items.texts = {"shelf/items.json": '["p", "q"]'}
    wish = timely.wish(from_file())

    assert dies(timely, 1, lambda: timely.plane.create(wish))

    run = wish.workflow_id
    until(timely, run, "Each/1/Score", Status.PENDING)
    assert Crew(world=timely, run=run).finish()["output"] == ["p", "q"]


def test_without_a_place_to_read_from_a_run_refuses_to_read(world: World) -> None:
    run = world.create(from_file())

    assert (world.run_status(run), world.meta(run)["error"]) == (RunStatus.FAILED, "States.ItemReaderFailed")


# Many items


def test_a_map_of_a_thousand_items_opens_forty_documents_at_a_time(real: World) -> None:
    document, items = numbered(1000)
    run = real.create(document, run_input=items)
    assert len(inside(real, run)) == AT_ONCE

    leased, done, most = real.claim(run, "ann"), 0, 0
    while isinstance(leased, Leased) and leased.state != "After":
        result = real.complete(run, leased.state, leased.doc.lease.token, leased.given, claim_ttl_s=60)
        leased, done = result.claimed or real.claim(run, "ann"), done + 1
        if done % 100 == 50:
            docs = inside(real, run)
            most = max(most, sum(not docs[path].status.is_terminal for path in docs))

    assert done == 1000
    assert 0 < most <= AT_ONCE
    assert real.given(run, "After") == items


def inside(world: World, run: str) -> dict[str, Any]:
    return {path: doc for path, doc in world.every_doc(run).items() if path.startswith("Each/")}


def test_what_one_completion_costs_does_not_grow_with_the_number_of_items(counting: CountingPool) -> None:
    small, large = (cost_of_a_completion(counting, size) for size in (50, 1000))

    assert large[0] == small[0], "the same commands"
    assert large[1] <= small[1] + 100, "bytes to and fro"


def cost_of_a_completion(counting: CountingPool, size: int) -> tuple[list[list[str]], int]:
    world = World(connections=Connections(counting))
    document, items = numbered(size)
    run = world.create(document, run_input=items)
    world.do(run, "Each/7/Score")
    token = world.acquire(run, "Each/3/Score")
    before = sum(counting.traffic)
    with counting.counted() as packets:
        world.complete(run, "Each/3/Score", token, "done")
    spent = sum(counting.traffic) - before
    world.close()
    return [sorted(packet) for packet in packets], spent


def test_an_inner_completion_takes_two_round_trips(counting: CountingPool) -> None:
    packets, _ = cost_of_a_completion(counting, 50)

    assert len(packets) == 2


def documents_watched(counting: CountingPool, run: str) -> list[list[str]]:
    """The states that each transaction so far watched."""
    prefix = f"cp:wf:{run}:state:".encode()
    return [[key.removeprefix(prefix).decode() for key in keys if prefix in key] for keys in counting.watched]


def test_joining_a_map_of_two_watches_no_iteration_but_the_one_that_led_to_it(counting: CountingPool) -> None:
    """It was 41 documents, and 201 where the Map stood in another."""
    world = World(connections=Connections(counting))
    run = world.create(workflow({"Each": each({"Inner": each({"Leaf": task()})})}), run_input=[[1, 2]])
    world.do(run, "Each/0/Inner/0/Leaf")
    token = world.acquire(run, "Each/0/Inner/1/Leaf")
    counting.watched.clear()

    world.complete(run, "Each/0/Inner/1/Leaf", token)

    completion, inner, outer, *_ = documents_watched(counting, run)
    assert completion == ["Each/0/Inner/1/Leaf", "Each", "Each/0/Inner"]
    assert inner == ["Each/0/Inner", "Each", "Each/0/Inner/1/Leaf"]
    assert outer == ["Each", "Each/0/Inner/1/Leaf"]
    assert world.run_status(run) is RunStatus.SUCCEEDED
    world.close()


def test_entering_a_map_of_two_again_watches_what_it_had_open(counting: CountingPool) -> None:
    world = World(connections=Connections(counting), clock=Ahead())
    run = world.create(workflow({"Each": each({"Score": task()}, Retry=retrying("Broken"))}), run_input=[1, 2])
    world.fail(run, "Each/0/Score", world.acquire(run, "Each/0/Score"))
    assert "Each" in ahead.until_next(world, run)
    world.make_due(run, "Each")
    counting.watched.clear()

    world.plane.look(run, "Each")

    assert documents_watched(counting, run) == [["Each"], ["Each", "Each/0/Score", "Each/1/Score"]]
    assert world.doc(run, "Each/1/Score").is_ready
    world.close()


# The end of all


@rows("finished", [True, False], ids=["a finished run", "a run that is given up"])
def test_the_keys_of_states_inside_expire_with_their_run(real: World, finished: bool) -> None:
    inner = parallel({"Left": task()}, {"Right": each({"Leaf": task()}, MaxConcurrency=2)})
    document = workflow({"Each": each({"Inner": inner})})
    run = real.create(document, run_input=[[1, 2, 3], [4]], retention_s=60)
    real.do(run, "Each/0/Inner/1/Right/0/Leaf", output=1)
    while finished and isinstance(leased := real.claim(run, "ann"), Leased):
        real.complete(run, leased.state, leased.doc.lease.token, 1)
    real.finalize(run)

    for _ in range(3):  # what is owed, then the rest
        real.notifications.pulse()

    assert [path for path in real.raw_docs(run) if path.startswith("Each/0/Inner/1/Right/")] != []
    immortal = [key for key in real.keys_of(run) if not 0 < int(real.ask("TTL", key)) <= 60]
    assert immortal == []
    assert not real.is_live(run)
