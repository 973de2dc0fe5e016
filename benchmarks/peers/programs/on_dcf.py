"""dcf: a worker that uses the control plane as a library, and the driver of every way to use dcf.

The workers of the other ways are `dcf worker` with the functions of dcf_functions.py. A worker as a library has its own
loop: it claims, and where nothing is ready asks again after one, two, four and then eight milliseconds.
"""

import threading
import time
from typing import Any

import redis
from pydantic import SecretStr

from benchmarks import workloads
from benchmarks.peers.programs.parts import ENDED, LONGEST_S, Notes, Options, Order, drive, read_options, say
from benchmarks.peers.programs.shapes import TAIL, WIDTH
from benchmarks.peers.redis_cluster import is_cluster
from dcf.application.application import Application, open_application
from dcf.asl.state_paths import name_of
from dcf.core.definitions.model import read_definition
from dcf.core.documents.answers import Leased, NothingReady
from dcf.core.documents.model import RunStatus
from dcf.core.lifecycle.creation import Create
from dcf.settings.process import Settings
from dcf.values.refusal import Refusal

_PAUSES_S = (0.001, 0.002, 0.004, 0.008)
_LOOK_S = 0.01
_RUNS = "bench:runs:{}"
"""The runs that are announced to a worker as a library."""
_OPEN = "bench:open"
"""The run that is not over, for a worker that starts late."""


def library_worker(app: Application, options: Options) -> None:
    """Carry out every announced run, on this number of threads."""
    client = client_of(options)
    notes = Notes(options)
    say({"ready": True})
    begun = client.get(_OPEN)
    while True:
        workflow_id = begun or client.blpop([_RUNS.format(options.number)], timeout=0)[1]
        begun, arguments = None, (app, workflow_id.decode(), notes, client)
        threads = [threading.Thread(target=take_part, args=arguments) for _ in range(options.concurrency)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def client_of(options: Options) -> Any:
    """Return a client by which these processes tell each other of runs."""
    if not is_cluster(options.redis_url):
        return redis.Redis.from_url(options.redis_url, socket_timeout=None)
    host, _, port = options.redis_url.partition("://")[2].partition(",")[0].partition(":")
    return redis.RedisCluster(host=host, port=int(port), socket_timeout=None)


def take_part(app: Application, workflow_id: str, notes: Notes, details: Any) -> None:
    """Claim and complete states until the run ends."""
    plane, lease_s, vain = app.control_plane, int(notes.options.lease_s or 300), 0
    while True:
        claimed = workloads.try_claim(plane, workflow_id, ttl_s=lease_s)
        if isinstance(claimed, Refusal):
            assert claimed.code == "terminal", claimed
            return
        if isinstance(claimed, NothingReady):
            time.sleep(_PAUSES_S[min(vain, len(_PAUSES_S) - 1)])
            vain += 1
            continue
        vain = 0
        leased: Leased | None = claimed
        while leased is not None:
            notes.carry_out(number_of(leased.state, leased.given))
            output = {"way": 7}
            answer = workloads.complete(plane, workflow_id, leased, output, claim_next=True, ttl_s=lease_s)
            if answer.run_status is not RunStatus.RUNNING:
                details.lpush(ENDED.format(workflow_id), 1)
            leased = answer.claimed


def number_of(state: str, value: object) -> int:
    """Return the number of a step: of a chain in its name, of a Map the item."""
    name = name_of(state)
    return int(name[1:]) if name.startswith("S0") else value if isinstance(value, int) else 0


def document_of(order: Order) -> dict[str, object]:
    """Return the workflow of a shape."""
    if order.shape == "map":
        return workloads.each(order.size)
    return (
        workloads.chain(order.size) if order.shape == "chain" else workloads.parallel_diamonds(order.size, WIDTH, TAIL)
    )


class Driver:
    """Creates runs and starts them, like a planner; in the library's case it tells the workers itself."""

    def __init__(self, app: Application, options: Options, *, is_library: bool) -> None:
        self._app = app
        self._options = options
        self._is_library = is_library
        self._client = client_of(options)

    def submit(self, order: Order) -> None:
        """Create the run and have it started."""
        definition = read_definition(document_of(order))
        request = Create(
            workflow_id=order.run,
            definition=definition,
            run_input={"way": 7, "items": list(range(order.size)) if order.shape == "map" else []},
            agents={} if self._is_library else self._agents(definition.skills),
            planner_agent_id=None,
            retention_s=None,
            max_attempts=1000,
        )
        self._app.control_plane.create(request)
        if self._is_library:
            self._client.set(_OPEN, order.run)
            for number in range(self._options.workers):
                self._client.rpush(_RUNS.format(number), order.run)
            return
        self._app.control_plane.kick_off(order.run, "initial")
        self._app.notifications.notify_next(order.run, None, reason=None, payload=None)

    def wait(self, order: Order) -> None:
        """Wait until the run ends."""
        if self._is_library:
            assert self._client.blpop([ENDED.format(order.run)], timeout=LONGEST_S), "the run is not over in time"
            return
        deadline = time.monotonic() + LONGEST_S
        while self._status(order) is RunStatus.RUNNING:
            assert time.monotonic() < deadline, "the run is not over in time"
            time.sleep(_LOOK_S)

    def _status(self, order: Order) -> RunStatus:
        meta = self._app.control_plane.read(order.run, (), whole_meta=False).meta
        assert meta is not None, "submit() has created the run"
        return meta.status

    def _agents(self, states: object) -> dict[str, tuple[str, ...]]:
        """Assign every state to all workers, or, where two queues are wanted, to one and the other in turn."""
        names = list(states)  # type: ignore[call-overload]
        crew = tuple(f"bench-{number}" for number in range(self._options.workers))
        if self._options.queues > 1:
            return {name: (crew[number % self._options.queues],) for number, name in enumerate(names)}
        return dict.fromkeys(names, crew)


def main() -> None:
    """Work as a library, or drive."""
    role, options = read_options()
    with open_application(Settings(redis_url=SecretStr(options.redis_url))) as app:
        if role == "worker":
            library_worker(app, options)
            return
        driver = Driver(app, options, is_library=role == "library-driver")
        drive(driver.submit, driver.wait)


if __name__ == "__main__":
    main()
