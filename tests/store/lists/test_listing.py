"""The lists across runs name the runs that they must: no entry is lost when one Redis replaces another.

A is the Redis that all use. Between two packets B replaces it, without the later writes of A.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from dcf.core.access.model import Scope
from dcf.errors import DcfError
from dcf.runs.clock.sweep import Sweep
from dcf.store.access.api_keys import AccessKeys
from dcf.store.connection.connections import Connections, open_pool
from dcf.store.keys import table as keys
from dcf.store.lists.agents import AgentRecord, AgentRecords
from dcf.store.lists.assignments import AssignmentIndex
from dcf.store.lists.checks import Listings
from dcf.workforce.crew.assigning import assign
from tests.support.redis.counting import CountingPool
from tests.support.redis.documents import set_member
from tests.support.redis.proxy import Fault, Proxy
from tests.support.redis.servers import listens, redis_server
from tests.support.tables import rows
from tests.support.waiting import wait_until
from tests.support.workflows.machines import chain
from tests.support.world import World

BREAKS = (Fault.CUT_BEFORE, Fault.LOSE_REPLY)


@dataclass(frozen=True, slots=True, kw_only=True)
class Failover:
    """`world` goes through the proxy: to A, and after the next planned fault to B. `a` and `b` look at either."""

    world: World
    a: World
    b: World
    proxy: Proxy
    socket_of_b: Path

    def at_packet(self, number: int, fault: Fault) -> None:
        """B takes A's place at the packet of this number, counted from now, over a connection that is there."""
        self.world.index.live()
        self.proxy.plan(fault, None, meanwhile=lambda: self.proxy.lead_to(self.socket_of_b), before=number)

    @property
    def has_happened(self) -> bool:
        return self.proxy.is_spent


@pytest.fixture(scope="module")
def pair(short_directory: Path) -> Iterator[tuple[Path, Path]]:
    """The sockets of two servers that know nothing of each other."""
    places = [short_directory / name for name in ("pair-a", "pair-b")]
    for place in places:
        place.mkdir()
    options = [("--unixsocket", str(place / "s")) for place in places]
    with redis_server(places[0], *options[0]), redis_server(places[1], *options[1]):
        wait_until(lambda: all(listens(place / "s") for place in places))
        yield places[0] / "s", places[1] / "s"


@pytest.fixture
def failover(pair: tuple[Path, Path]) -> Iterator[Failover]:
    first, second = pair
    with Proxy(first, "default:any") as proxy:
        worlds = [World(connections=Connections(open_pool(url))) for url in (f"unix://{first}", f"unix://{second}")]
        world = World(connections=Connections(open_pool(proxy.url)))
        yield Failover(world=world, a=worlds[0], b=worlds[1], proxy=proxy, socket_of_b=second)
        for item in (world, *worlds):
            item.ask("FLUSHALL") if item is not world else None
            item.connections.close()


def is_listed(world: World, run: str) -> bool:
    return world.is_live(run) and run in world.newest(1000)


@pytest.mark.parametrize("fault", BREAKS)
@pytest.mark.parametrize("number", range(4))
def test_a_run_created_while_its_redis_is_replaced_is_one_that_the_clock_looks_at(
    failover: Failover, number: int, fault: Fault
) -> None:
    failover.at_packet(number, fault)
    run = failover.world.create(chain("A"), agents={"A": "a"})
    for here in (failover.b,) if failover.has_happened else (failover.a,):
        here.plane.kick_off(run, "go")
        assert is_listed(here, run)
        here.notifications.pulse()
        here.runs.append(run)
        assert [event["target_state"] for event in here.messages("a")] == ["A"]


def test_the_start_signal_lists_a_run_that_no_list_has(world: World) -> None:
    run = world.create(chain("A"))
    for index in (keys.RUNS, keys.LIVE):
        world.ask("ZREM", world.list_of(index, run), run)
    world.plane.kick_off(run, "go")
    assert is_listed(world, run)


@pytest.mark.parametrize("fault", BREAKS)
@pytest.mark.parametrize("number", range(4))
def test_an_api_key_made_while_its_redis_is_replaced_is_listed_where_it_is(
    failover: Failover, number: int, fault: Fault
) -> None:
    failover.at_packet(number, fault)
    made = AccessKeys(failover.world.connections).create((Scope.READ,), agent_id=None, label=None, life_s=None)
    here = AccessKeys((failover.b if failover.has_happened else failover.a).connections)
    assert here.admit(made.text) is not None
    assert [item.key_id for item in here.all()[0]] == [made.record.key_id]


@pytest.mark.parametrize("fault", BREAKS)
@pytest.mark.parametrize("number", range(4))
def test_an_agent_made_while_its_redis_is_replaced_is_found_by_its_tags_where_it_is(
    failover: Failover, number: int, fault: Fault
) -> None:
    failover.at_packet(number, fault)
    record = AgentRecord(agent_id="agent-1", name="one", tags=("role:worker",))
    AgentRecords(failover.world.connections).create(record)
    here = failover.b if failover.has_happened else failover.a
    assert here.records.get("agent-1") is not None
    assert [item.agent_id for item in here.records.find(("role:worker",), "one")] == ["agent-1"]


@pytest.mark.parametrize("fault", BREAKS)
@pytest.mark.parametrize("number", range(4))
def test_an_agent_assigned_while_its_redis_is_replaced_finds_its_run_where_it_is(
    failover: Failover, number: int, fault: Fault
) -> None:
    wish = failover.a.wish(chain("A"))
    for world in (failover.a, failover.b):  # the run itself was there long before
        world.plane.create(wish)
    failover.at_packet(number, fault)
    assign(failover.world.store, wish.workflow_id, {"A": ("agent-1",)}, ())
    here = failover.b if failover.has_happened else failover.a
    assert here.meta(wish.workflow_id)["agents"] == {"A": "agent-1"}
    assert AssignmentIndex(here.connections).runs_of("agent-1") == [wish.workflow_id]


@pytest.mark.parametrize("fault", BREAKS)
@pytest.mark.parametrize("number", range(12))
def test_what_the_clock_saw_on_the_old_redis_it_does_not_do_on_the_new_one(
    failover: Failover, number: int, fault: Fault
) -> None:
    """On A the run is finished and to be forgotten; B never heard of its end."""
    wish = failover.a.wish(chain("A"), retention_s=100)
    run = wish.workflow_id
    for world in (failover.a, failover.b):
        world.plane.create(wish)
    failover.a.do(run, "A")
    failover.a.finalize(run)
    failover.a.notifications.pulse()  # its planner is notified
    failover.at_packet(number, fault)
    try:
        failover.world.notifications.pulse()
    except DcfError:
        assert failover.has_happened
    assert failover.b.is_live(run)
    assert {failover.b.ask("TTL", key) for key in failover.b.keys_of(run)} == {-1}


@pytest.mark.parametrize("fault", BREAKS)
@pytest.mark.parametrize("number", range(8))
def test_what_a_sweep_saw_on_the_old_redis_it_does_not_mend_on_the_new_one(
    failover: Failover, number: int, fault: Fault
) -> None:
    """On A a run is on no list, and a list names no run; on B it is the other way."""
    lost, named = failover.a.create(chain("A")), failover.b.create(chain("A"))
    failover.a.ask("DEL", keys.RUNS, keys.LIVE)
    failover.a.ask("ZADD", keys.RUNS, 1, named)
    failover.at_packet(number, fault)
    with suppress(DcfError):
        Sweep(Listings(failover.world.connections)).look(repair=True)
    assert failover.has_happened
    assert failover.b.index.live() == failover.b.newest(10) == [named]
    assert lost not in failover.b.index.live()


@rows("command", ["EVAL", "ZADD"])
def test_what_is_entered_while_a_sweep_mends_the_list_stays_as_it_was_entered(failover: Failover, command: str) -> None:
    """It found an entry that named nothing, and a run on no list; both change before it does something about them."""
    wish = failover.a.wish(chain("A"))
    if command == "EVAL":
        failover.a.ask("ZADD", keys.LIVE, 1, wish.workflow_id)
    else:
        failover.a.plane.create(wish)
        failover.a.ask("ZREM", keys.LIVE, wish.workflow_id)

    def entered() -> None:
        failover.a.plane.create(wish)
        failover.a.ask("ZADD", keys.LIVE, 2**52, wish.workflow_id)

    failover.proxy.plan(Fault.HOLD, command, meanwhile=entered)
    Sweep(Listings(failover.world.connections)).look(repair=True)
    assert failover.has_happened
    assert int(failover.a.ask("ZSCORE", keys.LIVE, wish.workflow_id)) == 2**52


def test_a_run_created_while_the_clock_takes_its_name_off_the_list_stays_on_it(
    real: World, worlds: Callable[..., World], proxy: Proxy
) -> None:
    wish = real.wish(chain("A"))
    real.ask("ZADD", keys.LIVE, 1, wish.workflow_id)
    proxy.plan(Fault.HOLD, "EVAL", meanwhile=lambda: real.plane.create(wish))
    assert not worlds(proxy.url).index.retire(wish.workflow_id)
    assert real.is_live(wish.workflow_id)


def test_a_run_that_changes_while_its_keys_are_to_expire_is_looked_at_again(
    real: World, worlds: Callable[..., World], proxy: Proxy
) -> None:
    run = real.create(chain("A"), retention_s=100)
    real.finalize(run)
    clock = worlds(proxy.url)
    key = real.store.keys(run).meta
    proxy.plan(Fault.HOLD, meanwhile=lambda: set_member(real.ask, key, "finalize_note", "changed"))
    clock.outbox.expire(run, (), (), (), 100)
    assert real.ask("TTL", key) == -1
    clock.outbox.expire(run, (), (), (), 100)
    assert real.ask("TTL", key) > 0


def test_making_a_key_and_a_run_stays_at_two_round_trips(worlds: Callable[..., World], counting: CountingPool) -> None:
    world = worlds(pool=counting)
    with counting.counted() as packets:
        world.create(chain("A"))
        AccessKeys(world.connections).create((Scope.READ,), agent_id=None, label=None, life_s=None)
    assert [packet[0] for packet in packets] == ["WATCH", "ZADD", "WATCH", "ZADD"]


def test_a_run_that_is_started_keeps_its_place_among_the_newest(world: World) -> None:
    first, second = world.create(chain("A")), world.create(chain("A"))
    world.plane.kick_off(first, "go")
    mine = [run for run in world.newest(1000) if run in {first, second}]
    assert mine == [second, first]
