"""`dcf watch` in a process: a person on a terminal or a program follows a run until it ends."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from dcf.core.completing.updates import Update
from dcf.core.documents.model import Status
from dcf.core.leasing.lease import Acquire
from tests.cli.conftest import Dcf, Seed
from tests.support.tables import rows
from tests.support.terminal import on_a_terminal, on_a_terminal_of
from tests.support.world import World

WATCH = (sys.executable, "-m", "dcf", "watch")


@pytest.fixture
def environment(dcf: Dcf) -> dict[str, str]:
    return dict(os.environ)


@contextmanager
def piped(run_id: str, environment: dict[str, str], *options: str) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [*WATCH, run_id, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        yield process
        process.kill()


def take(world: World, run_id: str) -> None:
    world.plane.acquire(run_id, Acquire(state="Only", owner="agent-1", token="t", ttl_s=60))


def end(world: World, run_id: str, status: Status = Status.SUCCEEDED) -> None:
    made = Update(state="Only", token="t", status=status, has_output=True, output={"n": 1})
    failed = Update(state="Only", token="t", status=status, error="NoStock")
    world.plane.update(run_id, made if status is Status.SUCCEEDED else failed)


def test_a_pipe_gets_a_line_for_each_change_as_it_happens_and_the_end(
    seed: Seed, world: World, environment: dict[str, str]
) -> None:
    run_id = seed(agent="agent-1")
    with piped(run_id, environment) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == f"run {run_id}: 1 state\n"
        take(world, run_id)
        assert process.stdout.readline() == "Only: running\n"
        assert process.poll() is None
        end(world, run_id)
        lines, text = process.communicate(timeout=60)
    assert re.fullmatch(r"Only: succeeded, [^\n]+\nrun succeeded, 1 of 1 state, [^\n]+\n\{\n  \"n\": 1\n\}\n", lines)
    assert (process.returncode, text) == (0, "")


def test_a_terminal_gets_a_table_that_is_redrawn_and_the_run_at_the_end(
    seed: Seed, world: World, environment: dict[str, str]
) -> None:
    run_id = seed(agent="agent-1")
    with on_a_terminal(*WATCH, run_id, **environment) as terminal:
        terminal.until(r"running +\S+ +0 of 1 done +\d+ s +Sample")
        take(world, run_id)
        terminal.until(r"Only +▶ running.+held by agent-1")
        end(world, run_id)
        assert terminal.end() == 0
        shown = "\n".join(terminal.screen())
    assert len(re.findall(r"Only +✔ succeeded", shown)) == 1
    assert "1 of 1 done" in shown
    assert '"n": 1' in shown
    assert "held by" not in shown


@rows("where", ["terminal", "pipe"])
def test_ctrl_c_ends_the_watching_and_says_that_the_run_goes_on(
    seed: Seed, world: World, environment: dict[str, str], where: str
) -> None:
    run_id = seed(agent="agent-1")
    text = f"dcf: Interrupted. Run {run_id} continues; `dcf watch {run_id}` watches it again."
    if where == "terminal":
        with on_a_terminal_of(200, *WATCH, run_id, **environment) as terminal:
            terminal.until("Only +· pending")
            assert terminal.interrupt() == 130
            assert text in " ".join(" ".join(terminal.screen()).split())
    else:
        with piped(run_id, environment) as process:
            assert process.stdout is not None
            process.stdout.readline()
            process.send_signal(signal.SIGINT)
            assert text in process.communicate(timeout=60)[1]
        assert process.returncode == 130
    assert world.meta(run_id)["status"] == "running"
