"""`python -m benchmarks.expressions`: expressions that want too much meet a server, which is asked how it is.

Each starts as a run of `dcf serve` on an embedded Redis. The last row starts four at a time. Growth is that of the
server's own memory in RAM at its peak, without the children that evaluate. Then the cost of a plain and of a risky
expression next to that of the library alone, in one process. Prints tables, asserts nothing. Linux only.
"""

import argparse
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import dcf
from benchmarks.waiting import Served, serving
from dcf.application.application import open_application
from dcf.asl.jsonata.expressions import Query, compile_expression
from dcf.asl.surroundings import Surroundings
from dcf.settings.process import Settings

BOMBS: Final = (
    "$count([1..9000].[1..9000].[1..9000])",
    '$count([1..90000].{"a":[1..90000]})',
    '($s:=$pad("x",1000000); $count([1..90000].($s & $string($))))',
    '$count([1..1000].$pad("x",1000000))',
    "$count([1..3000].[1..3000].[1..3000])",
    "$sum([1..9999999])",
    '$match("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab", /(a+)+$/)',
    "($v := 'x'; " + "$v := $v & $v; " * 60 + "$length($v))",
    '$replace($join([1..90000].("x")), "x", $pad("", 100000, "y"))',
)
_KIB: Final = 1024
_PAUSE_S: Final = 0.02
_PATIENCE_S: Final = 30.0


@dataclass(slots=True)
class Met:
    """The ends of some bombs, and the health of the server meanwhile."""

    name: str
    errors: set[str | None] = field(default_factory=set)
    took_s: float = 0
    growth_mib: float = 0
    health_ms: float = 0
    answers: int = 0


def workflow(expression: str, *, wait_s: int = 0) -> dict[str, Any]:
    """Return a workflow whose state evaluates the expression, at once or when a timer is due."""
    bomb = {"Type": "Pass", "Output": f"{{% {expression} %}}", "End": True}
    wait = {"Type": "Wait", "Seconds": wait_s, "Next": "Bomb"}
    states = {"Wait": wait, "Bomb": bomb} if wait_s else {"Bomb": bomb}
    return {"Comment": "bomb", "StartAt": next(iter(states)), "QueryLanguage": "JSONata", "States": states}


def meet(served: Served, name: str, workflows: Sequence[dict[str, Any]]) -> Met:
    """Start the workflows at the same time, wait for their ends, and ask the server how it is meanwhile."""
    met, over = Met(name=name), threading.Event()
    watcher = threading.Thread(target=_watch, args=(served, met, over))
    before = _begin_peak(served)
    watcher.start()
    begun = time.monotonic()
    try:
        with ThreadPoolExecutor(len(workflows)) as threads:
            met.errors = set(threads.map(lambda workflow: _end_of(served, workflow), workflows))
    finally:
        met.took_s = time.monotonic() - begun
        over.set()
        watcher.join()
    met.growth_mib = (_kilobytes(served, "VmHWM:") - before) / _KIB
    return met


def _end_of(served: Served, item: dict[str, Any]) -> str | None:
    with dcf.connect(f"http://{served.host}:{served.port}/mcp") as client:
        run = client.start(item)
        return client.wait(run.workflow_id, timeout_s=_PATIENCE_S).error


def _watch(served: Served, met: Met, over: threading.Event) -> None:
    while not over.is_set():
        begun = time.monotonic()
        with urllib.request.urlopen(f"http://{served.host}:{served.port}/healthz", timeout=_PATIENCE_S) as answer:
            answer.read()
        met.health_ms = max(met.health_ms, 1000 * (time.monotonic() - begun))
        met.answers += 1
        over.wait(_PAUSE_S)


def _begin_peak(served: Served) -> int:
    """Let the kernel count the peak again, and return what there is now."""
    Path(f"/proc/{served.pid}/clear_refs").write_text("5")
    return _kilobytes(served, "VmRSS:")


def _kilobytes(served: Served, row: str) -> int:
    return int(Path(f"/proc/{served.pid}/status").read_text("ascii").partition(row)[2].split()[0])


def costs(expression: str, document: dict[str, Any], seconds: float) -> tuple[float, float]:
    """Return the microseconds of an evaluation by dcf and by the library alone, in turns."""
    from jlens import Expression  # noqa: PLC0415 - what is compared with

    query, bare = Query(field="Output", compiled=compile_expression(expression)), Expression(expression)
    bindings = {"states": {"input": document}}
    bounds = {"max_steps": 5_000_000, "max_depth": 400, "max_result_size": 1 << 20}
    ours = _quartile(lambda: query.render({"input": document}, Surroundings()), seconds)
    library = _quartile(lambda: bare.evaluate_json(None, bindings, now=0, seed=0, **bounds), seconds)
    return ours, library


def _quartile(call: Callable[[], object], seconds: float) -> float:
    call()
    took, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end:
        begun = time.perf_counter()
        call()
        took.append(time.perf_counter() - begun)
    return 1e6 * sorted(took)[len(took) // 4]


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=1.0, help="For each figure of the second table.")
    seconds: float = parser.parse_args().seconds
    print("| expression | its end | seconds | growth | /healthz, worst | asked |\n|---|---|---|---|---|---|")
    with (
        tempfile.TemporaryDirectory(prefix="dcfe-", dir="/tmp") as folder,
        open_application(Settings(redis_url=None, data_dir=Path(folder))) as app,
        serving(app, "serve", "--transport", "http") as served,
    ):
        meet(served, "warm", [workflow("[1..3]")])
        for bomb in BOMBS:
            _print(meet(served, bomb, [workflow(bomb)]))
        _print(meet(served, "by the timer loop", [workflow(BOMBS[0], wait_s=1)]))
        _print(meet(served, "four at a time", [workflow(bomb) for bomb in BOMBS[:4]]))
    order = {"id": "o-1", "items": [{"sku": name, "price": 2.5, "qty": 4} for name in "abc"], "tier": "gold"}
    print("\n| expression | where | dcf | the library alone |\n|---|---|---|---|")
    for expression in ("$states.input.id", "$states.input.items[price > 2].sku", "$states.input.items.(price * qty)"):
        where = "in process" if compile_expression(expression).is_plain else "in a child"
        ours, library = costs(expression, order, seconds)
        print(f"| `{expression}` | {where} | {ours:.1f} µs | {library:.1f} µs |")


def _print(met: Met) -> None:
    errors = ", ".join(str(error) for error in met.errors)
    print(
        f"| `{met.name[:60]}` | {errors} | {met.took_s:.2f} | {met.growth_mib:.0f} MiB "
        f"| {met.health_ms:.0f} ms | {met.answers} |",
        flush=True,
    )


if __name__ == "__main__":
    main()
