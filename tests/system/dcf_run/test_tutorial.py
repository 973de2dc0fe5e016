"""docs/tutorials/refunds.md: its files are taken from the page, its commands are run, a person approves."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.command_line import call
from tests.support.paths import ROOT
from tests.support.waiting import wait_until
from tests.system.processes.site import LONG, Site, finish, first_line

pytestmark = pytest.mark.processes

PAGE = (ROOT / "docs" / "tutorials" / "refunds.md").read_text("utf-8")
FILES = dict(re.findall(r"`([a-z_]+\.(?:json|py))`[^\n]*(?:\n[^\n`]+)*\n*```\w+\n(.*?)```", PAGE, re.DOTALL))
COMMANDS = [line.partition("#")[0].strip() for block in re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)
            for line in block.strip().splitlines()]  # fmt: skip


def write_files(folder: Path) -> None:
    assert set(FILES) == {"refunds.py", "test_refunds.py", "bank.py"}
    for name, text in FILES.items():
        (folder / name).write_text(text)


def words(beginning: str, folder: Path) -> list[str]:
    """The words of a command of the page behind `dcf`, with its files where this test has them."""
    (line,) = (line for line in COMMANDS if f"{line} ".startswith(f"dcf {beginning} "))
    return [str(folder / word) if (folder / word).exists() else word for word in shlex.split(line)[1:]]


def test_its_workflow_is_valid_and_drawn(tmp_path: Path) -> None:
    write_files(tmp_path)
    valid = call(*words("validate", tmp_path))
    assert valid.exit_code == 0
    assert f"✔ {tmp_path / 'refunds.py'} is valid" in valid.stdout
    assert "Approve  (Task)" in call(*words("graph", tmp_path)).stdout


def test_its_tests_pass(tmp_path: Path) -> None:
    write_files(tmp_path)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:randomly", "test_refunds.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=LONG, check=False)
    assert "3 passed" in done.stdout, done.stdout


def test_its_killed_run_continues_waits_for_a_person_and_pays_once(site: Site) -> None:
    write_files(site.folder)
    bank = site.start(str(site.folder / "bank.py"), "0")
    url = first_line(bank).strip()
    run = site.dcf(*words("run", site.folder), "--json", BANK_URL=url)
    wait_until(lambda: "dcf: Approve: running" in site.said(run), LONG)
    assert "Pay these refunds?" in finish(site.dcf(*words("inbox", site.folder)))[0]
    (task,) = json.loads(finish(site.dcf(*words("inbox", site.folder), "--json"))[0])["tasks"]
    run.kill()
    run.wait()
    run = site.dcf(*words("run", site.folder), "--json", BANK_URL=url)
    approved, code = finish(site.dcf(*words("approve", site.folder), "--epoch", str(task["epoch"]), "--json"))
    assert code == 0, approved
    output, code = finish(run)
    assert (code, json.loads(output)["output"]) == (0, "alice approved 42 for Ada, Grace")
    bank.terminate()
    assert finish(bank)[0].splitlines() == ["booked 42", "known already"]
    logged, _ = finish(site.dcf(*words("runs events refund-1 --type TaskLogged", site.folder), "--json"))
    assert [json.loads(line)["fields"] for line in logged.splitlines()] == [
        {"total": 42, "attempt": 1},
        {"total": 42, "attempt": 2},
    ]
    done = [event["state"] for event in site.printed_events("refund-1") if event["type"] == "StateSucceeded"]
    assert sorted(state for state in done if state.endswith("/check")) == ["checked/0/check", "checked/1/check"]
    answered, _ = finish(site.dcf(*words("runs events refund-1 --type StateConcluded", site.folder), "--json"))
    assert json.loads(answered)["answered_by"] == "alice"
