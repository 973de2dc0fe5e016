"""The commands about gates: what waits, a verdict, an override."""

import json

import pytest

from dcf.cli import asking
from dcf.core.documents.model import RunStatus
from tests.cli.conftest import Dcf
from tests.support.workflows.machines import workflow
from tests.support.world import World

CRITERIA = ["Every claim has a source.", "It is short."]
REVIEW = {"name": "review", "kind": "review", "criteria": CRITERIA}


@pytest.fixture
def run(world: World) -> str:
    """A run whose only state was delivered by ann and waits for a review."""
    run = world.create(workflow({"A": {"Type": "Task", "Gates": [REVIEW], "End": True}}), agents={"A": "ann"})
    world.try_complete(run, "A", world.acquire(run, "A", "ann"), output={"text": "done"})
    return run


def hash_of(dcf: Dcf, run: str) -> str:
    return str(json.loads(dcf("gates", run, "A", "--json").stdout)["gates"][0]["content_sha256"])


def test_a_verdict_is_about_the_output_that_was_read(dcf: Dcf, world: World, run: str) -> None:
    judged = ("decide", run, "A", "review", "pass", "--as", "rita")
    shown = " ".join(dcf("gates", run).stdout.split())
    read = hash_of(dcf, run)
    assert f"content sha256: {read}" in shown
    assert f"dcf decide {run} A review pass --as NAME --content-sha256 {read}" in shown
    unread = dcf(*judged)
    assert (unread.exit_code, "--content-sha256" in unread.stderr) == (2, True)
    world.try_complete(run, "A", token_of(world, run), output={"text": "version two"})
    refused = dcf(*judged, "--content-sha256", read)
    assert (refused.exit_code, "content_changed" in refused.stderr) == (1, True)
    assert world.run_status(run) is RunStatus.RUNNING
    assert dcf(*judged, "--content-sha256", hash_of(dcf, run)).exit_code == 0
    assert world.run_status(run) is RunStatus.SUCCEEDED


def test_on_a_terminal_the_output_is_shown_before_the_verdict_is_asked_for(
    dcf: Dcf, world: World, run: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asking, "can_ask", lambda: True)
    judged = ("decide", run, "A", "review", "pass", "--as", "rita", "--json")
    refused = dcf(*judged, stdin="n\n")
    assert ('"text": "done"' in refused.stderr, hash_of(dcf, run) in refused.stderr) == (True, True)
    assert (refused.exit_code, world.run_status(run)) == (1, RunStatus.RUNNING)
    done = dcf(*judged, stdin="y\n")
    assert json.loads(done.stdout.partition("\n")[2])["verdict"] == "pass"
    assert world.run_status(run) is RunStatus.SUCCEEDED


def token_of(world: World, run: str) -> str:
    token = world.doc(run, "A").lease.token
    assert token is not None
    return token


def test_what_waits_is_shown_and_judged(dcf: Dcf, world: World, run: str) -> None:
    shown = dcf("gates", run).stdout
    assert "A  review  (review, by a reviewer)" in shown
    assert f"- {CRITERIA[0]}" in shown
    assert json.loads(dcf("gates", run, "A", "--json").stdout)["gates"][0]["output"] == {"text": "done"}
    assert "waiting_for_verdict" in dcf("why", run).stdout
    read = ("--content-sha256", hash_of(dcf, run))
    assert "author_may_not_review" in dcf("decide", run, "A", "review", "pass", "--as", "ann", *read).stderr
    odd = dcf("decide", run, "A", "review", "fail", "--failed", "Odd.", "--as", "rita", *read)
    assert "is no criterion" in odd.stderr
    decided = dcf("decide", run, "A", "review", "fail", "--failed", CRITERIA[1], "-m", "cut it", "--as", "rita", *read)
    assert decided.stdout == f"Gate review of A of {run}: fail. The state is running.\n"
    assert dcf("gates", run).stdout == f"Nothing of {run} waits for a verdict.\n"
    assert "feedback': 'cut it'" in dcf("events", run, "--type", "GateDecided").stdout.replace('"', "'").replace(
        "feedback':'", "feedback': '"
    )


def test_an_override_stands_in_the_history_with_its_reason(dcf: Dcf, world: World, run: str) -> None:
    told = dcf("override", run, "A", "--reason", "checked by phone", "--as", "olga")
    assert told.stdout == f"Gate review of A of {run}: override. The state is succeeded.\n"
    history = dcf("events", run, "--type", "GateOverridden").stdout
    assert "checked by phone" in history
    assert "olga" in history
    assert world.run_status(run) is RunStatus.SUCCEEDED
