"""The cost of a step for the process of its worker: calls of Python functions, and CPU.

Calls do not depend on how busy the machine is; CPU does, and is only for information. Every figure is of a whole run by
one worker, its end included, after a run of the same workflow: what is prepared once for a definition is prepared then.
"""

import cProfile
import time
from collections.abc import Callable
from typing import Any, Final

from benchmarks import workloads
from benchmarks.figures import Row
from benchmarks.runs import way
from dcf.application.application import Application
from dcf.runs.control_plane import ControlPlane

_ROUNDS: Final = 5


def measure_calls(app: Application) -> list[Row]:
    """Count the calls and the CPU of a step: of a chain, of diamonds, of a Map."""
    return [
        *_of_steps(app, "chain of 300", workloads.chain(300), 290),
        *_of_steps(app, "dag1000", workloads.parallel_diamonds(45, 20, 10), 440),
        *_of_steps(app, "Map of 300", workloads.each(300), 375),
    ]


def _of_steps(app: Application, name: str, document: dict[str, Any], bound: float) -> list[Row]:
    plane = app.control_plane
    _carry_out(plane, document, calls_of)
    calls = _carry_out(plane, document, calls_of)
    cpu = min(_carry_out(plane, document, _cpu_of) for _ in range(_ROUNDS))
    return [
        Row(what=f"{name}, one worker", figure=round(calls), unit="Python calls/step", bound=bound),
        Row(what=f"{name}, one worker", figure=round(cpu * 1e6), unit="µs CPU/step of the worker"),
    ]


def calls_of(work: Callable[[], object]) -> float:
    """Count the calls of Python functions, resumed generators included, that the work makes in this thread."""
    profile = cProfile.Profile(builtins=False)
    profile.runcall(work)
    return sum(entry.callcount for entry in profile.getstats()) - 1


def _cpu_of(work: Callable[[], object]) -> float:
    before = time.process_time()
    work()
    return time.process_time() - before


def _carry_out(
    plane: ControlPlane, document: dict[str, Any], measure: Callable[[Callable[[], object]], float]
) -> float:
    """Measure a run of the workflow, for each of its steps."""
    run = workloads.create(plane, document)
    steps = 0

    def work() -> None:
        nonlocal steps
        steps = workloads.carry_out(plane, run, way)

    return measure(work) / steps
