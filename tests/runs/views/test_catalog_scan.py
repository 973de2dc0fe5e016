"""The indexes of the list of runs against a scan of all documents, whatever happens and wherever a process dies."""

import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dcf.core.documents.answers import Leased
from dcf.core.documents.model import RunStatus
from dcf.core.listing.runs import Facet, RunQuery, facets_of
from dcf.store.connection.connections import Connections, Pool
from dcf.store.keys import parts as key_parts
from dcf.store.keys import table as keys
from dcf.store.lists.pages import Catalog
from dcf.workforce.crew.assigning import assign
from tests.support.workflows.machines import Document, chain
from tests.support.world import World

Actions: TypeAlias = dict[str, Callable[[str], object]]

AGENTS = ("ann", "bob")
_MULTI = b"*1\r\n$5\r\nMULTI\r\n"


class Killed(BaseException):
    """The process is gone between the index entries and the commit that they announce."""


class DyingPool:
    """Connections over which, once `armed`, a commit's index entries are sent and the commit is not."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self.armed = False

    def get_connection(self) -> Any:
        connection = self._pool.get_connection()
        send = connection.send_packed_command

        def cut(command: list[bytes], check_health: bool = True) -> None:
            packet = b"".join(command)
            at = packet.find(_MULTI)
            if not self.armed or at < 0:
                send([packet], check_health=check_health)
                return
            self.armed = False
            send([packet[:at] or b"*1\r\n$4\r\nTIME\r\n"], check_health=check_health)
            connection.read_response()
            raise Killed

        connection.send_packed_command = cut
        return connection

    def release(self, connection: Any) -> None:
        vars(connection).pop("send_packed_command", None)
        self._pool.release(connection)

    def disconnect(self) -> None:
        self._pool.disconnect()


class Runs:
    """Runs of two workflows, each step by a process that may die at its commit."""

    def __init__(self, pool: Pool, onlooker: Connections) -> None:
        self.pool = DyingPool(pool)
        self.world = World(connections=Connections(self.pool), onlooker=onlooker)
        self.name = f"scan-{uuid.uuid4().hex[:8]}"
        self.agents = tuple(f"{agent}-{self.name}" for agent in AGENTS)
        self.held: dict[str, list[tuple[str, str]]] = {}

    def document(self, number: int) -> Document:
        states = ("A", "B") if number % 2 else ("A",)
        return chain(*states) | {"workflow_name": f"{self.name}-{number % 3}", "version": f"{number % 2}"}

    @contextmanager
    def dying(self, dies: bool) -> Iterator[None]:
        self.pool.armed = dies
        try:
            yield
        except Killed:
            pass
        finally:
            self.pool.armed = False

    def create(self, number: int) -> None:
        agents = {"A": self.agents[number % 2]} if number % 4 else {}
        wish = self.world.wish(self.document(number), agents=agents, planner="boss")
        self.held[wish.workflow_id] = []
        self.world.plane.create(wish)

    def do(self, subject: str, number: int) -> None:
        if subject == "create" or not self.world.runs:
            self.create(number)
            return
        run = self.world.runs[number % len(self.world.runs)]
        if self.world.ask("EXISTS", self.world.store.keys(run).meta):
            self.actions()[subject](run)

    def actions(self) -> Actions:
        world = self.world
        return {
            "kick off": lambda run: world.plane.kick_off(run, "go"),
            "claim": self.claim,
            "succeed": lambda run: self.held[run] and world.try_complete(run, *self.held[run].pop()),
            "fail": lambda run: self.held[run] and world.fail(run, *self.held[run].pop()),
            "finalize": world.finalize,
            "assign": lambda run: assign(world.store, run, {"A": (self.agents[1],)}, self.agents),
            "due": self.make_due,
            "clock": lambda _: world.notifications.pulse(),
            "settle": world.due.settle,
            "delete": world.retention.delete,
        }

    def claim(self, run: str) -> None:
        for agent in self.agents:
            lease = self.world.claim(run, agent)
            if isinstance(lease, Leased) and lease.doc.lease.token is not None:
                self.held[run].append((lease.state, lease.doc.lease.token))
                return

    def make_due(self, run: str) -> None:
        for state in self.world.ask("ZRANGE", self.world.store.keys(run).timers, 0, -1):
            self.world.make_due(run, key_parts.decode_state(state.decode()))
        self.world.notifications.pulse()

    def scanned(self) -> dict[str, set[tuple[Facet, str]]]:
        """Under what each run that exists belongs, by its meta document."""
        there = [run for run in self.world.runs if self.world.ask("EXISTS", self.world.store.keys(run).meta)]
        return {run: set(facets_of(self.world.meta(run))) for run in there}


WHAT = ("create", "kick off", "claim", "succeed", "fail", "finalize", "assign", "due", "clock", "settle", "delete")
STEPS = st.lists(st.tuples(st.sampled_from(WHAT), st.integers(0, 11), st.booleans()), min_size=5, max_size=30)


def misses_nothing(runs: Runs) -> None:
    for run, facets in runs.scanned().items():
        assert runs.world.ask("ZSCORE", keys.RUNS, run) is not None
        for facet, value in facets:
            assert runs.world.ask("ZSCORE", keys.runs_by(facet, value), run) is not None, (facet, value)


def agrees(runs: Runs, scanned: dict[str, set[tuple[Facet, str]]]) -> None:
    """A page shows the runs that a scan finds."""
    catalog, some = Catalog(runs.world.connections), set(scanned)
    for status in RunStatus:
        page = catalog.page(RunQuery(limit=100, status=status, agent=runs.agents[1]))
        expected = {(Facet.STATUS, status.value), (Facet.AGENT, runs.agents[1])}
        assert {row.workflow_id for row in page.rows} & some == {run for run in some if expected <= scanned[run]}
    for number in range(3):
        name = f"{runs.name}-{number}"
        rows = catalog.page(RunQuery(limit=100, workflow=name)).rows
        assert {row.workflow_id for row in rows} == {run for run in some if (Facet.WORKFLOW, name) in scanned[run]}


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS)
def test_the_list_of_runs_misses_nothing_that_a_scan_finds(
    real_pool: Pool, onlooker: Connections, steps: list[tuple[str, int, bool]]
) -> None:
    runs = Runs(real_pool, onlooker)
    try:
        for subject, number, dies in steps:
            with runs.dying(dies):
                runs.do(subject, number)
            misses_nothing(runs)
        scanned = runs.scanned()
        agrees(runs, scanned)
        for _ in range(3):
            runs.world.notifications.pulse()
        scanned = runs.scanned()
        agrees(runs, scanned)
        assert not any(runs.world.keys_of(run) for run in set(runs.world.runs) - set(scanned)), (
            "what is deleted is gone"
        )
        for run, facets in scanned.items():
            if (Facet.STATUS, "running") in facets:
                continue
            listed = {status for status in RunStatus if is_listed(runs.world, run, status)}
            assert {(Facet.STATUS, status.value) for status in listed} <= facets, "what is over leaves the other lists"
    finally:
        runs.world.close()


def is_listed(world: World, run: str, status: RunStatus) -> bool:
    return world.ask("ZSCORE", keys.runs_by(Facet.STATUS, status), run) is not None
