"""No line of a command is longer than the terminal is wide: what does not fit is broken between words, or cut.

Output of a run is JSON that may be copied, and is not broken; it is short here.
"""

import json
import os
import sys
from pathlib import Path

import pytest
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from dcf.cli.views import print_wrapped
from dcf.core.lease import Acquire
from dcf.core.model import Status
from dcf.core.updates import Update
from tests.cli.conftest import Dcf, Seed
from tests.support.paths import ROOT
from tests.support.terminal import on_a_terminal_of
from tests.support.world import World

COLUMNS = 80
REASON = "customer CUST-9090 is not active; SKU WIDGET-Z does not exist; only 3 of 4 in stock " * 3
LONG = "a-state-with-a-rather-long-name"


@pytest.fixture
def failed(seed: Seed, world: World) -> str:
    run_id = seed(name="A workflow with quite a long name", state=LONG, agent="agent-with-a-long-name")
    world.plane.acquire(run_id, Acquire(state=LONG, owner="agent-with-a-long-name", token="t", ttl_s=60))
    failure = Update(state=LONG, token="t", status=Status.FAILED, error="OrderRejected", cause=REASON)
    world.plane.update(run_id, failure)
    return run_id


@pytest.fixture
def waiting(seed: Seed, world: World) -> str:
    run_id = seed(name="A workflow with quite a long name", state=LONG, agent="agent-with-a-long-name")
    world.plane.kick_off(run_id, "initial")
    return run_id


def shown(columns: int, *arguments: str) -> list[str]:
    """The lines that a command leaves on a terminal so wide."""
    with on_a_terminal_of(columns, sys.executable, "-m", "dcf", *arguments, **os.environ) as terminal:
        terminal.end()
        return terminal.screen()


@pytest.mark.parametrize(
    "command",
    [
        *(
            ("ls",),
            ("show", "FAILED"),
            ("show", "WAITING"),
            ("watch", "FAILED"),
            ("events", "FAILED"),
            ("doctor",),
            ("audit",),
        ),
        *(
            ("why", "WAITING"),
            ("why", "FAILED"),
            ("keys", "list"),
            ("show", "nobody"),
            ("validate", "wrong.json"),
            ("run", "wrong.json"),
        ),
        *(("run", "nowhere.json"), ("graph", "pass.json"), ("simulate", "pass.json"), ("tools",), ("skills", "list")),
        *(("--help",), ("run", "--help"), ("keys", "--help"), ("wrong",)),
    ],
    ids=" ".join,
)
def test_no_line_is_longer_than_the_terminal(
    dcf: Dcf,
    failed: str,
    waiting: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    command: tuple[str, ...],
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.chdir(tmp_path)
    names = {"FAILED": failed, "WAITING": waiting}
    machine = {"StartAt": LONG, "States": {LONG: {"Type": "Pass", "End": True}}}
    (tmp_path / "pass.json").write_text(json.dumps(machine))
    (tmp_path / "wrong.json").write_text(json.dumps(machine | {"StartAt": "B", "a field that is not known": 1}))
    lines = shown(COLUMNS, *(names.get(word, word) for word in command))
    assert lines
    sentences = [line for line in lines if not line.startswith("    dcf ")]  # a command to copy stays one line
    assert [line for line in sentences if cell_len(line.rstrip()) > COLUMNS] == []


def test_a_sentence_is_broken_between_words_and_nothing_of_it_is_lost() -> None:
    for width in (20, 33, 80):
        console = Console(width=width, force_terminal=True, color_system=None)
        with console.capture() as printed:
            print_wrapped(console, Text(f"     dcf: {REASON}"), indent=5)
        lines = printed.get().splitlines()
        assert all(len(line.rstrip()) <= width for line in lines)
        assert " ".join(printed.get().split()) == " ".join(f"dcf: {REASON}".split())
        assert all(line.startswith("     ") and line[5] != " " for line in lines)


def test_a_pipe_gets_a_sentence_on_one_line(dcf: Dcf, failed: str) -> None:
    assert any(REASON.strip() in line for line in dcf("show", failed).stdout.splitlines())
