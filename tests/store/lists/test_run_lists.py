"""The lists of runs in several shards: where their keys are, and that every list says what it says in one."""

import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from operator import itemgetter
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dcf.core.access.model import Scope
from dcf.core.documents.model import RunStatus
from dcf.core.leasing.lease import Acquire
from dcf.core.listing.runs import Facet, RunPage, RunQuery, read_cursor
from dcf.errors import StoreUnavailable
from dcf.features.health.gauges import GaugeReader
from dcf.features.health.storage import VitalSigns
from dcf.features.projects.storage import ProjectStore
from dcf.features.retention.expiring import EXPIRING
from dcf.features.work.listing import WorkQuery, WorkStatus, read_work_place
from dcf.features.work.operations import TakenWork
from dcf.features.work.storage import WorkList
from dcf.runs.clock.sweep import Sweep
from dcf.store.access.api_keys import AccessKeys
from dcf.store.cluster.connections import SHARDS
from dcf.store.cluster.keys import cluster_key, slot_of
from dcf.store.connection.connections import Connections, exchange, open_pool
from dcf.store.keys import table as keys
from dcf.store.lists.agents import AgentRecord
from dcf.store.lists.assignments import AssignmentIndex
from dcf.store.lists.checks import Listings
from dcf.store.lists.due import DueRuns
from dcf.store.lists.pages import Catalog
from dcf.store.lists.shards import every_shard, in_every_shard, in_shard, place_of, plain_list, shard_of
from dcf.store.transaction.writing import due_command
from tests.conftest import KINDS
from tests.support.redis.between import PoolBetween, Replied, Sending
from tests.support.redis.counting import CountingPool
from tests.support.redis.documents import SENT
from tests.support.redis.restricted import RestrictedRedis
from tests.support.tables import rows
from tests.support.workflows.machines import Document, chain, workflow
from tests.support.workflows.scopes import parallel, task
from tests.support.world import World, new_token

FOUR: Final = 4
LISTS: Final = (
    keys.RUNS,
    keys.LIVE,
    keys.STUCK,
    EXPIRING,
    keys.runs_by("status", "running"),
    keys.runs_by("tag", "a b"),
)
IDS: Final = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}", fullmatch=True)


# Keys


@given(run=IDS)
def test_all_lists_of_a_run_are_in_one_slot_of_a_cluster(run: str) -> None:
    places = [place_of(index, run, SHARDS) for index in LISTS]
    assert len({slot_of(place) for place in places}) == 1
    assert [cluster_key(place) for place in places] == places, "they have their tag already"
    assert [plain_list(place) for place in places] == list(LISTS)


@rows("index", LISTS)
def test_with_one_shard_a_list_has_its_plain_key(index: str) -> None:
    assert in_every_shard(index, 1) == [place_of(index, "r-1", 1)] == [index]
    assert plain_list(index) == index


def test_the_runs_are_spread_over_all_shards_and_these_over_many_slots() -> None:
    shards = [shard_of(f"run-{number}", SHARDS) for number in range(1600)]
    assert set(shards) == set(every_shard(SHARDS))
    assert all(50 < shards.count(shard) < 200 for shard in every_shard(SHARDS))
    assert len({slot_of(key) for key in in_every_shard(keys.LIVE, SHARDS)}) == SHARDS


# Reading


@pytest.fixture
def four(worlds: Callable[..., World]) -> World:
    """dcf on one server that keeps each list of runs in four shards."""
    world = worlds()
    world.connections.shards = FOUR
    return world


@pytest.fixture(params=["cluster"] if "cluster" in KINDS else ["server"])
def parted(request: pytest.FixtureRequest) -> Iterator[World]:
    """dcf on a Redis that keeps each list of runs in several shards: on one server, and on a cluster."""
    if request.param == "server":
        yield request.getfixturevalue("four")
        return
    connections = request.getfixturevalue("cluster_connections")
    world = World(connections=connections, onlooker=request.getfixturevalue("cluster_onlooker"))
    yield world
    world.close()


@pytest.fixture
def mine() -> str:
    return f"shards-{uuid.uuid4().hex[:8]}"


def document(name: str, *states: str) -> Document:
    return chain(*(states or ("A",))) | {"workflow_name": name}


def pages(connections: Connections, limit: int, **query: Any) -> Iterator[RunPage]:
    cursor = None
    while True:
        page = Catalog(connections).page(RunQuery(limit=limit, cursor=cursor, **query))
        yield page
        if page.next_cursor is None:
            return
        cursor = read_cursor(str(page.next_cursor))


def ids(result: Any) -> list[str]:
    return [row.workflow_id for page in result for row in page.rows]


@rows(
    ("looked_at", "latest", "own"),
    [
        pytest.param(2000, 4, 1, id="runs of the same moment"),
        pytest.param(3, 2000, 2, id="pages that look at few entries"),
    ],
)
def test_paging_over_four_shards_gives_the_same_rows_as_over_one(
    four: World,
    real_connections: Connections,
    mine: str,
    monkeypatch: pytest.MonkeyPatch,
    looked_at: int,
    latest: int,
    own: int,
) -> None:
    """Of each place the first `own` values, run and time, are given to no other."""
    monkeypatch.setattr("dcf.store.lists.pages._SPARE", 0)  # so that a shard gives no more than it must
    monkeypatch.setattr("dcf.store.lists.pages._LOOKED_AT", looked_at)
    runs = [four.create(document(mine), tags=(mine,)) for _ in range(24)]
    both = [keys.runs_by(Facet.WORKFLOW, mine), keys.runs_by(Facet.TAG, mine)]
    texts = [f"{mine}-{number}" for number in range(12)]
    places = st.tuples(st.sampled_from(runs + texts), st.integers(1, latest), st.sampled_from(([0], [1], [0, 1])))
    unique = tuple(itemgetter(value) for value in range(own))

    @settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(listed=st.lists(places, max_size=60, unique_by=unique), limit=st.integers(1, 9))
    def check(listed: list[tuple[str, int, list[int]]], limit: int) -> None:
        for number, index in enumerate(both):
            for key in (index, *in_every_shard(index, FOUR)):
                four.ask("DEL", key)
            for run, at, on in listed:
                if number in on:
                    four.ask("ZADD", index, at, run)
                    four.ask("ZADD", place_of(index, run, FOUR), at, run)
        for query in ({"workflow": mine}, {"workflow": mine, "tag": mine}):
            result = list(pages(four.connections, limit, **query))
            alone = list(pages(real_connections, limit, **query))
            assert ids(result) == ids(alone)
            assert {page.matching for page in result} == {page.matching for page in alone}

    check()


def test_a_page_reads_no_more_runs_than_with_one_shard(four: World, counting: CountingPool, mine: str) -> None:
    for _ in range(30):
        four.create(document(mine))
    through = Connections(counting)
    through.shards = FOUR
    with counting.counted() as packets:
        page = Catalog(through).page(RunQuery(limit=3, workflow=mine))
    assert (len(page.rows), len(packets)) == (3, 3)
    assert packets[1].count(SENT.read_members) == 3 + 14


def test_filters_counts_and_gauges_are_of_all_shards(parted: World, mine: str) -> None:
    before = next(pages(parted.connections, 1)).counts
    gauges = GaugeReader(parted.connections).read()
    runs = [parted.create(document(mine), agents={"A": mine}) for _ in range(8)]
    for run in runs[:3]:
        parted.do(run, "A", mine)
        parted.due.settle(run)
    assert len({shard_of(run, parted.connections.shards) for run in runs}) > 1
    page = next(pages(parted.connections, 20, workflow=mine))
    assert (page.matching, page.counts.runs - before.runs) == (8, 8)
    gained = {name: page.counts.by_status[name] - before.by_status[name] for name in ("running", "succeeded")}
    assert gained == {"running": 5, "succeeded": 3}
    assert ids(pages(parted.connections, 3, status=RunStatus.SUCCEEDED, agent=mine)) == runs[2::-1]
    now = GaugeReader(parted.connections).read()
    assert (now.live - gauges.live, now.runs["running"] - gauges.runs["running"]) == (8, 5)
    assert VitalSigns(parted.connections).read().clock.live == now.live
    index = AssignmentIndex(parted.connections)
    assert index.newest_live()[:8] == runs[::-1]
    assert [index.is_named(name) for name in (mine, f"{mine}-other")] == [True, False]
    assert [run for run in parted.index.live() if run in runs] == runs


def test_the_use_of_a_project_counts_all_shards(parted: World, mine: str) -> None:
    runs = [parted.create(document(mine), project=mine, agents={"A": mine}) for _ in range(6)]
    parted.do(runs[0], "A", mine)
    parted.due.settle(runs[0])
    use = ProjectStore(parted.connections).use_of(mine)
    assert (use.runs, use.by_status, use.newest) == (6, {"running": 5, "succeeded": 1}, runs[::-1])


def test_a_stuck_run_is_found_in_its_shard(parted: World, mine: str) -> None:
    runs = [parted.create(document(mine)) for _ in range(5)]
    for run in runs[1:4]:
        created_at = parted.ask("ZSCORE", place_of(keys.RUNS, run, parted.connections.shards), run)
        parted.ask("ZADD", place_of(keys.STUCK, run, parted.connections.shards), created_at, run)
    assert ids(pages(parted.connections, 2, workflow=mine, stuck=True)) == runs[3:0:-1]
    stuck = [row.stuck for row in next(pages(parted.connections, 5, workflow=mine)).rows]
    assert stuck == [False, True, True, True, False]


# Work


def work(world: World, limit: int, **query: Any) -> list[tuple[str, str]]:
    place, rows = None, list[tuple[str, str]]()
    while True:
        page = world.work.find_work(WorkQuery(limit=limit, place=place, **query))
        assert len(page.items) <= limit
        rows += [(item.workflow_id, item.state) for item in page.items]
        if page.next_place is None:
            return rows
        place = read_work_place(str(page.next_place))


def test_work_of_all_shards_is_paged_the_oldest_run_first(parted: World, mine: str) -> None:
    wide = workflow({"Fan": parallel(*({f"B{number}": task()} for number in range(5)))}) | {"workflow_name": mine}
    runs = [parted.create(wide if number % 3 == 0 else document(mine), agents={"A": mine}) for number in range(40)]
    result = work(parted, 50, agent=mine, workflow=mine)
    assert [run for run, state in result if state == "A"] == [run for number, run in enumerate(runs) if number % 3]
    assert list(dict.fromkeys(run for run, _ in result)) == runs
    assert len(result) == len(set(result)) == 26 + 14 * 5
    for limit in (1, 3, 7):
        assert work(parted, limit, agent=mine, workflow=mine) == result


@pytest.fixture
def crowded(parted: World, mine: str) -> Iterator[World]:
    """dcf where each shard lists many live runs, and many of a workflow that are not live, older than a test's."""
    indexes = (keys.runs_by("status", "running"), keys.runs_by("workflow", mine))
    listed = [key for index in indexes for key in in_every_shard(index, parted.connections.shards)]
    for key in listed:
        parted.ask("ZADD", key, *(part for item in range(200) for part in (item, f"{key}-{item}")))
    yield parted
    for key in listed:
        parted.ask("ZREM", key, *(f"{key}-{item}" for item in range(200)))


def test_work_is_found_behind_many_runs_that_are_passed_over(crowded: World, mine: str) -> None:
    runs = [crowded.create(document(mine)) for _ in range(20)]
    for limit in (1, 50):
        assert work(crowded, limit, workflow=mine) == [(run, "A") for run in runs]


def test_a_search_that_wants_few_runs_reads_few_entries_of_each_list(four: World, redis_client: Any, mine: str) -> None:
    for _ in range(8):
        four.create(document(mine))
    with redis_client.monitor() as seen:
        page = four.work.find_work(WorkQuery(limit=5, workflow=mine))
        redis_client.echo(mine)
        read = [int(words[-2]) for words in told_until(["ECHO", mine], seen) if "BYSCORE" in words]
    assert len(page.items) == 5
    assert read == [32] * FOUR


def told_until(last: list[str], seen: Any) -> Iterator[list[str]]:
    """The commands of a server up to the last one, as its monitor reports them."""
    while (words := seen.next_command()["command"].split()) != last:
        yield words


def test_what_is_done_is_paged_over_all_shards(parted: World, mine: str) -> None:
    runs = [parted.create(document(mine), agents={"A": mine}) for _ in range(9)]
    for run in runs:
        parted.do(run, "A", mine)
    for limit in (2, 50):
        assert work(parted, limit, agent=mine, workflow=mine, status=WorkStatus.DONE) == [(run, "A") for run in runs]
    assert work(parted, 5, agent=mine, run=runs[4], status=WorkStatus.DONE) == [(runs[4], "A")]


def test_claims_over_all_shards_take_the_oldest_first_and_each_once(parted: World, mine: str) -> None:
    runs = [parted.create(document(mine), agents={"A": mine if number % 2 else "other"}) for number in range(14)]
    taken = []
    while True:
        wish = Acquire(state="", owner=mine, token=new_token(), ttl_s=600)
        query = WorkQuery(limit=1, agent=mine, status=WorkStatus.READY, workflow=mine)
        answer = parted.work.claim_work(query, wish)
        if not isinstance(answer, TakenWork):
            break
        taken.append(answer.workflow_id)
    assert taken == runs[1::2]


def test_a_claim_marks_what_it_is_about_to_take_and_nothing_else(
    parted: World, mine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dcf.features.work.search_storage._MARK_MS", 60_000)  # so that it is there when the test looks
    runs = [parted.create(document(mine), agents={"A": mine}) for _ in range(5)]
    for run in runs[:2]:
        parted.acquire(run, "A", mine)
    query = WorkQuery(limit=1, agent=mine, status=WorkStatus.READY, workflow=mine)
    candidates = WorkList(parted.connections).next_ready(query, "a-mark", ())
    marked = [run for run in runs if parted.ask("EXISTS", parted.store.keys(run).taking("A"))]
    assert [state.workflow_id for state in candidates.states] == marked == runs[2:3]


def test_a_search_that_looks_at_many_runs_goes_on_where_it_stopped(
    four: World, mine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dcf.features.work.search_storage._MOST_READ", 5)
    monkeypatch.setattr("dcf.features.work.search_storage._LISTED", 2)
    skilled = workflow({"A": {"Type": "Task", "Skills": ["skill://style@1.0.0"], "End": True}})
    for _ in range(11):
        four.create(document(mine), agents={"A": mine})
    run = four.create(skilled | {"workflow_name": mine}, agents={"A": mine})
    query: dict[str, Any] = {"agent": mine, "workflow": mine, "skill": "skill://style@1.0.0"}
    first = four.work.find_work(WorkQuery(limit=5, **query))
    assert (first.items, first.next_place is None) == ((), False)
    assert work(four, 5, **query) == [(run, "A")]


# Writes of the timer loop


def entries(world: World, run: str) -> list[str]:
    """The lists that have the run, of all keys there are."""
    every = [key.decode() for key in world.ask("KEYS", "cp:idx:*")]
    lists = [key for key in every if plain_list(key).startswith((*LISTS[:4], keys.DUE))]
    return sorted(key for key in lists if any(run.encode() in name for name in world.ask("ZRANGE", key, 0, -1)))


def test_a_run_is_listed_in_its_shard_only_and_nothing_is_left_of_it(parted: World, mine: str) -> None:
    run = parted.create(document(mine), agents={"A": mine})
    listed = [key for key in entries(parted, run) if not key.startswith(keys.DUE)]
    assert in_shard(keys.LIVE, shard_of(run, parted.connections.shards)) in listed
    assert {key for key in listed if not key.startswith(f"cp:idx:{shard_of(run, parted.connections.shards)}")} == set()
    parted.do(run, "A", mine)
    parted.finalize(run)
    for _ in range(2):
        parted.notifications.pulse()
    assert not parted.is_live(run)
    index = place_of(keys.runs_by("status", "running"), run, parted.connections.shards)
    assert parted.ask("ZSCORE", index, run) is None
    parted.retention.delete(run)
    assert entries(parted, run) == []


def test_a_run_whose_keys_expired_leaves_the_lists_of_its_shard(parted: World, mine: str) -> None:
    run = parted.create(document(mine), agents={"A": mine}, retention_s=100)
    parted.do(run, "A", mine)
    parted.finalize(run)
    for _ in range(2):
        parted.notifications.pulse()
    index = place_of(EXPIRING, run, parted.connections.shards)
    seconds, micros = parted.ask("TIME")
    (noted,) = [text for text in parted.ask("ZRANGE", index, 0, -1) if run.encode() in text]
    for key in parted.keys_of(run):
        parted.ask("DEL", key)  # as Redis does when the time has come
    parted.ask("ZADD", index, "XX", int(seconds) * 1_000_000 + int(micros), noted)
    assert parted.retention._deletion.expiring.take_off() == 1
    assert [key for key in entries(parted, run) if not key.startswith(keys.DUE)] == []


def test_agents_and_keys_are_on_lists_in_all_shards_and_found_in_order(parted: World, mine: str) -> None:
    shards, tags = parted.connections.shards, (mine, f"{mine}-too")
    agents = [f"{mine}-{number}" for number in range(40)]
    for agent in agents:
        parted.records.create(AgentRecord(agent_id=agent, name=agent, tags=tags))
    access = AccessKeys(parted.connections)
    made = [access.create((Scope.READ,), agent_id=mine, label=None, life_s=60).record.key_id for _ in range(40)]
    tagged = in_every_shard(keys.agents_tagged(mine), shards)
    for lists in (tagged, in_every_shard(keys.KEY_INDEX, shards)):
        parts = [parted.ask("ZCARD", key) for key in lists]
        assert max(parts) < sum(parts), lists
    Sweep(Listings(parted.connections)).look(repair=True)
    assert [item.agent_id for item in parted.records.find(tags, None)] == agents
    assert [item.key_id for item in access.all()[0] if item.agent_id == mine] == made
    first, *_ = agents
    parted.ask("ZREM", place_of(keys.agents_tagged(mine), first, shards), first)
    parted.ask("ZREM", place_of(keys.KEY_INDEX, made[0], shards), made[0])
    Sweep(Listings(parted.connections)).look(repair=True)
    assert first in [item.agent_id for item in parted.records.find((mine,), None)]
    assert made[0] in [item.key_id for item in access.all()[0]]
    for agent, key_id in zip(agents, made, strict=True):
        parted.records.delete(agent)
        access.delete(key_id)
    assert sum(parted.ask("ZCARD", key) for key in tagged) == 0
    assert [item for item in access.all()[0] if item.agent_id == mine] == []


def test_a_sweep_finds_what_is_missing_and_dangling_in_each_shard(parted: World, mine: str) -> None:
    runs = [parted.create(document(mine)) for _ in range(3)]
    for run in runs:
        for index in (keys.RUNS, keys.LIVE, LISTS[4]):
            parted.ask("ZREM", place_of(index, run, parted.connections.shards), run)
    ghost = f"{mine}-ghost"
    parted.ask("ZADD", place_of(keys.RUNS, ghost, parted.connections.shards), 1, ghost)
    Sweep(Listings(parted.connections)).look(repair=True)
    assert set(runs) <= set(parted.index.live())
    assert ids(pages(parted.connections, 2, workflow=mine, status=RunStatus.RUNNING)) == runs[::-1]
    assert entries(parted, ghost) == []


class Meddling(PoolBetween):
    """Connections before whose next packets something is done, once: before the first that comes when `left` is 0."""

    def __init__(self, url: str) -> None:
        super().__init__(open_pool(url))
        self.left = -1
        self.meddle: Callable[[], object] = lambda: None

    def between(self) -> tuple[Sending, Replied]:
        return self._sent, lambda reply: reply

    def _sent(self, packet: bytes) -> bytes:
        self.left -= 1
        if self.left == -1:
            self.meddle()
        return packet


def due_in_four(four: World, server: RestrictedRedis, mine: str) -> tuple[Meddling, Connections, str]:
    """A run that is due, and connections with four shards, between whose packets a test may meddle."""
    pool = Meddling(server.url)
    through, run = Connections(pool), four.create(document(mine), agents={"A": mine})
    through.shards = FOUR
    four.notifications.pulse()
    four.ask("ZADD", keys.due(run), 1, run)
    return pool, through, run


@rows("packets", range(6))
def test_a_run_that_changes_while_the_clock_settles_it_is_never_noted_too_late(
    four: World, server: RestrictedRedis, mine: str, packets: int
) -> None:
    pool, through, run = due_in_four(four, server, mine)
    pool.meddle = lambda: four.acquire(run, "A", mine, ttl_s=30)
    pool.left = packets
    DueRuns(through).settle(run)
    through.close()
    if pool.left >= 0:
        four.acquire(run, "A", mine, ttl_s=30)
    needed = four.outbox.attention(run).next_due
    assert needed is not None
    assert float(four.ask("ZSCORE", keys.due(run), run)) <= needed


@rows("packets", range(4))
def test_a_commit_during_the_settling_of_the_clock_is_repeated_or_noted(
    four: World, server: RestrictedRedis, mine: str, packets: int
) -> None:
    """It enters its time without effect before the timer loop writes its own, and commits after the loop."""
    pool, through, run = due_in_four(four, server, mine)
    own = four.store.keys(run)
    soon = four.outbox.attention(run).now + 5_000_000
    with four.connections.one() as connection:

        def announce() -> None:
            exchange(connection, [("WATCH", own.meta), due_command(own, soon)])

        pool.meddle, pool.left = announce, packets
        DueRuns(through).settle(run)
        *_, result = exchange(connection, [("MULTI",), ("ZADD", own.timers, soon, "A"), ("EXEC",)])
    through.close()
    assert result is None or float(four.ask("ZSCORE", keys.due(run), run)) <= soon


@rows("packets", range(6))
def test_a_clock_that_dies_while_it_settles_notes_no_run_too_late(
    four: World, server: RestrictedRedis, mine: str, packets: int
) -> None:
    pool, through, run = due_in_four(four, server, mine)

    def die() -> None:
        raise ConnectionError

    pool.meddle, pool.left = die, packets
    with suppress(StoreUnavailable):
        DueRuns(through).settle(run)
    through.close()
    four.acquire(run, "A", mine, ttl_s=30)
    needed = four.outbox.attention(run).next_due
    assert needed is not None
    assert float(four.ask("ZSCORE", keys.due(run), run)) <= needed


@rows("packets", range(5))
def test_a_list_from_which_the_clock_took_a_run_has_it_again_if_the_run_changed(
    four: World, server: RestrictedRedis, mine: str, packets: int
) -> None:
    pool = Meddling(server.url)
    through, run = Connections(pool), four.create(document(mine), agents={"A": mine}, max_attempts=1)
    through.shards = FOUR
    four.fail(run, "A", four.acquire(run, "A", mine))
    running = place_of(keys.runs_by("status", "running"), run, FOUR)
    created_at = four.ask("ZSCORE", running, run)
    assert created_at is not None
    pool.meddle, pool.left = lambda: four.retrying.retry(run), packets
    DueRuns(through).settle(run)
    through.close()
    assert four.run_status(run) == "running"
    assert four.ask("ZSCORE", running, run) == created_at
