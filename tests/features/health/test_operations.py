"""The health report: what it finds by really writing, by what clocks and servers leave, and what it tells whom.

Each test has a Redis of its own; where nothing is said of it, dcf is the user of a deployment there.
"""

import json
import re
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import redis

from dcf.features.health.facts import Expected
from dcf.features.health.findings import HealthFinding, Level, Topic
from dcf.features.health.operations import Health, HealthReport
from dcf.features.health.storage import VitalSigns
from dcf.features.schedules import keys as schedule_keys
from dcf.features.webhooks.storage import Webhooks
from dcf.ports import Delivery, Undelivered
from dcf.runs.clock.clock import RunClock
from dcf.runs.clock.sweep import Sweep
from dcf.runs.notifying.activity import EVERY_S, Activity
from dcf.runs.notifying.breaker import Breaker, GuardedDeliverer
from dcf.store.connection.connections import Connections, open_pool
from dcf.store.connection.server_time import ServerTime
from dcf.store.events.activity import MOST_SEEN, ActivityRecords
from dcf.store.keys import table as keys
from dcf.store.lists.checks import Listings
from dcf.values.instants import SECOND
from tests.store.connection.test_faults import TROUBLES, Trouble, on, server_for
from tests.support.redis.counting import CountingPool
from tests.support.redis.documents import add_to_member, set_member
from tests.support.redis.restricted import RestrictedRedis, restricted_redis
from tests.support.redis.servers import free_port, redis_server, running
from tests.support.tables import rows
from tests.support.waiting import wait_until
from tests.support.workflows.machines import chain
from tests.support.world import World

INBOXES = Expected(fsync=None, wait_replicas=0, pulse_interval_s=1.0)


@pytest.fixture
def own(short_directory: Path) -> Iterator[RestrictedRedis]:
    """A server with the users of a deployment; whatever its user dcf is refused is an error."""
    with restricted_redis(short_directory / "health") as result:
        yield result


@pytest.fixture
def site(own: RestrictedRedis) -> Iterator[World]:
    onlooker = Connections(open_pool(own.admin_url))
    world = World(connections=Connections(open_pool(own.url)), onlooker=onlooker)
    yield world
    world.connections.close()
    onlooker.close()


def health(world: World, **expected: Any) -> Health:
    result = replace(INBOXES, **expected)
    return Health(VitalSigns(world.connections, wait_replicas=result.wait_replicas), result)


def report(world: World, **expected: Any) -> HealthReport:
    return health(world, **expected).report()


def findings(world: World, topic: Topic, **expected: Any) -> list[HealthFinding]:
    return [finding for finding in report(world, **expected).findings if finding.topic is topic]


def finding(world: World, topic: Topic, **expected: Any) -> HealthFinding:
    """The only finding on a topic."""
    (finding,) = findings(world, topic, **expected)
    return finding


def look(world: World, activity: Activity | None = None) -> None:
    """The timer loop's work at each look."""
    time = ServerTime(world.connections)
    deliveries = world.notifications.deliveries
    RunClock(world.plane, world.index, world.due, world.outbox, world.retention, deliveries, time, activity).pulse()


def server_now(world: World) -> int:
    seconds, micros = world.ask("TIME")
    return int(seconds) * SECOND + int(micros)


# Writes


@pytest.mark.parametrize("trouble", TROUBLES.values(), ids=TROUBLES)
def test_a_redis_that_refuses_writes_is_found_by_writing_and_is_well_afterwards(
    tmp_path: Path, trouble: Trouble
) -> None:
    with server_for(tmp_path, trouble) as (url, server):
        world = on(url)
        assert report(world).is_ready
        trouble.begin(server)
        result = report(world)
        (stopping,) = (finding for finding in result.findings if finding.stops_calls)
        assert (result.is_ready, result.level, stopping.sentence) == (False, Level.FAILING, trouble.said)
        assert stopping.remedy is not None
        assert "repeat the call" not in stopping.remedy, "an operator repeats none"
        trouble.end(server)
        assert report(world).is_ready
        world.connections.close()


def test_the_written_key_expires(site: World) -> None:
    assert finding(site, Topic.WRITES).level is Level.OK
    assert 0 < site.ask("TTL", keys.PROBE) <= 60


def test_a_redis_that_is_gone_is_the_only_finding() -> None:
    world = on(f"redis://127.0.0.1:{free_port()}")
    result = report(world)
    (only,) = result.findings
    assert (only.topic, only.level, result.is_ready) == (Topic.REDIS, Level.FAILING, False)
    assert only.sentence == "Redis cannot be reached: no server listens there."


def test_a_redis_that_still_loads_its_data_is_told_apart_from_one_that_is_gone(tmp_path: Path) -> None:
    home = ("--appendonly", "yes", "--save", "", "--dir", str(tmp_path))
    with redis_server(tmp_path, *home) as port, redis.Redis(port=port) as client:
        client.mset({f"k{number}": "x" * 100 for number in range(4000)})
        client.bgrewriteaof()
        wait_until(lambda: client.info("persistence")["aof_rewrite_in_progress"] == 0)
    port = free_port()
    slow = ("--key-load-delay", "5000", "--loading-process-events-interval-bytes", "1024")
    with running("--port", str(port), "--bind", "127.0.0.1", *home, *slow):
        world = on(f"redis://127.0.0.1:{port}")
        wait_until(lambda: "no server listens" not in report(world).findings[0].sentence)
        (only,) = report(world).findings
        assert (only.level, only.sentence) == (Level.FAILING, "Redis is still loading its data (LOADING).")
        world.connections.close()


def test_a_user_that_may_not_write_is_told_so(tmp_path: Path) -> None:
    options = ("--user", "reader", "on", "nopass", "~*", "&*", "+@all", "-@write")
    with redis_server(tmp_path, *options) as port:
        world = on(f"redis://reader:x@127.0.0.1:{port}")
        health_finding = finding(world, Topic.WRITES)
        assert (health_finding.level, "NOPERM" in health_finding.sentence) == (Level.FAILING, True)
        world.connections.close()


# Memory and durability


def test_a_memory_that_is_nearly_full_is_a_warning_before_writes_are_refused(site: World) -> None:
    assert finding(site, Topic.MEMORY).sentence.endswith("maxmemory sets no limit.")
    used = site.ask("MEMORY", "STATS")
    total = dict(zip(used[::2], used[1::2], strict=True))[b"total.allocated"]
    site.ask("CONFIG", "SET", "maxmemory", int(total * 1.08))
    health_finding = finding(site, Topic.MEMORY)
    assert (health_finding.level, finding(site, Topic.WRITES).level) == (Level.WARNING, Level.OK)
    assert "it rejects every write but those that free memory" in health_finding.sentence
    site.ask("CONFIG", "SET", "maxmemory", int(total * 4))
    assert finding(site, Topic.MEMORY).level is Level.OK


def test_a_server_that_keeps_little_is_warned_of(tmp_path: Path) -> None:
    with redis_server(tmp_path, "--maxmemory-policy", "allkeys-lru") as port:
        world = on(f"redis://127.0.0.1:{port}")
        (lost,) = findings(world, Topic.DURABILITY)
        assert (lost.level, lost.sentence) == (
            Level.WARNING,
            "appendonly is no: every run is lost when Redis stops.",
        )
        assert findings(world, Topic.MEMORY)[0].sentence.startswith("maxmemory-policy is allkeys-lru: Redis may drop")
        world.ask("CONFIG", "SET", "save", "3600 1")
        assert "only its snapshots (save 3600 1) survive" in finding(world, Topic.DURABILITY).sentence
        world.ask("CONFIG", "SET", "appendonly", "yes")
        world.ask("CONFIG", "SET", "appendfsync", "always")
        world.ask("CONFIG", "SET", "maxmemory-policy", "noeviction")
        assert "does not have its log checked" in finding(world, Topic.DURABILITY).sentence
        world.ask("CONFIG", "SET", "aof-load-truncated", "no")
        health_finding = finding(world, Topic.DURABILITY)
        assert (health_finding.level, "nothing acknowledged is lost" in health_finding.sentence) == (Level.OK, True)
        world.connections.close()


@rows(
    ("asked", "as_asked", "said"),
    [
        ("everysec", True, "the last two seconds of work."),
        ("always", False, "though DCF_APPENDFSYNC asks for always."),
        (None, False, "the last two seconds of work."),
    ],
)
def test_the_policy_in_force_is_held_against_the_one_that_was_asked_for(
    site: World, asked: str | None, as_asked: bool, said: str
) -> None:
    """A setting as requested is reported, but not at every start."""
    site.ask("CONFIG", "SET", "aof-load-truncated", "no")
    health_finding = finding(site, Topic.DURABILITY, fsync=asked)
    assert (health_finding.level, health_finding.as_asked, health_finding.sentence.endswith(said)) == (
        Level.WARNING,
        as_asked,
        True,
    )
    assert (health_finding in report(site, fsync=asked).not_as_asked()) is not as_asked


def test_a_server_whose_settings_may_not_be_read_is_warned_of(tmp_path: Path) -> None:
    options = ("--appendonly", "yes", "--user", "limited", "on", "nopass", "~*", "&*", "+@all", "-config")
    with redis_server(tmp_path, *options) as port:
        world = on(f"redis://limited:x@127.0.0.1:{port}")
        health_finding = finding(world, Topic.DURABILITY)
        assert (health_finding.level, "this user may not read settings" in health_finding.sentence) == (
            Level.WARNING,
            True,
        )
        world.connections.close()


def test_a_snapshot_that_failed_is_told(tmp_path: Path) -> None:
    trouble = TROUBLES["MISCONF"]
    with server_for(tmp_path, trouble) as (url, server):
        world = on(url)
        trouble.begin(server)
        assert "The last snapshot (RDB) failed." in [finding.sentence for finding in findings(world, Topic.DURABILITY)]
        world.connections.close()


# Replicas


@pytest.fixture
def replicated(tmp_path: Path) -> Iterator[tuple[World, Callable[[], None]]]:
    """dcf on a server with a replica, and what takes the replica away."""
    with ExitStack() as stack:
        primary = stack.enter_context(redis_server(tmp_path))
        replica = stack.enter_context(redis_server(tmp_path, "--replicaof", "127.0.0.1", str(primary)))
        world = on(f"redis://127.0.0.1:{primary}")
        stack.callback(world.connections.close)
        follower = stack.enter_context(redis.Redis(port=replica))
        wait_until(lambda: b"state=online" in world.ask("INFO", "replication"))

        def leave() -> None:
            follower.replicaof("NO", "ONE")
            wait_until(lambda: b"connected_slaves:0" in world.ask("INFO", "replication"))

        yield world, leave


def test_replicas_are_seen_and_held_against_what_is_waited_for(
    replicated: tuple[World, Callable[[], None]], monkeypatch: pytest.MonkeyPatch
) -> None:
    world, leave = replicated
    ignored = finding(world, Topic.REPLICAS)
    assert (ignored.level, ignored.remedy) == (Level.WARNING, "Set DCF_WAIT_REPLICAS=1.")
    assert ignored.sentence == (
        "A replica is there and DCF_WAIT_REPLICAS is 0: a failover may take back what was answered."
    )
    assert ignored in report(world).not_as_asked(), "dcf serve tells it at its start"
    with monkeypatch.context() as patient:
        patient.setattr(
            "dcf.features.health.storage._CONFIRM_MS", 4000
        )  # the replica's machine may be busy for a while
        confirmed = report(world, wait_replicas=1)
    assert (confirmed.is_ready, confirmed.not_as_asked()[0].topic) == (True, Topic.DURABILITY)
    assert confirmed.as_json()["replicas"][0]["online"] is True
    leave()
    assert finding(world, Topic.REPLICAS).level is Level.OK
    missing = report(world, wait_replicas=1)
    assert not missing.is_ready
    (stopping,) = (finding for finding in missing.findings if finding.stops_calls)
    assert stopping.sentence == (
        "0 of 1 replicas confirmed a write in time, so that no change is answered (DCF_WAIT_REPLICAS is 1);"
        " 0 replicas are connected."
    )


# The clock


def test_without_a_clock_runs_stand_still_and_a_look_of_one_is_seen(site: World) -> None:
    assert finding(site, Topic.CLOCK).sentence == (
        "No clock has ever looked; no run is under way, so that none is needed."
    )
    site.create(chain("A"))
    result = report(site)
    (clock,) = (finding for finding in result.findings if finding.topic is Topic.CLOCK)
    assert clock.level is Level.FAILING
    assert clock.sentence == (
        "No clock has ever looked, and 1 run is under way: no Wait, retry, timeout or reminder happens."
    )
    assert result.is_ready, "calls of tools succeed without one"
    look(site)
    assert finding(site, Topic.CLOCK).level is Level.OK


def test_a_clock_that_stopped_is_missed_only_while_a_run_is_under_way(site: World) -> None:
    run = site.create(chain("A"))
    site.ask("SET", keys.SERVER_TIME, server_now(site) - 300 * SECOND)
    stopped = finding(site, Topic.CLOCK)
    assert (stopped.level, stopped.sentence.partition(",")[0]) == (Level.FAILING, "The clock looked last 5 min ago")
    assert finding(site, Topic.CLOCK, pulse_interval_s=120).level is Level.OK, "it may look that rarely"
    site.do(run, "A")
    assert finding(site, Topic.CLOCK).level is Level.OK


def test_a_clock_that_looks_and_does_not_get_through_is_late(site: World) -> None:
    """How late is how long the earliest entry that is due was not handled."""
    run = site.create(chain("A"))
    look(site)
    now = server_now(site)
    for key, entry in ((site.store.keys(run).timers, "A"), (keys.due(run), run)):
        site.ask("ZADD", key, now - 90 * SECOND, entry)
    fine, late = findings(site, Topic.CLOCK)
    assert (fine.level, late.level) == (Level.OK, Level.WARNING)
    match = re.fullmatch(rf"The clock is late: state A of run {run} was due (\d+) s ago\.", late.sentence)
    assert match is not None
    assert 90 <= int(match[1]) < 90 + 60
    clock = report(site).as_json()["clock"]
    assert (clock["overdue"]["workflow_id"], clock["overdue"]["state"]) == (run, "A")
    assert 90 <= clock["late_s"] < 90 + 60
    look(site)
    assert finding(site, Topic.CLOCK).level is Level.OK, "it was handled"


def test_a_deadline_of_a_run_that_passed_is_late_too(site: World) -> None:
    run = site.create(chain("A"))
    look(site)
    set_member(site.ask, site.store.keys(run).meta, "deadline", "2026-01-01T00:00:00.000000Z")
    assert f"the deadline of run {run} was due" in findings(site, Topic.CLOCK)[1].sentence


def test_what_is_due_in_a_run_that_is_over_is_not_late(site: World) -> None:
    run = site.create(chain("A"))
    site.do(run, "A")
    look(site)
    site.only_list(run)
    site.ask("ZADD", site.store.keys(run).timers, 1, "A")
    assert finding(site, Topic.CLOCK).level is Level.OK


# Agents


class Time:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_an_agent_that_called_is_seen_after_the_next_look_of_the_clock(site: World) -> None:
    activity = Activity(ActivityRecords(site.connections))
    site.create(chain("A"))
    missing = finding(site, Topic.AGENTS)
    assert (missing.level, missing.sentence) == (
        Level.WARNING,
        "No agent was seen in the last ten minutes, and 1 run is under way.",
    )
    activity.saw("pricing-1")
    look(site, activity)
    health_finding = finding(site, Topic.AGENTS)
    assert health_finding.level is Level.OK
    assert re.search(r"the last was pricing-1, \d+ s ago", health_finding.sentence)
    (agent,) = report(site).as_json()["agents"]
    assert (agent["agent_id"], agent["ago_s"] < 60) == ("pricing-1", True)
    site.ask("ZADD", keys.SEEN, server_now(site) - 700 * SECOND, "pricing-1")
    assert finding(site, Topic.AGENTS).level is Level.WARNING


def test_an_agent_is_seen_while_it_is_being_written(site: World) -> None:
    seen: list[list[str]] = []

    class Looking(ActivityRecords):
        def saw(self, agent_ids: Collection[str]) -> None:
            seen.append(activity.agents(9))
            super().saw(agent_ids)

    activity = Activity(Looking(site.connections))
    activity.saw("pricing-2")
    activity.write()
    assert ["pricing-2" in agents for agents in (*seen, activity.agents(9))] == [True, True]


def test_calls_cost_nothing_and_many_agents_two_packets_every_few_seconds(own: RestrictedRedis) -> None:
    pool = CountingPool(open_pool(own.url))
    time = Time()
    activity = Activity(ActivityRecords(Connections(pool)), monotonic=time)
    with pool.counted() as packets:
        for number in range(300):
            activity.saw(f"agent-{number % 100}")
    assert packets == []
    with pool.counted() as packets:
        activity.write()
    assert packets == [["TIME", "ZRANGE"], ["ZADD", "EXPIRE"]]
    activity.saw("agent-1")
    with pool.counted() as packets:
        activity.write()
    assert packets == [], "it is too soon"
    time.now += EVERY_S
    with pool.counted() as packets:
        activity.write()
        time.now += EVERY_S
        activity.write()
    assert len(packets) == 2, "and who was not seen again is not written again"
    pool.disconnect()


def test_only_so_many_agents_are_remembered_and_none_for_ever(site: World) -> None:
    records = ActivityRecords(site.connections)
    for number in range(3):
        records.saw([f"a{number}-{item}" for item in range(MOST_SEEN // 2)])
    records.saw(["last"])
    assert site.ask("ZCARD", keys.SEEN) == MOST_SEEN + 1
    assert site.ask("ZSCORE", keys.SEEN, "a0-1") is None, "the ones not seen for longest are forgotten"
    assert 0 < site.ask("TTL", keys.SEEN) <= 7 * 24 * 3600
    body = report(site).as_json()
    assert (len(body["agents"]), body["agents_seen"], body["agents"][0]["agent_id"]) == (50, MOST_SEEN + 1, "last")


def test_a_process_notes_only_so_many_names(site: World) -> None:
    """A caller that may act as any agent can make names up."""
    activity = Activity(ActivityRecords(site.connections))
    for number in range(2 * MOST_SEEN):
        activity.saw(f"made-up-{number}")
    activity.write()
    assert site.ask("ZCARD", keys.SEEN) == MOST_SEEN


def test_a_record_of_another_type_stops_neither_the_clock_nor_the_report(site: World) -> None:
    site.ask("SET", keys.SEEN, "x")
    activity = Activity(ActivityRecords(site.connections))
    activity.saw("pricing-1")
    look(site, activity)
    assert report(site).is_ready
    assert finding(site, Topic.AGENTS).level is Level.OK


# The platform


class Silent:
    """A platform that does not answer until the test says so."""

    is_remote = True
    answer = Delivery(failure=Undelivered.PLATFORM_UNAVAILABLE, error="Letta did not answer within 30 s.")

    def deliver(self, _agent_id: str, _event_id: str, _event: object) -> Delivery:
        return self.answer


def test_an_open_breaker_is_told_by_every_process_until_the_platform_answers(site: World) -> None:
    platform, time = Silent(), Time()
    breaker = Breaker(time)
    activity = Activity(ActivityRecords(site.connections), {"letta": breaker}, monotonic=time)
    guard = GuardedDeliverer(platform, breaker)
    for _ in range(2):
        guard.deliver("a", "e", {})
    look(site, activity)
    assert finding(site, Topic.PLATFORM, platforms=("letta",)).level is Level.OK
    guard.deliver("a", "e", {})
    time.now += 60
    look(site, activity)
    health_finding = finding(site, Topic.PLATFORM, platforms=("letta",))
    assert health_finding.level is Level.WARNING
    assert health_finding.sentence.endswith("Z, 3 times in a row: Letta did not answer within 30 s.")
    body = report(site).as_json()
    (platform_told,) = body["platforms"]
    assert (platform_told["kind"], platform_told["failures"], platform_told["breaker_open"]) == ("letta", 3, True)
    assert platform_told["since"] < body["checked_at"]
    assert report(site).is_ready
    assert 0 < site.ask("TTL", keys.PLATFORMS) <= 120, "a process that died says nothing for long"
    platform.answer = Delivery(message_id="m")
    guard.deliver("a", "e", {})
    time.now += EVERY_S
    look(site, activity)
    assert finding(site, Topic.PLATFORM, platforms=("letta",)).level is Level.OK


def test_each_platform_has_its_own_breaker_and_its_own_finding(site: World) -> None:
    time, records = Time(), ActivityRecords(site.connections)
    breakers = {"letta": Breaker(time), "webhook": Breaker(time)}
    activity = Activity(records, breakers, monotonic=time)
    guard = GuardedDeliverer(Silent(), breakers["letta"])
    for _ in range(3):
        guard.deliver("a", "e", {})
    time.now += EVERY_S
    look(site, activity)
    result = findings(site, Topic.PLATFORM, platforms=("letta", "webhook"))
    assert [(item.level, item.sentence[:26]) for item in result] == [
        (Level.WARNING, "The agent platform letta d"),
        (Level.OK, "No call of the agent platf"),
    ]
    platforms = report(site, platforms=("webhook",)).as_json()["platforms"]
    assert [(platform["kind"], platform["answers"]) for platform in platforms] == [("webhook", True), ("letta", False)]
    assert breakers["webhook"].admit() == 0.0
    assert report(site).summary()["checks"]["platform"] == "warning", "also where there is no such platform"


def test_a_webhook_that_failed_several_times_is_named_until_it_answers(site: World) -> None:
    webhooks = Webhooks(site.connections)
    for name in ("hook-1", "hook-2"):
        webhooks.add(name, f"https://{name}.example/in", lease_ttl_s=600, created_by="test")
    for _ in range(2):
        webhooks.let_rest("hook-2", "https://hook-2.example answered 503.")
    assert finding(site, Topic.PLATFORM).level is Level.OK
    webhooks.let_rest("hook-2", "https://hook-2.example answered 503.")
    health_finding = finding(site, Topic.PLATFORM)
    assert health_finding.level is Level.WARNING
    assert health_finding.sentence.startswith(
        "There are 2 webhooks; hook-2 did not answer, the first 3 times in a row: https:"
    )
    (platform,) = report(site).as_json()["platforms"]
    assert (platform["kind"], platform["agents"], platform["answers"]) == ("webhook", 2, False)
    assert [item["agent_id"] for item in platform["silent"]] == ["hook-2"]
    webhooks.woke("hook-2")
    assert finding(site, Topic.PLATFORM).level is Level.OK


# Lists


def test_a_run_that_no_list_has_is_a_warning_until_it_is_mended(site: World) -> None:
    sweep = Sweep(Listings(site.connections))
    assert finding(site, Topic.LISTS).sentence.startswith("The lists have not been checked yet")
    run = site.create(chain("A"))
    for index in (keys.RUNS, keys.LIVE):
        site.ask("ZREM", index, run)
    sweep.look(repair=False)
    wrong = finding(site, Topic.LISTS)
    assert (wrong.level, wrong.remedy) == (Level.WARNING, "`dcf doctor --repair` corrects them.")
    assert "are wrong: missing on lists: runs 1, live runs 1; on lists, but not there: nothing." in wrong.sentence
    while sweep.step():
        pass
    mended = finding(site, Topic.LISTS)
    assert (mended.level, "this was mended: missing on lists: runs 1, live runs 1" in mended.sentence) == (
        Level.OK,
        True,
    )
    sweep.look(repair=False)
    assert finding(site, Topic.LISTS).sentence.endswith("they name every run, agent and API key, and nothing else.")
    result = json.loads(site.ask("GET", keys.SWEPT))
    site.ask("SET", keys.SWEPT, json.dumps(result | {"at": result["at"] - 4 * 3600 * SECOND}))
    assert finding(site, Topic.LISTS).level is Level.WARNING, "nobody has checked them for hours"


def test_a_user_that_may_not_list_keys_is_told_so(tmp_path: Path) -> None:
    options = ("--user", "blind", "on", "nopass", "~*", "&*", "+@all", "-scan")
    with redis_server(tmp_path, *options) as port:
        world = on(f"redis://blind:x@127.0.0.1:{port}")
        with pytest.raises(Exception, match="NOPERM"):
            Sweep(Listings(world.connections)).look(repair=False)
        health_finding = finding(world, Topic.LISTS)
        assert (health_finding.level, "(NOPERM)" in health_finding.sentence) == (Level.WARNING, True)
        assert "deploy/redis/users.acl" in str(health_finding.remedy)
        world.connections.close()


# Recipients


def test_every_topic_is_judged_and_strangers_see_levels_and_counts_only(site: World) -> None:
    run = site.create(chain("A"))
    ActivityRecords(site.connections).saw(["pricing-1"])
    result = report(site)
    assert list(dict.fromkeys(finding.topic for finding in result.findings)) == list(Topic)
    assert all(finding.sentence.endswith(".") for finding in result.findings)
    assert all(finding.remedy for finding in result.findings if finding.level is not Level.OK)
    summary = result.summary()
    assert summary["checks"] == {topic.value: "ok" for topic in Topic} | {"durability": "warning", "clock": "failing"}
    assert (summary["ok"], summary["level"], summary["failing"], summary["warnings"]) == (True, "failing", 1, 2)
    assert set(summary) == {"ok", "level", "failing", "warnings", "checks"}
    assert not any(secret in str(summary) for secret in (run, "pricing-1", "Redis"))


# Schedules


def test_a_schedule_that_could_not_start_its_run_is_named_until_it_can(site: World) -> None:
    made = site.plan(chain("A"))
    answer = site.ask("GET", keys.definition(made.workflow))
    assert finding(site, Topic.SCHEDULES).level is Level.OK
    late = schedule_keys.schedule(made.name)
    add_to_member(site.ask, late, "next_at", -61 * SECOND)
    site.ask("ZADD", schedule_keys.SCHEDULES, server_now(site) - 60 * SECOND, made.name)
    assert "no clock starts its runs" in finding(site, Topic.SCHEDULES).sentence
    site.ask("DEL", keys.definition(made.workflow))
    site.schedules.look(made.name)
    health_finding = finding(site, Topic.SCHEDULES)
    assert (health_finding.level, made.name in health_finding.sentence) == (Level.WARNING, True)
    site.ask("SET", keys.definition(made.workflow), answer)
    add_to_member(site.ask, late, "next_at", -60 * SECOND)
    site.schedules.look(made.name)
    assert finding(site, Topic.SCHEDULES).level is Level.OK
