"""Why a run does not move: what the question costs, however many states the run has."""

from typing import Any

from benchmarks import workloads
from benchmarks.figures import Row
from benchmarks.measuring import Probe, compare
from dcf.application.application import Application


def measure_explaining(app: Application, probe: Probe, rounds: int) -> list[Row]:
    """`explain_run` of a run of 1,000 states one after the other, and of one with 1,000 open iterations of a Map."""
    return [
        row
        for name, document in (("1,000 states", workloads.chain(1000)), ("1,000 open iterations", workloads.each(1000)))
        for row in _measure(app, probe, rounds, name, document)
    ]


def _measure(app: Application, probe: Probe, rounds: int, name: str, document: dict[str, Any]) -> list[Row]:
    states = document["asl"]["States"]
    if "Each" in states:
        states["Each"]["MaxConcurrency"] = 1000
    run = workloads.create(app.control_plane, document)

    def explain() -> None:
        app.diagnosis.explain(run)

    explain()
    spent = probe.spent(explain)
    timing = compare(probe, explain, lambda: None, rounds)
    return [
        # A packet with a thousand keys is read from the socket in several pieces; the tests count packets.
        Row(what=f"explain a run of {name}", figure=spent.reads, unit="reads of the socket"),
        Row(what=f"explain a run of {name}", figure=round(timing.ratio, 2), unit="PING"),
    ]
