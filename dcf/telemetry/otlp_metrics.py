"""Sends the metrics of a server to a collector by OTLP over HTTP, again and again, with the extra `otel`.

The SDK's instruments are not used: the values were counted already, as for Prometheus, and the SDK has no histogram
that is only read. A collector that does not answer gets all values the next time; no run waits for it.
"""

import logging
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from threading import Event, Thread
from typing import TYPE_CHECKING, Any, Final

from dcf.metrics import SECONDS, Labels, MetricValues, Spread

if TYPE_CHECKING:
    from opentelemetry.sdk.metrics.export import MetricsData

_log = logging.getLogger(__name__)

_TIMEOUT_S: Final = 5
_LAST_S: Final = 2
"""A server that ends waits no longer for the last that it sends."""

_INTERVAL_MS: Final = 60_000.0

Read = Callable[[], list[MetricValues]]


def collector_of(environment: Mapping[str, str] = os.environ) -> str | None:
    """Return the URL to which metrics are posted; None if none is wanted, or the extra is not installed."""
    base = environment.get("OTEL_EXPORTER_OTLP_ENDPOINT")
    url = environment.get("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT") or (base and f"{base.rstrip('/')}/v1/metrics")
    if not url or environment.get("OTEL_SDK_DISABLED") == "true" or environment.get("OTEL_METRICS_EXPORTER") == "none":
        return None
    if find_spec("opentelemetry.sdk") is None or find_spec("opentelemetry.exporter") is None:
        _log.warning("A collector is set, and no metrics are sent: install dcf-mcp[otel].")
        return None
    return url


@contextmanager
def sending(url: str, read: Read, environment: Mapping[str, str] = os.environ) -> Iterator[None]:
    """Send the values at every interval while the context lasts, and once more at its end."""
    ending = Event()
    thread = Thread(target=_send, args=(url, read, _interval_s(environment), ending), name="metrics", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ending.set()
        thread.join(_LAST_S)


def _interval_s(environment: Mapping[str, str]) -> float:
    interval = environment.get("OTEL_METRIC_EXPORT_INTERVAL", "")
    return (float(interval) if interval.isdecimal() and int(interval) > 0 else _INTERVAL_MS) / 1000


def _send(url: str, read: Read, interval_s: float, ending: Event) -> None:
    from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter  # noqa: PLC0415 - an extra

    exporter: Any = OTLPMetricExporter(endpoint=url, timeout=_TIMEOUT_S)
    convert = _converter(time.time_ns())
    is_last = False
    while not is_last:
        is_last = ending.wait(interval_s)
        exporter.export(convert(read()))  # where it fails it says so in the log, and does not raise
    exporter.shutdown()


def _converter(start: int) -> "Callable[[list[MetricValues]], MetricsData]":
    """Return what makes the SDK's form of metrics that count since `start`, in nanoseconds."""
    from opentelemetry.sdk.metrics import export  # noqa: PLC0415 - an extra
    from opentelemetry.sdk.resources import Resource  # noqa: PLC0415 - the same
    from opentelemetry.sdk.util.instrumentation import InstrumentationScope  # noqa: PLC0415 - the same

    sdk: Any = export
    summed = sdk.AggregationTemporality.CUMULATIVE
    # The SDK adds an id of the process: two servers count apart.
    resource = Resource.create({"service.name": os.environ.get("OTEL_SERVICE_NAME") or "dcf"})

    def metric(values: MetricValues, now: int) -> Any:
        family, kind = values.family, values.family.kind

        def point(labels: Labels, value: float | Spread) -> Any:
            about = dict(zip(family.labels, labels, strict=True))
            if not isinstance(value, Spread):
                return sdk.NumberDataPoint(about, start, now, value)
            # The least and the most are not kept.
            return sdk.HistogramDataPoint(
                about, start, now, sum(value.counts), value.total, value.counts, SECONDS, None, None
            )

        points = [point(labels, value) for labels, value in values.values.items()]
        made = {
            "gauge": lambda: sdk.Gauge(points),
            "counter": lambda: sdk.Sum(points, summed, is_monotonic=True),
            "histogram": lambda: sdk.Histogram(points, summed),
        }
        return sdk.Metric(family.name, family.text, "s" if family.name.endswith("_seconds") else "", made[kind]())

    def convert(readings: list[MetricValues]) -> Any:
        now = time.time_ns()
        metrics = [metric(reading, now) for reading in readings if reading.values]
        scope = sdk.ScopeMetrics(InstrumentationScope("dcf"), metrics, "")
        return sdk.MetricsData([sdk.ResourceMetrics(resource, [scope], "")])

    return convert
