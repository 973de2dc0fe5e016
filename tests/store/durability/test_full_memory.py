"""With the memory of Redis full, what frees memory works: cancel, finalize, delete, prune and the retention."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dcf import metrics
from dcf.core.access.quotas import Account, Quotas
from dcf.core.documents.answers import Finalized
from dcf.core.leasing.lease import Acquire
from dcf.core.lifecycle.finalization import Finalize
from dcf.core.lifecycle.retention import RetentionPolicy
from dcf.errors import StoreUnavailable
from dcf.store.access.audit_trail import AuditTrail
from dcf.store.access.authors import authored_by
from dcf.store.connection.connections import Connections, open_pool
from dcf.store.connection.reserve import with_reserve
from dcf.store.keys import table as keys
from dcf.store.keys.table import RunKeys
from tests.support.redis.documents import set_member
from tests.support.redis.restricted import restricted_redis
from tests.support.tables import rows
from tests.support.workflows.machines import chain
from tests.support.world import World

KEY = "0123456789ab"
LONG_AGO = "2001-01-01T00:00:00.000000Z"
ACCOUNT = Account(key_id=KEY, quotas=Quotas())


@pytest.fixture
def crowded(short_directory: Path) -> Iterator[World]:
    """dcf, as the user of a deployment, on a Redis of its own, whose memory a test may fill."""
    with restricted_redis(short_directory / "full") as result:
        connections, onlooker = Connections(open_pool(result.url)), Connections(open_pool(result.admin_url))
        policy = RetentionPolicy(finalize_after_s=1, keep_s=3600)
        yield World(connections=connections, onlooker=onlooker, policy=policy)
        connections.close()
        onlooker.close()


def fill(world: World) -> None:
    world.ask("CONFIG", "SET", "maxmemory", "1")
    with pytest.raises(StoreUnavailable, match="its memory is full"):
        world.create(chain("A"))


def run_of_key(world: World) -> str:
    with authored_by(f"key:{KEY}", ACCOUNT):
        return world.create(chain("A", "B"), agents={"A": "a-1", "B": "a-1"}, created_by=f"key:{KEY}")


def cancelled(world: World, run: str) -> None:
    world.lifecycle.cancel(run)
    assert world.doc(run, "A").status == "cancelled"
    assert "RunCancelled" in [event.type for event in world.history.after(run)]


def finalized(world: World, run: str) -> None:
    done = with_reserve(lambda: world.plane.finalize(run, Finalize(workflow_id=run)))
    assert isinstance(done, Finalized)
    assert done.audit["workflow_id"] == run


def deleted(world: World, run: str) -> None:
    world.lifecycle.cancel(run)
    world.retention.delete(run)
    assert [key for key in world.ask("KEYS", "*") if run.encode() in key] == []


@rows("frees", [cancelled, finalized, deleted])
def test_what_frees_memory_works_where_redis_is_full(crowded: World, frees: Callable[[World, str], None]) -> None:
    crowded.ask("CONFIG", "SET", "maxmemory", "0")
    run = crowded.create(chain("A", "B"), agents={"A": "a-1", "B": "a-1"})
    fill(crowded)
    frees(crowded, run)
    with pytest.raises(StoreUnavailable, match="its memory is full"):
        crowded.create(chain("A"))


def test_deleting_gives_back_what_a_key_holds_although_redis_is_full(crowded: World) -> None:
    run = run_of_key(crowded)
    fill(crowded)
    with authored_by(f"key:{KEY}", ACCOUNT):
        deleted(crowded, run)
    assert crowded.ask("HGET", keys.quota(KEY), "bytes") is None
    assert crowded.ask("ZCARD", keys.quota(KEY, "live")) == 0


def test_the_clock_finalizes_ended_runs_and_lets_them_expire_although_redis_is_full(crowded: World) -> None:
    """A live run that is due before them, and cannot be written, does not keep it from that."""
    live = crowded.create(chain("A"), agents={"A": "a-1"})
    crowded.plane.kick_off(live, "initial")
    ended = crowded.create(chain("A"), agents={"A": "a-1"})
    crowded.do(ended, "A", "a-1")
    set_member(crowded.ask, RunKeys(ended).meta, "finished_at", LONG_AGO)
    crowded.make_due(ended, "A")
    crowded.make_due(live, "A")
    fill(crowded)
    for _ in range(3):
        crowded.notifications.pulse()
    assert crowded.ask("PTTL", RunKeys(ended).meta) > 0
    assert crowded.ask("PTTL", RunKeys(live).meta) == -1


@rows("change", ["delete_run", "finalize_workflow", "prune"])
def test_what_frees_memory_is_recorded_in_the_audit_trail_although_redis_is_full(crowded: World, change: str) -> None:
    trail = AuditTrail(crowded.connections)
    crowded.ask("CONFIG", "SET", "maxmemory", "1")
    with trail.recording(change, {"workflow_id": "run-1"}) as recording:
        recording.outcome = "ok"
    assert [(item.change, item.outcome) for item in trail.newest(1)] == [(change, "ok")]
    with pytest.raises(StoreUnavailable), trail.recording("put_project", {"project": "p"}):
        raise AssertionError("it is not recorded, so it is not made")
    crowded.ask("CONFIG", "SET", "maxmemory", "0")


def test_a_transaction_from_the_reserve_that_lost_a_race_is_tried_again(crowded: World) -> None:
    """Somebody else cancels another state of the same run between its reads and its write."""
    run = crowded.create(chain("A"), agents={"A": "a-1"})
    fill(crowded)
    tries: list[int] = []

    def meddle() -> None:
        tries.append(len(tries))
        if len(tries) == 2:  # the first found Redis full
            other = World(connections=crowded.connections)
            thread = threading.Thread(target=other.lifecycle.cancel, args=(run,), kwargs={"reason": "first"})
            thread.start()
            thread.join()

    late = World(connections=crowded.connections, before_commit=meddle)
    late.lifecycle.cancel(run, reason="second")
    cancels = [event for event in crowded.history.after(run) if event.type == "RunCancelled"]
    assert [event.data["reason"] for event in cancels] == ["first"]


def test_a_lease_is_no_use_of_the_reserve(crowded: World) -> None:
    run = crowded.create(chain("A"), agents={"A": "a-1"})
    fill(crowded)
    with pytest.raises(StoreUnavailable, match="its memory is full"):
        crowded.plane.acquire(run, Acquire(state="A", owner="a-1", token="t", ttl_s=60))


def test_rejected_writes_are_counted_by_their_reason(crowded: World, monkeypatch: pytest.MonkeyPatch) -> None:
    counted = metrics.Meters()
    monkeypatch.setattr(metrics, "current", counted)
    fill(crowded)
    (result,) = (item for item in counted.read() if item.family is metrics.REJECTED)
    values: Any = result.values
    assert values[("memory",)] >= 1
