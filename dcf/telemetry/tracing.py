"""Whether this process takes part in traces, and what it does for them while it works.

It does if OTEL_EXPORTER_OTLP_ENDPOINT names a collector. `current` is None otherwise, and one look at it is all that a
step costs then. OpenTelemetry is imported when the first span is begun here, never before. Nothing is decided by it.

The spans of runs, states and attempts are not begun here: they are made from the history (`spans`). While a function
runs, its attempt is the current span, so that the span of a model call inside it is below the attempt. A span for the
function, begun and ended here, would be lost if the process is killed, and its children would have no parent. It would
also cost more than a tenth of a step. The history has the attempt in any case.
"""

import os
from collections.abc import Mapping
from contextlib import AbstractContextManager
from functools import cached_property
from typing import Final, Protocol

from dcf.telemetry.ids import traceparent
from dcf.values.json_text import Json

FIELD: Final = "traceparent"
"""How the header is called, and the field that has it in events and in work."""

_ENDPOINT: Final = "OTEL_EXPORTER_OTLP_ENDPOINT"
_TRACES_ENDPOINT: Final = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
_PATH: Final = "/v1/traces"


class LiveSpans(Protocol):
    """The spans that this process begins (`live`)."""

    def attempt(self, workflow_id: str, state: str, epoch: int) -> AbstractContextManager[None]:
        """Return the context of a call of a function: its attempt is the current span."""

    def tool(self, name: str) -> AbstractContextManager[None]:
        """Return the context of a call of a tool by an agent."""

    def current(self) -> str | None:
        """Return the W3C header of the current span; None outside of any."""


class Tracing:
    """The part of a process in traces. `collector` is the URL to which spans are posted."""

    def __init__(self, collector: str) -> None:
        self.collector = collector

    @cached_property
    def live(self) -> LiveSpans:
        """Spans that are begun here. The first look at them imports OpenTelemetry, and its SDK if that is installed."""
        from dcf.telemetry.live import open_live  # noqa: PLC0415 - a quarter of a second, for those who trace

        return open_live(self.collector)

    def header_of(self, arguments: Mapping[str, object]) -> str | None:
        """Return the W3C header to send with a call of a tool: of the current span, or of the run that it names."""
        run = arguments.get("workflow_id")
        return self.live.current() or (traceparent(run) if isinstance(run, str) else None)


current: Tracing | None = None


def begin(environment: Mapping[str, str] = os.environ) -> None:
    """Take part in traces from now on, if the environment names a collector."""
    global current  # noqa: PLW0603 - one process is one participant
    url = environment.get(_TRACES_ENDPOINT) or _of_traces(environment.get(_ENDPOINT))
    is_off = environment.get("OTEL_SDK_DISABLED") == "true" or environment.get("OTEL_TRACES_EXPORTER") == "none"
    current = None if url is None or is_off else Tracing(url)


def _of_traces(endpoint: str | None) -> str | None:
    """Return where a collector takes traces; the standard has this path added to what the variable says."""
    return f"{endpoint.rstrip('/')}{_PATH}" if endpoint else None


def with_header(event: Mapping[str, Json]) -> Mapping[str, Json]:
    """Return an event with the W3C header of its run, where this process takes part in traces.

    It names no attempt: a lease on the state begins one, and the work that the lease holder gets names it.
    """
    run = event.get("workflow_id")
    return event if current is None or not isinstance(run, str) else {**event, FIELD: traceparent(run)}


def of_attempt(workflow_id: str, state: str, epoch: int) -> dict[str, Json]:
    """Return the field with the W3C header of an attempt; nothing where this process takes part in no traces."""
    return {} if current is None else {FIELD: traceparent(workflow_id, state, epoch)}
