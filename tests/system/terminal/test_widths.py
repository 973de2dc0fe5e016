"""No line of a command is longer than the terminal is wide: what does not fit is broken between words, or cut.

Output of a run is JSON that may be copied, and is not broken; it is short here.
"""

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from dcf.cli.reading.views import print_wrapped
from dcf.core.completing.updates import Update
from dcf.core.documents.model import Status
from dcf.core.leasing.lease import Acquire
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


IN_TURN = """
import json, os, sys
from importlib import import_module
from dcf.cli import command_table
from dcf.cli.app import main

for row in command_table.rows():
    import_module((row.function or "dcf.cli.commands.derived").partition(":")[0])
import dcf.application.application
for command in json.loads(sys.argv[1]):
    if (child := os.fork()) == 0:
        sys.argv = ["dcf", *command]
        main()
    os.waitpid(child, 0)
    print("END OF COMMAND", flush=True)
"""
"""Runs commands one after the other, each in a process of its own, which has imported its modules already."""


def shown(columns: int, commands: Sequence[Sequence[str]]) -> list[list[str]]:
    """The lines that each command leaves on a terminal so wide."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    program = (sys.executable, "-c", IN_TURN, json.dumps(commands))
    with on_a_terminal_of(columns, *program, **environment) as terminal:
        assert terminal.end() == 0, terminal.text[-3000:]
        lines = terminal.screen()
    parts: list[list[str]] = [[]]
    for line in lines:
        if line == "END OF COMMAND":
            parts.append([])
        else:
            parts[-1].append(line)
    assert parts.pop() == []
    return parts


COMMANDS = (
    *(
        ("ls",),
        ("show", "FAILED"),
        ("show", "WAITING"),
        ("watch", "FAILED"),
        ("runs", "events", "FAILED"),
        ("doctor",),
        ("store", "audit"),
    ),
    *(
        ("why", "WAITING"),
        ("why", "FAILED"),
        ("keys", "ls"),
        ("show", "nobody"),
        ("validate", "wrong.json"),
        ("run", "wrong.json"),
    ),
    *(
        ("run", "nowhere.json"),
        ("graph", "pass.json"),
        ("simulate", "pass.json"),
        ("agents", "tools"),
        ("skills", "ls"),
    ),
    *(("--help",), ("run", "--help"), ("keys", "add", "--help"), ("wrong",)),
)


def test_no_line_is_longer_than_the_terminal(
    dcf: Dcf, failed: str, waiting: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names = {"FAILED": failed, "WAITING": waiting}
    machine = {"StartAt": LONG, "States": {LONG: {"Type": "Pass", "End": True}}}
    (tmp_path / "pass.json").write_text(json.dumps(machine))
    (tmp_path / "wrong.json").write_text(json.dumps(machine | {"StartAt": "B", "a field that is not known": 1}))
    screens = shown(COLUMNS, [[names.get(word, word) for word in command] for command in COMMANDS])
    too_long = {
        " ".join(command): [line for line in sentences(lines) if cell_len(line.rstrip()) > COLUMNS]
        for command, lines in zip(COMMANDS, screens, strict=True)
    }
    assert {command: lines for command, lines in too_long.items() if lines} == {}
    assert all(screens)


def sentences(lines: Sequence[str]) -> list[str]:
    """Lines but those with a command to copy, which stays one line."""
    return [line for line in lines if not line.startswith("    dcf ")]


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
