"""The commands that operate a run, for people and for programs."""

import json

import pytest

from dcf.cli.running.live_progress import LiveProgress
from dcf.core.documents.model import RunStatus, Status
from dcf.core.leasing.lease import Acquire
from tests.cli.conftest import Dcf, Seed
from tests.support.tables import rows
from tests.support.world import World


def test_a_run_is_paused_and_resumed_and_every_face_says_so(dcf: Dcf, seed: Seed, world: World) -> None:
    run = seed(agent="agent-1")
    world.plane.kick_off(run, "go")
    stdout = dcf("runs", "pause", run, "--reason", "lunch").stdout
    assert stdout.startswith(
        f"Run '{run}' is paused. Holders may finish; no lease is granted until `dcf runs resume {run}`."
    )
    shown = dcf("show", run).stdout
    assert "‖ paused" in shown
    assert "the run is paused; then for agent-1" in shown
    assert "‖ paused" in dcf("ls", "--limit", 1).stdout
    assert ", paused" in dcf("graph", run, "-o", "svg").stdout
    assert "reason=lunch" in dcf("runs", "events", run).stdout
    assert "by=local" in dcf("runs", "events", run).stdout
    resumed = json.loads(dcf("runs", "resume", run, "--json").stdout)
    assert (resumed["workflow_id"], resumed["paused_at"], resumed["announced"]) == (run, None, 1)
    assert "▶ running" in dcf("show", run).stdout


def test_a_run_is_cancelled_when_that_is_said(dcf: Dcf, seed: Seed, world: World) -> None:
    run = seed(agent="agent-1")
    refused = dcf("cancel", run)
    assert (refused.exit_code, world.run_status(run)) == (2, RunStatus.RUNNING)
    assert "Add --yes" in refused.stderr
    stdout = dcf("cancel", run, "--yes", "--reason", "wrong customer").stdout
    assert stdout.startswith(f"Run '{run}' is cancelled. Holders are told to stop")
    assert world.run_status(run) is RunStatus.CANCELLED
    assert "\nwrong customer\n" in dcf("show", run).stdout
    again = dcf("runs", "pause", run)
    assert again.exit_code == 1
    assert "run_over: The run has ended: it is cancelled." in again.stderr


def test_a_repeated_command_says_that_it_was_applied_before(dcf: Dcf, seed: Seed) -> None:
    run = seed(agent="agent-1")
    first = json.loads(dcf("runs", "pause", run, "--request-id", "r1", "--json").stdout)
    again = json.loads(dcf("runs", "pause", run, "--request-id", "r1", "--json").stdout)
    assert again == {**first, "repeated": True}
    assert "An earlier command with this --request-id did it." in dcf("runs", "pause", run, "--request-id", "r1").stdout
    assert "conflict" in dcf("runs", "resume", run, "--request-id", "r1").stderr


@rows(
    ("options", "status", "output"),
    [
        (("--output", '{"by": "hand"}'), Status.SUCCEEDED, {"by": "hand"}),
        (("--skip",), Status.SUCCEEDED, "given"),
        (("--error", "ByHand", "--cause", "cannot be done"), Status.FAILED, None),
    ],
)
def test_a_state_is_resolved(
    dcf: Dcf, seed: Seed, world: World, options: tuple[str, ...], status: Status, output: object
) -> None:
    run = seed("given", agent="agent-1")
    assert dcf("states", "resolve", run, "Only", *options).exit_code == 2
    finished = dcf("states", "resolve", run, "Only", *options, "--yes")
    assert finished.stdout.startswith(f"State 'Only' of run '{run}' is {status}. The run has ended")
    assert (world.doc(run, "Only").status, world.output(run, "Only")) == (status, output)


def test_an_output_that_does_not_match_its_schema_is_told_and_taken_only_with_force(dcf: Dcf, world: World) -> None:
    only = {"Type": "Task", "OutputSchema": {"type": "object", "required": ["total", "tax"]}, "End": True}
    run = world.create({"asl": {"StartAt": "Only", "States": {"Only": only}}})
    resolving = ("states", "resolve", run, "Only", "--output", "{}", "--yes")
    refused = dcf(*resolving)
    assert refused.exit_code == 1
    assert "output_invalid: The output of 'Only' does not match its OutputSchema" in refused.stderr
    assert "/: 'tax' is missing." in refused.stderr.lower()
    assert world.output(run, "Only") is None
    assert dcf(*resolving, "--force").exit_code == 0
    assert world.output(run, "Only") == {}


def test_a_state_is_assigned_without_a_question(dcf: Dcf, seed: Seed, world: World) -> None:
    run = seed(agent="agent-1")
    document = json.loads(dcf("states", "resolve", run, "Only", "--assign", "a", "--assign", "b", "--json").stdout)
    assert document["assigned"] == ["a", "b"]
    assert world.meta(run)["agents"] == {"Only": ["a", "b"]}


def test_what_contradicts_itself_is_refused_before_anything_is_opened(dcf: Dcf, seed: Seed) -> None:
    run = seed(agent="agent-1")
    assert dcf("states", "resolve", run, "Only", "--skip", "--error", "E", "--yes").exit_code == 2
    assert dcf("states", "resolve", run, "Only", "--yes").exit_code == 2
    assert dcf("states", "resolve", run, "Nobody", "--skip", "--yes").exit_code == 3
    assert dcf("states", "resolve", "no-such-run", "Only", "--skip", "--yes").exit_code == 3


def test_a_lease_is_ended_by_hand(dcf: Dcf, seed: Seed, world: World) -> None:
    run = seed(agent="agent-1")
    world.plane.acquire(run, Acquire(state="Only", owner="agent-1", token="canary-token", ttl_s=60))
    assert dcf("states", "release", run, "Only").exit_code == 2
    assert dcf("states", "release", run, "Only", "--yes", "--reason", "it hangs").stdout.startswith("Only is free")
    (released,) = [event for event in world.events(run) if event.type == "LeaseReleased"]
    assert released.data["reason"] == "it hangs"
    assert world.doc(run, "Only").lease.token is None
    assert dcf("states", "release", run, "Only", "--yes").stdout == "Only had no lease.\n"
    shown = dcf("states", "release", run, "Only", "--yes", "--json").stdout
    assert json.loads(shown)["status"] == "lease_already_clear"
    assert "canary" not in shown


def test_a_run_is_started_and_agents_are_told_again(dcf: Dcf, seed: Seed, world: World) -> None:
    run = seed(agent="agent-1")
    assert dcf("runs", "notify", run).stdout == "Only: agent-1 is notified.\n"
    assert world.meta(run)["started_at"] is not None
    (row,) = json.loads(dcf("runs", "notify", run, "Only", "--json").stdout)
    assert (row["state"], row["agent_id"], row["sent"]) == ("Only", "agent-1", True)
    dcf("runs", "pause", run)
    assert "no agent is notified" in dcf("runs", "notify", run, "Only").stdout
    assert "run_paused" in dcf("runs", "notify", run).stderr


def test_whoever_follows_a_run_is_told_when_it_is_paused_and_resumed(capsys: pytest.CaptureFixture[str]) -> None:
    meta = {"workflow_id": "r", "status": "running", "paused_at": None}
    paused, over = meta | {"paused_at": "2026-01-01T00:00:00Z"}, meta | {"status": "cancelled"}
    with LiveProgress(quiet=True) as tell:
        for result in (meta, paused, paused, meta, meta, over):
            tell({"meta": result, "states": {}, "more": {}})
    details = [line.partition(",")[0] for line in capsys.readouterr().err.splitlines()[1:]]
    assert details == ["dcf: run paused", "dcf: run resumed", "dcf: run cancelled"]


def test_a_run_is_closed_for_good_and_repeated_it_tells_the_first_result(dcf: Dcf, seed: Seed, world: World) -> None:
    run = seed(agent="agent-1")
    assert dcf("runs", "finalize", run).exit_code == 2
    finished = dcf("runs", "finalize", run, "--yes", "--reason", "not wanted")
    assert (finished.exit_code, finished.stdout) == (0, f"{run} is closed: cancelled.\n")
    assert world.events(run)[-1].data == {"status": "cancelled", "reason": "not wanted"}
    assert (world.events(run)[-1].by, world.meta(run)["finalize_note"]) == ("local", "not wanted")
    again = dcf("runs", "finalize", run, "--yes", "--status", "succeeded", "--json")
    assert json.loads(again.stdout)["audit"]["final_status"] == "cancelled"
    assert json.loads(again.stdout)["warnings"] == ["The run was finalized before; this is the first result."]
    assert dcf("runs", "finalize", run, "--yes", "--status", "running").exit_code == 2
    assert dcf("runs", "finalize", "no-such-run", "--yes").exit_code == 3


def test_hints_name_commands_and_not_tools(dcf: Dcf, seed: Seed) -> None:
    run = seed(agent="agent-1")
    stdout = dcf("cancel", run, "--yes").stdout
    assert f"`dcf runs finalize {run}`" in " ".join(stdout.split())
    finished = dcf("runs", "hold", run)
    assert finished.exit_code == 0
    refused = " ".join(dcf("runs", "delete", run, "--yes").stderr.split())
    assert (f"`dcf runs hold {run} --release`" in refused, "hold_run" in refused) == (True, False)
