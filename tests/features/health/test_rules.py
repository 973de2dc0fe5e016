"""What is judged of facts that a real server shows only in rare moments."""

from dataclasses import replace
from typing import Any

from dcf.core.listing.sweep_results import SweepResult
from dcf.features.health.facts import (
    ClockFacts,
    Durability,
    Expected,
    MemoryUse,
    ReplicaSeen,
    ScheduleFacts,
    ServerVitals,
    Sighting,
    Vitals,
)
from dcf.features.health.findings import HealthFinding, Level, Topic, worst
from dcf.features.health.judging import judge
from dcf.features.health.server import SETUP
from dcf.values.instants import SECOND
from tests.support.tables import rows

NOW = 1_800_000_000 * SECOND
EXPECTED = Expected(fsync=None, wait_replicas=0, pulse_interval_s=1.0)
DURABLE = Durability(
    log=True, fsync="always", snapshots="", log_written=True, log_rewritten=True, snapshot_written=True
)
IDLE = ClockFacts(looked_at=NOW - SECOND, live=0, examined=0, running=0, overdue=None)
SERVER = ServerVitals(
    redis_version="8.2.3",
    refusal=None,
    memory=MemoryUse(used=50, limit=100, policy="noeviction"),
    durability=DURABLE,
    is_replica=False,
    replicas=(),
    confirmed=None,
)
WELL = Vitals(now=NOW, servers=(SERVER,), clock=IDLE)


def about(topic: Topic, vitals: Vitals | ServerVitals, **expected: Any) -> list[HealthFinding]:
    whole = vitals if isinstance(vitals, Vitals) else replace(WELL, servers=(vitals,))
    return [item for item in judge(whole, replace(EXPECTED, **expected)) if item.topic is topic]


def of_cluster(topic: Topic, *servers: ServerVitals, **expected: Any) -> list[HealthFinding]:
    named = tuple(replace(server, node=f"n{number}") for number, server in enumerate(servers, 1))
    return about(topic, replace(WELL, servers=named), **expected)


@rows(
    ("change", "policy", "warned"),
    [
        ({"loads_torn": True}, None, True),
        ({"loads_torn": False}, None, False),
        ({"loads_torn": None}, None, False),
        ({"loads_torn": True}, "always", False),
        ({"loads_torn": True, "log": False}, None, False),
    ],
)
def test_a_redis_of_others_that_starts_with_a_torn_log_is_warned_of(
    change: dict[str, Any], policy: str | None, warned: bool
) -> None:
    findings = about(Topic.DURABILITY, replace(SERVER, durability=replace(DURABLE, **change)), fsync=policy)
    warnings = [finding for finding in findings if "redis-check-aof --fix" in (finding.remedy or "")]
    assert [finding.level for finding in warnings] == [Level.WARNING] * warned


def test_a_well_kept_redis_gives_one_finding_on_each_topic_and_none_of_them_is_bad() -> None:
    result = judge(WELL, EXPECTED)
    assert [item.topic for item in result] == list(Topic)
    assert {item.level for item in result} == {Level.OK}


@rows(
    ("change", "level", "said"),
    [
        ({"log_written": False}, Level.FAILING, "The last write to the append-only file failed."),
        ({"log_rewritten": False}, Level.WARNING, "The last rewrite of the append-only file failed."),
        ({"fsync": "no"}, Level.WARNING, "the last half a minute of work, or more."),
        ({"fsync": "everysec"}, Level.WARNING, "the last two seconds of work."),
    ],
)
def test_a_log_that_is_not_kept_is_told_and_stops_no_call(change: dict[str, Any], level: Level, said: str) -> None:
    (finding,) = about(Topic.DURABILITY, replace(SERVER, durability=replace(DURABLE, **change)))
    assert (finding.level, finding.sentence.endswith(said), finding.stops_calls) == (level, True, False)
    assert finding.remedy


def test_a_failed_snapshot_that_nobody_asked_for_is_none() -> None:
    (finding,) = about(Topic.DURABILITY, replace(SERVER, durability=replace(DURABLE, snapshot_written=False)))
    assert finding.level is Level.OK


@rows(("used", "level"), [(84, Level.OK), (85, Level.WARNING), (100, Level.WARNING)])
def test_an_operator_is_warned_from_85_percent_on(used: int, level: Level) -> None:
    (finding,) = about(Topic.MEMORY, replace(SERVER, memory=MemoryUse(used=used, limit=100, policy="noeviction")))
    assert (finding.level, f"({used}%)" in finding.sentence) == (level, True)


@rows("seen", [ReplicaSeen(online=False, lag_s=0, behind=0), ReplicaSeen(online=True, lag_s=11, behind=9)])
def test_a_replica_that_does_not_keep_up_is_a_warning(seen: ReplicaSeen) -> None:
    fine, slow = about(Topic.REPLICAS, replace(SERVER, replicas=(seen,), confirmed=1), wait_replicas=1)
    assert (fine.level, slow.level) == (Level.OK, Level.WARNING)


def test_a_server_that_is_a_replica_lacks_no_replicas() -> None:
    (finding,) = about(Topic.REPLICAS, replace(SERVER, is_replica=True, confirmed=0), wait_replicas=2)
    assert finding.level is Level.OK


def test_of_a_cluster_whose_nodes_are_well_each_topic_is_one_finding_on_all_of_them() -> None:
    fullest, *others = (
        replace(SERVER, memory=MemoryUse(used=used, limit=100, policy="noeviction")) for used in (7, 5, 4)
    )
    sentenceses = {topic: [finding.sentence for finding in of_cluster(topic, fullest, *others)] for topic in SETUP}
    assert sentenceses[Topic.REDIS] == ["All 3 nodes of the cluster: Redis 8.2.3 answers."]
    assert sentenceses[Topic.MEMORY] == [
        "Node n1 of the cluster: Redis uses 7 bytes of 100 bytes (7%). The other 2 are well too."
    ]
    assert [len(sentences) for sentences in sentenceses.values()] == [1] * len(SETUP)


def test_findings_of_a_cluster_name_their_nodes_the_worst_first() -> None:
    lossy = replace(SERVER, durability=replace(DURABLE, fsync="everysec"))
    broken = replace(SERVER, durability=replace(DURABLE, log_written=False))
    first, second = of_cluster(Topic.DURABILITY, lossy, SERVER, broken, lossy)
    assert (first.level, first.sentence) == (
        Level.FAILING,
        "Node n3 of the cluster: The last write to the append-only file failed.",
    )
    assert second.sentence.startswith("Nodes n1, n4 of the cluster: appendfsync is everysec")
    (every,) = of_cluster(Topic.DURABILITY, *[lossy] * 9)
    assert every.sentence.startswith("All 9 nodes of the cluster: appendfsync is everysec")
    (most,) = of_cluster(Topic.DURABILITY, *[lossy] * 8, SERVER)
    assert most.sentence.startswith("Nodes n1, n2, n3, n4, n5 and 3 more of the cluster: ")


def test_a_large_cluster_shows_five_findings_of_a_topic_and_counts_the_others() -> None:
    full = (replace(SERVER, memory=MemoryUse(used=99 - n, limit=100, policy="noeviction")) for n in range(8))
    *details, rest = of_cluster(Topic.MEMORY, *full)
    assert [item.sentence.split()[1] for item in details] == ["n1", "n2", "n3", "n4", "n5"]
    assert (rest.level, rest.sentence) == (Level.WARNING, "3 more nodes of the cluster have something like it.")


def test_the_clock_may_be_silent_for_ten_seconds_or_three_of_its_intervals() -> None:
    for silent_s, interval_s, level in ((10, 1, Level.OK), (11, 1, Level.FAILING), (30, 10, Level.OK)):
        clock = replace(IDLE, looked_at=NOW - silent_s * SECOND, live=2000, examined=500, running=400)
        (finding,) = about(Topic.CLOCK, replace(WELL, clock=clock), pulse_interval_s=interval_s)
        assert (finding.level, "at least 400 runs are under way" in finding.sentence) == (level, True)


def test_a_time_that_lies_ahead_counts_as_now() -> None:
    """As after the server's clock stepped back."""
    ahead = NOW + 3600 * SECOND
    clock = replace(IDLE, looked_at=ahead, running=1)
    result = judge(replace(WELL, clock=clock, seen=(Sighting(agent_id="a", at=ahead),), seen_count=1), EXPECTED)
    assert worst(item.level for item in result) is Level.OK
    assert not any("-" in item.sentence for item in result if item.topic in {Topic.CLOCK, Topic.AGENTS})


@rows(("hours", "level"), [(2, Level.OK), (4, Level.WARNING)])
def test_lists_that_nobody_checked_for_three_hours_are_a_warning(hours: int, level: Level) -> None:
    swept = SweepResult(at=NOW - hours * 3600 * SECOND, missing={}, dangling={}, repaired=True)
    (finding,) = about(Topic.LISTS, replace(WELL, swept=swept))
    assert finding.level is level


@rows(
    ("facts", "level", "said"),
    [
        (ScheduleFacts(), Level.OK, "There are no schedules."),
        (ScheduleFacts(count=1), Level.OK, "There is 1 schedule; each could start its latest run."),
        (ScheduleFacts(count=3, troubled=2, names=("a", "b")), Level.WARNING, "could not start the latest run: a, b."),
        (ScheduleFacts(count=9, troubled=6, names=("a",)), Level.WARNING, "the latest run: a, and more."),
        (
            ScheduleFacts(count=2, overdue=NOW - 60 * SECOND),
            Level.FAILING,
            "no clock starts its runs.",
        ),
        (
            ScheduleFacts(count=2, overdue=NOW - SECOND),
            Level.OK,
            "There are 2 schedules; each could start its latest run.",
        ),
    ],
)
def test_schedules_that_start_nothing_are_told(facts: ScheduleFacts, level: Level, said: str) -> None:
    (finding,) = about(Topic.SCHEDULES, replace(WELL, schedules=facts))
    assert (finding.level, finding.sentence.endswith(said)) == (level, True), finding.sentence
    assert (finding.remedy is None) == (level is Level.OK)
