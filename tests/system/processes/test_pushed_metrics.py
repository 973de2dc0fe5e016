"""`dcf serve` sends its metrics to a collector of OpenTelemetry, under the names that Prometheus has for them."""

from typing import Any

import httpx2
import pytest

from dcf import metrics
from dcf.tools import metrics_route
from dcf.tools.client import connect
from tests.support.collector import Collector, collecting
from tests.support.waiting import wait_until
from tests.system.processes.site import LONG, Site

pytestmark = pytest.mark.processes


def _sent(collector: Collector) -> dict[str, Any]:
    """Each metric as it was sent last, by name."""
    return {one.name: one for told in collector.metrics for scope in told.scope_metrics for one in scope.metrics}


def _resources(collector: Collector) -> set[tuple[str, str]]:
    """The service and the instance of each process that sent something."""
    named = [{one.key: one.value.string_value for one in told.resource.attributes} for told in collector.metrics]
    return {(one["service.name"], one["service.instance.id"]) for one in named}


def test_a_server_sends_what_it_counts_and_what_redis_says_and_serves_no_page_of_it(site: Site) -> None:
    with collecting() as collector:
        often = {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url, "OTEL_METRIC_EXPORT_INTERVAL": "100"}
        server = site.serve("--port", "0", **often)
        assert httpx2.get(server.url.replace("/mcp", "/metrics")).status_code == 404
        with connect(server.url) as tools:
            tools.call("list_runs")
        wait_until(lambda: "dcf_tool_seconds" in _sent(collector), LONG)
        server.process.terminate()
        server.process.wait(LONG)
        found = _sent(collector)
    assert set(found) <= {one.name for one in (*metrics.COUNTED, *metrics_route.READ)}
    assert [one.as_int for one in found["dcf_redis_up"].gauge.data_points] == [1]
    assert {"dcf_runs", "dcf_runs_stuck", "dcf_open_states", "dcf_txn_conflicts_total"} <= set(found)
    named = [
        label.value.string_value for one in found["dcf_tool_seconds"].histogram.data_points for label in one.attributes
    ]
    assert named == ["list_runs"]


def test_two_servers_are_told_apart(site: Site) -> None:
    with collecting() as collector:
        often = {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url, "OTEL_METRIC_EXPORT_INTERVAL": "100"}
        servers = [site.serve("--port", "0", **often) for _ in range(2)]
        wait_until(lambda: len(_resources(collector)) == 2, LONG)
        assert {name for name, _ in _resources(collector)} == {"dcf"}
        for server in servers:
            server.process.terminate()
            server.process.wait(LONG)
