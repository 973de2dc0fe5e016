"""A collector as OpenTelemetry has them: takes spans and metrics by OTLP over HTTP, and keeps them."""

import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest


class Collector(ThreadingHTTPServer):
    """Takes what a collector of OTLP does, of metrics each time; `says` is the status of its answers."""

    def __init__(self) -> None:
        self.spans: list[Any] = []
        self.metrics: list[Any] = []
        self.says = 200
        super().__init__(("127.0.0.1", 0), Take)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Take(BaseHTTPRequestHandler):
    """One request."""

    server: Collector

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        body = gzip.decompress(body) if self.headers.get("content-encoding") == "gzip" else body
        if self.server.says == 200 and self.path == "/v1/traces":
            traces = pytest.importorskip("opentelemetry.proto.collector.trace.v1.trace_service_pb2")
            from_string = traces.ExportTraceServiceRequest.FromString(body)
            self.server.spans += [span for r in from_string.resource_spans for g in r.scope_spans for span in g.spans]
        if self.server.says == 200 and self.path == "/v1/metrics":
            metrics = pytest.importorskip("opentelemetry.proto.collector.metrics.v1.metrics_service_pb2")
            self.server.metrics += metrics.ExportMetricsServiceRequest.FromString(body).resource_metrics
        self.send_response(self.server.says)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *args: object) -> None:
        """Print nothing."""


@contextmanager
def collecting() -> Iterator[Collector]:
    """Run a collector; skip the test where the extra otel is not installed."""
    pytest.importorskip("opentelemetry.exporter.otlp.proto.http", reason="needs the extra otel")
    with Collector() as made:
        thread = Thread(target=made.serve_forever)
        thread.start()
        try:
            yield made
        finally:
            made.shutdown()
            thread.join()
