"""What a page of the list of runs costs beside a hundred runs and a hundred thousand, and what pruning leaves."""

import secrets
import time
from dataclasses import dataclass
from functools import partial
from typing import Final

from benchmarks import workloads
from benchmarks.figures import Row
from benchmarks.measuring import Probe, compare
from dcf.application import Application
from dcf.core.catalog import Cursor, Facet, RunQuery, facets_of
from dcf.core.model import RunStatus
from dcf.core.retention import Deleted
from dcf.store import keys
from dcf.store.connection import Command, Connections, open_pool
from dcf.store.keys import RunKeys

_FEW: Final = 100
_MANY: Final = 100_000
_DOCUMENTS: Final = 1_000
"""Runs that have documents: the newest, which the first pages show. Of the others there are the index entries only."""

_PRUNED: Final = 10_000
_PAGE: Final = 50
_BATCH: Final = 500
_ROUND_TRIPS: Final = 3
_RATIO: Final = 1.3

_AT_ONCE: Final = {"workflow_name": "over at once", "asl": {"StartAt": "A", "States": {"A": {"Type": "Succeed"}}}}

_QUERIES: Final = {
    "no filter": RunQuery(limit=_PAGE),
    "by status": RunQuery(limit=_PAGE, status=RunStatus.RUNNING),
    "by workflow and status": RunQuery(limit=_PAGE, workflow="benchmark", status=RunStatus.RUNNING),
    "from a cursor": RunQuery(limit=_PAGE, cursor=Cursor(score=2**52 - 40, workflow_id="z")),
}


def measure_listing(app: Application, probe: Probe, rounds: int) -> list[Row]:
    """Time and round trips of pages at both sizes, then the deletion of ten thousand runs."""
    connections = Connections(open_pool(app.redis_url))
    names: list[str] = []
    try:
        names += _listed(app, connections, _FEW, at=2**52)
        few = _pages(app, probe, rounds)
        names += _listed(app, connections, _MANY - _FEW, at=2**52 - _FEW)
        many = _pages(app, probe, rounds)
        rows = [row for name in _QUERIES for row in _compared(name, few[name], many[name])]
        _unlisted(connections, names)
    finally:
        connections.close()
    return [*rows, *_pruned(app)]


def _listed(app: Application, connections: Connections, number: int, at: int) -> list[str]:
    """List copies of one run under new names, newest first from this score down."""
    model = workloads.create(app.control_plane, workloads.chain(3))
    source, names = RunKeys(model), [f"bench-{secrets.token_hex(6)}" for _ in range(number)]
    meta = app.control_plane.read(model, ()).meta_document or {}
    indexes = (keys.RUNS, *(keys.runs_by(facet, value) for facet, value in facets_of(meta) if facet is not Facet.AGENT))
    states = [str(state) for state in meta["states"]]
    for start in range(0, number, _BATCH):
        commands: list[Command] = []
        for place, name in enumerate(names[start : start + _BATCH], start):
            commands += (("ZADD", index, at - place, name) for index in indexes)
            if place < _DOCUMENTS:
                run = RunKeys(name)
                commands.append(("COPY", source.meta, run.meta))
                commands += (("COPY", source.state(state), run.state(state)) for state in states)
        connections.send(*commands)
    return names


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cost:
    """Round trips of a page, and its time in seconds and in PINGs that were timed in turns with it."""

    trips: int
    seconds: float
    pings: float


def _pages(app: Application, probe: Probe, rounds: int) -> dict[str, _Cost]:
    """Measure a page of each query."""
    found: dict[str, _Cost] = {}
    for name, query in _QUERIES.items():
        assert len(app.run_list.list_runs(query).rows) == _PAGE
        read = partial(app.run_list.list_runs, query)
        trips, timing = probe.spent(read).reads, compare(probe, read, _nothing, max(40, rounds // 2))
        found[name] = _Cost(trips=trips, seconds=timing.work, pings=timing.ratio)
    return found


def _nothing() -> None:
    """No preparation."""


def _compared(name: str, few: _Cost, many: _Cost) -> list[Row]:
    what = f"a page of {_PAGE} runs, {name}, {_MANY} runs"
    return [
        Row(what=what, figure=round(many.seconds * 1000, 2), unit="ms"),
        Row(what=what, figure=many.trips, unit="round trips", bound=_ROUND_TRIPS),
        Row(what=f"{what} : {_FEW}", figure=round(many.pings / few.pings, 2), unit="ratio", bound=_RATIO),
    ]


def _unlisted(connections: Connections, names: list[str]) -> None:
    indexes = [key.decode() for key in _every_index(connections)]
    for start in range(0, len(names), _BATCH):
        page = names[start : start + _BATCH]
        connections.send(*(("ZREM", index, *page) for index in indexes))
        runs = [RunKeys(name) for name in page if start < _DOCUMENTS + _FEW]
        gone = [key for run in runs for key in (run.meta, *(run.state(f"S{number:04d}") for number in range(3)))]
        if gone:
            connections.send(("DEL", *gone))


def _every_index(connections: Connections) -> list[bytes]:
    (found,) = connections.send(("KEYS", f"{keys.RUNS}*"))
    return list(found)


def _pruned(app: Application) -> list[Row]:
    """Create ten thousand runs that end, delete them, and count what is left."""
    names = _PRUNED * [""]
    connections = Connections(open_pool(app.redis_url))
    try:
        for number in range(_PRUNED):
            names[number] = workloads.create(app.control_plane, _AT_ONCE)
        app.clock.pulse()
        app.clock.finish(60)
        app.clock.pulse()
        began = time.perf_counter()
        deleted = sum(isinstance(app.retention.delete(name), Deleted) for name in names)
        took = time.perf_counter() - began
        assert deleted == _PRUNED
        left = _left(connections, names)
    finally:
        connections.close()
    return [
        Row(what=f"delete one of {_PRUNED} runs", figure=round(took * 1000 / _PRUNED, 2), unit="ms"),
        Row(what=f"keys and index entries left of {_PRUNED} runs", figure=left, unit="keys", bound=0),
    ]


def _left(connections: Connections, names: list[str]) -> int:
    """Count keys of these runs, and index entries that name them."""
    (every,) = connections.send(("KEYS", "*"))
    gone = set(names)
    own = sum(len(parts) > 2 and parts[2] in gone for parts in (key.decode().split(":") for key in every))
    kinds = connections.send(*(("TYPE", key) for key in every))
    sets = [key for key, kind in zip(every, kinds, strict=True) if kind == b"zset"]
    listed = connections.send(*(("ZRANGE", key, 0, -1) for key in sets)) if sets else []
    return own + sum(name.decode() in gone for found in listed for name in found)
