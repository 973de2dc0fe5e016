"""The workers of the order pipeline; each function first calls a model: a span of OpenTelemetry, sent at once."""

from typing import Any

from opentelemetry import trace

from dcf.worker import FUNCTIONS, TaskFunction
from tests.system.processes import hooked_order  # noqa: F401 - it registers the functions


def traced(state: str, function: TaskFunction) -> TaskFunction:
    def work(value: Any) -> Any:
        with trace.get_tracer("model").start_as_current_span(f"chat {state}"):
            pass
        provider: Any = trace.get_tracer_provider()
        provider.force_flush()
        return function(value)

    return work


for name in list(FUNCTIONS):
    FUNCTIONS[name] = traced(name, FUNCTIONS[name])
