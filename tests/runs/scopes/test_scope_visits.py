"""Scopes entered again while others are slow, die, repeat themselves, or still know an earlier run of that name."""

from collections.abc import Callable
from typing import Any

from dcf.core.documents.answers import Leased, Updated
from dcf.core.documents.model import RunStatus, Status
from tests.support import ahead
from tests.support.agents.crew import Crew
from tests.support.agents.mocks import Files
from tests.support.redis.documents import set_member
from tests.support.tables import rows
from tests.support.trouble import Meanwhile, dies, told
from tests.support.workflows.machines import Document, workflow
from tests.support.workflows.scopes import END, catching, distributed, each, parallel, retrying, task, when
from tests.support.world import World

TEXTS = {"shelf/one.json": "[1]", "shelf/two.json": '["x", "y"]'}
READER = {
    "Resource": "arn:aws:states:::s3:getObject",
    "ReaderConfig": {"InputType": "JSON"},
    "Parameters": {"Bucket": "shelf", "Key.$": "$.key"},
}
AGAIN = retrying("Broken")
AFTER = {"After": task()}


def elsewhere(world: World, **more: Any) -> World:
    """Another process on the same runs, without a cache of them."""
    same: dict[str, Any] = {"connections": world.connections, "onlooker": world.onlooker, "clock": world.clock}
    return World(runs=world.runs, **same, **more)


def look(world: World, run: str, state: str) -> None:
    """Have the clock look at a state, whether or not it would by now."""
    world.make_due(run, state)
    world.plane.look(run, state)


def rounds(state: Document, field: str) -> Document:
    """A Map that is entered again as often as `Ask` answers with something in this field."""
    again = when(f"$.{field}", "Each", "End", IsPresent=True)
    around = {**state, "Next": "Ask", "ResultPath": "$.done"}
    around.pop("End", None)
    return workflow({"Each": around, "Ask": task("Again"), "Again": again, "End": END})


def shelf() -> Document:
    return rounds(distributed({"Score": task()}, ItemReader=READER), "key")


# Several processes at once


@rows("kind", ["Parallel", "Map"])
def test_two_clocks_open_a_scope_that_is_tried_again_once(timely: World, kind: str) -> None:
    both = {
        "Parallel": parallel({"Left": task()}, {"Right": task()}, Retry=AGAIN),
        "Map": each({"Try": task()}, Retry=AGAIN),
    }[kind]
    run = timely.create(workflow({"Both": both}), run_input=[1, 2])
    left, right = sorted(path for path in timely.every_doc(run) if "/" in path)
    timely.fail(run, right, timely.acquire(run, right))
    assert "Both" in ahead.until_next(timely, run)

    def first_clock() -> None:
        timely.plane.look(run, "Both")
        timely.do(run, left, output="first")

    late = Meanwhile(others=first_clock)
    elsewhere(timely, before_commit=late).plane.look(run, "Both")

    assert late.happened
    assert timely.event_types(run, "Both").count("StateEntered") == 2
    assert timely.doc(run, left).status is Status.SUCCEEDED
    timely.do(run, right, output="second")
    assert timely.meta(run)["output"] == ["first", "second"]


def test_what_is_left_to_do_about_an_earlier_visit_is_not_done_to_a_later_one(timely: World) -> None:
    run = timely.create(rounds(each({"Score": task()}, ItemsPath="$.items"), "items"), run_input={"items": [1]})
    token = timely.acquire(run, "Each/0/Score")

    def join_and_enter_again() -> None:
        look(timely, run, "Each")
        timely.do(run, "Ask", output={"items": [1, 2, 3]})
        for number in range(2):
            timely.do(run, f"Each/{number}/Score", output=f"new {number}")
        last = timely.acquire(run, "Each/2/Score")
        assert dies(timely, 1, lambda: timely.complete(run, "Each/2/Score", last, "new 2"))

    late = Meanwhile(others=join_and_enter_again, remaining=1)
    elsewhere(timely, before_commit=late).complete(run, "Each/0/Score", token, "old")

    assert late.happened
    assert timely.doc(run, "Each").status is Status.RUNNING
    look(timely, run, "Each")
    assert timely.given(run, "Ask")["done"] == ["new 0", "new 1", "new 2"]


def test_a_result_of_an_earlier_visit_does_not_replace_a_failure_of_a_later_one(timely: World) -> None:
    document = rounds(each({"Score": task()}, ItemsPath="$.items", ToleratedFailureCount=1), "items")
    run = timely.create(document, run_input={"items": [1, 2]})
    for number in range(2):
        timely.do(run, f"Each/{number}/Score", output="old")
    timely.do(run, "Ask", output={"items": [1, 2]})

    timely.fail(run, "Each/0/Score", timely.acquire(run, "Each/0/Score"))
    timely.do(run, "Each/1/Score", output="new")

    assert timely.given(run, "Ask")["done"] == ["new"]


class LateFiles(Files):
    """Reads as slowly as it takes others to do something."""

    def __init__(self, others: Callable[[], object]) -> None:
        super().__init__(TEXTS)
        self._others: Callable[[], object] | None = others

    def read(self, expected: Any) -> Any:
        others, self._others = self._others, None
        if others is not None:
            others()
        return super().read(expected)


def test_what_a_late_reader_brings_is_not_given_to_a_later_visit(timely: World) -> None:
    clock = elsewhere(timely, items=Files(TEXTS))
    wish = timely.wish(shelf(), run_input={"key": "one.json"})
    run = wish.workflow_id

    def meanwhile() -> None:
        look(clock, run, "Each")
        clock.do(run, "Each/0/Score", output=1)
        token = timely.acquire(run, "Ask")
        assert dies(timely, 1, lambda: timely.complete(run, "Ask", token, {"key": "two.json"}))

    elsewhere(timely, items=LateFiles(meanwhile)).plane.create(wish)

    assert timely.doc(run, "Each").scope is None
    look(clock, run, "Each")
    assert [clock.given(run, f"Each/{number}/Score") for number in range(2)] == ["x", "y"]


def test_what_a_late_reader_brings_opens_nothing_in_a_run_that_ended_meanwhile(timely: World) -> None:
    """The process that ended the run died before it could close the Map, so only meta has the end."""
    document = shelf()
    document["asl"]["TimeoutSeconds"] = 50
    wish = timely.wish(document, run_input={"key": "two.json"})
    run = wish.workflow_id

    def meanwhile() -> None:
        ahead.let_pass(timely, seconds=60)
        assert dies(timely, 1, lambda: timely.plane.time_out(run))

    elsewhere(timely, items=LateFiles(meanwhile)).plane.create(wish)

    assert timely.run_status(run) is RunStatus.FAILED
    assert {path: doc.status for path, doc in timely.every_doc(run).items() if "/" in path} == {}
    assert timely.every_doc(run)["Each"].scope is None
    assert timely.event_types(run)[-1] == "RunFailed"


def test_a_process_that_knew_an_earlier_run_finds_the_present_nested_states(
    world: World,
) -> None:
    other = elsewhere(world)
    run = other.create(workflow({"Alone": task()}))
    assert other.doc(run, "Alone").is_ready
    world.ask("DEL", *world.keys_of(run))
    world.create(workflow({"Each": each({"Score": task()})}), run=run, run_input=[1])

    assert isinstance(other.try_acquire(run, "Each/0/Score", token="lease-1"), Leased)
    assert other.complete(run, "Each/0/Score", "lease-1", "done").run_status is RunStatus.SUCCEEDED


def test_a_clock_that_knew_an_earlier_run_of_that_name_lets_the_present_one_expire(real: World) -> None:
    clock = elsewhere(real)
    run = clock.create(workflow({"Alone": task()}))
    real.ask("DEL", *real.keys_of(run))
    real.create(workflow({"Each": each({"Score": task()})}), run=run, run_input=[1], retention_s=60)
    real.do(run, "Each/0/Score", output=1)
    real.notifications.deliver(run)

    assert immortal(real, run, clock) == []


def test_a_process_that_knew_an_earlier_run_of_a_name_names_the_present_followers(world: World) -> None:
    other = elsewhere(world)
    run = other.create(workflow({"Alone": task()}))
    world.ask("DEL", *world.keys_of(run))
    world.create(workflow({"First": task("After"), **AFTER}), run=run, agents={"After": "amy"})
    world.do(run, "First")

    assert [target.sent for target in other.notifications.notify_next(run, "First")] == [True]


def test_others_that_keep_changing_a_scope_do_not_make_its_completion_look_refused(timely: World) -> None:
    run = timely.create(workflow({"Both": parallel({"Left": task()}, {"Right": task()}, following="After"), **AFTER}))
    timely.do(run, "Both/0/Left", output="left")
    token = timely.acquire(run, "Both/1/Right")
    commits = []

    def disturb() -> None:
        commits.append(1)
        if len(commits) > 1:
            at = f"2001-01-01T00:00:00.{len(commits):06}Z"
            set_member(timely.ask, timely.store.keys(run).state("Both"), "started_at", at)

    answer = elsewhere(timely, before_commit=disturb, deadline_s=0.05).try_complete(run, "Both/1/Right", token, "r")

    assert isinstance(answer, Updated)
    assert answer.status is Status.SUCCEEDED
    assert len(commits) > 1
    look(timely, run, "Both")
    assert timely.given(run, "After") == ["left", "r"]


# Requests that come twice


@rows("kind", ["Parallel", "Map"])
def test_repeating_a_completion_is_told_the_same_after_its_scope_was_tried_again(timely: World, kind: str) -> None:
    around = {
        "Parallel": parallel({"Try": task("More"), "More": task()}, Retry=AGAIN),
        "Map": each({"Try": task()}, MaxConcurrency=1, Retry=AGAIN),
    }[kind]
    run = timely.create(workflow({"Both": around}), run_input=[1, 2])
    token = timely.acquire(run, "Both/0/Try")
    first = timely.complete(run, "Both/0/Try", token, 1)
    (following,) = first.next_states
    timely.fail(run, following, timely.acquire(run, following))
    waiting = timely.try_complete(run, "Both/0/Try", token, 1)
    assert "Both" in ahead.until_next(timely, run)
    look(timely, run, "Both")

    again = timely.try_complete(run, "Both/0/Try", token, 1)

    assert timely.doc(run, "Both/0/Try").is_ready
    assert told(waiting) == told(again) == told(first)


@rows("claiming", [False, True], ids=["completes", "completes and leases"])
def test_a_repeated_completion_whose_process_died_before_the_join_has_one_answer(timely: World, claiming: bool) -> None:
    run = timely.create(workflow({"Both": parallel({"Left": task()}, {"Right": task()}, following="After"), **AFTER}))
    timely.do(run, "Both/0/Left", output="left")
    token = timely.acquire(run, "Both/1/Right", "ann")
    wish: dict[str, Any] = {"output": "right", "owner": "ann", **({"claim_ttl_s": 60} if claiming else {})}
    assert dies(timely, 1, lambda: timely.complete(run, "Both/1/Right", token, **wish))

    answers = [elsewhere(timely).complete(run, "Both/1/Right", token, **wish) for _ in range(3)]

    assert answers[0].next_states == ("After",)
    assert (answers[0].claimed is not None) is claiming
    assert told(answers[0]) == told(answers[1]) == told(answers[2])


# The end of all


def immortal(world: World, run: str, clock: World | None = None) -> list[str]:
    """The keys that stay although the run was closed and the clock went round a few times."""
    world.finalize(run)
    for _ in range(3):  # what is owed, then the rest
        (clock or world).notifications.pulse()
    assert not world.is_live(run)
    return sorted(key for key in world.keys_of(run) if not 0 < int(world.ask("TTL", key)) <= 60)


def test_every_key_expires_of_a_map_that_read_more_items_in_an_earlier_visit(real: World) -> None:
    world = elsewhere(real, items=Files(TEXTS))
    run = world.create(shelf(), run_input={"key": "two.json"}, retention_s=60)
    for number in range(2):
        world.do(run, f"Each/{number}/Score", output=1)
    world.do(run, "Ask", output={"key": "one.json"})
    world.do(run, "Each/0/Score", output=1)
    world.do(run, "Ask", output={})

    assert world.run_status(run) is RunStatus.SUCCEEDED
    assert immortal(world, run) == []


def test_every_key_expires_of_nested_maps_that_were_larger_in_an_earlier_visit(real: World) -> None:
    inner = each({"Leaf": task()}, ItemsPath="$")
    document = rounds(each({"Inner": inner}, ItemsPath="$.rows", MaxConcurrency=1), "rows")
    run = real.create(document, run_input={"rows": [[1], [1, 2, 3], [1]]}, retention_s=60)
    for row, size in enumerate((1, 3, 1)):
        for leaf in range(size):
            real.do(run, f"Each/{row}/Inner/{leaf}/Leaf", output=1)
    real.do(run, "Ask", output={"rows": [[1], [1]]})
    for row in range(2):
        real.do(run, f"Each/{row}/Inner/0/Leaf", output=1)
    real.do(run, "Ask", output={})

    assert real.run_status(run) is RunStatus.SUCCEEDED
    assert immortal(real, run) == []


QUIET = {"Quiet": {"Type": "Pass", "End": True}}
AT_ONCE = {
    "a silent Map": each(QUIET),
    "a Parallel that fails": parallel(QUIET, {"Bad": {"Type": "Fail"}}),
    "a silent Map in a branch": parallel({"Inner": each(QUIET)}, {"Work": task()}),
}


@rows("state", AT_ONCE.values(), ids=AT_ONCE)
def test_every_key_expires_of_a_scope_that_was_over_in_the_moment_it_began(real: World, state: Document) -> None:
    run = real.create(workflow({"Each": state}), run_input=[1, 2, 3], retention_s=60)

    assert immortal(real, run) == []


def claimed_pair(world: World, **more: Any) -> tuple[str, list[Leased]]:
    both = parallel({"Left": task()}, {"Right": task()}, **more)
    document = workflow({"Both": both, **({"Mend": task()} if more else {})})
    document["asl"]["TimeoutSeconds"] = 50
    run = world.create(document)
    claims = [world.claim(run, "ann") for _ in range(2)]
    return run, [leased for leased in claims if isinstance(leased, Leased)]


def claims(world: World, run: str) -> Any:
    return world.ask("HGETALL", world.store.keys(run).claims)


def test_no_claim_is_remembered_of_a_scope_that_is_over(timely: World) -> None:
    run, (first, _) = claimed_pair(timely, Catch=catching("Mend"))
    assert claims(timely, run)
    timely.fail(run, first.state, first.doc.lease.token or "")
    assert timely.doc(run, "Mend").is_ready

    assert not claims(timely, run)
    assert Crew(world=timely, run=run).finish()["status"] == "SUCCEEDED"
    assert not claims(timely, run)


def test_no_claim_is_remembered_of_a_run_that_failed(timely: World) -> None:
    run, (first, _) = claimed_pair(timely)

    timely.fail(run, first.state, first.doc.lease.token or "")

    assert timely.run_status(run) is RunStatus.FAILED
    assert not claims(timely, run)


def test_no_claim_is_remembered_of_a_run_that_was_given_up(timely: World) -> None:
    run, _ = claimed_pair(timely)

    timely.finalize(run)

    assert not claims(timely, run)


def test_no_claim_is_remembered_of_a_run_whose_time_was_over(timely: World) -> None:
    run, _ = claimed_pair(timely)
    ahead.let_pass(timely, seconds=60)

    timely.plane.time_out(run)

    assert timely.run_status(run) is RunStatus.FAILED
    assert not claims(timely, run)
