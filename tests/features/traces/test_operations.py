"""The traces of ended runs: the timer loops of servers send each once, and no call waits for a collector."""

import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from dcf.application.application import Application
from dcf.core.completing.updates import Update
from dcf.core.documents.model import Status
from dcf.core.lifecycle.finalization import Finalize
from dcf.features.traces.operations import RunTraces
from dcf.runs.retrying import RunRetrying
from dcf.telemetry import tracing
from dcf.telemetry.ids import root_span_id_of
from dcf.telemetry.tracing import Tracing
from tests.features.health.test_routes import acquired, new_run
from tests.support.collector import Collector, collecting
from tests.support.waiting import wait_until
from tests.tools.calls import ONE_TASK


@pytest.fixture
def collector() -> Iterator[Collector]:
    with collecting() as made:
        yield made


@pytest.fixture
def servers(
    replica: Callable[..., Application], collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> list[Application]:
    """Two servers that take part in traces."""
    monkeypatch.setattr(tracing, "current", Tracing(f"{collector.url}/v1/traces"))
    return [replica(), replica()]


def ended(server: Application, *, fails: bool = False) -> str:
    run, state = new_run(server, ONE_TASK)
    token = acquired(server, run, state)
    finish(server, run, state, token, fails=fails)
    return run


def finish(server: Application, run: str, state: str, token: str, *, fails: bool) -> None:
    status = Status.FAILED if fails else Status.SUCCEEDED
    server.control_plane.update(run, Update(state=state, token=token, owner="w", status=status, output={}, error="E"))


def roots(collector: Collector, run: str) -> list[Any]:
    return [span for span in collector.spans if span.span_id.hex() == f"{root_span_id_of(run):016x}"]


def is_live(server: Application, run: str) -> bool:
    """Whether the clock still has the run on its list."""
    return run in server.clock._index.live()


def look(servers: list[Application], run: str) -> Callable[[], bool]:
    """Let every clock look once, as often as this is called; true once the run is off their list."""

    def looked() -> bool:
        for server in servers:
            server.clock.pulse()
        return not is_live(servers[0], run)

    return looked


def test_two_clocks_send_the_trace_of_an_ended_run_once(servers: list[Application], collector: Collector) -> None:
    run = ended(servers[0])
    wait_until(look(servers, run))
    assert len(roots(collector, run)) == 1
    servers[0].closing.close(Finalize(workflow_id=run))
    wait_until(look(servers, run))
    assert len(roots(collector, run)) == 1


def test_a_run_stays_on_the_list_while_somebody_who_may_be_dead_sends_its_trace(
    servers: list[Application], collector: Collector
) -> None:
    run = ended(servers[0])
    assert servers[0].traces is not None
    marks = servers[0].traces._marks
    marks.take(run, 1)  # by a process that dies now
    for server in servers:
        server.clock.pulse()
    assert is_live(servers[0], run)
    assert roots(collector, run) == []
    marks._connections.send(("DEL", f"cp:idx:traced:{run}"))  # as Redis does after a minute
    wait_until(look(servers, run))
    assert len(roots(collector, run)) == 1


def test_a_run_that_was_retried_is_sent_again_at_its_next_end(servers: list[Application], collector: Collector) -> None:
    run = ended(servers[0], fails=True)
    wait_until(look(servers, run))
    RunRetrying(servers[0].control_plane).retry(run)
    finish(servers[0], run, "A", acquired(servers[0], run, "A"), fails=False)
    wait_until(lambda: look(servers, run)() or len(roots(collector, run)) == 2)
    first, second = roots(collector, run)
    assert (first.span_id, first.trace_id) == (second.span_id, second.trace_id)
    assert (first.status.code, second.status.code) == (2, 1)


def test_a_collector_that_takes_nothing_is_given_up_and_keeps_no_run(
    servers: list[Application], collector: Collector, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dcf.features.traces.storage._AGAIN_MS", 1)
    collector.says = 400
    run = ended(servers[0])
    with caplog.at_level(logging.WARNING, "dcf.features.traces.operations"):
        wait_until(look(servers, run))
    assert "dcf runs trace" in caplog.text
    assert roots(collector, run) == []


def test_a_defect_met_in_one_trace_is_logged_and_the_next_one_is_sent(
    servers: list[Application], caplog: pytest.LogCaptureFixture
) -> None:
    first, second, sent = ended(servers[0]), ended(servers[0]), list[str]()

    def send(run: str, _: object) -> None:
        if run == first:
            raise ZeroDivisionError
        sent.append(run)

    assert servers[0].traces is not None
    traces = RunTraces(servers[0].traces._exports, servers[0].traces._marks, send)
    for run in (first, second):
        assert not traces.is_settled(run, 1, 1)
    wait_until(lambda: sent == [second])
    assert f"trace of run {first}" in caplog.text
    assert "ZeroDivisionError" in caplog.text
