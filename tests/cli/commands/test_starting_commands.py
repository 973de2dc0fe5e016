"""The commands that begin and continue runs, for people and for programs."""

import json
import uuid
from pathlib import Path
from typing import Any

import pytest

from dcf.core.documents.model import RunStatus
from tests.cli.conftest import Dcf
from tests.support.tables import rows
from tests.support.workflows.machines import chain
from tests.support.world import World


@pytest.fixture
def document(tmp_path: Path) -> tuple[Path, str]:
    """A workflow of two Tasks in a file, with a name that no other test has."""
    name = f"flow-{uuid.uuid4().hex[:8]}"
    file = tmp_path / "flow.json"
    file.write_text(json.dumps(chain("A", "B") | {"workflow_name": name, "version": "1"}))
    return file, name


def told(dcf: Dcf, world: World, *arguments: object) -> dict[str, Any]:
    shown = dcf(*arguments, "--json")
    assert shown.exit_code == 0, shown.output
    document: dict[str, Any] = json.loads(shown.stdout)
    world.runs.append(document["workflow_id"])
    return document


def test_start_prints_the_id_of_a_run_whose_agents_are_told(dcf: Dcf, world: World, document: tuple[Path, str]) -> None:
    file, name = document
    agent = f"agent-{name}"
    shown = dcf("start", file, "--input", '{"n": 1}', "--assign", agent, "--tag", "nightly", "--reason", "why not")
    run = shown.stdout.strip()
    world.runs.append(run)
    assert (shown.exit_code, run.startswith(name)) == (0, True)
    meta = world.meta(run)
    assert (meta["input"], meta["agents"], meta["tags"]) == ({"n": 1}, {"A": agent, "B": agent}, ["nightly"])
    assert [event["target_state"] for event in world.messages(agent)] == ["A"]
    assert world.events(run)[0].data["reason"] == "why not"
    assert "by=local" in dcf("runs", "events", run).stdout


def test_a_started_definition_is_started_again_by_name_version_and_hash(
    dcf: Dcf, world: World, document: tuple[Path, str]
) -> None:
    file, name = document
    first = told(dcf, world, "start", file)
    assert first["definition"] == {"name": name, "version": "1", "sha256": first["definition"]["sha256"]}
    for reference in (f"{name}@1", name, first["definition"]["sha256"]):
        again = told(dcf, world, "start", reference)
        assert again["definition"] == first["definition"]
        assert again["workflow_id"] != first["workflow_id"]


def test_a_run_is_started_with_gates_limits_and_a_definition_of_the_catalogue(
    dcf: Dcf, world: World, document: tuple[Path, str], tmp_path: Path
) -> None:
    file, name = document
    (tmp_path / "rule.md").write_text("Read it twice.")
    assert dcf("catalogue", "add", "rule", name, tmp_path / "rule.md").exit_code == 0
    gate = '[{"name": "Read", "kind": "person", "criteria": ["It is right."]}]'
    limits = ("--expiry", 60, "--max-attempts", 3, "--no-keep", "--gates", gate)
    run = told(dcf, world, "start", file, *limits, "--definition", f"rule:{name}")["workflow_id"]
    meta = world.meta(run)
    assert (meta["retention_s"], meta["max_attempts"], meta["gates"][0]["name"]) == (60, 3, "Read")
    assert (meta["definition_ref"]["kind"], meta["definition_ref"]["name"]) == ("rule", name)
    assert dcf("start", name).exit_code == 3, "the document was not kept"
    wrong = dcf("start", file, "--gates", '[{"name": "Read"}]')
    assert (wrong.exit_code, "--gates" in wrong.stderr) == (2, True)
    assert dcf("start", file, "--definition", "rule:nowhere").exit_code == 3


def test_a_bare_machine_is_started_under_the_name_of_its_file(dcf: Dcf, world: World, tmp_path: Path) -> None:
    file = tmp_path / "bare.json"
    file.write_text(json.dumps(chain("A")["asl"]))
    assert told(dcf, world, "start", file)["definition"]["name"] == "bare"


def test_the_same_request_starts_one_run(dcf: Dcf, world: World, document: tuple[Path, str]) -> None:
    file, _ = document
    first = told(dcf, world, "start", file, "--request-id", "once")
    again = told(dcf, world, "start", file, "--request-id", "once")
    assert (again["workflow_id"], first["existed"], again["existed"]) == (first["workflow_id"], False, True)
    other = dcf("start", file, "--request-id", "once", "--input", "{}", "--tag", "other")
    assert other.exit_code == 1
    assert "conflict" in other.stderr


def test_tasks_that_nobody_is_told_of_are_named(dcf: Dcf, world: World, document: tuple[Path, str]) -> None:
    shown = dcf("start", document[0], "--assign", "A=ann")
    world.runs.append(shown.stdout.strip())
    assert "'B'" in shown.stderr
    assert "--assign" in shown.stderr
    assert dcf("start", document[0], "--assign", "ann").stderr == ""


def test_an_agent_that_nobody_knows_is_named(dcf: Dcf, world: World, document: tuple[Path, str]) -> None:
    file, name = document
    shown = dcf("start", file, "--assign", f"typing-error-{name}")
    world.runs.append(shown.stdout.strip())
    assert shown.exit_code == 0
    assert f"dcf does not know these agents: 'typing-error-{name}'." in shown.stderr
    assert "--assign" not in shown.stderr, "it is assigned"


def test_pools_are_assigned_by_repeating_the_state(dcf: Dcf, world: World, document: tuple[Path, str]) -> None:
    file, _ = document
    result = told(dcf, world, "start", file, "--assign", "A=ann", "--assign", "A=bob", "--assign", "B=ann")
    assert world.meta(result["workflow_id"])["agents"] == {"A": ["ann", "bob"], "B": "ann"}


@rows(
    ("arguments", "code", "said"),
    [
        (("nobody-started-this",), 3, "No definition of this name, version or hash is kept."),
        (("nobody-started-this@1",), 3, "is kept"),
        (("nowhere.json",), 2, "There is no file nowhere.json."),
        (("FILE", "--assign", "=ann"), 2, "--assign names no state"),
        (("FILE", "--assign", "Z=ann"), 2, "no Task state"),
        (("FILE", "--tag", "two words"), 2, "tag"),
        (("FILE", "--id", "no good"), 2, "--id"),
    ],
)
def test_what_cannot_be_started_is_said(
    dcf: Dcf, document: tuple[Path, str], arguments: tuple[str, ...], code: int, said: str
) -> None:
    shown = dcf("start", *(str(document[0]) if argument == "FILE" else argument for argument in arguments))
    assert shown.exit_code == code
    assert said in shown.stderr


def test_a_changed_document_of_the_same_version_is_refused_with_both_hashes(
    dcf: Dcf, world: World, document: tuple[Path, str]
) -> None:
    file, name = document
    sha256 = told(dcf, world, "start", file)["definition"]["sha256"]
    file.write_text(json.dumps(chain("A") | {"workflow_name": name, "version": "1"}))
    shown = dcf("start", file, COLUMNS="300")
    assert shown.exit_code == 1
    assert sha256 in shown.stderr
    assert "new version" in shown.stderr


def test_a_run_is_repeated_from_a_state(dcf: Dcf, world: World, document: tuple[Path, str]) -> None:
    run = told(dcf, world, "start", document[0])["workflow_id"]
    world.do(run, "A", output=5)
    world.do(run, "B")
    again = told(dcf, world, "runs", "rerun", run, "--from", "B")["workflow_id"]
    assert world.statuses(again) == {"A": "succeeded", "B": "pending"}
    assert world.given(again, "B") == 5
    assert world.meta(run)["reruns"] == [again]
    with_input = dcf("runs", "rerun", run, "--from", "B", "--input", "{}")
    assert (with_input.exit_code, "--from" in with_input.stderr) == (2, True)
    never = dcf("runs", "rerun", again, "--from", "Z")
    assert never.exit_code == 3


def test_a_failed_run_goes_on(dcf: Dcf, world: World, document: tuple[Path, str]) -> None:
    run = told(dcf, world, "start", document[0])["workflow_id"]
    world.do(run, "A", output=5)
    world.fail(run, "B", world.acquire(run, "B"))
    shown = dcf("retry", run, "--reason", "mended")
    assert shown.stdout.startswith(f"{run} continues in B. dcf notifies the agents; `dcf show {run}` shows")
    assert world.run_status(run) is RunStatus.RUNNING
    again = dcf("retry", run)
    assert (again.exit_code, "cannot_retry" in again.stderr) == (1, True)
    world.fail(run, "B", world.acquire(run, "B"))
    result = told(dcf, world, "retry", run, "--request-id", "r")
    assert (result["retried"], result["states"], result["run_status"], result["repeated"]) == (
        2,
        ["B"],
        "running",
        False,
    )
    assert told(dcf, world, "retry", run, "--request-id", "r")["repeated"]
    assert dcf("retry", "no-such-run").exit_code == 3
