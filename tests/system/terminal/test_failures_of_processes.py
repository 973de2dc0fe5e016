"""A failure that a real process reports."""

import os
import subprocess
import sys

import pytest

from dcf.cli.child_processes import ChildProcesses
from tests.cli.conftest import Seed


@pytest.fixture(autouse=True)
def _nothing_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(*arguments: object) -> None:
        raise AssertionError("it is too early to start a process")

    monkeypatch.setattr(ChildProcesses, "start", start)


def test_a_broken_environment_leaves_no_traceback_in_a_real_process(seed: Seed) -> None:
    command = [sys.executable, "-m", "dcf", "show", seed(), "--json"]
    finished = subprocess.run(
        command,
        env={"PATH": os.environ["PATH"], "REDIS_URL": "redis://:canary@127.0.0.1:1/0", "HOME": "/nonexistent"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (finished.returncode, finished.stdout) == (4, "")
    assert "Traceback" not in finished.stderr
    assert "canary" not in finished.stderr
