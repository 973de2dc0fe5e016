"""The cost of one pass of the timer loop with ten thousand live runs of which none is due."""

import secrets
import statistics
import time
from typing import TYPE_CHECKING, Final

from benchmarks import workloads
from benchmarks.figures import Row
from benchmarks.measuring import Probe
from dcf.application.application import Application
from dcf.store.connection.connections import Connections, open_pool
from dcf.store.keys import table as keys
from dcf.store.keys.table import RunKeys

if TYPE_CHECKING:
    from dcf.store.connection.commands import Command

_LIVE: Final = 10_000
_LOOKS: Final = 50
_PAGE: Final = 200
_BOUND_MS: Final = 5
_LATER: Final = 3_600_000_000


def measure_clock(app: Application, probe: Probe) -> list[Row]:
    """Time of a look, its commands, and both for a hundredth of the runs."""
    connections = Connections(open_pool(app.redis_url))
    try:
        few = _looks(app, probe, _copied(app, connections, _LIVE // 100))
        many = _looks(app, probe, _copied(app, connections, _LIVE - _LIVE // 100) + _LIVE // 100)
    finally:
        connections.close()
    return [*few, *many, _first_look(app)]


def _first_look(app: Application) -> Row:
    """Look as a process does that has just started: it checks a page of the live runs."""
    app.clock._unchecked, app.clock._check_at = None, 0  # noqa: SLF001 - as in a new process
    began = time.perf_counter()
    app.clock.pulse()
    figure = round((time.perf_counter() - began) * 1000)
    return Row(what=f"the first look of a process, {_LIVE} live runs", figure=figure, unit="ms")


def _copied(app: Application, connections: Connections, number: int) -> int:
    """Copy the documents of one run under new names: as good as creating each, and quick."""
    model = RunKeys(workloads.create(app.control_plane, workloads.chain(1)))
    app.clock.pulse()
    ((seconds, _),) = connections.send(("TIME",))
    later = int(seconds) * 1_000_000 + _LATER
    names = [f"bench-{secrets.token_hex(6)}" for _ in range(number)]
    for start in range(0, number, _PAGE):
        commands: list[Command] = []
        for name in names[start : start + _PAGE]:
            run = RunKeys(name)
            for made, copy in ((model.meta, run.meta), (model.definition, run.definition), (model.timers, run.timers)):
                commands.append(("COPY", made, copy))
            commands.append(("ZADD", keys.LIVE, 1, name))
            commands.append(("ZADD", keys.due(name), later, name))
        connections.send(*commands)
    return number


def _looks(app: Application, probe: Probe, live: int) -> list[Row]:
    app.clock.pulse()
    spent = probe.spent(app.clock.pulse)
    times = []
    for _ in range(_LOOKS):
        began = time.perf_counter()
        app.clock.pulse()
        times.append(time.perf_counter() - began)
    text = f"a look of the clock, {live} live runs, nothing due"
    return [
        Row(what=text, figure=round(statistics.median(times) * 1000, 3), unit="ms", bound=_BOUND_MS),
        Row(what=text, figure=spent.commands, unit="commands"),
    ]
