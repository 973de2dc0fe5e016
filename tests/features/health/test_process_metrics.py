"""The counters of a process while runs continue: times until leases, takeovers, lost races, notifications, causes."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from dcf import metrics
from dcf.core.documents.decision import Decision, ReadSet, Snapshot
from dcf.core.leasing.lease import Renew, renew
from dcf.core.leasing.stuck import STUCK_REMINDERS
from dcf.features.diagnosis.stuck_causes import StuckCauses
from dcf.features.health.gauges import GaugeReader
from dcf.runs.views.lists import RunList
from dcf.store.connection.connections import Connections, open_pool
from dcf.store.lists.pages import Catalog
from tests.support.redis.documents import set_member
from tests.support.redis.servers import redis_server
from tests.support.workflows.machines import chain
from tests.support.world import World


@pytest.fixture(autouse=True)
def meters() -> Iterator[metrics.Meters]:
    """Each test counts from zero, and nothing is counted after it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(metrics, "current", None)
        yield metrics.count()


def counted(meters: metrics.Meters, name: str) -> dict[str, float]:
    """The samples of a metric by their labels."""
    matches = (re.fullmatch(rf"{name}(\{{.*\}})? (\S+)", line) for read in meters.read() for line in read.lines())
    return {(match[1] or "").strip("{}"): float(match[2]) for match in matches if match is not None}


def test_a_state_that_follows_is_ready_from_its_entering_until_it_is_leased(
    real: World, meters: metrics.Meters
) -> None:
    run = real.create(chain("A", "B"))
    real.complete(run, "A", real.acquire(run, "A"))
    assert counted(meters, "dcf_ready_to_acquired_seconds_count") == {"": 1}
    real.acquire(run, "B")
    assert counted(meters, "dcf_ready_to_acquired_seconds_count") == {"": 2}
    assert counted(meters, "dcf_lease_acquire_total") == {'outcome="acquired"': 2}


def test_a_takeover_is_counted_and_is_no_time_from_ready(real: World, meters: metrics.Meters) -> None:
    run = real.create(chain("A"))
    real.acquire(run, "A", "first")
    real.expire_lease(run, "A")
    real.acquire(run, "A", "second")
    assert counted(meters, "dcf_lease_takeovers_total") == {"": 1}
    assert counted(meters, "dcf_ready_to_acquired_seconds_count") == {"": 1}


def test_a_lost_race_is_counted_once(real: World, meters: metrics.Meters) -> None:
    run = real.create(chain("A"))
    token = real.acquire(run, "A", "w")
    rivals = iter((real.store.keys(run).state("A"),))

    def decide(snapshot: Snapshot) -> Decision[int]:
        for key in rivals:
            set_member(real.ask, key, "attempts", 1)
        changes = renew(snapshot, Renew(state="A", token=token)).changes
        return Decision(answer=1, changes=changes)

    real.store.transact(run, ReadSet(states=("A",)), decide)
    assert counted(meters, "dcf_txn_conflicts_total") == {"": 1}


def test_notifications_are_counted_by_what_became_of_them(real: World, meters: metrics.Meters) -> None:
    run = real.create(chain("A"), agents={"A": "a"})
    real.plane.kick_off(run, "go")
    real.notifications.deliver_all(run)
    assert counted(meters, "dcf_notifications_total") == {'outcome="sent"': 1}


def test_stuck_runs_are_counted_by_the_cause_that_dcf_why_gives(tmp_path: Path) -> None:
    """In a Redis of its own, since the clock also looks at the runs of others."""
    with redis_server(tmp_path) as port:
        world = World(connections=Connections(open_pool(f"redis://127.0.0.1:{port}")))
        run = world.create(chain("A"), agents={"A": "a"})
        world.plane.kick_off(run, "go")
        world.acquire(run, "A", "a")
        world.expire_lease(run, "A")
        time = [0.0]
        causes = StuckCauses(RunList(Catalog(world.connections)), world.diagnosis, monotonic=lambda: time[0])
        assert causes.counts() == {}
        for _ in range(STUCK_REMINDERS):
            world.make_due(run, "A")
            world.notifications.pulse()
        assert causes.counts() == {}, "what was found is good for a while"
        time[0] = 30.0
        assert causes.counts() == {"lease_expired": 1}
        world.connections.close()


def test_what_is_owed_has_an_age_until_it_is_delivered(real: World) -> None:
    run = real.create(chain("A"), agents={"A": "a"})
    real.plane.kick_off(run, "go")
    real.ask("ZADD", "cp:idx:due:0", 0, run)
    reader = GaugeReader(real.connections)
    assert reader.read().clock_late_s > 1_000_000, "something is due since 1970"
    assert reader._outbox_age_s([run], 2**52) > 0
    real.notifications.deliver_all(run)
    assert reader._outbox_age_s([run], 2**52) == 0
    real.ask("ZREM", "cp:idx:due:0", run)
