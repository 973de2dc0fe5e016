"""A completion that brought the next state is followed by one packet, which answers as two packets would."""

from collections.abc import Callable
from typing import Any

import pytest

from dcf.core.documents.answers import Leased
from dcf.core.documents.model import RunStatus, Status
from dcf.core.lifecycle.finalization import Finalize
from dcf.store.transaction import prefetched
from dcf.store.transaction.prefetched import RoundTrips
from dcf.values.instants import SECOND
from dcf.values.refusal import Refusal
from tests.support.redis.counting import CountingPool
from tests.support.redis.documents import SENT, set_member
from tests.support.redis.proxy import Fault, Proxy
from tests.support.tables import rows
from tests.support.workflows.machines import numbered_chain
from tests.support.world import World

Worlds = Callable[..., World]

ONE_PACKET = ["EVAL", "TIME", SENT.read_members, SENT.read_many]
OPENING = ["WATCH", "TIME", SENT.read_members, SENT.read_many]


@pytest.fixture(autouse=True)
def busy(monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine may be busy for a while between a decision and its commit."""
    monkeypatch.setattr("dcf.store.transaction.guards._LATENESS", 10 * SECOND)


@pytest.fixture
def far(worlds: Worlds, counting: CountingPool) -> World:
    """dcf with a Redis to which every round trip counts."""
    return worlds(pool=counting, near=False)


def brought(world: World, run: str) -> Leased:
    """The second state of a run, leased by the completion of the first."""
    token = world.acquire(run, "S0")
    claimed = world.complete(run, "S0", token, {"n": 0}, claim_ttl_s=60).claimed
    assert claimed is not None
    return claimed


def complete(world: World, run: str, lease: Leased) -> Any:
    return world.try_complete(run, lease.state, lease.doc.lease.token, {"n": 1}, claim_ttl_s=60)


def test_completing_what_a_completion_brought_is_one_round_trip(far: World, counting: CountingPool) -> None:
    run = far.create(numbered_chain(5))
    lease = brought(far, run)
    with counting.counted() as packets:
        while lease.state != "S4":
            lease = complete(far, run, lease).claimed
        last = complete(far, run, lease)
    # the end is listed with it; then the states that were never reached are looked for
    assert packets[:4] == [ONE_PACKET, ONE_PACKET, ONE_PACKET, ["ZADD", "EVAL"]]
    assert last.run_status is RunStatus.SUCCEEDED
    assert all(doc.status is Status.SUCCEEDED and doc.attempts == 1 for doc in far.docs(run).values())


def test_near_a_redis_two_packets_are_faster_and_nothing_is_read_ahead(worlds: Worlds, counting: CountingPool) -> None:
    near = worlds(pool=counting)
    run = near.create(numbered_chain(3))
    lease = brought(near, run)
    with counting.counted() as packets:
        complete(near, run, lease)
    assert [packet[0] for packet in packets] == ["WATCH", "MULTI"]


def taken_over(world: World, run: str) -> None:
    world.expire_lease(run, "S1")
    world.acquire(run, "S1", "another")


def finalized(world: World, run: str) -> None:
    world.plane.finalize(run, Finalize(workflow_id=run))


@rows(("meanwhile", "code"), [(taken_over, "lease_lost"), (finalized, "terminal")])
def test_what_changed_since_it_was_read_ahead_is_read_again(
    far: World, worlds: Worlds, counting: CountingPool, meanwhile: Callable[[World, str], None], code: str
) -> None:
    run = far.create(numbered_chain(3))
    lease = brought(far, run)
    meanwhile(worlds(), run)
    with counting.counted() as packets:
        answer = complete(far, run, lease)
    assert isinstance(answer, Refusal)
    assert answer.code == code
    assert packets[:2] == [ONE_PACKET, OPENING]


def test_an_assignment_that_changed_meanwhile_counts(far: World, worlds: Worlds) -> None:
    run = far.create(numbered_chain(4), agents={"S0": "w", "S1": "w", "S2": "w"})
    lease = brought(far, run)
    set_member(worlds().ask, f"cp:wf:{run}:meta", ("agents", "S2"), "another")
    assert complete(far, run, lease).claimed is None


@rows("pace", [1_000_000, -1_000_000])
def test_a_decision_by_another_time_than_the_servers_is_not_written(
    far: World, counting: CountingPool, monkeypatch: pytest.MonkeyPatch, pace: int
) -> None:
    run = far.create(numbered_chain(3))
    lease = brought(far, run)
    monkeypatch.setattr(prefetched, "_PACE", pace)
    with counting.counted() as packets:
        answer = complete(far, run, lease)
    assert ["EVAL" in packet for packet in packets] == [True, False, False]
    assert abs(answer.doc.finished_at - lease.doc.lease.ts) < 60 * SECOND


def test_a_lost_reply_is_repeated_and_applied_once(worlds: Worlds, proxy: Proxy) -> None:
    world = worlds(proxy.url, near=False)
    run = world.create(numbered_chain(3))
    lease = brought(world, run)
    proxy.plan(Fault.LOSE_REPLY, "EVAL")
    answer = complete(world, run, lease)
    assert proxy.is_spent
    assert answer.repeated
    assert answer.claimed is not None
    assert [happening.type for happening in world.history_of(run)].count("StateSucceeded") == 2


def test_what_was_read_ahead_serves_once(far: World, counting: CountingPool) -> None:
    run = far.create(numbered_chain(3))
    lease = brought(far, run)
    complete(far, run, lease)
    with counting.counted() as packets:
        again = complete(far, run, lease)
    assert again.repeated
    assert packets == [OPENING]


def test_the_shortest_round_trip_of_late_counts() -> None:
    trips = RoundTrips()
    for seconds in (0.004, 0.001, 0.050):
        trips.note(seconds)
    assert trips.shortest_s == pytest.approx(0.001, rel=0.02)
    for _ in range(500):
        trips.note(0.030)
    assert trips.shortest_s == 0.030
