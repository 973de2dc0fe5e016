"""Servers, workers and the Redis killed during a run: it always ends well, without help."""

import itertools
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from dcf.tools.calling.client import ToolClient, connect
from tests.support.redis.servers import free_port
from tests.support.waiting import wait_until
from tests.system.processes.runs import begin, one_agent_each, read, state_of, wait_succeeded
from tests.system.processes.site import LONG, STATES, Server, Site, effective, is_alive

pytestmark = pytest.mark.processes


def test_a_worker_killed_as_soon_as_its_result_is_written(
    hooks: Site, shared_server: Server, tools: ToolClient
) -> None:
    """No process starts it again; the write notified the next agent."""
    agents = one_agent_each("crash")
    dying = hooks.start(
        "-m",
        "tests.system.processes.agents.crashing_worker",
        shared_server.url,
        agents["ValidateOrder"],
        "ValidateOrder",
    )
    for state in STATES[1:]:
        hooks.worker(shared_server.url, agents[state], "--state", state)
    run_id = begin(tools, agents)
    assert dying.wait(LONG) == -signal.SIGKILL
    result = wait_succeeded(tools, run_id)
    assert [result["states"][state]["attempts"] for state in STATES] == [1, 1, 1]
    assert effective(hooks.events(run_id)) == dict.fromkeys(STATES, 1)


def test_the_server_is_killed_under_a_worker_that_works_and_under_one_that_waits(site: Site) -> None:
    """Renewals, the completion and the waiting for the next event go through to the next server on that port."""
    first = site.serve("--port", str(free_port()))
    site.hook("CalculatePricing.hold")
    worker = site.worker(first.url, "one", "--lease-ttl", "2")
    with connect(first.url) as tools:
        run_id = begin(tools, dict.fromkeys(STATES, "one"))
        site.wait_entered("CalculatePricing")
        second = _replace(first, site)
        before = state_of(tools, run_id, "CalculatePricing")["lease"]["expires_at"]
        wait_until(lambda: state_of(tools, run_id, "CalculatePricing")["lease"]["expires_at"] > before, LONG)
        site.hook("CalculatePricing.go")
        result = wait_succeeded(tools, run_id)
        assert [result["states"][state]["attempts"] for state in STATES] == [1, 1, 1]
        assert effective(site.events(run_id)) == dict.fromkeys(STATES, 1)

        _replace(second, site)
        wait_succeeded(tools, begin(tools, dict.fromkeys(STATES, "one")))
    assert worker.poll() is None


def test_redis_killed_again_and_again_while_work_is_under_way(site: Site) -> None:
    """With appendfsync always no acknowledged write is lost; the server brings Redis back."""
    server = site.serve("--port", "0", DCF_APPENDFSYNC="always")
    for state in STATES:
        site.hook(f"{state}.hold")
    site.worker(server.url, "one", "--lease-ttl", "2")
    with connect(server.url) as tools, _acknowledged(server.url) as created:
        run_id = begin(tools, dict.fromkeys(STATES, "one"))
        for state in STATES:
            site.wait_entered(state)
            _kill_redis(site, created)
            site.hook(f"{state}.go")
        result = wait_succeeded(tools, run_id)
        assert [result["states"][state]["attempts"] for state in STATES] == [1, 1, 1]
        assert len(created) > 3
        for other in list(created):
            assert read(tools, other)["meta"]["status"] == "running"
        assert effective(site.events(run_id)) == dict.fromkeys(STATES, 1)


def _replace(server: Server, site: Site) -> Server:
    server.process.kill()
    server.process.wait()
    return site.serve("--port", server.port)


def _kill_redis(site: Site, created: list[str]) -> None:
    """Kill it while runs are being created, and wait until one was created after it came back."""
    pid, before = site.redis_pid(), len(created)
    wait_until(lambda: len(created) > before, LONG)
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not is_alive(pid), LONG)
    after = len(created)
    wait_until(lambda: len(created) > after, LONG)
    assert site.redis_pid() != pid


@contextmanager
def _acknowledged(url: str) -> Iterator[list[str]]:
    """Create runs without end from another thread; the list holds those that were acknowledged."""
    created: list[str] = []
    stop = threading.Event()

    def create_runs() -> None:
        with connect(url) as tools:
            for number in itertools.count():
                if stop.is_set():
                    return
                created.append(begin(tools, dict.fromkeys(STATES, "nobody"), f"other-{number}"))

    thread = threading.Thread(target=create_runs)
    thread.start()
    try:
        yield created
    finally:
        stop.set()
        thread.join()
