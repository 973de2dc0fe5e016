"""A worker's finished result survives what its server's Redis goes through meanwhile, and is delivered once."""

import logging
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import cast

import pytest
import redis

from dcf.application.application import Application, open_application
from dcf.errors import ToolCallFailed
from dcf.settings.process import Settings
from dcf.store.transaction.runs import RunStore
from dcf.tools.calling.client import ToolClient, connect
from dcf.tools.mcp.server import build_http_app
from dcf.worker import Worker
from tests.support.redis.servers import free_port, redis_server
from tests.support.waiting import wait_until
from tests.tools.calls import ONE_TASK, serving

LEASE_S = 1
LONG = 60.0
PATIENT_S, IMPATIENT_S = 20.0, 0.2
"""Seconds of silence after which Redis is taken for dead: in peace, and while it is frozen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """A Redis of this test's own, a server on it, a patient client of that, and what makes impatient ones."""

    redis: redis.Redis
    tools: ToolClient
    connect: Callable[[], ToolClient]
    application: Application

    def be_patient(self, silence_s: float) -> None:
        """From now on the server waits so long for an answer of Redis."""
        connections = self.application._connections
        pool = cast("redis.ConnectionPool", connections._pool)
        pool.connection_kwargs["socket_timeout"] = silence_s
        pool.reset()  # the connections that it has were made with the old timeout
        connections.recover()


Trouble = Callable[[Site], Callable[[], object]]
"""Begins a trouble of Redis, and returns what ends it."""


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """A call is given up after the first failure."""
    monkeypatch.setattr("dcf.application.runs.RunStore", partial(RunStore, deadline_s=0.1))
    with ExitStack() as stack:
        port = stack.enter_context(redis_server(tmp_path))
        client = stack.enter_context(redis.Redis(port=port, protocol=2, decode_responses=True))
        url = f"redis://127.0.0.1:{port}?socket_timeout={PATIENT_S:g}"
        settings = Settings.model_validate({"redis_url": url, "auth": "off"})
        application = stack.enter_context(open_application(settings))
        url = stack.enter_context(serving(build_http_app(application)))

        def connected() -> ToolClient:
            return stack.enter_context(connect(f"{url}/mcp", deadline_s=0.1))

        patient = stack.enter_context(connect(f"{url}/mcp", deadline_s=60))
        yield Site(redis=client, tools=patient, connect=connected, application=application)


def full(site: Site) -> Callable[[], object]:
    site.redis.config_set("maxmemory", 1)
    return lambda: site.redis.config_set("maxmemory", 0)


def read_only(site: Site) -> Callable[[], object]:
    site.redis.replicaof("127.0.0.1", str(free_port()))
    return lambda: site.redis.replicaof("NO", "ONE")


def frozen(site: Site) -> Callable[[], object]:
    pid = site.redis.info("server")["process_id"]
    site.be_patient(IMPATIENT_S)
    os.kill(pid, signal.SIGSTOP)

    def thaw() -> None:
        os.kill(pid, signal.SIGCONT)
        site.be_patient(PATIENT_S)

    return thaw


@pytest.mark.parametrize("trouble", [full, read_only, frozen])
def test_a_result_that_is_finished_while_redis_is_away_is_delivered_later_and_once(
    site: Site, trouble: Trouble, caplog: pytest.LogCaptureFixture
) -> None:
    """The lease ends meanwhile; no other agent took over, so the result is accepted."""
    caplog.set_level(logging.WARNING, "dcf.worker")
    begun, finish, stop, calls = threading.Event(), threading.Event(), threading.Event(), []

    def work(document: object) -> object:
        calls.append(document)
        begun.set()
        assert finish.wait(LONG)
        return {"kept": True}

    created = site.tools.call(
        "create_workflow_control_plane", workflow_json=ONE_TASK, workflow_id="run", agents_map_json={"A": "me"}
    )
    assert created["code"] == "ok"
    site.tools.call("notify_next_worker_agent", workflow_id="run")
    worker = Worker(site.connect(), "me", {"A": work}, lease_ttl_s=LEASE_S, wait_s=0.1, pause_s=0.01)
    thread = threading.Thread(target=worker.serve, args=(stop,))
    thread.start()
    try:
        assert begun.wait(LONG)
        end, since = trouble(site), time.monotonic()
        finish.set()
        wait_until(lambda: caplog.text.count("the result is kept and sent again") >= 2)
        wait_until(lambda: time.monotonic() > since + LEASE_S)
        end()
        wait_until(lambda: status_of(site.tools) != "running")
    finally:
        stop.set()
        thread.join()
    answer = site.tools.call("read_workflow_control_plane", workflow_id="run")
    assert (answer["meta"]["status"], answer["meta"]["output"]) == ("succeeded", {"kept": True})
    assert (len(calls), answer["states"]["A"]["attempts"]) == (1, 1)
    events = [happening.type for happening in site.application.history.after("run")]
    assert events.count("StateSucceeded") == 1
    assert "given up" not in caplog.text


@pytest.mark.parametrize(
    ("trouble", "said"),
    [
        (full, "Redis refuses writes: its memory is full (OOM)."),
        (read_only, "Redis refuses writes: this server is a replica"),
    ],
)
def test_what_passes_is_told_with_its_reason_through_a_tool(site: Site, trouble: Trouble, said: str) -> None:
    end = trouble(site)
    with pytest.raises(ToolCallFailed) as raised:
        site.connect().call("create_workflow_control_plane", workflow_json=ONE_TASK, workflow_id="run")
    assert raised.value.code == "store_unavailable"
    assert raised.value.message.startswith(said)
    end()
    again = site.tools.call("create_workflow_control_plane", workflow_json=ONE_TASK, workflow_id="run")
    assert again["code"] == "ok"


def status_of(tools: ToolClient) -> str:
    status: str = tools.call("read_workflow_control_plane", workflow_id="run")["meta"]["status"]
    return status
