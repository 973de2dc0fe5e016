"""Corrections of results: what follows sees the new one, or has used the old one and the correction is refused."""

from collections.abc import Callable
from typing import Any

from dcf.core.completing.resolving import Resolve
from dcf.core.documents.answers import Leased
from dcf.core.documents.decision import ReadSet
from dcf.core.documents.model import RunStatus, Status
from dcf.core.documents.operations import RunAnswer
from dcf.core.leasing.lease import Acquire
from dcf.features.people.answering import Answerer, HumanAnswer
from dcf.features.questions.correcting import Corrections
from dcf.features.questions.corrections import Correct
from dcf.runs.control_plane import ControlPlane
from dcf.store.access.authors import authored_by
from dcf.store.transaction.runs import RunStore
from dcf.values.refusal import Refusal
from tests.support.ahead import let_pass
from tests.support.tables import rows
from tests.support.workflows.machines import Document, chain, fan, loop, workflow
from tests.support.workflows.scopes import END, each, parallel, retrying, task, when
from tests.support.world import World


def correct(world: World, run: str, state: str, output: Any, token: str | None = None, **more: Any) -> object:
    wish = Correct(state=state, output=output, token=token)
    return world.corrections.correct_result(run, wish, **more)


def corrected(world: World, run: str, state: str, output: Any, token: str | None = None, **more: Any) -> RunAnswer:
    answer = correct(world, run, state, output, token, **more)
    assert isinstance(answer, RunAnswer), answer
    return answer


def refused(world: World, run: str, state: str, output: Any, token: str | None = None) -> Refusal:
    refusal = correct(world, run, state, output, token)
    assert isinstance(refusal, Refusal), refusal
    return refusal


def done(world: World, document: Document, state: str, output: Any, **options: Any) -> tuple[str, str]:
    """A run in which this state was completed; its id, and the token that did it."""
    run = world.create(document, **options)
    token = world.acquire(run, state, "ann")
    world.complete(run, state, token, output)
    return run, token


def test_a_corrected_result_is_the_input_of_what_follows(world: World) -> None:
    run, token = done(world, chain("A", "B"), "A", {"total": 1})
    details = corrected(world, run, "A", {"total": 2}, token, reason="a typo")
    assert details.answer["next_states"] == ["B"]
    assert (world.output(run, "A"), world.given(run, "B")) == ({"total": 2}, {"total": 2})
    lease = world.try_acquire(run, "B")
    assert isinstance(lease, Leased)
    assert lease.given == {"total": 2}
    (event,) = [event for event in world.events(run) if event.type == "ResultCorrected"]
    assert (event.state, event.data["was"], event.data["reason"]) == ("A", {"total": 1}, "a typo")
    assert event.data["before"] != event.data["after"]


def test_a_correction_leaves_the_ended_state_and_its_completion_as_they_are(world: World) -> None:
    run, token = done(world, chain("A", "B"), "A", 1)
    before = world.raw_docs(run)
    corrected(world, run, "A", 2, token)
    assert world.raw_docs(run)["A"] == before["A"]
    again = world.complete(run, "A", token, 1)
    assert again.repeated
    assert world.output(run, "A") == 2


def test_a_result_is_corrected_as_often_as_it_is_wrong(world: World) -> None:
    run, token = done(world, chain("A", "B"), "A", 1)
    for number in (2, 3, 4):
        corrected(world, run, "A", number, token)
    assert world.given(run, "B") == 4


def test_a_repetition_changes_nothing_more_and_another_request_is_refused(world: World) -> None:
    run, token = done(world, chain("A", "B"), "A", 1)
    first = corrected(world, run, "A", 2, token, request_id="r")
    corrected(world, run, "A", 3, token)
    again = corrected(world, run, "A", 2, token, request_id="r")
    assert (again.repeated, again.answer, world.given(run, "B")) == (True, first.answer, 3)
    assert isinstance(correct(world, run, "A", 9, token, request_id="r"), Refusal)


def test_once_the_follower_was_leased_the_correction_is_refused_with_its_name(world: World) -> None:
    run, token = done(world, chain("A", "B"), "A", 1)
    acquire = world.acquire(run, "B", "ben")
    refusal = refused(world, run, "A", 2, token)
    assert (refusal.code, "'ben' works on 'B'" in refusal.message) == ("result_used", True)
    world.release(run, "B", acquire)
    assert refused(world, run, "A", 2, token).code == "result_used"
    world.do(run, "B")
    assert refused(world, run, "A", 2, token).code == "result_used"
    assert world.output(run, "A") == 1


def test_the_result_that_ended_the_run_is_final(world: World) -> None:
    run, token = done(world, chain("A"), "A", 1)
    assert refused(world, run, "A", 2, token).code == "result_used"
    assert world.meta(run)["output"] == 1


def test_only_the_lease_that_completed_it_last_corrects_a_result(world: World) -> None:
    run = world.create(chain("A", "B"))
    early = world.acquire(run, "A", "eve")
    assert "You hold state" in refused(world, run, "A", 2, early).message
    world.release(run, "A", early)
    token = world.acquire(run, "A", "ann")
    world.complete(run, "A", token, 1)
    for other in (early, "forged"):
        assert refused(world, run, "A", 2, other).code == "not_completed"
    assert refused(world, run, "B", 2, token).code == "not_completed"
    assert world.output(run, "A") == 1


def test_a_planner_needs_no_token_also_for_what_was_resolved_by_hand(world: World) -> None:
    run, _ = done(world, chain("A", "B", "C"), "A", 1)
    corrected(world, run, "A", 2)
    world.lifecycle.resolve(run, Resolve(state="B", how="output", output=3))
    corrected(world, run, "B", 4)
    assert (world.given(run, "B"), world.given(run, "C")) == (2, 4)


def test_what_stands_between_is_worked_out_again(world: World) -> None:
    states = {
        "A": task("Add"),
        "Add": {"Type": "Pass", "Parameters": {"sum.$": "$.a"}, "Next": "B"},
        "B": task(),
    }
    run, token = done(world, workflow(states), "A", {"a": 1})
    corrected(world, run, "A", {"a": 2}, token)
    assert (world.output(run, "Add"), world.given(run, "B")) == ({"sum": 2}, {"sum": 2})


def test_data_flow_and_variables_of_the_state_are_those_of_the_new_result(world: World) -> None:
    states = {
        "A": {
            "Type": "Task",
            "QueryLanguage": "JSONata",
            "Assign": {"total": "{% $states.result.total %}"},
            "Output": "{% {'was': $states.input, 'is': $states.result.total} %}",
            "Next": "B",
        },
        "B": {
            "Type": "Task",
            "QueryLanguage": "JSONata",
            "Output": "{% {'total': $total, 'given': $states.input} %}",
            "End": True,
        },
    }
    run, token = done(world, workflow(states), "A", {"total": 1}, run_input={"in": 0})
    corrected(world, run, "A", {"total": 2}, token)
    world.do(run, "B")
    assert world.meta(run)["output"] == {"total": 2, "given": {"was": {"in": 0}, "is": 2}}


def test_timeouts_of_the_follower_follow_from_its_new_input(world: World) -> None:
    states = {"A": task("B"), "B": task(TimeoutSecondsPath="$.limit")}
    run, token = done(world, workflow(states), "A", {"limit": 60})
    before = world.doc(run, "B")
    corrected(world, run, "A", {"limit": 90}, token)
    after = world.doc(run, "B")
    assert before.deadline is not None
    assert after.deadline is not None
    assert (after.timeout_s, after.deadline - before.deadline) == (90, 30_000_000)


def test_the_clock_looks_when_a_shorter_timeout_of_the_follower_has_passed(world: World) -> None:
    states = {"A": task("B"), "B": task(TimeoutSecondsPath="$.limit")}
    run, token = done(world, workflow(states), "A", {"limit": 3600})
    corrected(world, run, "A", {"limit": 5}, token)
    assert world.store.read(run, ReadSet(timers=("B",))).timers["B"] == world.doc(run, "B").deadline


def test_a_result_with_which_the_run_would_have_gone_elsewhere_is_refused(world: World) -> None:
    run, token = done(world, fan(2), "Ask", {"way": "Way0"})
    corrected(world, run, "Ask", {"way": "Way0", "more": 1}, token)
    refusal = refused(world, run, "Ask", {"way": "Way1"}, token)
    assert (refusal.code, "'Way1'" in refusal.message, "'Way0'" in refusal.message) == ("path_differs", True, True)
    assert refused(world, run, "Ask", {"way": "nowhere"}, token).code == "path_differs"
    assert world.given(run, "Way0") == {"way": "Way0", "more": 1}


@rows(
    "follower",
    [
        {"Type": "Wait", "Seconds": 3600, "End": True},
        parallel({"X": task()}, {"Y": task()}),
        each({"X": task()}, ItemsPath="$.items"),
        {"Type": "Task", "Resource": "dcf:human", "Parameters": {"to": "alice", "title": "t"}, "End": True},
        {"Type": "Task", "Resource": "dcf:callback.waitForTaskToken", "End": True},
    ],
    ids=["wait", "parallel", "map", "human", "callback"],
)
def test_what_begins_by_itself_has_used_the_result_at_once(world: World, follower: Document) -> None:
    run, token = done(world, workflow({"A": task("Next"), "Next": follower}), "A", {"items": [1]})
    refusal = refused(world, run, "A", {"items": [2]}, token)
    assert (refusal.code, "'Next'" in refusal.message) == ("result_used", True)


def test_what_no_agent_wrote_is_not_corrected(world: World) -> None:
    ask = {"Type": "Task", "Resource": "dcf:human", "Parameters": {"to": "alice", "title": "t"}, "Next": "B"}
    run = world.create(workflow({"Ask": ask, "B": task()}))
    world.lifecycle.resolve(run, Resolve(state="Ask", how="output", output=1))
    assert refused(world, run, "Ask", 2).code == "not_completed"


def test_a_result_of_an_earlier_visit_has_been_used(world: World) -> None:
    run = world.create(loop())
    token = world.acquire(run, "Work")
    world.complete(run, "Work", token, 1)
    world.do(run, "Check", output={"done": False})
    world.acquire(run, "Work")
    assert refused(world, run, "Work", 2, token).code == "not_completed"


def test_in_a_loop_the_latest_result_is_corrected(world: World) -> None:
    run = world.create(loop())
    for _ in range(3):
        world.do(run, "Work")
        token = world.acquire(run, "Check")
        world.complete(run, "Check", token, {"done": False})
        corrected(world, run, "Check", {"done": False, "why": "not yet"}, token)
        assert world.given(run, "Work") == {"done": False, "why": "not yet"}


def test_a_corrected_result_must_match_the_schema_of_its_task(world: World) -> None:
    schema = {"type": "object", "required": ["total"]}
    run, token = done(world, workflow({"A": task("B", OutputSchema=schema), "B": task()}), "A", {"total": 1})
    assert refused(world, run, "A", {"sum": 2}, token).code == "output_invalid"
    assert world.given(run, "B") == {"total": 1}
    corrected(world, run, "A", {"total": 2}, token)


def test_a_state_that_was_reached_on_another_way_meanwhile_is_left_alone(world: World) -> None:
    again = when("$.again", "B", "E", BooleanEquals=True)
    run, token = done(world, workflow({"A": task("B"), "B": task("C"), "C": again, "E": END}), "A", 1)
    world.do(run, "B", output={"again": True})
    assert refused(world, run, "A", 2, token).code == "result_used"
    assert world.given(run, "B") == {"again": True}


def test_whoever_corrected_a_result_produced_what_came_of_it(world: World) -> None:
    ask = {"to": "pat", "title": "t", "not_by": {"producers": True}}
    review = {"Type": "Task", "Resource": "dcf:human", "Parameters": ask, "End": True}
    run, _ = done(world, workflow({"A": task("B"), "B": task("Review"), "Review": review}), "A", 1)
    with authored_by("key:planner"):
        corrected(world, run, "A", 2)
    world.do(run, "B")
    for key, expected in (("key:planner", Refusal), ("key:other", RunAnswer)):
        reply = HumanAnswer(state="Review", choice="approve", by=Answerer(name="pat", key=key))
        assert isinstance(world.people.answer_human_task(run, reply), expected)


# In Parallel and Map


def mapped(**more: Any) -> Document:
    inside = {"Score": task("Check"), "Check": task()}
    return workflow({"Each": each(inside, "Sum", ItemsPath="$.items", **more), "Sum": task()})


def test_a_result_inside_an_iteration_is_corrected_as_one_outside(world: World) -> None:
    run, token = done(world, mapped(), "Each/1/Score", 1, run_input={"items": [1, 2]})
    corrected(world, run, "Each/1/Score", 5, token)
    assert world.given(run, "Each/1/Check") == 5
    assert world.given(run, "Each/0/Score") == 1


def test_the_result_of_an_iteration_is_corrected_until_the_map_has_ended(world: World) -> None:
    run = world.create(mapped(), run_input={"items": [1, 2]})
    for path in ("Each/0/Score", "Each/1/Score"):
        world.do(run, path)
    token = world.acquire(run, "Each/0/Check")
    world.complete(run, "Each/0/Check", token, "wrong")
    details = corrected(world, run, "Each/0/Check", "right", token)
    assert details.answer["next_states"] == []
    world.do(run, "Each/1/Check", output="other")
    assert world.given(run, "Sum") == ["right", "other"]
    refusal = refused(world, run, "Each/0/Check", "late", token)
    assert (refusal.code, "'Each'" in refusal.message) == ("result_used", True)


def test_the_next_iteration_that_a_completion_began_is_left_alone(world: World) -> None:
    inside = {"Score": task()}
    document = workflow({"Each": each(inside, ItemsPath="$.items", MaxConcurrency=1)})
    run = world.create(document, run_input={"items": [1, 2]})
    token = world.acquire(run, "Each/0/Score")
    world.complete(run, "Each/0/Score", token, "wrong")
    acquire = world.acquire(run, "Each/1/Score")
    corrected(world, run, "Each/0/Score", "right", token)
    world.complete(run, "Each/1/Score", acquire, "other")
    assert world.meta(run)["output"] == ["right", "other"]


def test_the_result_of_a_branch_in_a_map_is_corrected(world: World) -> None:
    both = parallel({"X": task()}, {"Y": task("Pass"), "Pass": {"Type": "Pass", "Next": "End"}, "End": END})
    document = workflow({"Each": each({"Both": both}, ItemsPath="$.items")})
    run = world.create(document, run_input={"items": [1]})
    token = world.acquire(run, "Each/0/Both/1/Y")
    world.complete(run, "Each/0/Both/1/Y", token, "wrong")
    corrected(world, run, "Each/0/Both/1/Y", "right", token)
    world.do(run, "Each/0/Both/0/X", output="other")
    assert world.meta(run)["output"] == [["other", "right"]]


def test_in_a_scope_that_failed_nothing_is_corrected(world: World) -> None:
    both = parallel(
        {"X": task("X2"), "X2": task()}, {"Y": task()}, Catch=[{"ErrorEquals": ["States.ALL"], "Next": "Z"}]
    )
    run = world.create(workflow({"Both": both, "Z": task()}))
    token = world.acquire(run, "Both/0/X")
    world.complete(run, "Both/0/X", token, 1)
    world.fail(run, "Both/1/Y", world.acquire(run, "Both/1/Y"))
    assert refused(world, run, "Both/0/X", 2, token).code == "result_used"


# At the same time


def other(world: World, before_commit: Callable[[], None]) -> ControlPlane:
    """Another process, in which this happens once between what it reads and what it commits."""
    todo = [before_commit]

    def once() -> None:
        if todo:
            todo.pop()()

    return ControlPlane(RunStore(world.connections, before_commit=once, one_packet_from_s=0.0), world.index)


TAKERS: dict[str, Callable[[ControlPlane, str], object]] = {
    "acquire": lambda plane, run: plane.acquire(run, Acquire(state="B", owner="ben", token="t-ben", ttl_s=60)),
    "claim": lambda plane, run: plane.claim(run, Acquire(state="", owner="ben", token="t-ben", ttl_s=60)),
}


@rows("take", TAKERS.values(), ids=TAKERS)
def test_who_leases_the_follower_while_it_is_corrected_gets_the_corrected_input(
    world: World, take: Callable[[ControlPlane, str], object]
) -> None:
    run, token = done(world, chain("A", "B"), "A", 1)
    plane = other(world, lambda: assert_ok(correct(world, run, "A", 2, token)))
    taken = take(plane, run)
    assert isinstance(taken, Leased)
    assert (taken.state, taken.given) == ("B", 2)


@rows("take", TAKERS.values(), ids=TAKERS)
def test_a_correction_while_the_follower_is_leased_is_refused(
    world: World, take: Callable[[ControlPlane, str], object]
) -> None:
    run, token = done(world, chain("A", "B"), "A", 1)
    plane = other(world, lambda: assert_ok(take(world.plane, run)))
    correct_result = Corrections(plane).correct_result(run, Correct(state="A", output=2, token=token))
    assert isinstance(correct_result, Refusal)
    assert correct_result.code == "result_used"
    assert (world.given(run, "B"), world.output(run, "A")) == (1, 1)


def test_a_completion_that_claims_anothers_follower_gets_the_corrected_input(world: World) -> None:
    document = workflow({"Both": parallel({"A": task("B"), "B": task()}, {"X": task()})})
    run = world.create(document)
    token = world.acquire(run, "Both/0/A")
    world.complete(run, "Both/0/A", token, 1)
    mine = world.acquire(run, "Both/1/X", "ben")
    plane = other(world, lambda: assert_ok(correct(world, run, "Both/0/A", 2, token)))
    slow = World(connections=world.connections, onlooker=world.onlooker)
    slow.plane = plane
    answer = slow.complete(run, "Both/1/X", mine, None, claim_ttl_s=60)
    assert answer.claimed is not None
    assert (answer.claimed.state, answer.claimed.given) == ("Both/0/B", 2)


def test_a_map_that_ends_while_a_result_is_corrected_has_the_corrected_one(world: World) -> None:
    document = workflow({"Each": each({"Score": task()}, ItemsPath="$.items")})
    run = world.create(document, run_input={"items": [1, 2]})
    token = world.acquire(run, "Each/0/Score")
    world.complete(run, "Each/0/Score", token, "wrong")
    last = world.acquire(run, "Each/1/Score")
    commits: list[int] = []

    def before_commit() -> None:  # the completion, then the join
        commits.append(1)
        if len(commits) == 2:
            assert_ok(correct(world, run, "Each/0/Score", "right", token))

    slow = World(connections=world.connections, onlooker=world.onlooker, before_commit=before_commit)
    slow.complete(run, "Each/1/Score", last, "other")
    assert world.run_status(run) is RunStatus.SUCCEEDED
    assert world.meta(run)["output"] == ["right", "other"]


def test_a_correction_while_the_map_ends_is_refused(world: World) -> None:
    document = workflow({"Each": each({"Score": task()}, "Sum", ItemsPath="$.items"), "Sum": task()})
    run = world.create(document, run_input={"items": [1, 2]})
    token = world.acquire(run, "Each/0/Score")
    world.complete(run, "Each/0/Score", token, "wrong")
    plane = other(world, lambda: assert_ok(world.do(run, "Each/1/Score", output="other")))
    correct_result = Corrections(plane).correct_result(run, Correct(state="Each/0/Score", output="late", token=token))
    assert isinstance(correct_result, Refusal)
    assert correct_result.code == "result_used"
    assert world.given(run, "Sum") == ["wrong", "other"]


def assert_ok(answer: object) -> None:
    assert not isinstance(answer, Refusal), answer


def test_a_choice_that_looked_at_time_or_chance_leads_to_the_same_state_again(world: World) -> None:
    chance = {"QueryLanguage": "JSONata", "Output": "{% {'id': $uuid(), 'luck': $random()} %}", "Next": "C"}
    states = {
        "A": {"Type": "Task", "Next": "P"},
        "P": {"Type": "Pass", **chance},
        "C": {
            "Type": "Choice",
            "QueryLanguage": "JSONata",
            "Choices": [{"Condition": "{% $states.input.luck > 0.5 %}", "Next": "X"}],
            "Default": "Y",
        },
        "X": task(),
        "Y": task(),
    }
    for _ in range(10):
        run, token = done(world, workflow(states), "A", 1)
        corrected(world, run, "A", 2, token)


def test_after_a_choice_in_a_branch_the_way_must_be_the_same(world: World) -> None:
    inside = {"A": task("C"), "C": when("$.more", "B", "E", BooleanEquals=True), "B": task(), "E": END}
    run = world.create(workflow({"Both": parallel(inside, {"X": task()})}))
    token = world.acquire(run, "Both/0/A")
    world.complete(run, "Both/0/A", token, {"more": False})
    assert refused(world, run, "Both/0/A", {"more": True}, token).code == "path_differs"
    corrected(world, run, "Both/0/A", {"more": False, "n": 1}, token)
    world.do(run, "Both/1/X", output=None)
    assert world.meta(run)["output"] == [{"more": False, "n": 1}, None]


# A follower that was entered again


def test_a_follower_that_timed_out_and_is_retried_has_used_the_result(timely: World) -> None:
    late = task(TimeoutSeconds=5, Retry=retrying("States.Timeout"))
    run, token = done(timely, workflow({"A": task("B"), "B": late}), "A", 1)
    let_pass(timely, 6)
    timely.make_due(run, "B")
    timely.notifications.pulse()
    before = timely.doc(run, "B")
    assert (before.status, before.attempts, before.retries) == (Status.PENDING, 0, 1)
    refusal = refused(timely, run, "A", 2, token)
    assert (refusal.code, "'B' has begun with it" in refusal.message) == ("result_used", True)
    assert (timely.doc(run, "B"), timely.given(run, "B")) == (before, 1)


def test_a_follower_that_a_retry_of_the_run_entered_again_has_used_the_result(world: World) -> None:
    run, token = done(world, workflow({"A": task("B"), "B": task(TimeoutSeconds=60)}), "A", 1)
    world.fail(run, "B", world.acquire(run, "B"))
    assert isinstance(world.retrying.retry(run), RunAnswer)
    before = world.doc(run, "B")
    assert refused(world, run, "A", 2, token).code == "result_used"
    assert (world.doc(run, "B"), world.given(run, "B")) == (before, 1)
