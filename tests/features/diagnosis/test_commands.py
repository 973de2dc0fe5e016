"""`dcf why`: what a person learns of a run that does not move."""

import json
from collections.abc import Callable, Iterator

import pytest

from dcf.core.documents.model import Status
from dcf.store.keys import table as keys
from tests.cli.conftest import Dcf
from tests.features.diagnosis.test_operations import clock_looked, overdue, put, started
from tests.support.ahead import now
from tests.support.tables import rows
from tests.support.workflows.machines import chain, workflow
from tests.support.workflows.scopes import retrying, task
from tests.support.world import World

LONG_AGO = "2001-01-01T00:00:00.000000Z"
HOSTILE = "\x1b[31mred\u202e\r\n[bold]<script>"


@pytest.fixture(autouse=True)
def _clock(world: World) -> None:
    clock_looked(world)


def worker_missing(world: World) -> str:
    return started(world, chain("A"), agents={"A": "a-gone"})


def nobody_notified(world: World) -> str:
    run = world.create(chain("A"), agents={"A": "a-1"})
    world.plane.kick_off(run, "initial")
    return run


def nobody_assigned(world: World) -> str:
    return started(world, chain("A"))


def never_started(world: World) -> str:
    return world.create(chain("A"), agents={"A": "a-1"})


def holder_vanished(world: World) -> str:
    run = started(world, chain("A"), agents={"A": "a-1"})
    world.acquire(run, "A", "a-1")
    world.expire_lease(run, "A")
    return run


def holder_hangs(world: World) -> str:
    run = started(world, chain("A"), agents={"A": "a-1"})
    token = world.acquire(run, "A", "a-1")
    put(world, run, "A", "started_at", LONG_AGO)
    world.renew(run, "A", token)
    return run


def worker_fails(world: World) -> str:
    document = workflow({"A": {**task(), "Retry": retrying("States.ALL", IntervalSeconds=3600)}})
    run = started(world, document, agents={"A": "a-1"})
    for _ in range(2):
        put(world, run, "A", "not_before", None)
        world.update(run, "A", world.acquire(run, "A", "a-1"), status=Status.FAILED, error="Broken", cause=HOSTILE)
    return run


def clock_is_late(world: World) -> str:
    run = started(world, workflow({"Pause": {"Type": "Wait", "Seconds": 3600, "End": True}}))
    overdue(world, run, "Pause")
    return run


CASES: dict[Callable[[World], str], tuple[str, str]] = {
    worker_missing: ("not_taken", "a-gone was notified once"),
    nobody_notified: ("not_notified", "a-1 was not told"),
    nobody_assigned: ("nobody_assigned", "no agent is assigned"),
    never_started: ("not_started", "was created and not started"),
    holder_vanished: ("lease_expired", "no agent took over"),
    holder_hangs: ("lease_held", "renewed last at"),
    worker_fails: ("keeps_failing", "failed 2 times"),
    clock_is_late: ("clock_late", "The clock is late"),
}
"""Eight runs that look the same in a list: cause and words by what happened to them."""


@rows("case", CASES, ids=lambda case: case.__name__)
def test_each_stuck_run_is_told_apart_with_what_helps(dcf: Dcf, world: World, case: Callable[[World], str]) -> None:
    run, (cause, words) = case(world), CASES[case]
    stdout = dcf("why", run).stdout
    assert f"! {cause}: " in stdout or f"· {cause}: " in stdout
    assert words in stdout
    assert sum(stdout.count(f"{other}: ") for other, _ in CASES.values()) == 1, stdout
    assert "\n  → " in stdout
    assert "\x1b" not in stdout
    assert "\u202e" not in stdout


def test_why_for_programs(dcf: Dcf, world: World) -> None:
    run = worker_missing(world)
    document = json.loads(dcf("why", run, "--json").stdout)
    (finding,) = document["findings"]
    assert (document["workflow_id"], document["run_status"], document["stuck"]) == (run, "running", False)
    assert finding["remedy"]["call"] == {"tool": "notify_if_ready", "arguments": {"workflow_id": run, "state": "A"}}


def test_why_of_one_state(dcf: Dcf, world: World) -> None:
    run = started(world, chain("A", "B"), agents={"A": "a-gone"})
    assert "State 'B' waits for A." in dcf("why", run, "B").stdout


def test_a_run_that_is_over_and_one_that_is_not_there(dcf: Dcf, world: World) -> None:
    run = worker_missing(world)
    world.do(run, "A", "a-gone")
    world.finalize(run)
    assert f"dcf runs rerun {run}" in dcf("why", run).stdout
    assert dcf("why", "no-such-run").exit_code == 3


def test_why_of_a_failed_run_names_state_error_and_the_command_that_continues_it(dcf: Dcf, world: World) -> None:
    run = worker_missing(world)
    world.fail(run, "A", world.acquire(run, "A", "a-gone"), "Broken", "the tank is empty")
    stdout = dcf("why", run).stdout
    assert "A failed after 1 attempt: Broken: the tank is empty" in stdout
    assert f"dcf retry {run}" in stdout
    world.finalize(run)
    assert f"dcf retry {run}" not in dcf("why", run).stdout, "a finalized run cannot be retried"
    assert json.loads(dcf("why", run, "--json").stdout)["findings"] == []


def test_show_says_why_as_well(dcf: Dcf, world: World) -> None:
    run = nobody_assigned(world)
    assert "nobody_assigned: " in dcf("show", run).stdout
    (finding,) = json.loads(dcf("show", run, "--json").stdout)["findings"]
    assert finding["cause"] == "nobody_assigned"


@pytest.fixture
def no_clock(world: World) -> Iterator[None]:
    world.ask("DEL", keys.SERVER_TIME)
    yield
    world.ask("SET", keys.SERVER_TIME, now(world))


@pytest.mark.usefixtures("no_clock")
def test_a_clock_that_is_not_there(dcf: Dcf, world: World) -> None:
    stdout = dcf("why", clock_is_late(world)).stdout
    assert "! clock_absent: No clock has ever looked" in stdout
    assert "dcf store pulse" in stdout


def test_events_by_state_type_and_time(dcf: Dcf, world: World) -> None:
    run = started(world, chain("A", "B"), agents={"A": "a-1"})
    world.do(run, "A", "a-1")
    parts = dcf(
        "runs", "events", run, "--state", "A", "--type", "LeaseAcquired", "--type", "StateSucceeded"
    ).stdout.split("\n")
    assert [line.split()[1] for line in parts if line] == ["LeaseAcquired", "StateSucceeded"]
    assert dcf("runs", "events", run, "--since", "1h").stdout == dcf("runs", "events", run).stdout != ""
    assert dcf("runs", "events", run, "--until", "2001-01-01T00:00:00Z").stdout == ""
    newest = dcf("runs", "events", run, "--newest", "--json").stdout.splitlines()
    assert newest == dcf("runs", "events", run, "--json").stdout.splitlines()[::-1]
    first = dcf("runs", "events", run, "--json", "--limit", "2")
    cursor = first.stderr.split()[-1]
    rest = dcf("runs", "events", run, "--json", "--cursor", cursor).stdout
    assert first.stdout + rest == dcf("runs", "events", run, "--json").stdout


@rows("wrong", [["--since", "noon"], ["--cursor", "x"], ["--newest", "--follow"]])
def test_events_refuses_what_it_does_not_understand(dcf: Dcf, world: World, wrong: list[str]) -> None:
    assert dcf("runs", "events", nobody_assigned(world), *wrong).exit_code == 2
