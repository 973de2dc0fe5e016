"""Metrics that are sent to a collector: what was counted, at each interval and at the end, as OTLP has it."""

from collections.abc import Iterator
from typing import Any

import pytest

from dcf.features.health.routes import RUNS
from dcf.metrics import SECONDS, Meters, MetricValues
from dcf.telemetry.otlp_metrics import collector_of, sending
from tests.support.collector import Collector, collecting
from tests.support.tables import rows
from tests.support.waiting import wait_until

CUMULATIVE = 2
"""AGGREGATION_TEMPORALITY_CUMULATIVE of OTLP."""

NEVER = {"OTEL_METRIC_EXPORT_INTERVAL": "3600000"}
OFTEN = {"OTEL_METRIC_EXPORT_INTERVAL": "20"}
URL = "http://127.0.0.1:4318"


@pytest.fixture
def collector() -> Iterator[Collector]:
    with collecting() as made:
        yield made


def sent(collector: Collector) -> dict[str, Any]:
    """The metrics of the last request, by name."""
    (scope,) = collector.metrics[-1].scope_metrics
    return {metric.name: metric for metric in scope.metrics}


def about(point: Any) -> dict[str, str]:
    return {attribute.key: attribute.value.string_value for attribute in point.attributes}


def test_counters_histograms_and_gauges_are_sent_with_their_labels_and_meanings(collector: Collector) -> None:
    meters = Meters()
    meters.refused("lease_held")
    for seconds in (0.004, 0.3, 0.3, 7200.0):
        meters.called("list_runs", seconds)
    with sending(f"{collector.url}/v1/metrics", lambda: [MetricValues(RUNS, {("running",): 3}), *meters.read()], NEVER):
        pass
    connections = sent(collector)
    leases, runs, tools = (connections[name] for name in ("dcf_lease_acquire_total", "dcf_runs", "dcf_tool_seconds"))
    assert (leases.sum.is_monotonic, leases.sum.aggregation_temporality) == (True, CUMULATIVE)
    assert [(about(data_point), data_point.as_int) for data_point in leases.sum.data_points] == [
        ({"outcome": "lease_held"}, 1)
    ]
    assert [(about(data_point), data_point.as_int) for data_point in runs.gauge.data_points] == [
        ({"status": "running"}, 3)
    ]
    assert (runs.description, runs.unit, tools.unit) == (RUNS.text, "", "s")
    (calls,) = tools.histogram.data_points
    assert (about(calls), tools.histogram.aggregation_temporality) == ({"tool": "list_runs"}, CUMULATIVE)
    assert (calls.count, calls.sum, calls.HasField("min")) == (4, pytest.approx(7200.604), False)
    assert tuple(calls.explicit_bounds) == SECONDS
    counted = dict(zip((*calls.explicit_bounds, None), calls.bucket_counts, strict=True))
    assert {bound: count for bound, count in counted.items() if count} == {0.005: 1, 0.5: 2, None: 1}
    assert calls.start_time_unix_nano < calls.time_unix_nano


def test_each_interval_sends_what_was_counted_by_then_since_one_begin(collector: Collector) -> None:
    meters = Meters()
    with sending(f"{collector.url}/v1/metrics", meters.read, OFTEN):
        wait_until(lambda: len(collector.metrics) > 0)
        meters.overtaken()
        wait_until(lambda: sent(collector)["dcf_txn_conflicts_total"].sum.data_points[0].as_int == 1)
    first, last = (
        next(
            metric for metric in request.scope_metrics[0].metrics if metric.name == "dcf_txn_conflicts_total"
        ).sum.data_points[0]
        for request in (collector.metrics[0], collector.metrics[-1])
    )
    assert (first.as_int, last.as_int) == (0, 1)
    assert first.start_time_unix_nano == last.start_time_unix_nano


def test_a_collector_that_failed_is_told_all_of_it_the_next_time(collector: Collector) -> None:
    meters, reads = Meters(), list[None]()
    meters.overtaken()
    collector.says = 400

    def read() -> list[MetricValues]:
        reads.append(None)
        return meters.read()

    with sending(f"{collector.url}/v1/metrics", read, OFTEN):
        wait_until(lambda: len(reads) > 2)
        assert collector.metrics == []
        collector.says = 200
        wait_until(lambda: len(collector.metrics) > 0)
    assert sent(collector)["dcf_txn_conflicts_total"].sum.data_points[0].as_int == 1


@rows(
    ("variables", "expected"),
    [
        ({}, None),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": f"{URL}/"}, f"{URL}/v1/metrics"),
        ({"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": f"{URL}/own"}, f"{URL}/own"),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": f"{URL}/v1/traces"}, None),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": URL, "OTEL_METRICS_EXPORTER": "none"}, None),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": URL, "OTEL_SDK_DISABLED": "true"}, None),
    ],
)
def test_the_variables_of_the_standard_say_where_metrics_go(variables: dict[str, str], expected: str | None) -> None:
    pytest.importorskip("opentelemetry.exporter.otlp.proto.http", reason="needs the extra otel")
    assert collector_of(variables) == expected
