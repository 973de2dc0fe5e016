"""Spans that are begun in a process: what a function or an agent calls stands below the attempt, without its text."""

from collections.abc import Iterator
from typing import Any

import anyio
import pytest
from opentelemetry import trace

from dcf.hosting.own_tools import WithOwnTools
from dcf.hosting.protocol import ToolResult
from dcf.telemetry import surroundings, tracing
from dcf.telemetry.ids import span_id_of, trace_id_of, traceparent
from dcf.telemetry.live import OtelSpans
from dcf.telemetry.tracing import Tracing
from dcf.worker.calls import TaskCall, Work
from dcf.worker.context import TaskContext
from dcf.worker.functions import TaskFunction, plan_of

sdk = pytest.importorskip("opentelemetry.sdk.trace", reason="needs the extra otel")
memory = pytest.importorskip("opentelemetry.sdk.trace.export.in_memory_span_exporter")
export = pytest.importorskip("opentelemetry.sdk.trace.export")

WORK = Work(workflow_id="r", state="Each/3/Price", token="t", given=None, epoch=7)
SECRET = "what-a-tool-said"


class Spans:
    """The spans of this process, by a provider of its own."""

    def __init__(self) -> None:
        self._kept = memory.InMemorySpanExporter()
        provider = sdk.TracerProvider()
        provider.add_span_processor(export.SimpleSpanProcessor(self._kept))
        self.tracer = provider.get_tracer("test")

    def found(self) -> list[Any]:
        return list(self._kept.get_finished_spans())


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> Iterator[Spans]:
    made, traced = Spans(), Tracing("http://127.0.0.1:9/v1/traces")
    traced.__dict__["live"] = OtelSpans(made.tracer)
    monkeypatch.setattr(tracing, "current", traced)
    monkeypatch.setattr(surroundings, "is_watched", True)
    yield made
    assert not trace.get_current_span().get_span_context().is_valid, "the span stayed the current one"


def called(function: TaskFunction) -> Any:
    class Office:
        agent_id = "me"

    office: Any = Office()
    return TaskCall(WORK, plan_of(function, "Price"), office).run()


def is_below_the_attempt(span: Any) -> bool:
    ids = (trace_id_of("r"), span_id_of("r", "Each/3/Price", 7))
    return (span.parent.trace_id, span.parent.span_id) == ids


def test_what_a_function_begins_stands_below_its_attempt(spans: Spans) -> None:
    def price(_: object) -> int:
        with spans.tracer.start_as_current_span("chat"):
            return 1

    assert called(price) == {"new_status": "succeeded", "output_json": "1"}
    (span,) = spans.found()
    assert is_below_the_attempt(span)


def test_what_an_async_function_begins_stands_below_its_attempt_too(spans: Spans) -> None:
    async def price(_: object) -> int:
        await anyio.lowlevel.checkpoint()
        with spans.tracer.start_as_current_span("chat"):
            return 1

    called(price)
    (span,) = spans.found()
    assert is_below_the_attempt(span)


def test_a_function_that_fails_leaves_no_span_behind(spans: Spans) -> None:
    def price(_: object) -> int:
        raise ValueError(SECRET)

    called(price)
    assert spans.found() == []


def test_a_tool_call_of_an_agent_is_a_span_in_words_of_genai_without_its_content(spans: Spans) -> None:
    class Tools:
        async def call(self, name: str, arguments: object) -> ToolResult:
            raise RuntimeError(f"{name} {arguments} {SECRET}")

    tools: Any = Tools()
    agent = WithOwnTools(tools, (), TaskContext(workflow_id="r", state="Each/3/Price", epoch=7))
    with surroundings.work("r", "Each/3/Price", 7, "me"), pytest.raises(RuntimeError):
        anyio.run(agent.call, "search", {"q": SECRET})
    (span,) = spans.found()
    assert is_below_the_attempt(span)
    assert (span.name, span.attributes) == (
        "execute_tool search",
        {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search"},
    )
    assert not span.status.is_ok
    assert SECRET not in span.to_json()


def test_the_header_of_the_current_span_is_what_a_client_sends(spans: Spans) -> None:
    assert tracing.current is not None
    with surroundings.work("r", "A", 1, "me"):
        assert tracing.current.header_of({}) == traceparent("r", "A", 1)
        with spans.tracer.start_as_current_span("chat") as chat:
            assert (tracing.current.header_of({}) or "").split("-")[2] == f"{chat.get_span_context().span_id:016x}"
