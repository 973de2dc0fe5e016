"""The command `dcf artifacts`."""

import base64
import hashlib
import json
import re
import secrets
import shlex
from pathlib import Path

import pytest

from tests.cli.conftest import Dcf
from tests.support.workflows.machines import chain
from tests.support.world import World


@pytest.fixture
def run(world: World) -> str:
    return world.create(chain("A", "B"), agents={"A": "ann", "B": "ben"})


def test_a_file_is_kept_listed_and_written_again(dcf: Dcf, run: str, tmp_path: Path) -> None:
    data, file, copy = secrets.token_bytes(2000), tmp_path / "report.pdf", tmp_path / "copy.pdf"
    file.write_bytes(data)
    value = ("--type", "application/pdf", "--state", "A", "--metadata", '{"pages": 3}')
    stored = dcf("artifacts", "add", run, file, *value).stdout.strip()
    assert stored.startswith("report.pdf-")
    assert dcf("artifacts", "add", run, file, "--type", "application/pdf").stdout.strip() == stored
    assert dcf("artifacts", "show", run, stored, "--to", copy).exit_code == 0
    assert copy.read_bytes() == data
    assert dcf("artifacts", "show", run, stored, "--to", copy).exit_code == 2, "nothing is overwritten"
    assert dcf("artifacts", "show", run, stored).stdout_bytes == data
    whole = json.loads(dcf("artifacts", "show", run, stored, "--json").stdout)
    assert (whole["artifact_id"], base64.b64decode(whole["content"]), whole["encoding"]) == (stored, data, "base64")
    saved = json.loads(dcf("artifacts", "show", run, stored, "--to", tmp_path / "again.pdf", "--json").stdout)
    assert ("content" in saved, (tmp_path / "again.pdf").read_bytes()) == (False, data)
    listed = json.loads(dcf("artifacts", "ls", run, "--json").stdout)
    (artifact,) = listed["artifacts"]
    assert artifact["metadata"] == {"pages": 3}
    assert (artifact["sha256"], artifact["state"], artifact["size"]) == (hashlib.sha256(data).hexdigest(), "A", 2000)
    assert "1 artifacts, 2000 bytes." in dcf("artifacts", "ls", run).stdout
    assert dcf("artifacts", "show", run, "nothing").exit_code == 3
    assert dcf("artifacts", "show", "nowhere", stored).exit_code == 3
    assert dcf("artifacts", "add", run, tmp_path / "missing").exit_code == 2
    assert dcf("artifacts", "add", run, "-").exit_code == 2
    assert "--metadata is no JSON object" in dcf("artifacts", "add", run, file, "--metadata", "[3]").stderr
    long = json.dumps({"pages": "x" * 17_000})
    assert "at most 16384 bytes" in dcf("artifacts", "add", run, file, "--metadata", long).stderr


def test_long_content_goes_into_the_data_directory_beside_an_embedded_redis(dcf_alone: Dcf, tmp_path: Path) -> None:
    data, file, workflow = secrets.token_bytes(9 * 1024 * 1024), tmp_path / "big", tmp_path / "w.json"
    file.write_bytes(data)
    workflow.write_text('{"asl": {"StartAt": "A", "States": {"A": {"Type": "Pass", "End": true}}}}')
    assert dcf_alone("start", workflow, "--id", "big-run").exit_code == 0
    stored = dcf_alone("artifacts", "add", "big-run", file).stdout.strip()
    home = tmp_path / "data" / "artifacts"
    assert len([item for item in home.rglob("*") if item.is_file()]) == 9, "it was put in parts"
    assert dcf_alone("artifacts", "show", "big-run", stored).stdout_bytes == data
    assert dcf_alone("runs", "delete", "big-run", "--yes").exit_code == 0
    assert not list(home.iterdir())


def test_a_page_of_artifacts_names_the_command_for_the_next_page(dcf: Dcf, run: str, tmp_path: Path) -> None:
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text(name)
        dcf("artifacts", "add", run, tmp_path / name)
    listed = dcf("artifacts", "ls", run, "--limit", 1, "--context", "local").stdout
    following = re.search(r"Continue: `dcf (--context local artifacts ls .*)`", listed)
    assert following is not None, listed
    assert "b.txt" in dcf(*shlex.split(following[1])).stdout
