"""Commands in processes: what follows a run, serves or works until it is stopped, and what a closed pipe does."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from dcf.core.lifecycle.finalization import Finalize
from tests.cli.conftest import Dcf, Seed
from tests.support.world import World


def test_follow_ends_when_the_run_ends(seed: Seed, world: World, environment: dict[str, str]) -> None:
    run_id = seed(agent="agent-1")
    command = [sys.executable, "-m", "dcf", "runs", "events", run_id, "--follow", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["type"] == "RunCreated"
        assert process.poll() is None
        world.plane.finalize(run_id, Finalize(workflow_id=run_id))
        rest = [json.loads(line)["type"] for line in process.stdout]
    assert "RunFinalized" in rest
    assert process.returncode == 0


def test_a_reader_that_goes_away_is_no_failure(seed: Seed, environment: dict[str, str]) -> None:
    run_id = seed()
    shell = f"{sys.executable} -m dcf runs events {run_id} | head -n 1"
    finished = subprocess.run(
        ["/bin/sh", "-c", shell], capture_output=True, text=True, env=environment, timeout=60, check=False
    )
    assert "RunCreated" in finished.stdout
    assert finished.stderr == ""


def test_the_clock_goes_on_until_it_is_stopped(seed: Seed, world: World, environment: dict[str, str]) -> None:
    """And ends without a word of anger when it is."""
    run_id = seed(agent="agent-pulse")
    world.plane.kick_off(run_id, "initial")
    command = [sys.executable, "-m", "dcf", "store", "pulse", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment) as clock:
        assert clock.stdout is not None
        assert json.loads(clock.stdout.readline())["done"] >= 1
        clock.terminate()
        _, text = clock.communicate(timeout=120)
    # The tests of other files took their runs off the lists, which the sweep of a clock that starts puts right.
    words = [line for line in text.splitlines() if "dcf.runs.clock.sweep" not in line]
    assert clock.returncode == 143
    assert ["; documents " in line for line in words] == [True], "it says at its start which Redis it uses"


def test_serve_tells_its_address(environment: dict[str, str]) -> None:
    command = [sys.executable, "-m", "dcf", "serve", "--transport", "http", "--auth", "off", "--port", "0", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment) as popen:
        assert popen.stdout is not None
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/mcp", json.loads(popen.stdout.readline())["url"])
        popen.terminate()
        _, text = popen.communicate(timeout=120)
    assert "Traceback" not in text
    assert popen.returncode == 143


def test_a_signal_during_the_start_of_serve_does_not_interrupt_it(environment: dict[str, str]) -> None:
    """The signal comes while the URL is announced: the server stops as after its start."""
    program = """
import os, signal
from dcf.cli.processes.serve import serve
from dcf.cli.termination import end_on_sigterm
from dcf.settings.process import Settings
def announce(addresses):
    os.kill(os.getpid(), signal.SIGTERM)
    print("announced")
end_on_sigterm()
serve("http", Settings(mcp_port=0, auth="off"), None, announce)
"""
    process = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=environment, timeout=120, check=False
    )
    assert (process.returncode, process.stdout) == (143, "announced\n"), process.stderr
    assert "Traceback" not in process.stderr


def test_worker_tells_what_it_serves(tmp_path: Path, environment: dict[str, str]) -> None:
    """A module of the current directory, which imports its neighbour."""
    (tmp_path / "beside.py").write_text("NAMES = ['Pack', 'Ship']\n")
    (tmp_path / "shop.py").write_text(
        "import beside\nfrom dcf.worker import task\nfor name in beside.NAMES:\n    task(name)(lambda given: given)\n"
    )
    for source, options, states in (("shop", [], ["Pack", "Ship"]), ("shop.py", ["--state", "Ship"], ["Ship"])):
        command = [sys.executable, "-m", "dcf", "worker", source, "--agent-id", "me", "--json", *options]
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment, cwd=tmp_path
        ) as popen:
            assert popen.stdout is not None
            assert json.loads(popen.stdout.readline()) == {"agent_id": "me", "states": states}
            popen.terminate()


def test_what_an_old_encoding_lacks_is_replaced(seed: Seed, environment: dict[str, str]) -> None:
    run_id = seed({"name": "Zoë"})
    command = [sys.executable, "-m", "dcf", "show", run_id]
    finished = subprocess.run(
        command, capture_output=True, env=environment | {"PYTHONIOENCODING": "ascii"}, timeout=60, check=False
    )
    assert finished.returncode == 0, finished.stderr
    assert b'"name": "Zo?"' in finished.stdout


@pytest.fixture
def environment(dcf: Dcf) -> dict[str, str]:
    return dict(os.environ)
