"""Early ends of a Parallel or Map: failures, tolerated and not, time, and the end of the run around it."""

from typing import Any

from dcf.core.documents.answers import Leased, Released
from dcf.core.documents.model import RunStatus, Status
from dcf.values.refusal import Refusal
from tests.support import ahead
from tests.support.agents.crew import Crew
from tests.support.tables import rows
from tests.support.trouble import dies
from tests.support.workflows.machines import Document, workflow
from tests.support.workflows.scopes import END, catching, distributed, each, parallel, retrying, task
from tests.support.world import World

REFUSED = ("terminal", "lease_lost")


def both(**more: Any) -> Document:
    """A branch that may fail with two that continue; a Catch leads to `Mend`."""
    inner = parallel({"Near": task()}, {"Far": task()})
    branches = ({"Bad": task()}, {"Good": task()}, {"Inner": inner})
    mend = {"Mend": task()} if "Catch" in more else {}
    return workflow({"Both": parallel(*branches, following="Done", **more), "Done": END, **mend})


def mapped(**more: Any) -> Document:
    return workflow({"Each": distributed({"Try": task()}, **more)})


def is_refused(answer: object) -> bool:
    return isinstance(answer, Refusal) and answer.code in REFUSED


def assert_fenced(world: World, run: str, state: str, token: str) -> None:
    """Each attempt of a late holder is refused, and changes no document."""
    before = world.raw_docs(run)
    assert is_refused(world.renew(run, state, token))
    assert is_refused(world.update(run, state, token, output="late"))
    assert is_refused(world.try_complete(run, state, token, "late"))
    assert is_refused(world.fail(run, state, token, "Late"))
    released = world.release(run, state, token)
    assert is_refused(released) or (isinstance(released, Released) and released.outcome == "lease_already_clear")
    assert world.raw_docs(run) == before


def settle(world: World, run: str) -> None:
    """Let the clock do all that it has to do by now, and some more."""
    for _ in range(3):
        world.notifications.pulse()
        ahead.look(world, run)


def open_states(world: World, run: str) -> dict[str, Status]:
    return {path: doc.status for path, doc in world.every_doc(run).items() if not doc.status.is_terminal}


def test_a_state_that_failed_has_the_epoch_of_its_failure(world: World) -> None:
    """It is larger than that of the scope's opening, so that nothing opened before counts as inside again."""
    run = world.create(both(Catch=catching("Mend")))
    opened = world.doc(run, "Both").lease.epoch
    token = world.acquire(run, "Both/0/Bad")
    leased = world.doc(run, "Both/0/Bad").lease.epoch

    world.fail(run, "Both/0/Bad", token)

    failures = [event for event in world.events(run) if event.type == "StateFailed"]
    epoches = {event.state or "": event.data["epoch"] for event in failures}
    assert {path: world.doc(run, path).lease.epoch for path in epoches} == epoches
    assert epoches["Both"] == epoches["Both/0/Bad"] > leased > opened
    assert world.doc(run, "Mend").lease.epoch == epoches["Both"]


def test_a_state_that_failed_outside_any_scope_keeps_the_epoch_of_its_lease(world: World) -> None:
    run = world.create(workflow({"Bad": task(Catch=catching("Mend")), "Mend": task()}))
    token = world.acquire(run, "Bad")
    leased = world.doc(run, "Bad").lease

    world.fail(run, "Bad", token)

    failed = world.doc(run, "Bad").lease
    assert (failed.epoch, failed.token) == (leased.epoch, None)


def test_the_first_failure_closes_the_scope_and_late_siblings_are_refused(timely: World) -> None:
    run = timely.create(both(Catch=catching("Mend")))
    good, far = (timely.acquire(run, state) for state in ("Both/1/Good", "Both/2/Inner/1/Far"))

    timely.fail(run, "Both/0/Bad", timely.acquire(run, "Both/0/Bad"), "Broken", "a wheel")

    assert timely.run_status(run) is RunStatus.RUNNING
    assert timely.doc(run, "Both").status is Status.FAILED
    assert timely.given(run, "Mend") == {"Error": "Broken", "Cause": "a wheel"}
    assert_fenced(timely, run, "Both/1/Good", good)
    assert_fenced(timely, run, "Both/2/Inner/1/Far", far)
    assert isinstance(timely.try_acquire(run, "Both/2/Inner/0/Near"), Refusal)


def test_what_was_open_in_a_closed_scope_ends_up_cancelled(timely: World) -> None:
    run = timely.create(both(Catch=catching("Mend")))
    timely.acquire(run, "Both/1/Good")
    timely.fail(run, "Both/0/Bad", timely.acquire(run, "Both/0/Bad"))

    settle(timely, run)

    docs = timely.every_doc(run)
    cancelled = {path for path, doc in docs.items() if doc.status is Status.CANCELLED}
    assert cancelled >= {"Both/1/Good", "Both/2/Inner/0/Near", "Both/2/Inner/1/Far"}
    assert {event.state for event in timely.events(run) if event.type == "StateCancelled"} == cancelled
    assert docs["Both/0/Bad"].status is Status.FAILED
    assert not [path for path in ahead.timers(timely, run) if path.startswith("Both/")]
    timely.do(run, "Mend", output="mended")
    assert timely.meta(run)["output"] == "mended"


def test_what_the_clock_cancels_in_place_of_a_dead_process_stands_in_the_history(timely: World) -> None:
    run = timely.create(both(Catch=catching("Mend")))
    good = timely.claim(run, "ann")
    assert isinstance(good, Leased)
    token = timely.acquire(run, "Both/0/Bad") if good.state != "Both/0/Bad" else str(good.doc.lease.token)
    assert dies(timely, 1, lambda: timely.fail(run, "Both/0/Bad", token))
    left = [path for path in ahead.timers(timely, run) if path.startswith("Both/")]
    assert len(left) >= 3

    for path in left:
        timely.plane.look(run, path)

    cancelled = [event.state for event in timely.events(run) if event.type == "StateCancelled"]
    assert sorted(map(str, cancelled)) == sorted(left)
    assert timely.ask("HLEN", timely.store.keys(run).claims) == 0


def test_a_scope_that_is_entered_again_before_the_cancelling_forgets_old_claims(timely: World) -> None:
    run = timely.create(both(Retry=retrying("Broken")))
    bad = timely.acquire(run, "Both/0/Bad")
    assert isinstance(timely.claim(run, "ann"), Leased)
    assert dies(timely, 1, lambda: timely.fail(run, "Both/0/Bad", bad))

    for _ in range(3):
        for path in ahead.until_next(timely, run):
            if path == "Both":
                timely.plane.look(run, path)

    assert timely.event_types(run, "Both").count("StateEntered") == 2
    assert timely.ask("HLEN", timely.store.keys(run).claims) == 0


def test_nobody_is_offered_what_stands_in_a_closed_scope(timely: World) -> None:
    run = timely.create(both(Catch=catching("Mend")))
    timely.fail(run, "Both/0/Bad", timely.acquire(run, "Both/0/Bad"))

    claimed = timely.claim(run, "ann")

    assert getattr(claimed, "state", None) == "Mend"


def test_a_failure_inside_an_inner_scope_closes_those_around_it(timely: World) -> None:
    run = timely.create(both())
    good = timely.acquire(run, "Both/1/Good")

    timely.fail(run, "Both/2/Inner/1/Far", timely.acquire(run, "Both/2/Inner/1/Far"), "Broken", "deep inside")

    assert (timely.run_status(run), timely.meta(run)["error"]) == (RunStatus.FAILED, "Broken")
    assert timely.meta(run)["cause"] == "deep inside"
    assert_fenced(timely, run, "Both/1/Good", good)
    settle(timely, run)
    assert open_states(timely, run) == {}
    docs = timely.every_doc(run)
    assert {docs[path].status for path in ("Both/0/Bad", "Both/1/Good", "Both/2/Inner/0/Near")} == {Status.CANCELLED}


def test_a_failure_that_is_caught_inside_does_not_close_the_scope(timely: World) -> None:
    branch = {"Bad": task(Catch=catching("Inside")), "Inside": task()}
    run = timely.create(workflow({"Both": parallel(branch, {"Good": task()})}))

    timely.fail(run, "Both/0/Bad", timely.acquire(run, "Both/0/Bad"))
    timely.do(run, "Both/1/Good", output="good")
    timely.do(run, "Both/0/Inside", output="caught")

    assert timely.meta(run)["output"] == ["caught", "good"]


def test_a_retried_scope_starts_all_branches_again_and_refuses_old_tokens(timely: World) -> None:
    run = timely.create(both(Retry=retrying("Broken")), run_input={"x": 1})
    timely.do(run, "Both/2/Inner/0/Near", output="old")
    good = timely.acquire(run, "Both/1/Good")
    timely.fail(run, "Both/0/Bad", timely.acquire(run, "Both/0/Bad"))
    assert isinstance(timely.try_acquire(run, "Both/0/Bad"), Refusal)
    assert_fenced(timely, run, "Both/1/Good", good)

    ahead.look(timely, run, times=2)

    for state in ("Both/0/Bad", "Both/1/Good", "Both/2/Inner/0/Near", "Both/2/Inner/1/Far"):
        assert timely.given(run, state) == {"x": 1}
        token = timely.acquire(run, state)
        assert is_refused(timely.try_complete(run, "Both/1/Good", good, "late"))
        timely.complete(run, state, token, state)
    assert timely.meta(run)["output"][0] == "Both/0/Bad"
    assert "StateRetried" in timely.event_types(run, "Both")


def test_a_map_that_is_retried_runs_all_its_iterations_again(timely: World) -> None:
    state = each({"Try": task()}, MaxConcurrency=2, Retry=retrying("Broken"))
    run = timely.create(workflow({"Each": state}), run_input=[1, 2, 3])
    timely.do(run, "Each/0/Try", output="old")
    old = timely.acquire(run, "Each/2/Try")
    timely.fail(run, "Each/1/Try", timely.acquire(run, "Each/1/Try"))

    ahead.look(timely, run, times=2)

    assert is_refused(timely.try_complete(run, "Each/2/Try", old, "late"))
    assert Crew(world=timely, run=run).finish()["output"] == [1, 2, 3]


def test_a_task_inside_is_retried_alone(timely: World) -> None:
    state = each({"Try": task(Retry=retrying("Busy"))})
    run = timely.create(workflow({"Each": state}), run_input=[1, 2])
    timely.fail(run, "Each/0/Try", timely.acquire(run, "Each/0/Try"), "Busy")
    timely.do(run, "Each/1/Try", output="two")
    assert isinstance(timely.try_acquire(run, "Each/0/Try"), Refusal)

    ahead.look(timely, run)

    assert timely.given(run, "Each/0/Try") == 1
    timely.do(run, "Each/0/Try", output="one")
    assert timely.meta(run)["output"] == ["one", "two"]


@rows("tolerance", [{"ToleratedFailureCount": 2}, {"ToleratedFailurePercentage": 50}], ids=["count", "percentage"])
def test_a_map_bears_as_many_failures_as_it_says(timely: World, tolerance: Document) -> None:
    run = timely.create(mapped(MaxConcurrency=2, **tolerance), run_input=list("abcd"))

    for number in range(4):
        path = f"Each/{number}/Try"
        token = timely.acquire(run, path)
        if number % 2:
            timely.fail(run, path, token)
        else:
            timely.complete(run, path, token, number)

    assert (timely.run_status(run), timely.meta(run)["output"]) == (RunStatus.SUCCEEDED, [0, 2])


@rows("tolerance", [{"ToleratedFailureCount": 1}, {"ToleratedFailurePercentage": 25}], ids=["count", "percentage"])
def test_one_failure_too_many_closes_the_map(timely: World, tolerance: Document) -> None:
    run = timely.create(mapped(**tolerance), run_input=list("abcd"))
    acquire = timely.acquire(run, "Each/3/Try")

    for number in range(2):
        timely.fail(run, f"Each/{number}/Try", timely.acquire(run, f"Each/{number}/Try"))

    error = "States.ExceedToleratedFailureThreshold"
    assert (timely.run_status(run), timely.meta(run)["error"]) == (RunStatus.FAILED, error)
    assert_fenced(timely, run, "Each/3/Try", acquire)
    settle(timely, run)
    assert open_states(timely, run) == {}


def test_a_wait_inside_ends_by_the_clock(timely: World) -> None:
    pause = {"Pause": {"Type": "Wait", "Seconds": 30, "Next": "Then"}, "Then": task()}
    run = timely.create(workflow({"Both": parallel(pause, {"Now": task()})}), run_input=4)
    timely.plane.kick_off(run, "initial")
    timely.do(run, "Both/1/Now", output="now")
    assert set(open_states(timely, run)) == {"Both", "Both/0/Pause"}

    ahead.look(timely, run, times=3)

    timely.do(run, "Both/0/Then", output="then")
    assert timely.meta(run)["output"] == ["then", "now"]


def test_a_task_inside_that_takes_too_long_closes_the_scope(timely: World) -> None:
    states = {"Both": parallel({"Slow": task(TimeoutSeconds=5)}, {"Other": task()})}
    run = timely.create(workflow(states))
    slow, other = (timely.acquire(run, state) for state in ("Both/0/Slow", "Both/1/Other"))

    ahead.look(timely, run)

    assert (timely.run_status(run), timely.meta(run)["error"]) == (RunStatus.FAILED, "States.Timeout")
    assert_fenced(timely, run, "Both/0/Slow", slow)
    assert_fenced(timely, run, "Both/1/Other", other)


def test_a_machine_whose_time_is_over_fails_whatever_would_catch_it(timely: World) -> None:
    document = both(Catch=catching("Mend"))
    document["asl"]["TimeoutSeconds"] = 30
    run = timely.create(document, planner="pam")
    good = timely.acquire(run, "Both/1/Good")
    timely.do(run, "Both/2/Inner/0/Near")
    assert timely.run_status(run) is RunStatus.RUNNING

    ahead.look(timely, run, times=10)

    assert (timely.run_status(run), timely.meta(run)["error"]) == (RunStatus.FAILED, "States.Timeout")
    assert_fenced(timely, run, "Both/1/Good", good)
    settle(timely, run)
    assert open_states(timely, run) == {}
    assert [event["status"] for event in timely.messages("pam")] == ["failed"]


def test_a_machine_that_ends_in_time_is_not_touched_afterwards(timely: World) -> None:
    document = workflow({"Both": parallel({"Left": task()}, {"Right": task()})})
    document["asl"]["TimeoutSeconds"] = 30
    run = timely.create(document)
    for state in ("Both/0/Left", "Both/1/Right"):
        timely.do(run, state, output=1)

    settle(timely, run)

    assert (timely.run_status(run), timely.meta(run)["output"]) == (RunStatus.SUCCEEDED, [1, 1])
    assert ahead.timers(timely, run) == {}


def test_finalizing_closes_what_is_open_inside(timely: World) -> None:
    run = timely.create(both(Catch=catching("Mend")))
    good = timely.acquire(run, "Both/1/Good")
    timely.do(run, "Both/2/Inner/0/Near")

    audit = timely.finalize(run).audit

    assert audit["final_status"] == "cancelled"
    settle(timely, run)
    docs = timely.every_doc(run)
    assert {path: doc.status for path, doc in docs.items() if not doc.status.is_terminal} == {}
    assert {docs[path].status for path in ("Both/0/Bad", "Both/1/Good", "Both/2/Inner/1/Far")} == {Status.CANCELLED}
    assert docs["Both/2/Inner/0/Near"].status is Status.SUCCEEDED
    assert_fenced(timely, run, "Both/1/Good", good)
    assert ahead.timers(timely, run) == {}


def test_items_that_cannot_be_made_fail_the_map_with_the_error_that_says_so(timely: World) -> None:
    run = timely.create(workflow({"Each": each({"Try": task()}, ItemsPath="$.none")}), run_input={"some": []})

    assert timely.run_status(run) is RunStatus.FAILED
    assert timely.meta(run)["error"].startswith("States.")
