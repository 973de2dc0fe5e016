"""`dcf serve` sends its metrics to a collector of OpenTelemetry, under the names that Prometheus has for them."""

from typing import Any

import httpx2
import pytest

from dcf import metrics
from dcf.features.health import routes as metrics_route
from dcf.tools.calling.client import connect
from tests.support.collector import Collector, collecting
from tests.support.waiting import wait_until
from tests.system.processes.site import LONG, Site

pytestmark = pytest.mark.processes


def _sent(collector: Collector) -> dict[str, Any]:
    """Each metric as it was sent last, by name."""
    return {item.name: item for metric in collector.metrics for scope in metric.scope_metrics for item in scope.metrics}


def _resources(collector: Collector) -> set[tuple[str, str]]:
    """The service and the instance of each process that sent something."""
    named = [
        {attribute.key: attribute.value.string_value for attribute in metric.resource.attributes}
        for metric in collector.metrics
    ]
    return {(item["service.name"], item["service.instance.id"]) for item in named}


def test_two_servers_send_their_metrics_under_their_own_names_and_serve_no_page(site: Site) -> None:
    """Each sends counts of its own, and the figures of Redis."""
    with collecting() as collector:
        often = {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url, "OTEL_METRIC_EXPORT_INTERVAL": "100"}
        servers = [site.serve("--port", "0", **often) for _ in range(2)]
        assert httpx2.get(servers[0].url.replace("/mcp", "/metrics")).status_code == 404
        with connect(servers[0].url) as tools:
            tools.call("list_runs")
        wait_until(lambda: "dcf_tool_seconds" in _sent(collector) and len(_resources(collector)) == 2, LONG)
        for server in servers:
            server.process.terminate()
            server.process.wait(LONG)
        sent = _sent(collector)
    assert {name for name, _ in _resources(collector)} == {"dcf"}
    assert set(sent) <= {metric.name for metric in (*metrics.COUNTED, *metrics_route.READ)}
    assert [point.as_int for point in sent["dcf_redis_up"].gauge.data_points] == [1]
    assert {"dcf_runs", "dcf_runs_stuck", "dcf_open_states", "dcf_txn_conflicts_total"} <= set(sent)
    points = sent["dcf_tool_seconds"].histogram.data_points
    assert [label.value.string_value for point in points for label in point.attributes] == ["list_runs"]
