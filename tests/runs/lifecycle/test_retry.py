"""A run that failed, timed out or was cancelled is continued: succeeded states stay, the rest is tried again."""

from collections.abc import Callable
from typing import Any

from dcf.core.documents.decision import Decision, ReadSet, Snapshot, WriteSet
from dcf.core.documents.model import OPEN, RunStatus, Status
from dcf.core.documents.operations import RunAnswer, RunRequest
from dcf.values.instants import SECOND
from dcf.values.refusal import Refusal
from tests.support.ahead import deadline, let_pass, look, now
from tests.support.redis.documents import read_document
from tests.support.trouble import Killer, dies
from tests.support.workflows.machines import Document, chain, workflow
from tests.support.workflows.scopes import catching, distributed, each, parallel, retrying, task
from tests.support.world import World


def retried(world: World, run: str, **more: Any) -> RunAnswer:
    answer = world.retrying.retry(run, **more)
    assert isinstance(answer, RunAnswer), answer
    return answer


def refused(world: World, run: str) -> Refusal:
    answer = world.retrying.retry(run)
    assert isinstance(answer, Refusal), answer
    assert answer.code == "cannot_retry"
    return answer


def fail(world: World, run: str, *states: str) -> None:
    for state in states:
        world.fail(run, state, world.acquire(run, state))


def refusal_code(answer: object) -> str:
    assert isinstance(answer, Refusal), answer
    return answer.code


def failed(world: World, document: Document, **options: Any) -> str:
    """A run of A, B, C that failed in B."""
    run = world.create(document, **options)
    world.do(run, "A", output=1)
    fail(world, run, "B")
    assert world.run_status(run) is RunStatus.FAILED
    return run


def test_a_retried_state_keeps_what_it_waits_for(world: World) -> None:
    """`rerun` reads from it which output the state gets."""
    run = failed(world, chain("A", "B", "C"))
    before = world.doc(run, "B").waits_for
    assert before == {"A": world.doc(run, "A").lease.epoch}
    retried(world, run)
    assert world.doc(run, "B").waits_for == before


def test_a_failed_run_goes_on_in_the_state_that_failed(world: World) -> None:
    run = failed(world, chain("A", "B", "C"), planner="boss", agents={"B": "w"})
    before, ended = world.doc(run, "B"), world.meta(run)
    assert ended["error"] == "Broken"
    answer = retried(world, run, reason="mended")
    assert answer.answer["states"] == ["B"]
    assert world.statuses(run) == {"A": "succeeded", "B": "pending", "C": "pending"}
    meta, doc = world.meta(run), world.doc(run, "B")
    assert (meta["status"], meta["finished_at"], meta["error"], meta["cause"], meta["retried"]) == (
        "running",
        None,
        None,
        None,
        1,
    )
    assert (doc.attempts, doc.last_error, doc.finished_at) == (0, None, None)
    assert doc.lease.epoch > before.lease.epoch
    assert (world.given(run, "B"), world.output(run, "A")) == (1, 1)
    event = next(event for event in world.events(run) if event.type == "RunRetried")
    assert (event.data["reason"], event.data["states"]) == ("mended", ["B"])
    world.notifications.deliver_all(run)
    assert {
        event["target_state"]: event["reason"] for event in world.messages("w") if event["reason"] == "retried"
    } == {"B": "retried"}
    world.do(run, "B", output=2)
    world.do(run, "C", output=3)
    assert (world.run_status(run), world.meta(run)["output"]) == (RunStatus.SUCCEEDED, 3)


def test_retries_and_attempts_start_afresh(timely: World) -> None:
    states: Document = {"A": task("B"), "B": task("C", Retry=retrying("States.ALL", MaxAttempts=1)), "C": task()}
    run = timely.create(workflow(states))
    timely.do(run, "A")
    for _ in range(2):
        fail(timely, run, "B")
        let_pass(timely, 5)
        timely.notifications.pulse()
    assert timely.run_status(run) is RunStatus.FAILED
    retried(timely, run)
    fail(timely, run, "B")
    assert timely.run_status(run) is RunStatus.RUNNING, "it is retried once more"
    assert timely.doc(run, "B").retries == 1


def test_a_run_that_timed_out_gets_its_time_anew(timely: World) -> None:
    document = chain("A", "B")
    document["asl"]["TimeoutSeconds"] = 60
    run = timely.create(document)
    timely.plane.kick_off(run, "initial")
    timely.do(run, "A", output=1)
    token = timely.acquire(run, "B")
    let_pass(timely, 61)
    timely.plane.time_out(run)
    assert (timely.run_status(run), timely.meta(run)["error"]) == (RunStatus.FAILED, "States.Timeout")
    assert timely.statuses(run)["B"] == "cancelled"
    retried(timely, run)
    assert deadline(timely, run) > now(timely) + 50 * SECOND
    late = timely.try_complete(run, "B", token, "late")
    assert isinstance(late, Refusal)
    assert late.code == "lease_lost"
    timely.do(run, "B")
    assert timely.run_status(run) is RunStatus.SUCCEEDED


def test_a_cancelled_run_goes_on_where_it_was_cancelled(world: World) -> None:
    run = world.create(chain("A", "B", "C"))
    world.do(run, "A", output=1)
    world.lifecycle.cancel(run)
    assert world.statuses(run) == {"A": "succeeded", "B": "cancelled", "C": "skipped"}
    retried(world, run)
    assert world.statuses(run) == {"A": "succeeded", "B": "pending", "C": "pending"}
    world.do(run, "B")
    world.do(run, "C")
    assert world.run_status(run) is RunStatus.SUCCEEDED


def test_what_was_not_closed_yet_is_reopened_and_its_holder_fenced_out(timely: World) -> None:
    """The process that ended the run died before it closed what was open."""
    run = timely.create(workflow({"Each": each({"P": task()})}), run_input=[1, 2])
    first, second = (timely.acquire(run, f"Each/{index}/P") for index in range(2))
    assert isinstance(timely.before_commit, Killer)
    assert dies(timely, 1, lambda: timely.fail(run, "Each/0/P", first))
    retried(timely, run)
    assert {path: doc.status for path, doc in timely.every_doc(run).items()} == {
        "Each": Status.RUNNING,
        "Each/0/P": Status.PENDING,
        "Each/1/P": Status.PENDING,
    }
    assert refusal_code(timely.try_complete(run, "Each/1/P", second, 1)) == "lease_lost"
    assert refusal_code(timely.try_acquire(run, "Each/1/P", token=second)) == "token_used"
    assert timely.update(run, "Each/0/P", first, status=Status.FAILED, error="Broken", cause="why").repeated  # type: ignore[union-attr]
    timely.notifications.pulse()
    for index in range(2):
        timely.do(run, f"Each/{index}/P", output=index)
    assert timely.meta(run)["output"] == [0, 1]


def test_iterations_that_succeeded_keep_their_results(world: World) -> None:
    document = workflow({"Each": each({"P": task("Q"), "Q": task()}, MaxConcurrency=2)})
    run = world.create(document, run_input=list(range(6)))
    for index in (0, 1):
        world.do(run, f"Each/{index}/P")
        world.do(run, f"Each/{index}/Q", output=f"old {index}")
    world.do(run, "Each/2/P", output="kept")
    fail(world, run, "Each/3/P")
    assert world.run_status(run) is RunStatus.FAILED
    before = world.every_doc(run)
    answer = retried(world, run)
    assert answer.answer["states"] == ["Each/2/Q", "Each/3/P"]
    after = world.every_doc(run)
    assert all(after[path] == doc for path, doc in before.items() if doc.status is Status.SUCCEEDED)
    assert world.given(run, "Each/2/Q") == "kept"
    overview = world.views.overview(run).as_json()
    assert overview["states"]["Each"]["tally"] == {"done": 2, "failed": 0}
    world.do(run, "Each/2/Q", output="new 2")
    for index in (3, 4, 5):
        world.do(run, f"Each/{index}/P")
        world.do(run, f"Each/{index}/Q", output=f"new {index}")
    assert world.run_status(run) is RunStatus.SUCCEEDED
    assert world.meta(run)["output"] == ["old 0", "old 1", "new 2", "new 3", "new 4", "new 5"]


def test_a_run_is_retried_as_often_as_it_fails(world: World) -> None:
    run = world.create(workflow({"Each": each({"P": task()}, MaxConcurrency=2)}), run_input=list(range(5)))
    for index in range(4):
        fail(world, run, f"Each/{index}/P")
        assert world.run_status(run) is RunStatus.FAILED
        assert retried(world, run).answer["retried"] == index + 1
        world.do(run, f"Each/{index}/P", output=index)
    world.do(run, "Each/4/P", output=4)
    assert world.meta(run)["output"] == [0, 1, 2, 3, 4]
    done = [event.state for event in world.events(run) if event.type == "StateSucceeded"]
    assert sorted(filter(None, done)) == ["Each", *(f"Each/{index}/P" for index in range(5))]


def test_tolerated_failed_iterations_are_retried_one_after_the_other(world: World) -> None:
    """MaxConcurrency holds: an iteration whose turn comes later begins again."""
    processor = {"P": task("Q"), "Q": task()}
    document = workflow({"Each": distributed(processor, MaxConcurrency=1, ToleratedFailureCount=1)})
    run = world.create(document, run_input=list(range(4)))
    fail(world, run, "Each/0/P")
    world.do(run, "Each/1/P")
    world.do(run, "Each/1/Q", output="old 1")
    world.do(run, "Each/2/P")
    fail(world, run, "Each/2/Q")
    assert world.run_status(run) is RunStatus.FAILED
    retried(world, run)
    assert sorted(path for path, doc in world.every_doc(run).items() if doc.status in OPEN) == ["Each", "Each/0/P"]
    assert "Each/2/P" not in world.every_doc(run)
    for index in (0, 2, 3):
        world.do(run, f"Each/{index}/P")
        world.do(run, f"Each/{index}/Q", output=f"new {index}")
    assert world.run_status(run) is RunStatus.SUCCEEDED
    assert world.meta(run)["output"] == ["new 0", "old 1", "new 2", "new 3"]


def test_tolerance_is_counted_afresh(world: World) -> None:
    document = workflow({"Each": distributed({"P": task()}, ToleratedFailureCount=1)})
    run = world.create(document, run_input=[0, 1, 2])
    fail(world, run, "Each/0/P", "Each/1/P")
    retried(world, run)
    fail(world, run, "Each/0/P")
    assert world.run_status(run) is RunStatus.RUNNING
    world.do(run, "Each/1/P", output=1)
    world.do(run, "Each/2/P", output=2)
    assert world.meta(run)["output"] == [1, 2]


def test_a_repetition_of_what_a_holder_did_before_is_still_known(world: World) -> None:
    processor = {"P": task("Q"), "Q": task()}
    document = workflow({"Each": distributed(processor, MaxConcurrency=1, ToleratedFailureCount=1)})
    run = world.create(document, run_input=[0, 1])
    fail(world, run, "Each/0/P")
    token = world.acquire(run, "Each/1/P")
    world.complete(run, "Each/1/P", token, "p")
    fail(world, run, "Each/1/Q")
    retried(world, run)
    world.do(run, "Each/0/P")
    world.do(run, "Each/0/Q")
    assert world.complete(run, "Each/1/P", token, "p").repeated
    assert world.doc(run, "Each/1/P").status is Status.PENDING


def test_branches_of_a_parallel_and_what_is_nested_go_on(world: World) -> None:
    inner = each({"X": task()}, "R")
    document = workflow(
        {"Both": parallel({"P": task()}, {"Inner": inner, "R": task()}, following="End"), "End": task()}
    )
    run = world.create(document, run_input=[0, 1])
    world.do(run, "Both/0/P", output="p")
    world.do(run, "Both/1/Inner/0/X", output="x0")
    fail(world, run, "Both/1/Inner/1/X")
    assert world.run_status(run) is RunStatus.FAILED
    assert retried(world, run).answer["states"] == ["Both/1/Inner/1/X"]
    world.do(run, "Both/1/Inner/1/X", output="x1")
    assert world.given(run, "Both/1/R") == ["x0", "x1"]
    world.do(run, "Both/1/R", output="r")
    assert world.given(run, "End") == ["p", "r"]
    world.do(run, "End")
    assert world.run_status(run) is RunStatus.SUCCEEDED


def test_a_map_whose_join_failed_is_joined_again(world: World) -> None:
    select = {"bad.$": "States.ArrayGetItem($, 5)"}
    run = world.create(workflow({"Each": each({"P": task()}, ResultSelector=select)}), run_input=[0, 1])
    for index in range(2):
        world.do(run, f"Each/{index}/P", output=index)
    assert world.run_status(run) is RunStatus.FAILED
    retried(world, run)
    assert world.run_status(run) is RunStatus.FAILED, "it fails in the same way, at once"
    ended = [event.type for event in world.events(run) if event.type in {"RunRetried", "RunFailed"}]
    assert ended == ["RunFailed", "RunRetried", "RunFailed"]


def test_a_failure_that_was_caught_is_left_alone(world: World) -> None:
    states: Document = {"A": task("B", Catch=catching("Mend")), "Mend": task("B"), "B": task()}
    run = world.create(workflow(states))
    fail(world, run, "A")
    world.do(run, "Mend", output=1)
    fail(world, run, "B")
    before = world.doc(run, "A")
    retried(world, run)
    assert world.doc(run, "A") == before
    assert world.statuses(run) == {"A": "failed", "Mend": "succeeded", "B": "pending"}


def test_in_a_loop_only_the_last_visit_counts(world: World) -> None:
    again = {"Variable": "$.again", "BooleanEquals": True, "Next": "Each"}
    states: Document = {
        "Each": each({"P": task()}, "Judge", ItemsPath="$.items"),
        "Judge": task("More"),
        "More": {"Type": "Choice", "Choices": [again], "Default": "Last"},
        "Last": task(),
    }
    run = world.create(workflow(states), run_input={"items": [0, 1]})
    for index in range(2):
        world.do(run, f"Each/{index}/P", output="first visit")
    world.do(run, "Judge", output={"again": True, "items": [0, 1]})
    fail(world, run, "Each/0/P")
    assert world.run_status(run) is RunStatus.FAILED
    assert retried(world, run).answer["states"] == ["Each/0/P", "Each/1/P"]
    for index in range(2):
        world.do(run, f"Each/{index}/P", output="second visit")
    assert world.given(run, "Judge") == ["second visit"] * 2


def test_what_a_loop_did_before_is_not_taken_for_this_visit(world: World) -> None:
    """The second visit of the Map fails before it opens an iteration."""
    again = {"Variable": "$.again", "BooleanEquals": True, "Next": "Each"}
    selector = {"x.$": "$$.Map.Item.Value.x"}
    states: Document = {
        "Each": each({"P": task()}, "Judge", ItemsPath="$.items", ItemSelector=selector),
        "Judge": task("More"),
        "More": {"Type": "Choice", "Choices": [again], "Default": "Last"},
        "Last": task(),
    }
    run = world.create(workflow(states), run_input={"items": [{"x": 1}]})
    world.do(run, "Each/0/P", output="first visit")
    world.do(run, "Judge", output={"again": True, "items": [{"y": 1}]})
    assert world.run_status(run) is RunStatus.FAILED
    retried(world, run)
    assert world.run_status(run) is RunStatus.FAILED, "it fails in the same way, and is not joined with what was"


def test_a_map_that_waited_to_be_retried_is_entered_as_a_whole(world: World) -> None:
    document = workflow({"Each": each({"P": task("Q"), "Q": task()}, Retry=retrying("States.ALL"))})
    run = world.create(document, run_input=[0, 1])
    token = world.acquire(run, "Each/0/P")
    world.complete(run, "Each/0/P", token, "before")
    fail(world, run, "Each/0/Q")
    assert world.doc(run, "Each").retries == 1
    world.lifecycle.cancel(run)
    assert retried(world, run).answer["states"] == ["Each"]
    assert sorted(path for path in world.every_doc(run) if "/" in path) == ["Each/0/P", "Each/1/P"]
    assert world.complete(run, "Each/0/P", token, "before").repeated
    for index in range(2):
        world.do(run, f"Each/{index}/P")
        world.do(run, f"Each/{index}/Q", output=index)
    assert world.meta(run)["output"] == [0, 1]


def test_a_wait_that_was_cut_short_waits_again(timely: World) -> None:
    run = timely.create(workflow({"Rest": {"Type": "Wait", "Seconds": 60, "Next": "A"}, "A": task()}))
    timely.lifecycle.cancel(run)
    retried(timely, run)
    look(timely, run)
    assert timely.statuses(run)["A"] == "pending"


def test_a_holder_of_before_gets_nothing_with_its_token(world: World) -> None:
    """Neither by completing, nor by asking for the lease once more; what the run's end closed is closed for it."""
    run = world.create(workflow({"Each": each({"P": task()}, "B"), "B": task()}), run_input=[1, 2])
    inside = world.acquire(run, "Each/1/P", token="inside")
    fail(world, run, "Each/0/P")
    retried(world, run)
    assert refusal_code(world.try_complete(run, "Each/1/P", inside, "late")) == "lease_lost"
    assert refusal_code(world.try_acquire(run, "Each/1/P", token=inside)) == "token_used"
    for index in range(2):
        world.do(run, f"Each/{index}/P", output=index)
    outside = world.acquire(run, "B", token="outside")
    world.lifecycle.cancel(run)
    retried(world, run)
    assert refusal_code(world.try_complete(run, "B", outside, "late")) == "lease_lost"
    assert refusal_code(world.try_acquire(run, "B", token=outside)) == "token_used"
    world.do(run, "B")
    assert world.run_status(run) is RunStatus.SUCCEEDED


def test_a_run_that_the_clock_has_packed_goes_on(timely: World) -> None:
    run = failed(timely, chain("A", "B", "C"))
    for _ in range(2):
        timely.notifications.pulse()
    assert isinstance(read_document(timely.ask, timely.store.keys(run).definition), str)
    retried(timely, run)
    again = World(connections=timely.connections, onlooker=timely.onlooker)
    for state in ("B", "C"):
        again.do(run, state)
    assert timely.run_status(run) is RunStatus.SUCCEEDED


# What is refused


def test_a_run_that_did_not_fail_is_not_retried(world: World) -> None:
    run = world.create(chain("A"))
    assert "running" in refused(world, run).message
    world.do(run, "A")
    assert "succeeded" in refused(world, run).message


def test_a_finalized_run_is_not_retried(world: World) -> None:
    run = failed(world, chain("A", "B"))
    world.finalize(run)
    assert "rerun" in refused(world, run).hint


def test_a_run_that_a_fail_state_ended_is_not_retried(world: World) -> None:
    run = world.create(workflow({"A": task("No"), "No": {"Type": "Fail", "Error": "No"}}))
    world.do(run, "A")
    assert "Fail state" in refused(world, run).message


def test_an_iteration_that_a_fail_state_ended_begins_anew(world: World) -> None:
    run = world.create(workflow({"Each": each({"P": task("No"), "No": {"Type": "Fail"}})}), run_input=[7])
    world.do(run, "Each/0/P")
    assert world.run_status(run) is RunStatus.FAILED
    retried(world, run)
    assert {path: doc.status for path, doc in world.every_doc(run).items() if "/" in path} == {
        "Each/0/P": Status.PENDING
    }
    assert world.given(run, "Each/0/P") == 7


# Repetitions and races


def test_the_same_request_retries_once(world: World) -> None:
    run = failed(world, chain("A", "B"))
    first = retried(world, run, request_id="once")
    events = len(world.events(run))
    again = retried(world, run, request_id="once")
    assert (again.answer, again.repeated) == (first.answer, True)
    assert len(world.events(run)) == events
    fail(world, run, "B")
    assert retried(world, run, request_id="once").repeated, "also when it has failed again"
    assert world.run_status(run) is RunStatus.FAILED


def test_of_two_that_retry_at_once_one_does(worlds: Callable[..., World]) -> None:
    ours, theirs = worlds(), worlds()
    run = failed(ours, chain("A", "B"))
    ours.before_commit = lambda: None
    halt = ours.retrying._halt(run, ours.plane.run(run).definition)
    retried(theirs, run)
    fail(theirs, run, "B")
    answer = ours.retrying._committed(run, ours.plane.run(run), halt, RunRequest(verb="retry_run", request_id="x"))
    assert not isinstance(answer.answer, RunAnswer | Refusal), "what was read before is of another end"
    assert retried(ours, run).answer["retried"] == 2


def test_a_server_that_dies_before_its_commit_has_changed_nothing(timely: World) -> None:
    run = failed(timely, chain("A", "B"))
    assert dies(timely, 0, lambda: timely.retrying.retry(run, request_id="once"))
    assert timely.run_status(run) is RunStatus.FAILED
    assert not retried(timely, run, request_id="once").repeated


def test_a_retried_run_is_looked_after_by_the_clock_again(timely: World) -> None:
    run = failed(timely, chain("A", "B"), agents={"B": "w"})
    for _ in range(2):
        timely.notifications.pulse()
    assert not timely.is_live(run)
    retried(timely, run)
    assert timely.is_live(run)
    timely.notifications.pulse()
    assert [event["target_state"] for event in timely.messages("w") if event["reason"] == "retried"] == ["B"]


def test_a_retry_and_the_closing_of_what_was_open_do_not_undo_each_other(worlds: Callable[..., World]) -> None:
    """The clock of another process closes a state between the reading and the commit of the retry."""
    theirs, once = worlds(), ["close"]
    run = theirs.create(workflow({"Each": each({"P": task()}, MaxConcurrency=2)}), run_input=[0, 1, 2])

    def interfere() -> None:
        if once:
            once.pop()
            theirs.plane.skip_unreached(run)

    ours = World(connections=theirs.connections, onlooker=theirs.onlooker, before_commit=interfere)
    tokens = [theirs.acquire(run, f"Each/{index}/P") for index in range(2)]
    theirs.store.transact(run, ReadSet(whole_meta=True), _end)
    retried(ours, run)
    assert once == []
    assert theirs.event_types(run).count("StateCancelled") == 3
    assert {path: doc.status for path, doc in theirs.every_doc(run).items()} == {
        "Each": Status.RUNNING,
        "Each/0/P": Status.PENDING,
        "Each/1/P": Status.PENDING,
    }
    for index, token in enumerate(tokens):
        assert refusal_code(theirs.try_complete(run, f"Each/{index}/P", token, "late")) == "lease_lost"
    for index in range(3):
        theirs.do(run, f"Each/{index}/P", output=index)
    assert theirs.meta(run)["output"] == [0, 1, 2]


def _end(_: Snapshot) -> Decision[None]:
    """The writes of the process that ended the run and died."""
    return Decision(answer=None, changes=WriteSet(meta={"status": "cancelled", "finished_at": "2026-01-01T00:00:00Z"}))
