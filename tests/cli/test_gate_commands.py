"""The commands about gates: what waits, a verdict, an override."""

import json

import pytest

from dcf.core.model import RunStatus
from tests.cli.conftest import Dcf
from tests.support.machines import workflow
from tests.support.world import World

CRITERIA = ["Every claim has a source.", "It is short."]
REVIEW = {"name": "review", "kind": "review", "criteria": CRITERIA}


@pytest.fixture
def run(world: World) -> str:
    """A run whose only state was delivered by ann and waits for a review."""
    run = world.create(workflow({"A": {"Type": "Task", "Gates": [REVIEW], "End": True}}), agents={"A": "ann"})
    world.try_complete(run, "A", world.acquire(run, "A", "ann"), output={"text": "done"})
    return run


def test_what_waits_is_shown_and_judged(dcf: Dcf, world: World, run: str) -> None:
    shown = dcf("gates", run).stdout
    assert "A  review  (review, by a reviewer)" in shown
    assert f"- {CRITERIA[0]}" in shown
    assert json.loads(dcf("gates", run, "A", "--json").stdout)["gates"][0]["output"] == {"text": "done"}
    assert "waiting_for_verdict" in dcf("why", run).stdout
    assert "author_may_not_review" in dcf("decide", run, "A", "review", "pass", "--as", "ann").stderr
    assert "is no criterion" in dcf("decide", run, "A", "review", "fail", "--failed", "Odd.", "--as", "rita").stderr
    told = dcf("decide", run, "A", "review", "fail", "--failed", CRITERIA[1], "-m", "cut it", "--as", "rita")
    assert told.stdout == f"Gate review of A of {run}: fail. The state is running.\n"
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
