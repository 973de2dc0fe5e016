"""`dcf worker` as a real process: what it shows, how it ends, and how a cancelled run reaches its functions."""

import json
import signal
from typing import Any

import pytest

from dcf.tools.calling.client import ToolClient
from tests.support.waiting import wait_until
from tests.system.processes.site import LONG, Process, Server, Site, finish, first_line

pytestmark = pytest.mark.processes

FUNCTIONS = """
import asyncio, os, time
from pathlib import Path
from dcf.worker import TaskContext, TaskFailed, task

HERE = Path(os.environ["DCF_TEST_HOOKS"])
TOGETHER = []

def note(what, text=""):
    (HERE / f"{what}.note").write_text(str(text))

@task("Quick")
def quick(given):
    if given == "bad":
        raise TaskFailed("NoGood", "it is bad")
    return given

@task("Held")
def held(given):
    note(f"held-{given}")
    while not (HERE / f"go-{given}").exists():
        time.sleep(0.01)
    return given

@task("Patient")
async def patient(given, context: TaskContext):
    note("patient", context.idempotency_key)
    try:
        await asyncio.sleep(3600)
    except asyncio.CancelledError:
        note("patient-cancelled")
        raise

@task("Meet")
async def meet(given):
    TOGETHER.append(given)
    while len(TOGETHER) < 50:
        await asyncio.sleep(0.01)
    return given
"""


class Shop:
    """A server, a file of functions, and runs of one state for the agent `me`."""

    def __init__(self, site: Site, server: Server, tools: ToolClient, number: int) -> None:
        self.site, self.server, self.tools, self.number = site, server, tools, number
        self.hooks = site.folder / f"hooks-{number}"
        self.hooks.mkdir()
        self.file = site.folder / "functions.py"
        self.file.write_text(FUNCTIONS)
        self.started = 0

    def worker(self, *arguments: str) -> Process:
        """Start a worker and wait until it has imported everything."""
        command = ("worker", str(self.file), "--agent-id", self.agent, "--server", self.server.url, "--json")
        process = self.site.dcf(*command, *arguments, DCF_TEST_HOOKS=str(self.hooks))
        first_line(process)
        return process

    @property
    def agent(self) -> str:
        return f"me-{self.number}"

    def start(self, state: str, given: Any = None, **more: Any) -> str:
        run = f"run-{self.number}-{self.started}"
        self.started += 1
        machine = {"StartAt": state, "States": {state: {"Type": "Task", "End": True, **more}}}
        self.begin(run, machine, state, given)
        return run

    def begin(self, run: str, machine: dict[str, Any], state: str, value: Any) -> None:
        document = {"workflow_name": "one", "asl": machine}
        agents = {state: self.agent}
        answer = self.tools.call(
            "start_run", workflow_json=document, input_json=json.dumps(value), agents_map_json=agents, workflow_id=run
        )
        assert answer["code"] == "ok", answer

    def has(self, note: str) -> bool:
        return (self.hooks / f"{note}.note").exists()

    def meta(self, run: str) -> dict[str, Any]:
        meta: dict[str, Any] = self.tools.call("read_workflow_control_plane", workflow_id=run)["meta"]
        return meta

    def wait_for_end(self, run: str) -> dict[str, Any]:
        wait_until(lambda: self.meta(run)["status"] != "running", LONG)
        return self.meta(run)


@pytest.fixture
def shop(shared_site: Site, shared_server: Server, tools: ToolClient, request: pytest.FixtureRequest) -> Shop:
    number = len(list(shared_site.folder.glob("hooks-*")))
    return Shop(shared_site, shared_server, tools, number)


def lines(output: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in output.splitlines()]


def told_until(worker: Process, event: str) -> list[dict[str, Any]]:
    """The lines of a worker up to this event: the run may end before its worker has printed it."""
    told_until = lines(_read_on(worker))
    while told_until[-1]["event"] != event:
        told_until += lines(_read_on(worker))
    return told_until


def test_a_program_reads_a_line_for_whatever_happens_to_a_state(shop: Shop) -> None:
    worker = shop.worker()
    good, bad = shop.start("Quick", "good"), shop.start("Quick", "bad")
    assert (shop.wait_for_end(good)["status"], shop.wait_for_end(bad)["error"]) == ("succeeded", "NoGood")
    details = told_until(worker, "failed")
    worker.send_signal(signal.SIGINT)
    output, code = finish(worker)
    details += lines(output)
    state = {"state": "Quick"}
    assert {"event": "taken", "workflow_id": good, "attempt": 1} | state in details
    assert {"event": "done", "workflow_id": good} | state in details
    assert {"event": "failed", "workflow_id": bad, "error": "NoGood", "cause": "it is bad"} | state in details
    assert details[-2] == {"event": "stopping", "signal": "SIGINT", "in_hand": 0}
    assert details[-1] == {"event": "stopped", "taken": 2, "done": 1, "failed": 1, "lost": 0, "given_back": []}
    assert code == 130


@pytest.mark.parametrize("concurrency", ["1", "3"])
def test_told_to_end_it_finishes_what_it_has_in_hand_and_takes_no_more(shop: Shop, concurrency: str) -> None:
    worker = shop.worker("--concurrency", concurrency)
    first = shop.start("Held", "a")
    wait_until(lambda: shop.has("held-a"), LONG)
    worker.terminate()
    wait_until(lambda: '"stopping"' in _read_on(worker), LONG)
    second = shop.start("Held", "b")
    (shop.hooks / "go-a").touch()
    output, code = finish(worker)
    assert code == 143
    assert shop.meta(first)["status"] == "succeeded"
    assert lines(output)[-1]["done"] == 1
    assert not shop.has("held-b")
    assert shop.meta(second)["status"] == "running", "another worker may take it"


def _read_on(worker: Process) -> str:
    assert worker.stdout is not None
    return worker.stdout.readline()


@pytest.mark.parametrize("concurrency", ["1", "3"])
def test_what_is_not_finished_in_time_is_given_back_and_taken_by_another_at_once(shop: Shop, concurrency: str) -> None:
    """Not when the lease has expired, after an hour."""
    worker = shop.worker("--grace", "0", "--lease-ttl", "3600", "--concurrency", concurrency)
    run = shop.start("Held", "c")
    wait_until(lambda: shop.has("held-c"), LONG)
    worker.terminate()
    output, code = finish(worker)
    assert (code, lines(output)[-1]["given_back"]) == (143, [f"{run}/Held"])
    (shop.hooks / "go-c").touch()
    shop.worker()
    assert shop.wait_for_end(run)["status"] == "succeeded"


def test_an_async_function_is_cancelled_when_the_time_to_finish_is_over(shop: Shop) -> None:
    worker = shop.worker("--grace", "0", "--concurrency", "2")
    run = shop.start("Patient")
    wait_until(lambda: shop.has("patient"), LONG)
    worker.terminate()
    output, _ = finish(worker)
    assert shop.has("patient-cancelled")
    assert lines(output)[-1]["given_back"] == [f"{run}/Patient"]


def test_a_second_signal_ends_it_at_once(shop: Shop) -> None:
    worker = shop.worker()
    shop.start("Held", "d")
    wait_until(lambda: shop.has("held-d"), LONG)
    worker.terminate()
    wait_until(lambda: '"stopping"' in _read_on(worker), LONG)
    worker.terminate()
    output, code = finish(worker)
    assert (code, output) == (-signal.SIGTERM, "")


def test_a_person_reads_what_it_does_and_why_it_ends(shop: Shop) -> None:
    command = ("worker", str(shop.file), "--agent-id", shop.agent, "--server", shop.server.url)
    worker = shop.site.dcf(*command, "--grace", "0", DCF_TEST_HOOKS=str(shop.hooks))
    bad, start = shop.start("Quick", "bad"), shop.start("Held", "e")
    wait_until(lambda: shop.has("held-e"), LONG)
    worker.terminate()
    assert finish(worker) == ("", 143)
    text = shop.site.said(worker)
    assert f"worker {shop.agent} serves Held, Meet, Patient, Quick" in text
    assert "SIGTERM: takes no new states; 1 state may finish within 0 s. A second signal ends it at once." in text
    assert f"2 taken, 0 done, 1 failed, 1 released or lost; last failure: {bad}/Quick: NoGood: it is bad" in text
    assert f"released unfinished states for other workers: {start}/Held" in text


def test_the_cancellation_of_a_run_reaches_the_function(shop: Shop) -> None:
    worker = shop.worker("--lease-ttl", "1")
    run = shop.start("Patient")
    wait_until(lambda: shop.has("patient"), LONG)
    shop.tools.call("cancel_run", workflow_id=run, request_id="stop")
    wait_until(lambda: shop.has("patient-cancelled"), LONG)
    worker.terminate()
    last = lines(finish(worker)[0])[-1]
    assert (last["lost"], last["given_back"]) == (1, [])


def test_one_process_serves_fifty_states_at_once_that_wait(shop: Shop) -> None:
    shop.worker("--concurrency", "50")
    score = {"StartAt": "Meet", "States": {"Meet": {"Type": "Task", "End": True}}}
    each = {"Type": "Map", "MaxConcurrency": 50, "ItemProcessor": score, "End": True}
    run = f"run-{shop.number}-fifty"
    shop.begin(run, {"StartAt": "Each", "States": {"Each": each}}, "Meet", list(range(50)))
    assert shop.wait_for_end(run)["output"] == list(range(50))


def test_the_key_of_a_visit_is_the_same_for_another_worker_that_tries_again(shop: Shop) -> None:
    shop.start("Patient")
    keys: list[str] = []
    for _ in range(2):
        worker = shop.worker("--grace", "0")
        note = shop.hooks / "patient.note"
        wait_until(note.exists, LONG)
        wait_until(lambda note=note: note.read_text() != "", LONG)  # type: ignore[misc]
        keys.append(note.read_text())
        worker.terminate()
        finish(worker)
        note.unlink()
    assert keys[0] == keys[1]
    assert keys[0].startswith("dcf-")
