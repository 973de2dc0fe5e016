"""Spans that are begun in this process, by OpenTelemetry's API; sent by its SDK, where the extra otel is installed.

Without the SDK nothing is sent, and the attempt is the current span all the same: what a function calls may pass it on.
A program that has set a provider of its own keeps it.
"""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from opentelemetry import context, trace
from opentelemetry.trace import NonRecordingSpan, SpanContext, Status, StatusCode, TraceFlags

from dcf.telemetry.ids import span_id_of, trace_id_of

_log = logging.getLogger(__name__)

_TIMEOUT_S: Final = 5


class OtelSpans:
    """The spans that a tracer begins."""

    def __init__(self, tracer: Any) -> None:
        self._tracer = tracer

    @contextmanager
    def attempt(self, workflow_id: str, state: str, epoch: int) -> Iterator[None]:
        """Let the attempt be the current span while its function is called."""
        ids = trace_id_of(workflow_id), span_id_of(workflow_id, state, epoch)
        attempt = SpanContext(*ids, is_remote=True, trace_flags=TraceFlags(TraceFlags.SAMPLED))
        token = context.attach(trace.set_span_in_context(NonRecordingSpan(attempt)))
        try:
            yield
        finally:
            context.detach(token)

    @contextmanager
    def tool(self, name: str) -> Iterator[None]:
        """Have a span below the current one while an agent calls a tool, as GenAI's conventions name it."""
        attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name}
        span = self._tracer.start_span(f"execute_tool {name}", attributes=attributes)
        token = context.attach(trace.set_span_in_context(span))
        try:
            yield
        except BaseException as error:
            span.set_status(Status(StatusCode.ERROR, type(error).__name__))  # never its text, which the tool wrote
            raise
        finally:
            context.detach(token)
            span.end()

    def current(self) -> str | None:
        """Return the W3C header of the current span; None outside of any."""
        here = trace.get_current_span().get_span_context()
        return f"00-{here.trace_id:032x}-{here.span_id:016x}-{here.trace_flags:02x}" if here.is_valid else None


def open_live(collector: str) -> OtelSpans:
    """Return the spans of this process, and have them sent to the collector."""
    if isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):
        _set_provider(collector)
    return OtelSpans(trace.get_tracer("dcf"))


def _set_provider(collector: str) -> None:
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415 - an extra
        from opentelemetry.sdk.resources import Resource  # noqa: PLC0415 - the same
        from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415 - the same
        from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415 - the same
        from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ParentBased  # noqa: PLC0415 - the same
    except ImportError:
        _log.warning("A collector is set, and no spans are sent: install dcf-mcp[otel].")
        return
    service = os.environ.get("OTEL_SERVICE_NAME") or "dcf"
    # Calls that belong to no run would be a trace each. They are opt-in.
    sampler = None if os.environ.get("OTEL_TRACES_SAMPLER") else ParentBased(ALWAYS_OFF)
    provider = TracerProvider(resource=Resource.create({"service.name": service}), sampler=sampler)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=collector, timeout=_TIMEOUT_S)))
    trace.set_tracer_provider(provider)
