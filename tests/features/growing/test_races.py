"""Two servers on one run that grows: what they do at the same time is decided one way or the other, a hundred times."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest

from dcf.core.documents.answers import Leased, NothingReady, Updated
from dcf.core.documents.model import RunStatus
from dcf.core.documents.operations import RunAnswer
from dcf.features.growing.adding import Added
from dcf.values.refusal import Refusal
from tests.support.workflows.growing import Server, check
from tests.support.world import World

ROUNDS = range(100)


@pytest.fixture
def servers(real: World) -> tuple[Server, Server]:
    other = World(connections=real.connections, onlooker=real.onlooker)
    return Server(real), Server(other)


def at_once(pool: ThreadPoolExecutor, *calls: Callable[[], Any]) -> Sequence[Any]:
    return [updated.result() for updated in [pool.submit(call) for call in calls]]


def test_two_agents_claim_one_unit(servers: tuple[Server, Server]) -> None:
    first, other = servers
    run = first.open()
    with ThreadPoolExecutor(2) as pool:
        for number in ROUNDS:
            first.add(run, {"name": f"U{number}"})
            result = at_once(pool, partial(first.world.claim, run, "a"), partial(other.world.claim, run, "b"))
            (winner,) = [answer for answer in result if isinstance(answer, Leased)]
            assert isinstance(next(answer for answer in result if answer is not winner), NothingReady)
            first.world.complete(run, f"U{number}", winner.doc.lease.token)
    check(first, run)


def test_two_agents_add_and_claim_the_same_unit(servers: tuple[Server, Server]) -> None:
    first, other = servers
    run = first.open()
    with ThreadPoolExecutor(2) as pool:
        for number in ROUNDS:
            unit = {"name": f"U{number}", "claim": True}
            result = at_once(
                pool, partial(first.try_add, run, unit, owner="a"), partial(other.try_add, run, unit, owner="b")
            )
            won = [answer for answer in result if isinstance(answer, Added)]
            lost = [answer for answer in result if isinstance(answer, Refusal)]
            assert (len(won), [refusal.code for refusal in lost]) == (1, ["lease_held"])
            assert len(won[0].leases) == 1
    check(first, run)


def test_a_group_is_sealed_while_a_unit_is_added(servers: tuple[Server, Server]) -> None:
    first, other = servers
    outcomes = set()
    with ThreadPoolExecutor(2) as pool:
        for _ in ROUNDS:
            run = first.open({"name": "G", "kind": "group"}, {"name": "After", "depends_on": ["G"]})
            sealed, added = at_once(
                pool, partial(first.seal, run, "G"), partial(other.try_add, run, {"name": "In", "group": "G"})
            )
            assert isinstance(sealed, RunAnswer)
            is_in = isinstance(added, Added)
            assert is_in or added.code == "sealed"
            outcomes.add(is_in)
            check(first, run)
            assert sealed.answer["next_states"] == ([] if is_in else ["After"])
            if is_in:
                assert other.world.do(run, "In").next_states == ("After",)
            other.finish(run, "After")
    assert outcomes == {True, False}, "both orders were seen"


def test_a_unit_is_taken_back_while_what_follows_it_is_completed(servers: tuple[Server, Server]) -> None:
    first, other = servers
    outcomes = set()
    with ThreadPoolExecutor(2) as pool:
        for _ in ROUNDS:
            run = first.open({"name": "A"}, {"name": "B", "depends_on": ["A"]}, {"name": "C", "depends_on": ["B"]})
            first.finish(run, "A")
            token = other.world.acquire(run, "B")
            rewound, completed = at_once(
                pool, partial(first.rewind, run, "A"), partial(other.world.try_complete, run, "B", token)
            )
            assert isinstance(rewound, RunAnswer)
            is_done = isinstance(completed, Updated)
            assert is_done or completed.code == "lease_lost"
            outcomes.add(is_done)
            check(first, run)
            assert set(first.world.statuses(run).values()) == {"pending"}, "done or not, it was taken back"
            other.finish(run, "A", "B", "C")
            check(first, run)
    assert outcomes == {True, False}, "both orders were seen"


def test_a_follower_is_added_while_its_dependency_is_completed(servers: tuple[Server, Server]) -> None:
    first, other = servers
    run = first.open()
    with ThreadPoolExecutor(2) as pool:
        for number in ROUNDS:
            first.add(run, {"name": f"A{number}"})
            token = first.world.acquire(run, f"A{number}")
            at_once(
                pool,
                partial(first.world.complete, run, f"A{number}", token),
                partial(other.add, run, {"name": f"B{number}", "depends_on": [f"A{number}"]}),
            )
            first.finish(run, f"B{number}")
    check(first, run)


def test_the_last_two_units_of_a_sealed_run_are_completed_at_once(servers: tuple[Server, Server]) -> None:
    first, other = servers
    with ThreadPoolExecutor(2) as pool:
        for _ in ROUNDS:
            run = first.open({"name": "A"}, {"name": "B"})
            first.seal(run)
            tokens = {name: first.world.acquire(run, name) for name in "AB"}
            at_once(
                pool,
                partial(first.world.complete, run, "A", tokens["A"]),
                partial(other.world.complete, run, "B", tokens["B"]),
            )
            assert first.world.run_status(run) is RunStatus.SUCCEEDED
            assert first.world.event_types(run).count("RunSucceeded") == 1


def test_a_run_is_closed_once_by_two(servers: tuple[Server, Server]) -> None:
    first, other = servers
    with ThreadPoolExecutor(2) as pool:
        for _ in ROUNDS:
            run = first.open({"name": "A"})
            result = at_once(
                pool,
                partial(first.close, run, status=RunStatus.FAILED, force=True, summary="one"),
                partial(other.close, run, status=RunStatus.FAILED, force=True, summary="other"),
            )
            codes = sorted(answer.code if isinstance(answer, Refusal) else "ok" for answer in result)
            assert codes == ["ok", "run_over"]
            assert first.world.event_types(run).count("RunClosed") == 1
