"""`traceparent`: an agent that gets a notification or work of a run learns of its trace, where traces are wanted."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from opentelemetry import trace

from dcf.application.application import Application
from dcf.features.webhooks.bodies import headers_of
from dcf.ports import Post
from dcf.telemetry import surroundings, tracing
from dcf.telemetry.ids import root_span_id_of, span_id_of, trace_id_of, traceparent
from dcf.telemetry.live import OtelSpans
from dcf.telemetry.tracing import Tracing
from dcf.tools.calling.direct import DirectTools, control_plane_here
from dcf.tools.mcp.messages import ToolRequest
from tests.support.tables import rows

COLLECTOR = "http://127.0.0.1:9/v1/traces"


@pytest.fixture
def traced(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Tracing(COLLECTOR)
    made.__dict__["live"] = OtelSpans(trace.get_tracer("dcf"))  # the API alone: nothing is sent
    monkeypatch.setattr(tracing, "current", made)
    monkeypatch.setattr(surroundings, "is_watched", True)


@pytest.fixture
def tools(replica: Callable[..., Application]) -> Iterator[DirectTools]:
    with control_plane_here(replica()) as here:
        yield DirectTools(here, 10)


TWO = {
    "StartAt": "A",
    "States": {"A": {"Type": "Task", "Next": "B"}, "B": {"Type": "Task", "End": True}},
}


def begun(tools: DirectTools, agent: str) -> str:
    answer = tools.call(
        "start_run", workflow_json={"asl": TWO}, input_json="{}", agents_map_json={"A": agent, "B": agent}
    )
    assert answer["code"] == "ok", answer
    return str(answer["workflow_id"])


def brought(tools: DirectTools, agent: str) -> dict[str, Any]:
    return tools.call("await_workflow_event", agent_id=agent, timeout_s=50, lease_ttl_s=60)


@pytest.mark.usefixtures("traced")
def test_a_notification_names_the_run_and_work_names_the_attempt(tools: DirectTools) -> None:
    run = begun(tools, "told-agent")
    answer = tools.call("await_workflow_event", agent_id="told-agent", timeout_s=50, lease=False)
    assert answer["event"]["traceparent"] == traceparent(run)
    run = begun(tools, "traced-agent")
    answer = brought(tools, "traced-agent")
    assert answer["work"]["traceparent"] == traceparent(run, "A", answer["work"]["epoch"])
    holding = {"workflow_id": run, "state": "A", "lease_token": answer["work"]["lease_token"]}
    done = tools.call("update_workflow_control_plane", **holding, new_status="done", output_json={}, claim_next=True)
    assert done["work"]["traceparent"] == traceparent(run, "B", done["work"]["epoch"])


@pytest.mark.usefixtures("traced")
def test_notifications_that_are_delivered_together_name_their_runs(replica: Callable[..., Application]) -> None:
    site = replica()
    agents = {f"together-{number}": f"run-{number}" for number in range(2)}
    posts = [
        Post(agent_id=agent, event_id=f"e-{agent}", event={"type": "told", "workflow_id": run})
        for agent, run in agents.items()
    ]
    site.platforms.deliver_all(posts)
    with control_plane_here(site) as here:
        tools = DirectTools(here, 10)
        events = [
            tools.call("await_workflow_event", agent_id=agent, timeout_s=50, lease=False)["event"] for agent in agents
        ]
    assert [event["traceparent"] for event in events] == [traceparent(run) for run in agents.values()]


def test_without_traces_nobody_is_told_of_any(tools: DirectTools) -> None:
    begun(tools, "plain-agent")
    assert "traceparent" not in json.dumps(brought(tools, "plain-agent"))
    assert b"traceparent" not in ToolRequest("list_runs", {"workflow_id": "r"}, 1).body
    assert tracing.with_header({"workflow_id": "r"}) == {"workflow_id": "r"}


def test_the_header_has_the_form_of_the_standard() -> None:
    version, trace, span, flags = traceparent("r", "A", 7).split("-")
    assert (version, flags) == ("00", "01")
    assert (int(trace, 16), int(span, 16)) == (trace_id_of("r"), span_id_of("r", "A", 7))
    assert (len(trace), len(span)) == (32, 16)
    assert int(traceparent("r").split("-")[2], 16) == root_span_id_of("r")


def test_a_webhook_gets_it_as_a_header_and_its_signature_is_the_same() -> None:
    secret = "whsec_" + "YWJj" * 8
    plain = headers_of("m", 1, b"{}", [("k", secret)])
    traced = headers_of("m", 1, b"{}", [("k", secret)], traceparent("r"))
    assert traced == plain | {"traceparent": traceparent("r")}


@pytest.mark.usefixtures("traced")
def test_a_call_of_a_tool_names_the_run_or_the_attempt_that_it_is_made_in() -> None:
    def header(**arguments: str) -> object:
        return json.loads(ToolRequest("t", arguments, 1).body)["params"]["_meta"].get("traceparent")

    assert header(workflow_id="r") == traceparent("r")
    assert header(agent_id="me") is None
    with surroundings.work("r", "A", 7, "me"):
        assert header(workflow_id="r") == header(agent_id="me") == traceparent("r", "A", 7)
    assert header(agent_id="me") is None


def test_a_line_that_is_logged_during_a_call_names_its_run_state_agent_and_trace() -> None:
    assert surroundings.told() == {}
    with surroundings.call({"workflow_id": "r", "state": "A", "owner_agent_id": "me", "lease_token": "secret"}):
        assert surroundings.told() == {"run": "r", "state": "A", "agent": "me", "trace_id": f"{trace_id_of('r'):032x}"}
    assert surroundings.told() == {}


@rows(
    ("variables", "url"),
    [
        ({}, None),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318"}, "http://c:4318/v1/traces"),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c/otlp/"}, "http://c/otlp/v1/traces"),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://c/x"}, "http://c/x"),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c", "OTEL_SDK_DISABLED": "true"}, None),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c", "OTEL_TRACES_EXPORTER": "none"}, None),
    ],
)
def test_a_process_takes_part_in_traces_as_the_standard_variables_say(
    variables: dict[str, str], url: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tracing, "current", None)
    tracing.begin(variables)
    assert (None if tracing.current is None else tracing.current.collector) == url
