"""The command `dcf projects`, and what other commands say of projects."""

import json
import secrets
from pathlib import Path

from tests.cli.conftest import Dcf


def test_a_project_is_put_found_listed_and_deleted(dcf: Dcf) -> None:
    name = f"p-{secrets.token_hex(4)}"
    value = ("--name", "Shop", "--path", f"/srv/{name}", "--path", f"ci-1=/ci/{name}", "--git", '{"branch": "main"}')
    assert dcf("projects", "add", name, *value).stdout == f"{name} is created (revision 1).\n"
    assert dcf("projects", "add", name, *value).stdout == f"{name} is as it was (revision 1).\n"
    refused = dcf("projects", "add", name, "--name", "Store")
    assert (refused.exit_code, "conflict" in refused.stderr) == (1, True)
    assert dcf("projects", "add", name, "--name", "Store", "--revision", 1).exit_code == 0
    document = json.loads(dcf("projects", "show", "--path", f"ci-1=/ci/{name}", "--json").stdout)
    project = document["project"]
    assert (project["project"], project["name"], document["overview"]["runs"]) == (name, "Store", 0)
    assert "git branch: main" in dcf("projects", "show", name).stdout
    assert dcf("projects", "show", "--path", f"/ci/{name}", "--machine", "ci-1").exit_code == 0
    assert dcf("projects", "show", "--path", f"/ci/{name}", "--machine", "ci-2").exit_code == 3
    _its_limits_are_set_and_taken_away(dcf, name)
    listed = json.loads(dcf("projects", "ls", "--json").stdout)
    assert listed["projects"][0]["project"] == name
    assert dcf("projects", "delete", name).exit_code == 2, "it asks first"
    assert dcf("projects", "delete", name, "--yes").stdout == f"{name} is deleted.\n"
    assert dcf("projects", "show", name).exit_code == 3


def _its_limits_are_set_and_taken_away(dcf: Dcf, name: str) -> None:
    put = ("projects", "add", name)
    limited = json.loads(
        dcf(*put, "--max-in-progress", 2, "--budget", '{"tokens": 900, "seconds": 5}', "--json").stdout
    )
    assert (limited["project"]["max_in_progress"], limited["changed"]) == (2, False)
    shown = dcf("projects", "show", name).stdout
    assert all(words in shown for words in ("at most 2 states", "tokens 900")), shown
    project = json.loads(dcf(*put, "--budget", '{"tokens": null}', "--json").stdout)["project"]
    assert set(project["budget"]) == {"seconds"}
    free = json.loads(dcf(*put, "--budget", "{}", "--max-in-progress", 0, "--json").stdout)["project"]
    assert ("budget" in free, free.get("max_in_progress", 0)) == (False, 0)
    assert dcf(*put, "--budget", '{"money": 1}').exit_code == 2
    assert dcf(*put, "--max-in-progress", 1001).exit_code == 2


def test_a_run_is_started_in_a_project_and_listed_by_it(dcf: Dcf, tmp_path: Path) -> None:
    name, file = f"p-{secrets.token_hex(4)}", tmp_path / "w.json"
    file.write_text('{"workflow_name": "w", "asl": {"StartAt": "A", "States": {"A": {"Type": "Pass", "End": true}}}}')
    run = dcf("start", file, "--project", name).stdout.strip()
    rows = json.loads(dcf("ls", "--project", name, "--json").stdout)
    assert [(row["workflow_id"], row["project"]) for row in rows] == [(run, name)]
    assert dcf("start", file, "--project", "no good").exit_code == 2


def test_a_key_of_a_project_says_so(dcf: Dcf) -> None:
    made = json.loads(dcf("keys", "add", "--any-agent", "--project", "shop", "--json").stdout)
    assert made["project"] == "shop"
    shown = json.loads(dcf("keys", "show", made["key_id"], "--json").stdout)
    assert shown["project"] == "shop"
    assert "artifact_bytes" in shown["quotas"]
    assert dcf("keys", "revoke", made["key_id"]).exit_code == 0
