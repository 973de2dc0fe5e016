"""The cost of traces for a step: a worker carries out chains with traces and without, in alternating rounds.

The worker has the control plane in its process, so that a step is as short as it gets. The collector is a process of
its own, which answers and stores no data. The spans of the run itself are made and sent after it
(`dcf/features/traces/operations.py`).
"""

import secrets
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from benchmarks import workloads
from benchmarks.figures import Row
from dcf.application.application import Application
from dcf.telemetry import surroundings, tracing
from dcf.telemetry.otlp import send
from dcf.telemetry.spans import spans_of
from dcf.telemetry.tracing import Tracing
from dcf.tools.calling.direct import DirectTools, control_plane_here
from dcf.worker import Worker

_STEPS: Final = 200
_ROUNDS: Final = 25
_BOUND: Final = 1.1
_COLLECTOR: Final = """
import http.server
class Take(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200); self.send_header("content-length", "0"); self.end_headers()
    def log_message(self, *args): pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Take)
print(server.server_port, flush=True)
server.serve_forever()
"""


def measure_tracing(app: Application) -> list[Row]:
    """Compare a step with traces and one without; tell what sending the trace of the run takes, by step."""
    with _collector() as url, control_plane_here(app) as here:
        tools, traced = DirectTools(here, 30), Tracing(url)
        off, on, sent = list[float](), list[float](), list[float]()
        _round(tools, None)
        _round(tools, traced)
        for _ in range(_ROUNDS):
            off.append(_round(tools, None)[0])
            spent, run = _round(tools, traced)
            on.append(spent)
            began = time.process_time()
            events = (event.as_json() for event in app.exports.events(run))
            send(run, spans_of(run, "benchmark", events), url)
            sent.append((time.process_time() - began) / _STEPS)
    without, ratio = statistics.median(off), statistics.median(b / a for a, b in zip(off, on, strict=True))
    return [
        Row(what="step of a function, without traces, CPU", figure=round(without * 1000, 3), unit="ms"),
        Row(what="step of a function, with traces : without, CPU", figure=round(ratio, 3), unit="ratio", bound=_BOUND),
        Row(
            what="sending the run's trace afterwards, CPU by step",
            figure=round(statistics.median(sent) * 1000, 3),
            unit="ms",
        ),
    ]


def _round(tools: DirectTools, traced: Tracing | None) -> tuple[float, str]:
    """Carry out a chain; return the CPU seconds of a step, without those of Redis, and the run."""
    agent, document = f"bench-{secrets.token_hex(4)}", workloads.chain(_STEPS)
    tracing.current, surroundings.is_watched = traced, traced is not None
    try:
        worker = Worker(tools, agent, otherwise=_echo, lease_ttl_s=300, wait_s=5)
        agents = dict.fromkeys(document["asl"]["States"], agent)
        begun = tools.call("start_run", workflow_json=document, input_json="{}", agents_map_json=agents)
        event, granted = next(worker.events(threading.Event()))
        began = time.process_time()
        worker.handle(event, granted)
        return (time.process_time() - began) / _STEPS, str(begun["workflow_id"])
    finally:
        tracing.current, surroundings.is_watched = None, False


def _echo(echo: Any) -> Any:
    return echo


@contextmanager
def _collector() -> Iterator[str]:
    process = subprocess.Popen([sys.executable, "-c", _COLLECTOR], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{process.stdout.readline().strip()}/v1/traces"
    finally:
        process.kill()
        process.wait()
