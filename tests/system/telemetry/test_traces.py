"""The trace of a run that several processes carried out: sent at its end or exported later, it is the same tree."""

import json
import signal
from collections.abc import Iterator

import pytest

from dcf.telemetry.ids import trace_id_of, traceparent
from tests.support.collector import Collector, collecting
from tests.system.dcf_run.test_direct_runs import TOTAL, chain, started
from tests.system.processes.site import HOOKED, LONG, ORDER, Site, finish, result_of

pytestmark = pytest.mark.processes

ERROR = 2
"""STATUS_CODE_ERROR of OTLP."""


@pytest.fixture
def collector() -> Iterator[Collector]:
    with collecting() as made:
        yield made


def tree(collector: Collector) -> list[tuple[str, str, str]]:
    """The spans of a run's states, in their order: each with its parent, and the name."""
    spans = [span for span in collector.spans if not span.name.startswith("tools/call")]
    ordered = sorted(spans, key=lambda span: (bool(span.parent_span_id), span.start_time_unix_nano))
    return [(span.span_id.hex(), span.parent_span_id.hex(), span.name) for span in ordered]


def test_a_killed_direct_run_is_continued_and_its_trace_is_one_tree(site: Site, collector: Collector) -> None:
    """The process that ends the run sends the trace: there is no other server, and no clock."""
    site.hook("CalculatePricing.kill")
    options = ("--workers", str(HOOKED), "--direct", "--id", "order")
    with collecting() as sent:
        traced = {"OTEL_EXPORTER_OTLP_ENDPOINT": sent.url}
        assert site.run(*options, "--lease-ttl", "2", order=ORDER, **traced).wait(LONG) == -signal.SIGKILL
        result, code = result_of(site.run(*options, order=ORDER, **traced))
    assert (code, result["output"]["total"]) == (0, TOTAL)
    assert [doc["attempts"] for doc in result["states"].values()] == [1, 2, 1]

    output, code = finish(site.dcf("runs", "trace", "order", "--otlp", collector.url, "--json"))

    assert (code, json.loads(output)["spans"]) == (0, 5)
    root, *attempts = sorted(collector.spans, key=lambda span: (bool(span.parent_span_id), span.start_time_unix_nano))
    assert {span.trace_id.hex() for span in collector.spans} == {f"{trace_id_of('order'):032x}"}
    assert {span.parent_span_id for span in attempts} == {root.span_id}
    assert [(span.name, span.status.code == ERROR) for span in attempts] == [
        ("ValidateOrder", False),
        ("CalculatePricing", True),
        ("CalculatePricing", False),
        ("GenerateInvoice", False),
    ]
    assert [[link.span_id for link in span.links] for span in attempts] == [
        [],
        *([span.span_id] for span in attempts[:-1]),
    ]
    assert tree(sent) == tree(collector)


def test_a_function_knows_its_call_and_the_span_of_its_attempt(site: Site, collector: Collector) -> None:
    """The first lease comes with an event, the second along with the completion before it."""
    functions = (
        "def work(given, context):\n"
        "    call = [context.workflow_id, context.state, context.attempt]\n"
        "    return [*given, [call, context.epoch, context.traceparent]]\n"
        "task('A')(work)\n"
        "task('B')(work)\n"
    )
    run = started(site, "traced", chain("A", "B"), functions, "--direct", "--id", "traced", "--input", "[]")
    result, code = result_of(run)
    assert code == 0, result
    assert finish(site.dcf("runs", "trace", "traced", "--otlp", collector.url))[1] == 0
    spans = {span.name: f"00-{span.trace_id.hex()}-{span.span_id.hex()}-01" for span in collector.spans}
    (call_a, epoch_a, parent_a), (call_b, epoch_b, parent_b) = result["output"]
    assert (call_a, call_b) == (["traced", "A", 1], ["traced", "B", 1])
    assert 0 < epoch_a < epoch_b
    assert (parent_a, parent_b) == (spans["A"], spans["B"])
    assert parent_a == traceparent("traced", "A", epoch_a)
