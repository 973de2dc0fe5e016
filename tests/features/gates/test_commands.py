"""The commands about gates: what waits, a verdict, an override."""

import json
import secrets
import shlex
from typing import Any

import pytest

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
    return str(json.loads(dcf("gates", "ls", run, "A", "--json").stdout)["gates"][0]["content_sha256"])


def test_a_verdict_is_about_the_output_that_was_read(dcf: Dcf, world: World, run: str) -> None:
    judged = ("gates", "decide", run, "A", "review", "pass", "--as", "rita")
    shown = " ".join(dcf("gates", "ls", run).stdout.split())
    read = hash_of(dcf, run)
    assert f"content sha256: {read}" in shown
    assert f"dcf gates decide {run} A review pass --as NAME --content {read}" in shown
    unread = dcf(*judged)
    assert (unread.exit_code, "--content" in unread.stderr) == (2, True)
    world.try_complete(run, "A", token_of(world, run), output={"text": "version two"})
    refused = dcf(*judged, "--content", read)
    assert (refused.exit_code, "content_changed" in refused.stderr) == (1, True)
    assert "Read it again" in refused.stderr
    assert hash_of(dcf, run) not in refused.stderr
    assert world.run_status(run) is RunStatus.RUNNING
    assert dcf(*judged, "--content", hash_of(dcf, run)).exit_code == 0
    assert world.run_status(run) is RunStatus.SUCCEEDED


def test_the_command_that_is_printed_judges_as_it_stands(dcf: Dcf, world: World, run: str) -> None:
    line = next(line for line in dcf("gates", "ls", run).stdout.splitlines() if "dcf gates decide" in line)
    judged = dcf(*shlex.split(line.replace("NAME", "rita"))[1:])
    assert judged.stdout == f"Gate review of A of {run}: pass. The state is succeeded.\n"
    (verdict,) = [event for event in events_of(dcf, run) if event["type"] == "GateDecided"]
    assert [row["passed"] for row in verdict["criteria"]] == [True, True]


def test_what_somebody_may_judge_is_found_across_runs_page_by_page(dcf: Dcf, world: World) -> None:
    text = f"paula-{secrets.token_hex(4)}"
    review = {**REVIEW, "reviewers": [text]}
    runs = []
    for _ in range(2):
        run = world.create(workflow({"A": {"Type": "Task", "Gates": [review], "End": True}}), agents={"A": "ann"})
        world.try_complete(run, "A", world.acquire(run, "A", "ann"), output={"text": "x" * 9000})
        runs.append(run)
    first = dcf("gates", "ls", "--as", text, "--limit", 1)
    assert f"`dcf gates ls {runs[0]} A` shows the output." in first.stdout
    assert "the same command with --cursor" in " ".join(first.stderr.split())
    cursor = json.loads(dcf("gates", "ls", "--as", text, "--limit", 1, "--json").stdout)["next_cursor"]
    assert (
        f"dcf gates decide {runs[1]} A review"
        in dcf("gates", "ls", "--as", text, "--limit", 1, "--cursor", cursor).stdout
    )
    assert "x" * 9000 in dcf("gates", "ls", runs[0], "A").stdout
    assert dcf("gates", "ls", "--as", "nobody").stdout == "Nothing waits for a verdict.\n"


def events_of(dcf: Dcf, run: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in dcf("runs", "events", run, "--json").stdout.splitlines()]


def token_of(world: World, run: str) -> str:
    token = world.doc(run, "A").lease.token
    assert token is not None
    return token


def test_what_waits_is_shown_and_judged(dcf: Dcf, world: World, run: str) -> None:
    shown = dcf("gates", "ls", run).stdout
    assert "A  review  (review, by a reviewer)" in shown
    assert f"- {CRITERIA[0]}" in shown
    assert json.loads(dcf("gates", "ls", run, "A", "--json").stdout)["gates"][0]["output"] == {"text": "done"}
    assert "waiting_for_verdict" in dcf("why", run).stdout
    read = ("--content", hash_of(dcf, run))
    assert "author_may_not_review" in dcf("gates", "decide", run, "A", "review", "pass", "--as", "ann", *read).stderr
    odd = dcf("gates", "decide", run, "A", "review", "fail", "--failed", "Odd.", "--as", "rita", *read)
    assert "invalid_verdict" in odd.stderr
    assert "not a criterion: Odd." in odd.stderr
    decided = dcf(
        "gates", "decide", run, "A", "review", "fail", "--failed", CRITERIA[1], "-m", "cut it", "--as", "rita", *read
    )
    assert decided.stdout == f"Gate review of A of {run}: fail. The state is running.\n"
    assert dcf("gates", "ls", run).stdout == f"Nothing of {run} waits for a verdict.\n"
    assert "feedback': 'cut it'" in dcf("runs", "events", run, "--type", "GateDecided").stdout.replace(
        '"', "'"
    ).replace("feedback':'", "feedback': '")


def test_an_override_stands_in_the_history_with_its_reason(dcf: Dcf, world: World, run: str) -> None:
    finished = dcf("gates", "override", run, "A", "--reason", "checked by phone", "--as", "olga")
    assert finished.stdout == f"Gate review of A of {run}: override. The state is succeeded.\n"
    history = dcf("runs", "events", run, "--type", "GateOverridden").stdout
    assert "checked by phone" in history
    assert "olga" in history
    assert world.run_status(run) is RunStatus.SUCCEEDED
