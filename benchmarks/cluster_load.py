"""Turns of work on one server and on clusters: processes that each carry out runs of their own, at the same time."""

import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, wait
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache, partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Final

from pydantic import SecretStr

from benchmarks import workloads
from benchmarks.measuring import Probe
from benchmarks.peers.redis_cluster import ClusterProbe, probe_of, redis_cluster
from benchmarks.peers.redis_server import redis_server
from dcf.application.application import Application, open_application
from dcf.settings.process import Settings

ONE, CLUSTER, REPLICATED = "one server", "cluster of 3", "cluster of 3, a replica each"
_WARM: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """The work of workers at a place, and its load on the primaries: CPU is in seconds, `nodes` that of each."""

    place: str
    shape: str
    steps: int
    seconds: float
    commands: int
    packets: int
    traffic: int
    cpu: float
    cpu_of_workers: float
    nodes: Sequence[float]


@dataclass(frozen=True, slots=True)
class _Place:
    name: str
    probe: Probe
    workers: Sequence[ProcessPoolExecutor]
    url: str


PLACES: Final[Mapping[str, Callable[[Path], AbstractContextManager[str]]]] = {
    ONE: redis_server,
    CLUSTER: redis_cluster,
    REPLICATED: partial(redis_cluster, has_replicas=True),
}


@contextmanager
def at_places(folder: Path, workers: int, names: Iterable[str] = PLACES) -> Iterator[list[_Place]]:
    """Start one server, a cluster and one with replicas, or the named ones, and this number of workers of each."""
    with ExitStack() as started:
        places = []
        for number, name in enumerate(names):
            url = started.enter_context(PLACES[name](folder / str(number)))
            pools = [
                started.enter_context(ProcessPoolExecutor(1, mp_context=get_context("spawn"))) for _ in range(workers)
            ]
            wait([pool.submit(_carry_out, url, workloads.chain(_WARM)) for pool in pools])
            places.append(_Place(name, probe_of(url), pools, url))
        yield places


def take_turns(places: Sequence[_Place], shapes: Mapping[str, Any]) -> Iterator[Turn]:
    """Have the workers of each place carry out a run of a shape each, one place after the other."""
    for shape, document in shapes.items():
        for place in places:
            yield _turn(place, shape, document)


def _turn(place: _Place, shape: str, document: Any) -> Turn:
    probe = place.probe
    counters, traffic, nodes, began = probe.counters(), probe.traffic(), _cpu(probe), time.perf_counter()
    running = [pool.submit(_carry_out, place.url, document) for pool in place.workers]
    done = [running.result() for running in running]
    seconds, after = time.perf_counter() - began, probe.counters()
    spent = [after - before for before, after in zip(nodes, _cpu(probe), strict=True)]
    return Turn(
        place=place.name,
        shape=shape,
        steps=sum(steps for steps, _ in done),
        seconds=seconds,
        commands=after.commands - counters.commands,
        packets=after.reads - counters.reads,
        traffic=probe.traffic() - traffic,
        cpu=sum(spent),
        cpu_of_workers=sum(cpu for _, cpu in done),
        nodes=spent,
    )


def _cpu(probe: Probe) -> list[float]:
    return [node.cpu() for node in probe.nodes] if isinstance(probe, ClusterProbe) else [probe.cpu()]


@cache
def _opened(url: str) -> Application:
    return ExitStack().enter_context(open_application(Settings(redis_url=SecretStr(url))))


def _carry_out(url: str, document: Any) -> tuple[int, float]:
    """Carry out a run in this process. Return its steps, and the seconds of CPU that they took here."""
    plane, began = _opened(url).control_plane, time.process_time()
    run = workloads.create(plane, document, f"load-{secrets.token_hex(8)}")
    return workloads.carry_out(plane, run, lambda _: {"way": 7}), time.process_time() - began
