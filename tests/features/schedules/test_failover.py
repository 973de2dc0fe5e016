"""A failover at any packet of a start, which takes back what the new primary had not got yet: the tick is started once.

B has A's writes up to one packet, and takes A's place at a later one: the writes in between are lost.
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from dcf.errors import DcfError
from dcf.features.schedules import keys as schedule_keys
from dcf.features.schedules.model import Schedule
from dcf.store.connection.connections import Connections, open_pool
from dcf.values.instants import SECOND
from tests.support.redis.documents import add_to_member, set_member
from tests.support.redis.proxy import Fault, Proxy
from tests.support.redis.servers import listens, redis_server
from tests.support.waiting import wait_until
from tests.support.workflows.machines import chain
from tests.support.world import World

PACKETS = 8
"""Of a start: two for the intent, two for the definition, two for the run, two for the outcome."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """`world` goes through the proxy to A, later to B; `a` and `b` look at either. B follows A by `port`."""

    world: World
    a: World
    b: World
    proxy: Proxy
    port: int
    socket_of_b: Path

    def follow(self) -> None:
        self.b.ask("REPLICAOF", "127.0.0.1", str(self.port))
        wait_until(lambda: b"master_link_status:up" in self.b.ask("INFO", "replication"))

    def is_level(self) -> bool:
        """Whether B has all that A has."""
        mine, others = (_fields(item.ask("INFO", "replication")) for item in (self.a, self.b))
        return mine["master_repl_offset"] == others["slave_repl_offset"]

    def cut(self) -> None:
        """From now on B gets nothing more of A."""
        if _fields(self.b.ask("INFO", "replication"))["role"] == "slave":
            wait_until(self.is_level)
        self.b.ask("REPLICAOF", "NO", "ONE")

    def replace(self) -> None:
        self.proxy.lead_to(self.socket_of_b)


def _fields(info: bytes) -> dict[str, str]:
    lines = (line.partition(":") for line in info.decode().splitlines())
    return {name: value for name, _, value in lines}


@pytest.fixture(scope="module")
def servers(short_directory: Path) -> Iterator[tuple[Path, Path, int]]:
    places = [short_directory / name for name in ("schedule-a", "schedule-b")]
    for place in places:
        place.mkdir()
    options = [("--unixsocket", str(place / "s")) for place in places]
    with redis_server(places[0], *options[0]) as port, redis_server(places[1], *options[1]):
        wait_until(lambda: all(listens(place / "s") for place in places))
        yield places[0] / "s", places[1] / "s", port


@pytest.fixture
def pair(servers: tuple[Path, Path, int]) -> Iterator[Pair]:
    first, second, port = servers
    with Proxy(first, "default:any") as proxy:
        worlds = [World(connections=Connections(open_pool(url))) for url in (f"unix://{first}", f"unix://{second}")]
        world = World(connections=Connections(open_pool(proxy.url)))
        pair = Pair(world=world, a=worlds[0], b=worlds[1], proxy=proxy, port=port, socket_of_b=second)
        pair.follow()
        yield pair
        pair.b.ask("REPLICAOF", "NO", "ONE")
        for item in worlds:
            item.ask("FLUSHALL")
        for item in (world, *worlds):
            item.connections.close()


def due(pair: Pair) -> Schedule:
    """A schedule whose first tick has come."""
    made = pair.a.plan(chain("A"))
    add_to_member(pair.a.ask, schedule_keys.schedule(made.name), "next_at", -60 * SECOND)
    return pair.a.schedules.read(made.name)


@pytest.mark.parametrize("taken_back", range(3))
@pytest.mark.parametrize("number", range(PACKETS + 1))
def test_a_tick_is_started_once_whatever_a_failover_takes_back(pair: Pair, number: int, taken_back: int) -> None:
    made = due(pair)
    pair.world.index.live()
    first = max(0, number - taken_back)
    if first < number:
        pair.proxy.plan(Fault.HOLD, None, meanwhile=pair.cut, before=first)

    def fail_over() -> None:
        pair.cut()
        pair.replace()

    pair.proxy.plan(
        Fault.CUT_BEFORE, None, meanwhile=fail_over, before=number - first - 1 if first < number else number
    )
    with suppress(DcfError):
        pair.world.schedules.look(made.name)
    assert pair.proxy.is_spent == (number < PACKETS), "a start has so many packets"
    pair.cut()
    for _ in range(2):
        if pair.b.schedules.read(made.name).starting is not None:
            set_member(pair.b.ask, schedule_keys.schedule(made.name), ("starting", "until"), 1)
        pair.b.schedules.look(made.name)
    assert pair.b.runs_of(made.name) == [made.run_at(made.next_at or 0)]
    after = pair.b.schedules.read(made.name)
    assert [(record.outcome, record.run) for record in after.records] == [("started", made.run_at(made.next_at or 0))]
    (run,) = pair.b.runs
    assert pair.b.event_types(run).count("RunCreated") == 1
