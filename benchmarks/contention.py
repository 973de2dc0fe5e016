"""Measures several workers together: steps a second, overtaken transactions, and CPU, by worker processes.

`python -m benchmarks.contention URL` is one of the workers: it takes the ids of runs, a line each, and answers when the
run has ended. The same figures with one worker say what a step costs worker and Redis alone.
"""

import json
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from typing import Any, Final

from pydantic import SecretStr

from benchmarks import workloads
from benchmarks.figures import Row
from benchmarks.measuring import Probe
from dcf.application.application import Application, open_application
from dcf.core.documents.answers import Leased
from dcf.core.documents.model import RunStatus
from dcf.runs.control_plane import ControlPlane
from dcf.settings.process import Settings
from dcf.store.transaction.attempts import Overtaken
from dcf.values.refusal import Refusal

_CREWS: Final = (1, 2, 4, 8)
_ROUNDS: Final = 3
_PAUSES_S: Final = (0.001, 0.002, 0.004, 0.008)
_MOST_ABORTS: Final = 0.05
_LEAST_GAIN: Final = 1.3
_MOST_COMMANDS: Final = {("chain of 1000", 1): 10.1, ("dag1000", 1): 13}
"""Commands of a step, by work and number of workers. Several workers look for states, and find some of them taken."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """The part of one worker in a run: how often it was overtaken, and its CPU in seconds."""

    steps: int
    aborts: int
    cpu: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Together:
    """The parts of all workers in a run. CPU is in milliseconds for each step."""

    rate: float
    aborts: float
    commands: float
    trips: float
    cpu_workers: float
    cpu_redis: float


def measure_contention(app: Application, probe: Probe) -> list[Row]:
    """Carry out dag1000 and a Map by one to eight worker processes, in interleaved rounds, and a chain by one."""
    works = {
        "chain of 1000": (workloads.chain(1000), (1,)),
        "dag1000": (workloads.parallel_diamonds(45, 20, 10), _CREWS),
        "Map of 1000": (workloads.each(1000), _CREWS),
    }
    groups: dict[tuple[str, int], list[Together]] = {}
    with ExitStack() as stack:
        crew = [stack.enter_context(_worker(app.redis_url)) for _ in range(max(_CREWS))]
        for number in range(_ROUNDS + 1):
            for name, (document, sizes) in works.items():
                for size in sizes:
                    together = _carried_out(app.control_plane, probe, document, crew[:size])
                    if number:  # the first round warms up
                        groups.setdefault((name, size), []).append(together)
    rows = [row for (name, size), rounds in groups.items() for row in _rows(name, size, rounds)]
    return [*rows, *(_gain(name, groups, bound) for name, bound in (("dag1000", _LEAST_GAIN), ("Map of 1000", None)))]


def _rows(name: str, size: int, rounds: list[Together]) -> Iterator[Row]:
    text = f"{name}, {size} worker{'s' if size > 1 else ''}"

    def median(read: Callable[[Together], float]) -> float:
        return statistics.median(map(read, rounds))

    yield Row(what=text, figure=round(median(lambda item: item.rate)), unit="steps/s")
    yield Row(what=text, figure=round(median(lambda item: item.aborts), 3), unit="aborts/step", bound=_MOST_ABORTS)
    yield Row(
        what=text,
        figure=round(median(lambda item: item.commands), 1),
        unit="commands/step",
        bound=_MOST_COMMANDS.get((name, size)),
    )
    yield Row(what=text, figure=round(median(lambda item: item.trips), 1), unit="round trips/step")
    yield Row(what=text, figure=round(median(lambda item: item.cpu_workers), 3), unit="ms CPU/step of the workers")
    yield Row(what=text, figure=round(median(lambda item: item.cpu_redis), 3), unit="ms CPU/step of Redis")


def _gain(name: str, groups: dict[tuple[str, int], list[Together]], least: float | None) -> Row:
    most = max(_CREWS)
    pairs = zip(groups[name, most], groups[name, 1], strict=True)
    gain = statistics.median(many.rate / item.rate for many, item in pairs)
    return Row(what=f"{name}, {most} workers : 1", figure=round(gain, 2), unit="ratio", least=least)


def _carried_out(
    plane: ControlPlane, probe: Probe, document: dict[str, Any], crew: list["subprocess.Popen[str]"]
) -> Together:
    run = workloads.create(plane, document)
    cpu, counted, before = probe.cpu(), probe.counters(), time.perf_counter()
    for worker in crew:
        _pipe(worker.stdin).write(f"{run}\n")
        _pipe(worker.stdin).flush()
    parts = [Part(**json.loads(_pipe(worker.stdout).readline())) for worker in crew]
    seconds, after, cpu = time.perf_counter() - before, probe.counters(), probe.cpu() - cpu
    steps = sum(part.steps for part in parts)
    return Together(
        rate=steps / seconds,
        aborts=sum(part.aborts for part in parts) / steps,
        commands=(after.commands - counted.commands) / steps,
        trips=(after.reads - counted.reads) / steps,
        cpu_workers=1000 * sum(part.cpu for part in parts) / steps,
        cpu_redis=1000 * cpu / steps,
    )


@contextmanager
def _worker(url: str) -> Iterator["subprocess.Popen[str]"]:
    command = [sys.executable, "-m", "benchmarks.contention", url]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def _pipe(stream: Any) -> Any:
    assert stream is not None, "the process was started with pipes"
    return stream


def main(url: str) -> None:
    """Be a worker until standard input ends."""
    aborts = 0

    def count(error: Overtaken, *arguments: object) -> None:
        nonlocal aborts
        aborts += 1
        Exception.__init__(error, *arguments)

    Overtaken.__init__ = count  # type: ignore[assignment,method-assign]
    with open_application(Settings(redis_url=SecretStr(url))) as app:
        for line in sys.stdin:
            aborts, before = 0, _cpu()
            steps = _take_part(app.control_plane, line.strip())
            sys.stdout.write(json.dumps(asdict(Part(steps=steps, aborts=aborts, cpu=_cpu() - before))) + "\n")
            sys.stdout.flush()
    os._exit(0)


def _take_part(plane: ControlPlane, run: str) -> int:
    """Claim and complete until the run ends; return the number of steps."""
    steps, vain = 0, 0
    while True:
        answer = workloads.try_claim(plane, run)
        if isinstance(answer, Refusal):
            assert answer.code == "terminal", answer
            return steps
        holding = answer if isinstance(answer, Leased) else None
        if holding is None:
            time.sleep(_PAUSES_S[min(vain, len(_PAUSES_S) - 1)])
        vain = vain + 1 if holding is None else 0
        while holding is not None:
            written = workloads.complete(plane, run, holding, {"way": 7}, claim_next=True)
            holding, steps = written.claimed, steps + 1
            if written.run_status is not RunStatus.RUNNING:
                return steps


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main(sys.argv[1])
