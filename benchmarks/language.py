"""The cost of the language: data flow in a transition, Parallel and Map, validation, and the engine alone."""

import multiprocessing
import statistics
import time
import tracemalloc
from collections import Counter
from collections.abc import Callable
from typing import Any

from pydantic import SecretStr

import dcf
from benchmarks import workloads
from benchmarks.figures import Row, Timed
from benchmarks.measuring import Probe
from benchmarks.runs import Held, cost_of, run_of, way
from dcf.application.application import Application, open_application
from dcf.core.documents.answers import Leased
from dcf.core.documents.model import RunStatus
from dcf.settings.process import Settings
from dcf.values.refusal import Refusal

_MACHINES = 400
_WORKERS = 4


def measure_language(app: Application, probe: Probe, rounds: int) -> list[Row]:
    """All rows that are about the language."""
    timed = Timed(probe, rounds)
    for language in ("JSONPath", "JSONata"):
        walk = Held(app.control_plane, workloads.reshaping(3 * rounds + 20, language))
        timed.verb(f"transition of a {language} machine", walk.step, lambda: None, 6)
    few = max(3, rounds // 100)
    return [
        *timed.rows,
        *_scope(app, probe, "Map", workloads.each, few),
        *_scope(app, probe, "fan-in", workloads.side_by_side, few),
        *_field_graph(app, probe, few),
        *_pure(),
    ]


def _scope(
    app: Application, probe: Probe, name: str, document: Callable[[int], dict[str, Any]], rounds: int
) -> list[Row]:
    """Work through a Map or Parallel as one worker, with 50 and with 1,000 inside."""
    smalls, larges = [], []
    for _ in range(rounds):
        smalls += [run_of(app, probe, document(50), way)[1] for _ in range(8)]
        larges.append(run_of(app, probe, document(1000), way)[1])
    small, large = statistics.median(smalls), statistics.median(larges)
    steps, commands, memory = cost_of(app, probe, document(1000))
    return [
        Row(what=f"{name} of 1000", figure=round(large, 2), unit="PING/step", bound=15),
        Row(what=f"{name}, 1000 : 50", figure=round(large / small, 2), unit="ratio", bound=1.5),
        Row(what=f"{name} of 1000", figure=round(commands, 1), unit="commands/step"),
        Row(what=f"{name} of 1000", figure=round(memory / steps), unit="bytes/step in Redis"),
        Row(what=f"{name} of 50", figure=round(_memory(app, probe, document(50))), unit="bytes/step in Redis"),
        Row(what=f"{name} of 1000", figure=_worker_memory(app, document(1000)), unit="KiB more in the worker"),
        Row(what=f"{name} of 50", figure=_worker_memory(app, document(50)), unit="KiB more in the worker"),
    ]


def _memory(app: Application, probe: Probe, document: dict[str, Any]) -> float:
    steps, _, memory = cost_of(app, probe, document)
    return memory / steps


def _worker_memory(app: Application, document: dict[str, Any]) -> float:
    """Python memory that is still held after the run and was not before, without what its definition takes."""
    workflow_id = workloads.create(app.control_plane, document)
    app.control_plane.run(workflow_id)
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    workloads.carry_out(app.control_plane, workflow_id, way)
    after = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    return round((after - before) / 1024, 1)


def _field_graph(app: Application, probe: Probe, rounds: int) -> list[Row]:
    """Work through the 1,000-node graph of the field's comparison, as one process and as four."""
    document = workloads.parallel_diamonds(45, 20, 10)
    alone = statistics.median(run_of(app, probe, document, way)[1] for _ in range(rounds))
    item = [_by_processes(app, document, 1) for _ in range(rounds)]
    four = [_by_processes(app, document, _WORKERS) for _ in range(rounds)]
    times = [statistics.median(seconds for seconds, _ in result) for result in (four, item)]
    name = "45 diamonds of 1-20-1 and a chain of 10"
    return [
        Row(what=f"{name}, one worker", figure=round(alone, 2), unit="PING/step", bound=12),
        Row(what=f"{name}, {_WORKERS} processes : 1", figure=round(times[0] / times[1], 2), unit="ratio of times"),
        Row(
            what=f"{name}, {_WORKERS} processes",
            figure=max(twice for _, twice in four),
            unit="steps done twice",
            bound=0,
        ),
    ]


def _by_processes(app: Application, document: dict[str, Any], count: int) -> tuple[float, int]:
    """Let several processes share a run; seconds, and how many steps were completed more than once."""
    plane = app.control_plane
    workflow_id = workloads.create(plane, document)
    spawn = multiprocessing.get_context("spawn")
    ready, go = spawn.Semaphore(0), spawn.Event()
    arguments = (app.redis_url, workflow_id, ready, go)
    workers = [spawn.Process(target=_share, args=arguments) for _ in range(count)]
    for worker in workers:
        worker.start()
    for _ in workers:
        ready.acquire()
    before = time.perf_counter()
    go.set()
    for worker in workers:
        worker.join()
    spent = time.perf_counter() - before
    done = _completions(app, workflow_id)
    return spent, sum(count > 1 for count in done.values())


def _share(url: str, workflow_id: str, ready: Any, go: Any) -> None:
    """Work on a run with others until it ends."""
    with open_application(Settings(redis_url=SecretStr(url))) as app:
        plane = app.control_plane
        plane.run(workflow_id)
        ready.release()
        go.wait()
        leased: Leased | None = None
        while True:
            if leased is None:
                result = workloads.try_claim(plane, workflow_id)
                if isinstance(result, Refusal):
                    return
                leased = result if isinstance(result, Leased) else None
                continue
            answer = workloads.complete(plane, workflow_id, leased, way(0), claim_next=True)
            if answer.run_status is not RunStatus.RUNNING:
                return
            leased = answer.claimed


def _completions(app: Application, workflow_id: str) -> Counter[str]:
    """Count how often each Task was completed, from the run's history."""
    tasks: set[str] = set()
    done: Counter[str] = Counter()
    last = "0"
    while page := app.history.after(workflow_id, last):
        for happening in page:
            if happening.type == "LeaseAcquired":
                tasks.add(str(happening.state))
            if happening.type == "StateSucceeded":
                done[str(happening.state)] += 1
        last = page[-1].event_id
    return Counter({state: count for state, count in done.items() if state in tasks})


def _pure() -> list[Row]:
    """Time the validator and the engine, without Redis."""
    document = workloads.reshaping(200, "JSONPath")
    dcf.validate(document)
    validated = statistics.median(_timed(lambda: dcf.validate(document)) for _ in range(20))
    rows = [Row(what="validate 200 states", figure=round(validated * 1000, 1), unit="ms", bound=50)]
    for language in ("JSONPath", "JSONata"):
        machine = workloads.reshaping(10, language)["asl"]
        mocks = {name: [{"output": {"way": 7}}] for name in machine["States"]}
        dcf.simulate(machine, {"way": 7}, mocks)
        spent = _timed(lambda machine=machine, mocks=mocks: _simulate(machine, mocks))  # type: ignore[misc]
        rows.append(
            Row(what=f"simulate 10 states, {language}", figure=round(_MACHINES / spent), unit="machines/s", least=2000)
        )
    return rows


def _simulate(machine: dict[str, Any], mocks: dict[str, Any]) -> None:
    for _ in range(_MACHINES):
        dcf.simulate(machine, {"way": 7}, mocks)


def _timed(work: Callable[[], object]) -> float:
    before = time.perf_counter()
    work()
    return time.perf_counter() - before
