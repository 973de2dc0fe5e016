"""A shell completes commands, options, and the ids of runs."""

import os
import subprocess
import sys
from pathlib import Path

from tests.cli.conftest import Dcf, Seed
from tests.support.tables import rows


def completed(words: str, **environment: str) -> list[str]:
    """The words that bash offers for the last of these words."""
    request = {"_DCF_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(len(words.split(" ")) - 1)}
    code = "import sys; sys.argv = ['dcf']; from dcf.cli.app import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env=os.environ | request | environment,
    )
    assert done.stderr == ""
    return done.stdout.split()


@rows("command", ["show", "watch"])
def test_the_ids_of_runs_are_completed(dcf: Dcf, seed: Seed, command: str) -> None:
    first, second = seed(), seed(agent="agent-1")
    assert {first, second} <= set(completed(f"dcf {command} "))
    assert completed(f"dcf {command} {second[:-1]}") == [second]
    assert completed(f"dcf {command} no-such-run") == []


def test_commands_are_completed() -> None:
    assert set(completed("dcf w")) == {"watch", "web", "why", "worker", "workflows"}
    assert completed("dcf show --js") == ["--json"]


def test_where_redis_cannot_be_asked_nothing_is_completed_and_nothing_is_said(tmp_path: Path) -> None:
    assert completed("dcf show x", REDIS_URL="redis://127.0.0.1:1/0") == []
    assert completed("dcf show x", REDIS_URL="nonsense") == []
    assert completed("dcf show x", REDIS_URL="", DCF_DATA_DIR=str(tmp_path / "none")) == []
    assert not (tmp_path / "none").exists()
