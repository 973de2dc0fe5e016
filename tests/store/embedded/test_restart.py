"""The server dies and comes back: what was acknowledged is there, and calls in flight succeed."""

import os
import signal
import threading
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from dcf.core.documents.model import Status
from dcf.store.connection.connections import Connections, open_pool
from dcf.store.embedded import server as embedded
from dcf.store.embedded.server import EmbeddedServer
from dcf.values.refusal import Refusal
from tests.support.waiting import wait_until
from tests.support.workflows.machines import chain, numbered_chain
from tests.support.world import World, new_token


@pytest.fixture
def mortal(short_directory: Path) -> Iterator[EmbeddedServer]:
    """A server of this test's own that syncs every write."""
    with embedded.start(short_directory / uuid.uuid4().hex[:8], appendfsync="always") as server:
        yield server


@pytest.fixture
def survivor(mortal: EmbeddedServer) -> Iterator[World]:
    world = World(connections=Connections(open_pool(mortal.url), mortal.revive), deadline_s=30)
    yield world
    world.connections.close()


def kill(server: EmbeddedServer) -> None:
    os.kill(server.pid, signal.SIGKILL)


def test_acknowledged_writes_survive_a_kill_and_the_next_call_finds_them(
    mortal: EmbeddedServer, survivor: World
) -> None:
    run = survivor.create(chain("A", "B"), agents={"B": "b"})
    survivor.do(run, "A", output={"x": 1})
    before = [event.event_id for event in survivor.events(run)]
    kill(mortal)
    assert survivor.statuses(run) == {"A": "succeeded", "B": "pending"}
    assert survivor.given(run, "B") == {"x": 1}
    assert [event.event_id for event in survivor.events(run)] == before
    assert [target.state for target in survivor.notifications.deliver(run)] == ["B"]


def test_every_kind_of_call_finds_its_way_after_a_kill(mortal: EmbeddedServer, survivor: World) -> None:
    run = survivor.create(chain("A", "B"), agents={"A": "a", "B": "b"})
    kill(mortal)
    survivor.plane.kick_off(run, "go")
    kill(mortal)
    assert [target.sent for target in survivor.notifications.notify_next(run, None)] == [True]
    kill(mortal)
    token = survivor.acquire(run, "A", "a")
    kill(mortal)
    survivor.complete(run, "A", token)
    kill(mortal)
    assert survivor.notifications.pulse() == 1
    assert [event["target_state"] for event in survivor.messages("b")] == ["B"]


def test_calls_in_flight_while_the_server_is_killed_again_and_again_all_succeed_once(
    mortal: EmbeddedServer, survivor: World
) -> None:
    runs = [survivor.create(numbered_chain(12)) for _ in range(3)]
    kills, has_gone_on = 0, threading.Event()

    def work(run: str) -> None:
        for number in range(12):
            before, token = kills, new_token()
            taken = survivor.try_acquire(run, f"S{number}", token=token)
            assert not isinstance(taken, Refusal), taken
            done = survivor.try_complete(run, f"S{number}", token, number)
            assert not isinstance(done, Refusal), done
            if before == kills:  # all of it was done since the last kill: the server is there
                has_gone_on.set()

    with ThreadPoolExecutor(3) as threads:
        tasks = [threads.submit(work, run) for run in runs]
        for _ in range(3):
            wait_until(lambda: has_gone_on.is_set() or all(task.done() for task in tasks))
            if has_gone_on.is_set():
                kill(mortal)
                kills += 1
                has_gone_on.clear()
        for task in tasks:
            task.result()
    for run in runs:
        assert survivor.run_status(run) == "succeeded"
        assert {doc.attempts for doc in survivor.docs(run).values()} == {1}
        assert {doc.status for doc in survivor.docs(run).values()} == {Status.SUCCEEDED}
        assert survivor.event_types(run).count("StateSucceeded") == 12
