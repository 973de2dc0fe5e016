"""Automatic traces: servers send those of ended runs, and workers the spans of their calls."""

import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dcf.telemetry.ids import root_span_id_of, trace_id_of
from dcf.tools.calling.client import connect
from tests.support.collector import Collector, collecting
from tests.support.waiting import wait_until
from tests.system.processes.runs import begin, one_agent_each, wait_succeeded
from tests.system.processes.site import LONG, STATES, Site, result_of

pytestmark = pytest.mark.processes

TRACED = Path(__file__).with_name("traced_order.py")
ERROR = 2
"""STATUS_CODE_ERROR of OTLP."""


@pytest.fixture
def collector() -> Iterator[Collector]:
    with collecting() as made:
        yield made


def root_of(collector: Collector, run: str) -> list[Any]:
    return [span for span in collector.spans if span.span_id.hex() == f"{root_span_id_of(run):016x}"]


def test_five_processes_make_one_tree_although_a_worker_is_killed(site: Site, collector: Collector) -> None:
    traced = {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url}
    servers = [site.serve("--port", "0", **traced) for _ in range(2)]
    agents = one_agent_each("traced")
    site.hook("CalculatePricing.kill")
    options = [("--state", state, "--lease-ttl", "2") for state in STATES]
    urls = [servers[number % 2].url for number in range(len(STATES))]
    workers = [
        site.worker(url, agents[state], *own, functions=TRACED, **traced)
        for url, state, own in zip(urls, STATES, options, strict=True)
    ]
    with connect(servers[0].url) as tools:
        run = begin(tools, agents)
        assert workers[1].wait(LONG) == -signal.SIGKILL
        workers[1] = site.worker(urls[1], agents[STATES[1]], *options[1], functions=TRACED, **traced)
        wait_succeeded(tools, run)
    wait_until(lambda: bool(root_of(collector, run)), LONG)
    for process in (*workers, *(server.process for server in servers)):
        process.terminate()
        process.wait(LONG)

    spans = [span for span in collector.spans if span.trace_id.hex() == f"{trace_id_of(run):032x}"]
    by_id = {span.span_id: span for span in spans}
    assert len(by_id) == len(spans), "a span was sent twice"
    assert [span.name for span in spans if not span.parent_span_id] == ["run Order Processing Pipeline"]
    assert not [span.name for span in spans if span.parent_span_id and span.parent_span_id not in by_id]
    (root,) = root_of(collector, run)
    attempts = sorted((span for span in spans if span.name in STATES), key=lambda item: item.start_time_unix_nano)
    assert [(attempt.name, attempt.status.code == ERROR) for attempt in attempts] == [
        (STATES[0], False),
        (STATES[1], True),
        (STATES[1], False),
        (STATES[2], False),
    ]
    assert {attempt.parent_span_id for attempt in attempts} == {root.span_id}
    lost, again = attempts[1:3]
    assert [event.name for event in lost.events][-1] == "LeaseTakenOver"
    assert [link.span_id for link in again.links] == [lost.span_id]
    below = Counter((span.name, span.parent_span_id) for span in spans if span.name.startswith("chat"))
    assert below == dict.fromkeys(((f"chat {attempt.name}", attempt.span_id) for attempt in attempts), 1)
    assert [span.name for span in spans if span.name.startswith("tools/call")], (
        "the server's spans are part of the trace"
    )


def test_a_run_with_a_server_sends_its_trace_before_it_ends(site: Site, collector: Collector) -> None:
    """No process may come after it: there is no other server, and no timer loop."""
    run = site.run("--id", "alone", OTEL_EXPORTER_OTLP_ENDPOINT=collector.url)
    assert result_of(run)[1] == 0
    assert len(root_of(collector, "alone")) == 1
    names = Counter(span.name for span in collector.spans if not span.name.startswith("tools/call"))
    assert names == Counter(["run Order Processing Pipeline", *STATES])


def test_a_run_ends_well_although_no_collector_answers(site: Site) -> None:
    run = site.run("--direct", OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:9")
    assert result_of(run)[1] == 0
