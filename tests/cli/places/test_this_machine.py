"""Commands that work on this machine only refuse a server, so that none acts on the Redis here by mistake."""

import json
from pathlib import Path

import pytest

from dcf.cli.child_processes import ChildProcesses
from tests.cli.places.conftest import NOWHERE, Dcf
from tests.support.paths import ROOT
from tests.support.tables import rows
from tests.support.waiting import wait_until

URL = "http://127.0.0.1:1/mcp"
PASS = '{"StartAt": "A", "States": {"A": {"Type": "Pass", "End": true}}}'
FUNCTIONS = ROOT / "workflows" / "order_processing.py"

COMMANDS = [
    *[("keys", "ls"), ("store", "move", "--to", "text"), ("store", "audit")],
    ("projects", "index", "shop"),
]
PROCESSES = [
    *[("serve",), ("serve", "--transport", "http", "--port", "0", "--auth", "off"), ("web", "--auth", "off")],
    *[("store", "pulse", "--once"), ("run", "pass.json"), ("run", "pass.json", "--direct")],
    ("worker", str(FUNCTIONS), "--agent-id", "me", "--direct"),
]


@pytest.fixture
def prepared(dcf_away: Dcf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Dcf:
    """The command line with a context `prod`, in a directory with a workflow and functions."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pass.json").write_text(PASS)
    dcf_away("context", "add", "prod", "--url", URL)
    return dcf_away


@rows("arguments", COMMANDS + PROCESSES, ids=" ".join)
def test_a_command_of_this_machine_refuses_a_context_in_one_sentence(
    prepared: Dcf, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    for environment in ({}, {"REDIS_URL": NOWHERE}):
        refused = prepared(*arguments, "--context", "prod", **environment)
        assert (refused.exit_code, refused.stdout) == (2, "")
        assert " ".join(refused.stderr.split()).endswith(
            "invalid_argument: This command works on this machine only, and context prod is in use: --context names it."
            " Add --context local."
        )
    assert not (tmp_path / "data").exists()


@rows("arguments", COMMANDS, ids=" ".join)
def test_a_command_of_this_machine_refuses_a_server_of_the_environment(
    prepared: Dcf, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    refused = prepared(*arguments, DCF_SERVER_URL=URL)
    assert refused.exit_code == 2
    assert f"server {URL} is in use: DCF_SERVER_URL is set." in " ".join(refused.stderr.split())
    assert not (tmp_path / "data").exists()


@rows("arguments", [arguments for arguments in PROCESSES if arguments[0] != "run"], ids=" ".join)
def test_a_process_has_the_url_of_its_own_server_in_the_environment(
    prepared: Dcf, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    """It goes on to start a Redis, whose directory cannot be made here."""
    nowhere = str(tmp_path / "pass.json" / "data")
    went_on = prepared(*arguments, DCF_SERVER_URL=URL, DCF_DATA_DIR=nowhere)
    assert went_on.exit_code != 0
    assert "pass.json" in went_on.stderr
    assert "this machine only" not in went_on.stderr


def test_a_command_goes_on_where_this_machine_is_named(prepared: Dcf) -> None:
    prepared("context", "use", "prod")
    assert prepared("store", "audit").exit_code == 2
    assert prepared("store", "audit", "--context", "local", REDIS_URL=NOWHERE).exit_code == 4
    assert prepared("store", "audit", DCF_CONTEXT="local", REDIS_URL=NOWHERE).exit_code == 4
    assert prepared("store", "audit", REDIS_URL=NOWHERE).exit_code == 4, "REDIS_URL is this machine's"


def test_lists_are_mended_on_this_machine_only(prepared: Dcf, tmp_path: Path) -> None:
    refused = prepared("doctor", "--repair", "--context", "prod")
    assert refused.exit_code == 2
    assert "--repair works on this machine only, and context prod is in use" in " ".join(refused.stderr.split())
    assert not (tmp_path / "data").exists()


@rows(
    "arguments",
    [
        ("validate", "pass.json"),
        ("simulate", "pass.json"),
        ("graph", "pass.json"),
        ("agents", "tools"),
    ],
    ids=" ".join,
)
def test_what_needs_no_control_plane_works_with_any_context(prepared: Dcf, arguments: tuple[str, ...]) -> None:
    assert prepared(*arguments, "--context", "prod").exit_code == 0


def test_children_of_a_run_work_on_this_machine_whatever_its_user_chose(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DCF_CONTEXT", "prod")
    with ChildProcesses(tmp_path, {}) as crew:
        crew.start("child", ["context", "show", "--json"])
        log = tmp_path / "child.log"
        wait_until(lambda: log.exists() and "}" in log.read_text())
    assert json.loads(log.read_text().partition("}")[0] + "}")["because"] == "DCF_CONTEXT names it"
