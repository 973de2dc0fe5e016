"""Traces of runs that several processes carried out: none of them holds the trace, and it is one tree."""

import json
import signal
from collections.abc import Iterator

import pytest

from dcf.telemetry.ids import trace_id_of, traceparent
from tests.support.collector import Collector, collecting
from tests.system.processes.site import HOOKED, LONG, Site, finish, result_of
from tests.system.processes.test_direct_runs import chain, started

pytestmark = pytest.mark.processes

ERROR = 2
"""STATUS_CODE_ERROR of OTLP."""


@pytest.fixture
def collector() -> Iterator[Collector]:
    with collecting() as made:
        yield made


def test_the_order_pipeline_of_a_killed_process_and_of_the_next_is_one_tree(site: Site, collector: Collector) -> None:
    site.hook("CalculatePricing.kill")
    options = ("--workers", str(HOOKED), "--direct", "--id", "order", "--lease-ttl", "2")
    assert site.run(*options).wait(LONG) == -signal.SIGKILL
    assert result_of(site.run(*options))[1] == 0

    said, code = finish(site.dcf("trace", "export", "order", "--otlp", collector.url, "--json"))

    assert (code, json.loads(said)["spans"]) == (0, 5)
    root, *attempts = sorted(collector.spans, key=lambda one: (bool(one.parent_span_id), one.start_time_unix_nano))
    assert {one.trace_id.hex() for one in collector.spans} == {f"{trace_id_of('order'):032x}"}
    assert {one.parent_span_id for one in attempts} == {root.span_id}
    assert [(one.name, one.status.code == ERROR) for one in attempts] == [
        ("ValidateOrder", False),
        ("CalculatePricing", True),
        ("CalculatePricing", False),
        ("GenerateInvoice", False),
    ]
    assert [[link.span_id for link in one.links] for one in attempts] == [
        [],
        *([one.span_id] for one in attempts[:-1]),
    ]


def test_a_function_knows_the_span_that_its_attempt_will_have(site: Site, collector: Collector) -> None:
    functions = (
        "def work(given, context):\n"
        "    return [*given, [context.traceparent, context.epoch]]\n"
        "task('A')(work)\n"
        "task('B')(work)\n"
    )
    run = started(site, "traced", chain("A", "B"), functions, "--direct", "--id", "traced", "--input", "[]")
    result, code = result_of(run)
    assert code == 0, result
    assert finish(site.dcf("trace", "export", "traced", "--otlp", collector.url))[1] == 0
    spans = {one.name: f"00-{one.trace_id.hex()}-{one.span_id.hex()}-01" for one in collector.spans}
    (in_a, epoch), (in_b, _) = result["output"]
    assert (in_a, in_b) == (spans["A"], spans["B"])
    assert in_a == traceparent("traced", "A", epoch)
