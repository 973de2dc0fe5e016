"""The index of due times against a scan of all documents: after any change, the timer loop looks in time."""

from collections.abc import Callable
from typing import Any, TypeAlias

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dcf.core.documents.answers import Leased
from dcf.core.leasing.attention import NEVER
from dcf.store.connection.connections import Connections
from dcf.store.keys import parts as key_parts
from dcf.store.keys import table as keys
from dcf.values.instants import SECOND, from_text
from tests.support.workflows.machines import Document, workflow
from tests.support.workflows.scopes import each, parallel, retrying, task
from tests.support.world import LONG, World

Actions: TypeAlias = dict[str, Callable[[], object]]

AGENTS = ("ann", "bob")


def limited(document: Document) -> Document:
    document["asl"]["TimeoutSeconds"] = 500
    return document


MACHINES = (
    workflow({"A": task("B", Retry=retrying("States.ALL")), "B": task(TimeoutSeconds=60, HeartbeatSeconds=20)}),
    workflow({"W": {"Type": "Wait", "Seconds": 40, "Next": "A"}, "A": task()}),
    limited(workflow({"M": each({"In": task()}, "P"), "P": parallel({"L": task()}, {"R": task()})})),
)
ASSIGNED = dict.fromkeys(("A", "B", "In", "L", "R"), AGENTS)
RUNS = len(MACHINES)

numbers = st.integers(0, RUNS - 1)
WHAT = ("kick off", "claim", "succeed", "fail", "renew", "release", "due", "settle", "finalize", "clock", "step back")
STEPS = st.lists(st.tuples(st.sampled_from(WHAT), numbers), min_size=5, max_size=30)


class Runs:
    """One run of each machine, and the leases that somebody has of it."""

    def __init__(self, connections: Connections) -> None:
        self.world = World(connections=connections)
        self.runs = [
            self.world.create(machine, agents=ASSIGNED, planner="boss", run_input=[1, 2], retention_s=LONG)
            for machine in MACHINES
        ]
        self.held: dict[str, list[tuple[str, str]]] = {run: [] for run in self.runs}

    def do(self, subject: str, run: str) -> None:
        holding, world = self.held[run], self.world
        of_holders: Actions = {
            "succeed": lambda: world.try_complete(run, *holding.pop()),
            "fail": lambda: world.fail(run, *holding.pop()),
            "renew": lambda: world.renew(run, *holding[-1], ttl_s=LONG),
            "release": lambda: world.release(run, *holding.pop()),
        }
        of_others: Actions = {
            "kick off": lambda: world.plane.kick_off(run, "go"),
            "claim": lambda: self.claim(run),
            "due": lambda: self.make_due(run),
            "settle": lambda: world.due.settle(run),
            "finalize": lambda: world.finalize(run),
            "clock": world.notifications.pulse,
            "step back": lambda: self.step_back(run),
        }
        if subject in of_others:
            of_others[subject]()
        elif holding:
            of_holders[subject]()

    def make_due(self, run: str) -> None:
        for state in timers(self.world, run):
            self.world.make_due(run, state)

    def claim(self, run: str) -> None:
        lease = self.world.claim(run, AGENTS[len(self.held[run]) % 2], ttl_s=30)
        if isinstance(lease, Leased) and lease.doc.lease.token is not None:
            self.held[run].append((lease.state, lease.doc.lease.token))

    def step_back(self, run: str) -> None:
        """As if the server had had the early time when it listed this run."""
        ahead = server_time(self.world) + LONG * SECOND
        self.world.ask("SET", keys.SERVER_TIME, ahead)
        for index in (keys.LIVE, keys.due(run)):
            self.world.ask("ZADD", index, "XX", ahead, run)
        self.world.notifications.pulse()


def server_time(world: World) -> int:
    seconds, micros = world.ask("TIME")
    return int(seconds) * SECOND + int(micros)


def timers(world: World, run: str) -> dict[str, float]:
    answer = world.ask("ZRANGE", world.store.keys(run).timers, 0, -1, "WITHSCORES")
    return {
        key_parts.decode_state(name.decode()): float(at) for name, at in zip(answer[::2], answer[1::2], strict=True)
    }


def needed(world: World, run: str) -> float | None:
    """The time at which the timer loop must look at a run, by all keys of the run."""
    meta: Any = world.meta(run)
    if world.owed(run):
        return 0
    if meta["status"] != "running":
        return None
    return min([from_text(meta.get("deadline")) or NEVER, *timers(world, run).values()], default=NEVER)


def is_in_time(world: World, run: str) -> None:
    latest, noted = needed(world, run), world.ask("ZSCORE", keys.due(run), run)
    if latest is not None:
        assert noted is not None, "the clock would never look"
        assert float(noted) <= max(latest, server_time(world)), "the clock would look too late"


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS)
def test_the_index_of_due_times_misses_nothing_that_a_scan_finds(
    real_connections: Connections, steps: list[tuple[str, int]]
) -> None:
    runs = Runs(real_connections)
    try:
        for subject, number in steps:
            runs.do(subject, runs.runs[number])
            for run in runs.runs:
                is_in_time(runs.world, run)
        for _ in range(3):
            runs.world.notifications.pulse()
        for run in runs.runs:
            assert runs.world.is_live(run) == (needed(runs.world, run) is not None)
            noted = runs.world.ask("ZSCORE", keys.due(run), run)
            assert (noted is None) == (needed(runs.world, run) is None), "what is over leaves the index"
    finally:
        runs.world.close()
        runs.world.ask("DEL", keys.SERVER_TIME)
