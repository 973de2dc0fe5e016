"""The commands for runs that grow."""

import json
import uuid

from tests.cli.conftest import Dcf

UNITS = [{"name": "Build"}, {"name": "Test", "depends_on": ["Build"]}]


def test_a_run_is_opened_given_units_and_closed(dcf: Dcf) -> None:
    run = f"grown-{uuid.uuid4().hex[:8]}"
    assert "is open" in dcf("runs", "open", "release", "--id", run).output
    assert "was open before" in dcf("runs", "open", "release", "--id", run).output
    added = json.loads(dcf("states", "add", run, json.dumps(UNITS), "--json").output)
    assert (added["added"], added["ready"]) == (["Build", "Test"], ["Build"])
    assert "waits for Build" in dcf("show", run).output
    assert "Build" in dcf("graph", run).output
    assert dcf("runs", "close", run, "--yes").exit_code != 0, "units are open"
    details = (
        "--achievement",
        "Built",
        "--achievement",
        "Signed",
        "--limitation",
        "Untested",
        "--metrics",
        '{"tests": 12}',
    )
    closing = ("runs", "close", run, "--yes", "--force", "--status", "partial", "--json")
    assert "--metrics is no JSON object" in dcf(*closing, "--metrics", "[12]").stderr
    assert "achievements is no list" in dcf(*closing, "--achievement", "").stderr
    closed = json.loads(dcf(*closing, *details).output)
    assert (closed["run_status"], closed["left"]) == ("partial", 2)
    stored = json.loads(dcf("runs", "export", run).stdout)["meta"]["closing"]
    assert (stored["achievements"], stored["limitations"]) == (["Built", "Signed"], ["Untested"])
    assert stored["metrics"] == {"tests": 12}
    assert "partial" in dcf("show", run).output


def test_what_cannot_be_added_is_told_with_its_place(dcf: Dcf) -> None:
    run = f"grown-{uuid.uuid4().hex[:8]}"
    dcf("runs", "open", "release", "--id", run)
    refused = dcf("states", "add", run, json.dumps([{"name": "A", "depends_on": ["Nobody"]}]))
    assert refused.exit_code != 0
    assert "Nobody" in refused.output
    assert dcf("runs", "seal", run).exit_code == 0
    assert "succeeded" in dcf("show", run).output


def test_a_run_is_opened_in_a_project_with_its_input_and_limits(dcf: Dcf) -> None:
    run, project = f"grown-{uuid.uuid4().hex[:8]}", f"p-{uuid.uuid4().hex[:8]}"
    limits = ("--input", "[7]", "--expiry", "60", "--max-attempts", "3")
    dcf("runs", "open", "release", "--id", run, "--project", project, *limits)
    assert run in dcf("ls", "--project", project, "--json").output
    meta = json.loads(dcf("runs", "export", run).stdout)["meta"]
    assert (meta["input"], meta["retention_s"], meta["max_attempts"]) == ([7], 60, 3)
    expected = ("runs", "open", "release", "--within", run, "--request-id", f"once-{run}", "--json")
    inside, again = json.loads(dcf(*expected).output), json.loads(dcf(*expected).output)
    assert (again["workflow_id"], again["existed"]) == (inside["workflow_id"], True)
    refused = dcf("runs", "open", "release", "--unit", "Build")
    assert refused.exit_code != 0
    assert "--within" in refused.output


def test_who_adds_units_takes_those_that_it_claims(dcf: Dcf) -> None:
    run = f"grown-{uuid.uuid4().hex[:8]}"
    dcf("runs", "open", "release", "--id", run)
    units = json.dumps([{"name": "Build", "claim": True}])
    refused = dcf("states", "add", run, units)
    assert (refused.exit_code, "--as" in refused.stderr) == (2, True)
    assert "Build is yours; its lease token is " in dcf("states", "add", run, units, "--as", "ann").output
    assert "ann" in dcf("states", "ls", "--run", run, "--status", "running").output
