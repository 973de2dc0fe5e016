"""Three clocks as real processes, one of which is killed again and again, a failover, and a clock that steps back.

Every tick is started once, after any fault of the processes that start them.
"""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from dcf.features.schedules import keys as schedule_keys
from dcf.features.schedules.model import CatchUp, Overlap, Schedule
from dcf.store.connection.connections import Connections, open_pool
from dcf.store.keys import table as keys
from dcf.values.instants import SECOND
from tests.support.redis.documents import set_member
from tests.support.redis.proxy import Proxy
from tests.support.redis.servers import listens, redis_server
from tests.support.waiting import wait_until
from tests.support.workflows.machines import chain
from tests.support.world import World
from tests.system.processes.site import LONG, Process, Site

pytestmark = pytest.mark.processes

CLOCKS = 3
TICKS = 90


@dataclass(kw_only=True)
class Clocks:
    """Clocks that reach Redis through the proxy: the old server until the failover, then the new one."""

    site: Site
    proxy: Proxy
    old: World
    new: World
    socket_of_new: Path
    processes: list[Process]

    def start(self) -> None:
        process = self.site.dcf("store", "pulse", REDIS_URL=self.proxy.url, DCF_PULSE_INTERVAL_S="0.05")
        self.processes.append(process)

    def reach(self, world: World, schedule: Schedule, runs: int) -> None:
        wait_until(lambda: len(world.runs_of(schedule.name)) >= runs, LONG)

    def kill_one(self, world: World, schedule: Schedule) -> None:
        """Kill the oldest, start another, and let the dead one's intents expire."""
        process = self.processes.pop(0)
        process.kill()
        process.wait()
        self.end_intent(world, schedule)
        self.start()

    def end_intent(self, world: World, schedule: Schedule) -> None:
        set_member(world.ask, schedule_keys.schedule(schedule.name), ("starting", "until"), 1)
        world.ask("ZADD", schedule_keys.SCHEDULES, "XX", 1, schedule.name)

    def fail_over(self, schedule: Schedule) -> None:
        """The replica takes the place of the old server, with whatever it has got."""
        self.new.ask("REPLICAOF", "NO", "ONE")
        self.proxy.lead_to(self.socket_of_new)
        self.proxy.break_all()
        self.end_intent(self.new, schedule)

    def step_back(self, schedule: Schedule) -> None:
        """As if the server's clock had been an hour ahead: clocks find it, and what was set by it."""
        seconds, _ = self.new.ask("TIME")
        ahead = (int(seconds) + 3600) * SECOND
        set_member(self.new.ask, schedule_keys.schedule(schedule.name), "seen_at", ahead)
        self.new.ask("SET", keys.SERVER_TIME, ahead)


@pytest.fixture
def clocks(site: Site, short_directory: Path, tmp_path: Path) -> Iterator[Clocks]:
    home = short_directory / "clocks"
    home.mkdir()
    with ExitStack() as stack:
        port = stack.enter_context(redis_server(tmp_path, "--unixsocket", str(home / "old")))
        follows = ("--replicaof", "127.0.0.1", str(port), "--unixsocket", str(home / "new"))
        stack.enter_context(redis_server(tmp_path, *follows))
        wait_until(lambda: all(listens(home / name) for name in ("old", "new")))
        proxy = stack.enter_context(Proxy(home / "old", "default:any"))
        worlds = [World(connections=Connections(open_pool(f"unix://{home / name}"))) for name in ("old", "new")]
        for world in worlds:
            stack.callback(world.connections.close)
        old, new = worlds
        wait_until(lambda: b"master_link_status:up" in new.ask("INFO", "replication"))
        yield Clocks(site=site, proxy=proxy, old=old, new=new, socket_of_new=home / "new", processes=[])


def make_due(world: World, schedule: Schedule, ticks: int) -> list[str]:
    """Let this number of ticks come at once; return their runs."""
    seconds, _ = world.ask("TIME")
    latest = schedule.timing.after((int(seconds) - 10) * SECOND)
    assert latest is not None
    first = latest - (ticks - 1) * 10 * SECOND
    set_member(world.ask, schedule_keys.schedule(schedule.name), "next_at", first)
    world.ask("ZADD", schedule_keys.SCHEDULES, 1, schedule.name)
    return [schedule.run_at(first + number * 10 * SECOND) for number in range(ticks)]


def test_three_clocks_that_die_start_each_tick_once_through_a_failover(
    clocks: Clocks,
) -> None:
    made = clocks.old.plan(chain("A"), overlap=Overlap.ALLOW, catch_up=CatchUp.ALL, every_s=10)
    due = make_due(clocks.old, made, TICKS)
    for _ in range(CLOCKS):
        clocks.start()
    for number in (15, 30):
        clocks.reach(clocks.old, made, number)
        clocks.kill_one(clocks.old, made)
    clocks.reach(clocks.old, made, 50)
    clocks.fail_over(made)
    clocks.reach(clocks.new, made, 65)
    clocks.kill_one(clocks.new, made)
    clocks.reach(clocks.new, made, 80)
    clocks.step_back(made)
    wait_until(lambda: set(due) <= set(clocks.new.runs_of(made.name)), LONG)
    clocks.new.schedules.pause(made.name)
    wait_until(lambda: clocks.new.schedules.read(made.name).starting is None, LONG)
    runs = clocks.new.runs_of(made.name)
    after = clocks.new.schedules.read(made.name)
    noted = [record.run for record in after.records if record.outcome == "started"]
    assert len(noted) == len(set(noted))
    assert after.started == len(runs) == len(set(runs))
    assert all(clocks.new.event_types(run).count("RunCreated") == 1 for run in runs)
    assert (after.skipped, after.failed) == (0, 0)
    for process in clocks.processes:
        assert process.poll() is None, "a clock ended by itself"
