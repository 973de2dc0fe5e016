"""The cost of a page of the list of runs with a hundred runs and a hundred thousand, and after pruning."""

import secrets
import statistics
import tempfile
import time
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from benchmarks import workloads
from benchmarks.figures import Row
from benchmarks.measuring import Probe
from dcf.application.application import Application, open_application
from dcf.core.documents.model import RunStatus
from dcf.core.lifecycle.retention import Deleted
from dcf.core.listing.runs import Cursor, RunQuery, facets_of
from dcf.settings.process import Settings
from dcf.store.connection.connections import Connections, open_pool
from dcf.store.keys import table as keys
from dcf.store.keys.table import RunKeys

if TYPE_CHECKING:
    from dcf.store.connection.commands import Command

_PREFIX: Final = "listed-"
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
    """Time and round trips of pages at both sizes, in turns, then the deletion of ten thousand runs."""
    with (
        tempfile.TemporaryDirectory(prefix="dcf-bench-") as folder,
        open_application(Settings(data_dir=Path(folder), redis_url=None)) as small,
    ):
        _list_runs(small, _FEW)
        _list_runs(app, _MANY)
        rows = [row for name in _QUERIES for row in _compared(name, small, app, probe, rounds)]
    _remove_all(app)
    return [*rows, *_pruned(app)]


def _list_runs(app: Application, number: int) -> None:
    """List copies of one run under new names, newest first from a score down."""
    model = workloads.create(app.control_plane, workloads.chain(3))
    source, names = RunKeys(model), [f"{_PREFIX}{secrets.token_hex(6)}" for _ in range(number)]
    meta = app.control_plane.read(model, ()).meta_document or {}
    indexes = (keys.RUNS, *(keys.runs_by(facet, value) for facet, value in facets_of(meta)))
    states = [str(state) for state in meta["states"]]
    with closing(Connections(open_pool(app.redis_url))) as connections:
        for start in range(0, number, _BATCH):
            commands: list[Command] = []
            for place, name in enumerate(names[start : start + _BATCH], start):
                commands += (("ZADD", index, 2**52 - place, name) for index in indexes)
                if place < _DOCUMENTS:
                    run = RunKeys(name)
                    commands.append(("COPY", source.meta, run.meta))
                    commands += (("COPY", source.state(state), run.state(state)) for state in states)
            connections.send(*commands)


def _compared(name: str, small: Application, large: Application, probe: Probe, rounds: int) -> list[Row]:
    """Read pages of both in turns, so that what else the machine does slows both."""
    query = _QUERIES[name]
    times: dict[str, list[float]] = {"few": [], "many": []}
    for _ in range(max(100, rounds // 2)):
        for which, app in (("few", small), ("many", large)):
            began = time.perf_counter()
            page = app.run_list.list_runs(query)
            times[which].append(time.perf_counter() - began)
            assert len(page.rows) == _PAGE
    few, many = statistics.median(times["few"]), statistics.median(times["many"])
    text = f"a page of {_PAGE} runs, {name}, {_MANY} runs"
    trips = probe.spent(partial(large.run_list.list_runs, query)).reads
    return [
        Row(what=text, figure=round(many * 1000, 2), unit="ms"),
        Row(what=text, figure=trips, unit="round trips", bound=_ROUND_TRIPS),
        Row(what=f"{text} : {_FEW}", figure=round(many / few, 2), unit="ratio", bound=_RATIO),
    ]


def _remove_all(app: Application) -> None:
    """Remove the copies, for the measurements that follow."""
    with closing(Connections(open_pool(app.redis_url))) as connections:
        every = connections.send(("KEYS", f"{keys.RUNS}*"), ("KEYS", f"cp:wf:{_PREFIX}*"))
        for result in every:
            for start in range(0, len(result), _BATCH):
                connections.send(("DEL", *result[start : start + _BATCH]))


def _pruned(app: Application) -> list[Row]:
    """Create ten thousand runs that end, delete them, and count what is left."""
    names = _PRUNED * [""]
    for number in range(_PRUNED):
        names[number] = workloads.create(app.control_plane, _AT_ONCE)
    app.clock.pulse()
    app.clock.finish(60)
    app.clock.pulse()
    began = time.perf_counter()
    deleted = sum(isinstance(app.retention.delete(name), Deleted) for name in names)
    took = time.perf_counter() - began
    assert deleted == _PRUNED
    with closing(Connections(open_pool(app.redis_url))) as connections:
        left = _left(connections, names)
    return [
        Row(what=f"delete one of {_PRUNED} runs", figure=round(took * 1000 / _PRUNED, 2), unit="ms"),
        Row(what=f"keys and index entries left of {_PRUNED} runs", figure=left, unit="keys", bound=0),
    ]


def _left(connections: Connections, names: list[str]) -> int:
    """Count keys of these runs, and index entries that name them."""
    (every,) = connections.send(("KEYS", "*"))
    removed = set(names)
    own = sum(len(parts) > 2 and parts[2] in removed for parts in (key.decode().split(":") for key in every))
    kinds = connections.send(*(("TYPE", key) for key in every))
    sets = [key for key, kind in zip(every, kinds, strict=True) if kind == b"zset"]
    listed = connections.send(*(("ZRANGE", key, 0, -1) for key in sets)) if sets else []
    return own + sum(name.decode() in removed for item in listed for name in item)
