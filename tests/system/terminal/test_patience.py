"""A step of more than a second says so, to people on a terminal."""

import subprocess
import sys
import uuid
from pathlib import Path

from tests.cli.conftest import Seed
from tests.support.paths import ROOT
from tests.support.redis.restricted import RestrictedRedis
from tests.support.terminal import on_a_terminal

WAITS = """
import sys, threading, time
from pathlib import Path
from dcf.cli.patience import patience
sys.path.insert(0, sys.argv[2])
with patience("entries exported:", lambda: 1234, 5678):
    while not Path(sys.argv[1]).exists():
        time.sleep(0.01)
print("done")
"""
SLOWLY = """
import sys, time
from pathlib import Path
sys.path.insert(0, sys.argv.pop(1))
from dcf.cli.app import main
from dcf.features.retention.operations import Retention
delete = Retention.delete
go = Path(sys.argv.pop(1))
def slowly(*given):
    while not go.exists():
        time.sleep(0.01)
    return delete(*given)
Retention.delete = slowly
time.sleep(1)
main()
"""
"""Deletions wait for a file, so that there is something to see; the runs are older than a second."""

CHECKOUT = str(ROOT)


def test_a_person_sees_what_is_done_how_many_and_how_long_and_it_is_gone_afterwards(tmp_path: Path) -> None:
    go = tmp_path / "go"
    with on_a_terminal(sys.executable, "-c", WAITS, str(go), CHECKOUT, PYTHONPATH=CHECKOUT) as terminal:
        terminal.until(r"dcf: entries exported: 1,234 of 5,678, \d+ s")
        go.touch()
        assert terminal.end() == 0
        assert terminal.screen() == ["done"]


def test_a_program_sees_nothing_of_it_however_long_it_takes(tmp_path: Path) -> None:
    """No clock counts the seconds."""
    (tmp_path / "go").touch()
    command = [sys.executable, "-c", WAITS.replace("while", "print(threading.active_count())\n    while")]
    done = subprocess.run(
        [*command, str(tmp_path / "go"), CHECKOUT],
        capture_output=True,
        text=True,
        env={"PYTHONPATH": CHECKOUT},
        timeout=60,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("1\ndone\n", "")


def test_pruning_many_runs_tells_how_far_it_is(server: RestrictedRedis, seed: Seed, tmp_path: Path) -> None:
    mine = f"slow-{uuid.uuid4().hex[:8]}"
    for _ in range(3):
        seed(name=mine)
    go = tmp_path / "go"
    command = ["runs", "prune", "--older-than", "1s", "--workflow", mine, "--yes"]
    with on_a_terminal(sys.executable, "-c", SLOWLY, CHECKOUT, str(go), *command, REDIS_URL=server.url) as terminal:
        terminal.until(r"dcf: runs deleted: [012] of 3, \d+ s")
        go.touch()
        assert terminal.end() == 0
        assert terminal.screen()[-1] == "3 runs deleted."
