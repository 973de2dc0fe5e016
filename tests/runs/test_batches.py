"""Several completions in one transaction, and several leases with one: the same as one by one, with fewer packets."""

from typing import Any

from dcf.core.completing.updates import Update
from dcf.core.documents.answers import Updated
from dcf.core.documents.model import Status
from dcf.values.refusal import Refusal
from tests.support import ahead
from tests.support.redis.counting import CountingPool
from tests.support.tables import rows
from tests.support.workflows.machines import Document, workflow
from tests.support.workflows.scopes import catching, each, parallel, task
from tests.support.world import World

Held = dict[str, str]
"""The token of each state that a worker holds."""


def mapped(size: int, **more: Any) -> tuple[Document, list[int]]:
    return workflow({"Each": each({"Score": task()}, "After", **more), "After": task()}), list(range(size))


def results(holding: Held, most: int = 0, owner: str = "w") -> list[Update]:
    """The completions of what a worker holds, with its state as the output."""
    request: dict[str, Any] = {"claim_ttl_s": 60, "claim_most": most} if most else {}
    return [
        Update(state=state, token=token, owner=owner, status=Status.SUCCEEDED, has_output=True, output=state, **request)
        for state, token in holding.items()
    ]


def complete(world: World, run: str, holding: Held, most: int = 0) -> tuple[list[Updated | Refusal], Held]:
    """Complete all that is held in one transaction. Return the answers, and the leases that came with them."""
    answers = list(world.plane.update_all(run, results(holding, most)))
    claims = [lease for answer in answers if isinstance(answer, Updated) for lease in answer.claims]
    return answers, {lease.state: str(lease.doc.lease.token) for lease in claims}


def take(world: World, run: str, *states: str) -> Held:
    return {state: world.acquire(run, state) for state in states}


def lanes(*numbers: int) -> list[str]:
    return [f"Each/{number}/Score" for number in numbers]


# Several completions


def test_ten_iterations_are_completed_in_one_transaction(real: World) -> None:
    document, items = mapped(10)
    run = real.create(document, run_input=items)
    holding = take(real, run, *lanes(*range(10)))
    counted = CountingPool(real.connections._pool)
    several = World(connections=type(real.connections)(counted), onlooker=real.onlooker)

    answers, _ = complete(several, run, holding)

    assert all(isinstance(answer, Updated) for answer in answers)
    assert len(counted.packets) <= 2 + 2 + 2, "its own two packets, those of the join, and the definition"
    assert real.given(run, "After") == lanes(*range(10))


def test_one_that_is_refused_does_not_keep_the_others_from_being_accepted(world: World) -> None:
    document, items = mapped(3)
    run = world.create(document, run_input=items)
    holding = take(world, run, *lanes(0, 1)) | {lanes(2)[0]: "forged"}

    answers, _ = complete(world, run, holding)

    assert [isinstance(answer, Updated) for answer in answers] == [True, True, False]
    assert [world.doc(run, state).status for state in lanes(0, 1, 2)] == [
        Status.SUCCEEDED,
        Status.SUCCEEDED,
        Status.PENDING,
    ]


def test_one_that_ends_the_run_has_the_next_refused_as_if_it_came_later(world: World) -> None:
    run = world.create(workflow({"Both": parallel({"Bad": task()}, {"Good": task()})}))
    holding = take(world, run, "Both/0/Bad", "Both/1/Good")
    bad, good = results(holding)
    broken = Update(state=bad.state, token=bad.token, status=Status.FAILED, error="Broken")

    first, second = world.plane.update_all(run, [broken, good])

    assert isinstance(first, Updated)
    assert isinstance(second, Refusal)
    assert world.run_status(run) == "failed"


def test_one_that_closes_a_parallel_has_its_sibling_refused_and_cancelled(world: World) -> None:
    both = parallel({"Bad": task()}, {"Good": task()}, following="After", Catch=catching("After"))
    run = world.create(workflow({"Both": both, "After": task()}))
    bad, good = results(take(world, run, "Both/0/Bad", "Both/1/Good"))
    broken = Update(state=bad.state, token=bad.token, status=Status.FAILED, error="Broken")

    _, second = world.plane.update_all(run, [broken, good])

    assert isinstance(second, Refusal)
    assert second.code == "terminal"
    assert world.doc(run, "Both/1/Good").status is Status.CANCELLED
    assert world.doc(run, "After").is_ready


def test_a_repetition_of_several_is_answered_as_before(world: World) -> None:
    document, items = mapped(6, MaxConcurrency=3)
    run = world.create(document, run_input=items)
    holding = take(world, run, *lanes(0, 1, 2))

    first, claims = complete(world, run, holding, most=3)
    again, result = complete(world, run, holding, most=3)

    assert [item.repeated for item in again if isinstance(item, Updated)] == [True] * 3
    assert [item.next_states for item in again if isinstance(item, Updated)] == [
        first_told.next_states for first_told in first if isinstance(first_told, Updated)
    ]
    assert result == claims
    assert sorted(claims) == lanes(3, 4, 5)


def test_a_write_of_several_that_lost_a_race_is_applied_once(timely: World) -> None:
    """The whole transaction runs again, each part of it as often as the other."""
    document, items = mapped(4)
    run = timely.create(document, run_input=items)
    holding = take(timely, run, *lanes(0, 1, 2, 3))
    for _ in range(2):
        complete(timely, run, holding)
    timely.do(run, "After", output="over")
    ahead.look(timely, run, times=2)
    assert timely.event_types(run).count("StateSucceeded") == 4 + 2
    assert timely.run_status(run) == "succeeded"


# Several leases


@rows("most", [1, 2, 5, 20])
def test_a_completion_brings_as_many_of_the_states_that_it_enters_as_were_asked_for(world: World, most: int) -> None:
    branches = [{f"B{number}": task()} for number in range(8)]
    run = world.create(workflow({"A": task("Fan"), "Fan": parallel(*branches)}))
    _, claims = complete(world, run, take(world, run, "A"), most)
    assert len(claims) == min(most, 8)
    assert all(world.doc(run, state).lease.is_held_with(token) for state, token in claims.items())


def test_a_completion_brings_ready_siblings_where_it_enters_too_few(real: World) -> None:
    document, items = mapped(12, MaxConcurrency=6)
    run = real.create(document, run_input=items)
    _, claims = complete(real, run, take(real, run, lanes(0)[0]), 4)
    assert lanes(6)[0] in claims, "the next item of its own lane"
    assert len(claims) == 4


def test_several_completions_together_bring_no_more_than_was_asked_for(real: World) -> None:
    document, items = mapped(30, MaxConcurrency=10)
    run = real.create(document, run_input=items)
    _, claims = complete(real, run, take(real, run, *lanes(*range(5))), 5)
    assert len(claims) == 5


def test_a_worker_that_takes_several_states_does_a_map_in_few_transactions(real: World) -> None:
    document, items = mapped(40, MaxConcurrency=10)
    run = real.create(document, run_input=items)
    holding, rounds = take(real, run, lanes(0)[0]), 0
    while holding:
        _, holding = complete(real, run, holding, 10)
        rounds += 1
    assert real.run_status(run) == "succeeded"
    assert rounds <= 8
    assert real.meta(run)["output"] == "After"


def test_states_of_a_worker_that_died_with_ten_in_hand_are_done_by_another_once_each(real: World) -> None:
    document, items = mapped(25, MaxConcurrency=12)
    run = real.create(document, run_input=items)
    _, lost = complete(real, run, take(real, run, lanes(0)[0]), 10)
    assert len(lost) == 10
    for state in lost:
        real.expire_lease(run, state)

    while real.run_status(run) == "running":
        claim = real.claim(run, "another")
        real.complete(run, claim.state, claim.doc.lease.token, claim.state)  # type: ignore[union-attr]

    assert real.given(run, "After") == lanes(*range(25))
    late, _ = complete(real, run, lost)
    assert not [answer for answer in late if isinstance(answer, Updated)]
    ended = [str(event.state) for event in real.events(run) if event.type == "StateSucceeded"]
    assert sorted(ended) == sorted(set(ended))
