"""What takes longer than a second says so, to people on a terminal."""

import subprocess
import sys
from pathlib import Path

from tests.support.terminal import on_a_terminal

WAITS = """
import sys, threading, time
from pathlib import Path
from dcf.cli.patience import patience
sys.path.insert(0, sys.argv[2])
with patience("entries exported:", lambda: 1234):
    while not Path(sys.argv[1]).exists():
        time.sleep(0.01)
print("done")
"""
ROOT = str(Path(__file__).parents[2])


def test_a_person_sees_what_is_done_how_many_and_how_long_and_it_is_gone_afterwards(tmp_path: Path) -> None:
    go = tmp_path / "go"
    with on_a_terminal(sys.executable, "-c", WAITS, str(go), ROOT, PYTHONPATH=ROOT) as terminal:
        terminal.until(r"dcf: entries exported: 1,234, \d s")
        go.touch()
        assert terminal.end() == 0
        assert terminal.screen() == ["done"]


def test_a_program_sees_nothing_of_it_however_long_it_takes(tmp_path: Path) -> None:
    """Nobody counts the seconds."""
    (tmp_path / "go").touch()
    command = [sys.executable, "-c", WAITS.replace("while", "print(threading.active_count())\n    while")]
    done = subprocess.run(
        [*command, str(tmp_path / "go"), ROOT],
        capture_output=True,
        text=True,
        env={"PYTHONPATH": ROOT},
        timeout=60,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("1\ndone\n", "")
