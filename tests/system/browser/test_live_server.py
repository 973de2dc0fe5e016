"""Event streams of a real server: what becomes of them when it is killed, started again, or asked to stop."""

import json
import signal
import threading
from collections.abc import Iterator
from typing import Any, Final, Self

import httpx2
import pytest

from dcf.application.application import Application
from tests.support.tables import rows
from tests.support.waiting import wait_until
from tests.system.browser.served import ServedPage
from tests.tools.calls import TWO_TASKS
from tests.web.worked_runs import Run, a_run, chain

pytestmark = pytest.mark.processes

RUN_STATES: Final = 4


class Reader:
    """A page as a thread: it reads its stream, and asks again after the last id whenever the stream ended."""

    def __init__(self, url: str, after: str) -> None:
        self.url = url
        self.last = after
        self.heard: list[str] = []
        self.connected = threading.Event()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._keep)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()

    def join(self) -> None:
        self._thread.join(60)
        assert not self._thread.is_alive()

    def _keep(self) -> None:
        while not self._ended.wait(0.02):
            try:
                self._read()
            except httpx2.HTTPError:
                self.connected.clear()

    def _read(self) -> None:
        timeout = httpx2.Timeout(5, read=60)
        with httpx2.stream("GET", self.url, headers={"Last-Event-ID": self.last}, timeout=timeout) as answer:
            self.connected.set()
            message: dict[str, str] = {}
            for line in answer.iter_lines():
                if line:
                    name, _, value = line.partition(": ")
                    message[name] = value
                    continue
                self._take(message)
                message = {}

    def _take(self, message: dict[str, str]) -> None:
        self.last = message.get("id", self.last)
        if message.get("event") == "happened":
            data: Any = json.loads(message["data"])
            self.heard += [event["id"] for event in data["events"]]


@pytest.fixture
def site(application: Application) -> Iterator[ServedPage]:
    with ServedPage(application) as served:
        yield served


def reading(site: ServedPage, run: Run) -> Reader:
    return Reader(f"{site.origin}/ui/runs/{run.workflow_id}/live", run.event_ids()[-1])


def step(run: Run, number: int) -> None:
    run.complete(f"S{number}", run.take(f"S{number}"))


def test_a_page_of_a_killed_server_goes_on_at_the_next_one_without_gap_or_double(
    application: Application, site: ServedPage
) -> None:
    run = a_run(application, chain(RUN_STATES))
    known = run.event_ids()
    with reading(site, run) as reader:
        for number in range(0, RUN_STATES, 2):
            step(run, number)
            site.kill()
            reader.connected.clear()
            step(run, number + 1)  # while there is no server
            site.start()
            assert reader.connected.wait(60)
        wait_until(lambda: known + reader.heard == run.event_ids())
        site.kill()
    reader.join()


@rows(
    "command",
    [
        ("web",),
        ("serve", "--transport", "http", "--web"),
    ],
    ids=["alone", "beside mcp"],
)
def test_a_server_that_stops_ends_its_open_streams_and_does_not_wait_for_them(
    application: Application, command: tuple[str, ...]
) -> None:
    run = a_run(application, TWO_TASKS)
    ended = threading.Event()
    with (
        ServedPage(application, command) as site,
        httpx2.stream("GET", f"{site.origin}/ui/runs/{run.workflow_id}/live", timeout=60) as of_run,
        httpx2.stream("GET", f"{site.origin}/ui/live", timeout=60) as of_list,
    ):

        def drain() -> None:
            for answer in (of_run, of_list):  # a stream that is broken off raises
                answer.read()
            ended.set()

        thread = threading.Thread(target=drain)
        thread.start()
        assert site.stop() == 128 + signal.SIGTERM
        thread.join(60)
    assert ended.is_set(), "the streams ended as streams end"
