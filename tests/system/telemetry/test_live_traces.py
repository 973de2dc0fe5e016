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
    return [one for one in collector.spans if one.span_id.hex() == f"{root_span_id_of(run):016x}"]


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

    spans = [one for one in collector.spans if one.trace_id.hex() == f"{trace_id_of(run):032x}"]
    by_id = {one.span_id: one for one in spans}
    assert len(by_id) == len(spans), "a span was sent twice"
    assert [one.name for one in spans if not one.parent_span_id] == ["run Order Processing Pipeline"]
    assert not [one.name for one in spans if one.parent_span_id and one.parent_span_id not in by_id]
    (root,) = root_of(collector, run)
    attempts = sorted((one for one in spans if one.name in STATES), key=lambda one: one.start_time_unix_nano)
    assert [(one.name, one.status.code == ERROR) for one in attempts] == [
        (STATES[0], False),
        (STATES[1], True),
        (STATES[1], False),
        (STATES[2], False),
    ]
    assert {one.parent_span_id for one in attempts} == {root.span_id}
    lost, again = attempts[1:3]
    assert [one.name for one in lost.events][-1] == "LeaseTakenOver"
    assert [link.span_id for link in again.links] == [lost.span_id]
    below = Counter((one.name, one.parent_span_id) for one in spans if one.name.startswith("chat"))
    assert below == dict.fromkeys(((f"chat {one.name}", one.span_id) for one in attempts), 1)
    assert [one.name for one in spans if one.name.startswith("tools/call")], "the server's spans are part of the trace"


def test_a_run_with_a_server_sends_its_trace_before_it_ends(site: Site, collector: Collector) -> None:
    """No process may come after it: there is no other server, and no timer loop."""
    run = site.run("--id", "alone", OTEL_EXPORTER_OTLP_ENDPOINT=collector.url)
    assert result_of(run)[1] == 0
    assert len(root_of(collector, "alone")) == 1
    names = Counter(one.name for one in collector.spans if not one.name.startswith("tools/call"))
    assert names == Counter(["run Order Processing Pipeline", *STATES])


def test_a_run_ends_well_although_no_collector_answers(site: Site) -> None:
    run = site.run("--direct", OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:9")
    assert result_of(run)[1] == 0
