"""Sends the spans of a run to a collector by OTLP over HTTP, with the OpenTelemetry SDK (the extra `otel`).

The SDK is imported when spans are sent and never before. No run waits for a collector: the spans are made from the
history, after the events.
"""

import logging
import os
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from itertools import islice
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from dcf.errors import InvalidArgument
from dcf.telemetry.ids import trace_id_of
from dcf.telemetry.spans import RunSpan, SpanOutcome

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan

_log = logging.getLogger(__name__)

_TOGETHER: Final = 512
_TIMEOUT_S: Final = 10
_PATH: Final = "/v1/traces"


def can_send() -> bool:
    """Return True where the extra is installed; else say that it is missing."""
    if find_spec("opentelemetry.sdk") is not None and find_spec("opentelemetry.exporter") is not None:
        return True
    _log.warning("A collector is set, and no traces are sent: install dcf-mcp[otel].")
    return False


def send(
    workflow_id: str, spans: Sequence[RunSpan], url: str, *, service: str | None = None, timeout_s: float = _TIMEOUT_S
) -> int:
    """Send spans to the collector and return how many; raise InvalidArgument if it does not take them.

    `url` is the collector's, such as http://127.0.0.1:4318; the path of OTLP is added unless it names one.
    """
    endpoint = _endpoint(url)
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415 - an extra
        from opentelemetry.sdk.trace.export import SpanExportResult  # noqa: PLC0415 - the same
    except ImportError:
        raise InvalidArgument(
            "Sending traces needs the extra otel.", "Install it: pip install 'dcf-mcp[otel]'."
        ) from None
    exporter: Any = OTLPSpanExporter(endpoint=endpoint, timeout=timeout_s)
    made = _made(workflow_id, spans, service or os.environ.get("OTEL_SERVICE_NAME") or "dcf")
    sent = 0
    try:
        while batch := list(islice(made, _TOGETHER)):
            if exporter.export(batch) is not SpanExportResult.SUCCESS:
                raise InvalidArgument(
                    f"The collector took {sent} of {len(spans)} spans, and no more.",
                    "See that it listens for OTLP over HTTP at this URL, and send again: the ids will be the same.",
                )
            sent += len(batch)
    finally:
        exporter.shutdown()
    return sent


def _endpoint(url: str) -> str:
    try:
        parts = urlsplit(url)
        is_url = parts.scheme in {"http", "https"} and bool(parts.hostname)
    except ValueError:
        is_url = False
    if not is_url:
        raise InvalidArgument("The collector's URL is not one of HTTP.", "Pass one such as http://127.0.0.1:4318.")
    return parts._replace(path=_PATH).geturl() if parts.path in {"", "/"} else url


def _made(workflow_id: str, spans: Sequence[RunSpan], service: str) -> "Iterator[ReadableSpan]":
    """Yield the spans as the SDK exports them: made with their end, since they have ended."""
    from opentelemetry.sdk.resources import Resource  # noqa: PLC0415 - an extra
    from opentelemetry.sdk.trace import Event, ReadableSpan  # noqa: PLC0415 - the same
    from opentelemetry.sdk.util.instrumentation import InstrumentationScope  # noqa: PLC0415 - the same
    from opentelemetry.trace import Link, SpanContext, SpanKind, Status, StatusCode, TraceFlags  # noqa: PLC0415

    codes = {SpanOutcome.UNSET: StatusCode.UNSET, SpanOutcome.OK: StatusCode.OK, SpanOutcome.ERROR: StatusCode.ERROR}
    resource, scope = Resource.create({"service.name": service}), InstrumentationScope("dcf")
    trace_id = trace_id_of(workflow_id)

    def context(span_id: int) -> SpanContext:
        return SpanContext(trace_id, span_id, is_remote=True, trace_flags=TraceFlags(TraceFlags.SAMPLED))

    for span in spans:
        yield ReadableSpan(
            name=span.name,
            context=context(span.span_id),
            parent=None if span.parent is None else context(span.parent),
            resource=resource,
            attributes={**span.attributes, **({"dcf.open": True} if span.is_open else {})},
            events=[Event(event.name, dict(event.attributes), event.at) for event in span.events],
            links=[Link(context(span_id)) for span_id in span.links],
            kind=SpanKind.INTERNAL,
            status=Status(codes[span.outcome], span.reason if span.outcome is SpanOutcome.ERROR else None),
            start_time=span.start,
            end_time=span.end,
            instrumentation_scope=scope,
        )
