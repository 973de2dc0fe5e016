"""A request that arrives again, however late and after any change, gets the answer of the first."""

from collections.abc import Callable
from typing import Any

from dcf.core.completing.updates import Update
from dcf.core.documents.answers import AlreadyCompleted, Released, Updated
from dcf.core.documents.model import Status
from dcf.core.leasing.lease import Acquire
from dcf.runs.control_plane import ControlPlane
from dcf.store.transaction.runs import RunStore
from dcf.values.refusal import Refusal
from tests.support import ahead
from tests.support.redis.documents import set_member
from tests.support.tables import rows
from tests.support.workflows.machines import Document, chain, workflow
from tests.support.workflows.scopes import parallel, task
from tests.support.world import World

RETRIED = {"Type": "Task", "End": True, "Retry": [{"ErrorEquals": ["States.ALL"], "MaxAttempts": 5}]}


PASS: Document = {"Type": "Pass", "End": True}
OVER_AT_ONCE: dict[str, Document] = {
    "a Wait of no time": {"Type": "Wait", "Seconds": 0},
    "a Map without items": {
        "Type": "Map",
        "ItemsPath": "$.none",
        "ItemProcessor": {"StartAt": "I", "States": {"I": PASS}},
        "ResultPath": None,
    },
    "a Parallel without Tasks": {
        "Type": "Parallel",
        "Branches": [{"StartAt": "I", "States": {"I": PASS}}],
        "ResultPath": None,
    },
}


def code(answer: object) -> str | None:
    return answer.code if isinstance(answer, Refusal) else None


def frozen_server(world: World, later: Callable[[], object]) -> ControlPlane:
    """A server that pauses between reading and its first commit, while another call happens."""
    todo = [later]

    def stand_still() -> None:
        while todo:
            todo.pop()()

    return ControlPlane(RunStore(world.connections, before_commit=stand_still), world.index)


def retry_at_once(world: World, run: str) -> None:
    key = world.store.keys(run).state("A")
    set_member(world.ask, key, "not_before", "2001-01-01T00:00:00.000000Z")


def test_a_failure_is_told_again_after_a_retry_and_a_second_holders_completion(world: World) -> None:
    run = world.create(workflow({"A": RETRIED}))
    first = world.acquire(run, "A")
    assert isinstance(world.fail(run, "A", first), Updated)
    retry_at_once(world, run)
    world.complete(run, "A", world.acquire(run, "A", "other"), {"by": "other"})
    again = world.fail(run, "A", first)
    assert isinstance(again, Updated)
    assert (again.repeated, again.status, again.output_written) == (True, Status.FAILED, False)
    refused = world.try_complete(run, "A", first, {"by": "first"})
    assert isinstance(refused, AlreadyCompleted)
    assert (refused.receipt.status, refused.is_latest) == (Status.FAILED, False)
    assert world.output(run, "A") == {"by": "other"}


def test_giving_back_is_told_again_after_another_holder(world: World) -> None:
    run = world.create(chain("A"))
    first = world.acquire(run, "A")
    world.release(run, "A", first)
    second = world.acquire(run, "A", "other")
    again = world.release(run, "A", first)
    assert isinstance(again, Released)
    assert again.outcome == "lease_already_clear"
    world.complete(run, "A", second, 1)
    by_update = world.update(run, "A", first, status=Status.PENDING)
    assert isinstance(by_update, Updated)
    assert by_update.repeated


@rows("late", [{"request_id": "x"}, {}])
def test_a_partial_write_of_a_frozen_server_is_applied_once(world: World, late: dict[str, Any]) -> None:
    """x is sent to a paused server, repeated at another server, and overtaken by y."""
    run = world.create(chain("A"))
    token = world.acquire(run, "A")

    def overtake() -> None:
        if late:
            world.update(run, "A", token, output="x", attempts=1, **late)
        world.update(run, "A", token, output="y", request_id="y")

    x = Update(state="A", token=token, has_output=True, output="x", attempts=1, **late)
    answer = frozen_server(world, overtake).update(run, x)
    assert isinstance(answer, Updated)
    assert answer.repeated is bool(late)
    assert world.output(run, "A") == ("y" if late else "x")
    assert world.doc(run, "A").attempts == 2


def test_a_completion_of_a_frozen_server_with_another_output_is_refused(world: World) -> None:
    run = world.create(chain("A", "B"))
    token = world.acquire(run, "A")
    late = Update(state="A", token=token, status=Status.SUCCEEDED, has_output=True, output="late")
    answer = frozen_server(world, lambda: world.complete(run, "A", token, "first")).update(run, late)
    assert isinstance(answer, AlreadyCompleted)
    assert (world.output(run, "A"), world.given(run, "B")) == ("first", "first")


def test_an_acquire_of_a_frozen_server_does_not_lease_a_state_that_its_token_lost(world: World) -> None:
    run = world.create(chain("A"))

    def overtake() -> None:
        world.acquire(run, "A", token="lost-token")
        world.expire_lease(run, "A")
        world.release(run, "A", world.acquire(run, "A", "other"))

    request = Acquire(state="A", owner="w", token="lost-token", ttl_s=60)
    assert code(frozen_server(world, overtake).acquire(run, request)) == "token_used"
    assert world.doc(run, "A").lease.token is None


@rows("between", OVER_AT_ONCE.values(), ids=OVER_AT_ONCE)
def test_a_completion_is_repeated_after_its_state_was_entered_again_at_once(world: World, between: Document) -> None:
    states: Document = {
        "A": {"Type": "Task", "ResultPath": None, "Next": "Between"},
        "Between": {**between, "Next": "B"},
        "B": {"Type": "Task", "ResultPath": None, "Next": "Again"},
        "Again": {
            "Type": "Choice",
            "Choices": [{"Variable": "$.stop", "IsPresent": True, "Next": "Done"}],
            "Default": "A",
        },
        "Done": {"Type": "Succeed"},
    }
    run = world.create(workflow(states), run_input={"none": []})
    world.do(run, "A")
    token = world.acquire(run, "B")
    first = world.complete(run, "B", token, 2)
    world.do(run, "A")
    assert world.doc(run, "B").status is Status.PENDING

    again = world.try_complete(run, "B", token, 2)

    assert isinstance(again, Updated)
    assert (again.repeated, again.status, again.next_states) == (True, first.status, first.next_states)


@rows("between", OVER_AT_ONCE.values(), ids=OVER_AT_ONCE)
def test_a_completion_in_a_branch_is_told_again_after_its_parallel_was_tried_again(
    timely: World, between: Document
) -> None:
    branch = {"Between": {**between, "Next": "B"}, "B": task()}
    both = parallel({"Bad": task()}, branch, Retry=[{"ErrorEquals": ["States.ALL"]}])
    run = timely.create(workflow({"Both": both}), run_input={"none": []})
    timely.plane.kick_off(run, "initial")
    bad, token = timely.acquire(run, "Both/0/Bad"), timely.acquire(run, "Both/1/B")
    timely.complete(run, "Both/1/B", token, 2)
    timely.fail(run, "Both/0/Bad", bad)
    ahead.look(timely, run)
    assert timely.doc(run, "Both/1/B").status is Status.PENDING

    assert timely.complete(run, "Both/1/B", token, 2).repeated


def test_a_completion_of_an_item_is_told_again_after_the_map_was_entered_again(world: World) -> None:
    processor = {"StartAt": "I", "States": {"I": {"Type": "Task", "End": True}}}
    states: Document = {
        "M": {"Type": "Map", "MaxConcurrency": 1, "ItemProcessor": processor, "Next": "Again"},
        "Again": {
            "Type": "Choice",
            "Choices": [{"Variable": "$[0]", "NumericEquals": 0, "Next": "Done"}],
            "Default": "M",
        },
        "Done": {"Type": "Succeed"},
    }
    run = world.create(workflow(states), run_input=[1, 2])
    world.do(run, "M/0/I", output=1)
    token = world.acquire(run, "M/1/I")
    world.complete(run, "M/1/I", token, 2)
    world.do(run, "M/0/I", output=1)
    assert world.doc(run, "M/1/I").status is Status.PENDING

    again = world.try_complete(run, "M/1/I", token, 2)

    assert isinstance(again, Updated)
    assert again.repeated
