"""`dcf run` of a flow that is killed half way and continued by the same command, and workers of other flows."""

import json
import signal
from typing import Any

import pytest

from tests.support.waiting import wait_until
from tests.system.flows.runs import RUNS, WATCH, steps_of
from tests.system.flows.watched import LOG
from tests.system.processes.site import LONG, Process, Site, descendants_in, effective, finish, result_of

pytestmark = pytest.mark.processes

FILE = """
from dcf import flow, task

@task
def cancel(booking: str) -> str:
    return f"{{booking}} is cancelled by {name}"

@flow
def {name}(booking: str) -> str:
    return cancel(booking)
"""


def calls_of(site: Site, task: str) -> list[Any]:
    log = site.hooks / LOG
    lines = map(json.loads, log.read_text("utf-8").splitlines()) if log.exists() else ()
    return [line for line in lines if line["task"] == task and line["what"] == "began"]


def test_a_killed_dcf_run_is_continued_by_the_same_command(site: Site) -> None:
    """All of its processes end with it; the step under way is done again, and those before it are not."""
    trip = next(run for run in RUNS if run.run_id == "travel")
    path = site.folder / "travel.py"
    path.write_text(trip.file.read_text("utf-8") + WATCH)
    site.hook("travel.cancel.hold")

    def run() -> Process:
        return site.dcf("run", str(path), "city=Rome", "nights=30", "--id", "trip", "--lease-ttl", "2", "--json")

    first = run()
    wait_until(lambda: calls_of(site, "travel.cancel"), LONG)
    booked = len(calls_of(site, "travel.book"))
    first.kill()
    assert first.wait(LONG) == -signal.SIGKILL
    wait_until(lambda: not descendants_in(site.folder), LONG)
    (site.hooks / "travel.cancel.hold").unlink()

    result, code = result_of(run())
    story = trip.simulated()
    assert (code, result["status"], result["error"], result["cause"]) == (1, "failed", story.error, story.cause)
    assert (len(calls_of(site, "travel.book")), len(calls_of(site, "travel.cancel"))) == (booked, 2)
    succeeded, steps = effective(site.printed_events("trip")), steps_of(story)
    assert {state: succeeded.get(state) for state in steps} == steps


def test_a_worker_of_another_flow_leaves_a_step_of_one_name_to_its_own_worker(site: Site) -> None:
    for name in ("travel", "shop"):
        (site.folder / f"{name}.py").write_text(FILE.format(name=name))

    def worker(name: str) -> Process:
        return site.dcf("worker", str(site.folder / f"{name}.py"), "--agent-id", "me", "--direct")

    start = ("start", str(site.folder / "travel.py"), "booking=B-7", "--assign", "me", "--id", "trip")
    assert finish(site.dcf(*start)) == ("trip\n", 0)
    other = worker("shop")
    text = "the state means the function travel.cancel, and this worker has shop.cancel. Serve the file of that flow."
    wait_until(lambda: text in site.said(other), LONG)
    (finding,) = json.loads(finish(site.dcf("why", "trip", "--json"))[0])["findings"]
    assert finding["sentence"].endswith("; only a worker that has the function travel.cancel does it.")
    other.terminate()
    other.wait(LONG)

    mine = worker("travel")
    assert finish(site.dcf("runs", "notify", "trip", "cancel"))[1] == 0
    wait_until(lambda: effective(site.events("trip")).get("cancel"), LONG)
    meta = json.loads(finish(site.dcf("show", "trip", "--json"))[0])
    assert (meta["meta"]["output"], meta["states"]["cancel"]["attempts"]) == ("B-7 is cancelled by travel", 1)
    mine.terminate()
    mine.wait(LONG)
