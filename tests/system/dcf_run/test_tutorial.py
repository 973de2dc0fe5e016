"""docs/tutorials/refunds.md: its files are taken from the page, its commands are run, a person approves."""

import importlib
import json
import re
import shlex
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Callable
from http.client import HTTPException
from pathlib import Path
from urllib.error import HTTPError

import pytest

from dcf.flow.compiling import compile_flow
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


def test_its_retry_covers_what_a_call_to_a_bank_that_is_away_raises(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each bank is a real server that fails in its own way, and the function on the page calls it."""
    write_files(tmp_path)
    source = tmp_path / "refunds.py"
    source.write_text(source.read_text().replace("timeout=10", "timeout=0.5"))
    monkeypatch.syspath_prepend(str(tmp_path))
    refunds = importlib.import_module("refunds")
    states = compile_flow(refunds.refunds).document["States"]
    (names,) = (rule["ErrorEquals"] for rule in states["pay"]["Retry"])
    raised = {fault: _raised_by(refunds.pay.function, fault, monkeypatch) for fault in FAULTS}
    assert {fault: name for fault, name in raised.items() if name not in names} == {}
    assert set(raised.values()) >= {"URLError", "RemoteDisconnected", "TimeoutError", "IncompleteRead", "HTTPError"}


FAULTS = {
    "refuses": b"",
    "closes": b"",
    "hangs": None,
    "resets": b"",
    "breaks off": b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{",
    "is overloaded": b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n",
    "speaks otherwise": b"SSH-2.0\r\n",
}
"""The answer of a bank; None: no answer, and it keeps the connection."""


def _raised_by(pay: Callable[[int], object], fault: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of the error of a call to a bank with this fault."""
    with socket.create_server(("127.0.0.1", 0)) as bank:
        monkeypatch.setenv("BANK_URL", f"http://127.0.0.1:{bank.getsockname()[1]}/payments")
        if fault == "refuses":
            bank.close()
        serving = threading.Thread(target=_serve_fault, args=(bank, fault), daemon=True)
        serving.start()
        with pytest.raises((OSError, HTTPException)) as raised:
            pay(42)
        serving.join(LONG)
    if isinstance(raised.value, HTTPError):
        raised.value.close()  # it is the answer of the bank, too
    return type(raised.value).__name__


def _serve_fault(bank: socket.socket, fault: str) -> None:
    if fault == "refuses":
        return
    connection, _ = bank.accept()
    with connection:
        while b"}" not in connection.recv(65536):
            """The request has its body in a later packet."""
        if fault == "resets":
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        elif FAULTS[fault] is None:
            connection.recv(1)  # until the caller gives up
        else:
            connection.sendall(FAULTS[fault] or b"")


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
