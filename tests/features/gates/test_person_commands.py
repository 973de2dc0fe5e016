"""`dcf approve` and `dcf tasks reject` give the verdict on an output that waits for a person."""

import json

import pytest

from dcf.cli import asking as asking_first
from dcf.core.documents.model import RunStatus
from tests.cli.conftest import Dcf
from tests.support.workflows.machines import workflow
from tests.support.world import World

PERSON = {"name": "sign", "kind": "person", "max_attempts": 5}


@pytest.fixture
def run(world: World) -> str:
    """A run whose only state was delivered by ann and waits for a person."""
    run = world.create(workflow({"A": {"Type": "Task", "Gates": [PERSON], "End": True}}), agents={"A": "ann"})
    world.try_complete(run, "A", world.acquire(run, "A", "ann"), output={"text": "done"})
    return run


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking_first, "can_ask", lambda: True)


@pytest.mark.usefixtures("terminal")
def test_on_a_terminal_the_output_is_shown_before_the_verdict_is_given(dcf: Dcf, world: World, run: str) -> None:
    refused = dcf("approve", run, "A", "--as", "alice", stdin="n\n")
    assert '"text": "done"' in refused.stderr
    assert (refused.exit_code, world.run_status(run)) == (1, RunStatus.RUNNING)
    approved = dcf("approve", run, "A", "--as", "alice", "-m", "Good.", stdin="y\n")
    assert (approved.exit_code, f"Gate sign of A of {run}: pass." in approved.stdout) == (0, True)
    assert world.run_status(run) is RunStatus.SUCCEEDED
    (event,) = [event for event in events_of(dcf, run) if event["type"] == "GateDecided"]
    assert (event["verdict"], event["comment"]) == ("pass", "Good.")


@pytest.mark.usefixtures("terminal")
def test_reject_sends_the_output_back_with_the_comment(dcf: Dcf, world: World, run: str) -> None:
    rejected = dcf("tasks", "reject", run, "A", "--as", "alice", "--comment", "Too long.", "--json", stdin="y\n")
    assert json.loads(rejected.stdout.partition("\n")[2])["verdict"] == "fail"
    (event,) = [event for event in events_of(dcf, run) if event["type"] == "GateDecided"]
    assert (event["verdict"], event["comment"]) == ("fail", "Too long.")
    assert world.run_status(run) is RunStatus.RUNNING


@pytest.mark.usefixtures("terminal")
def test_another_answer_than_approve_or_reject_is_no_verdict(dcf: Dcf, world: World, run: str) -> None:
    refused = dcf("tasks", "answer", run, "A", "defer", "--as", "alice", stdin="y\n")
    assert (refused.exit_code, "Answer approve or reject." in refused.stderr) == (2, True)
    assert world.run_status(run) is RunStatus.RUNNING


@pytest.mark.usefixtures("terminal")
def test_the_author_does_not_approve_its_own_output(dcf: Dcf, world: World, run: str) -> None:
    assert "author_may_not_review" in dcf("approve", run, "A", "--as", "ann", stdin="y\n").stderr
    assert world.run_status(run) is RunStatus.RUNNING


def test_without_a_terminal_the_output_must_be_read_and_named(dcf: Dcf, world: World, run: str) -> None:
    epoch = json.loads(dcf("inbox", run, "A", "--json").stdout)["tasks"][0]["epoch"]
    for more in ((), ("--epoch", epoch)):
        unread = dcf("approve", run, "A", "--as", "alice", *more)
        assert (unread.exit_code, f"dcf inbox {run} A" in unread.stderr) == (2, True)
    assert world.run_status(run) is RunStatus.RUNNING
    shown = dcf("inbox", run, "A").stdout
    assert '"text": "done"' in shown
    assert f"dcf gates decide {run} A sign pass --as NAME --content" in shown


def events_of(dcf: Dcf, run: str) -> list[dict[str, str]]:
    return [json.loads(line) for line in dcf("runs", "events", run, "--json").stdout.splitlines()]
