"""The README: it is short, its programs and commands work unchanged, and it names no person's account."""

import json
import re
import runpy
import shlex
from pathlib import Path
from typing import Final

import pytest

from dcf import testing
from dcf.cli.command_group import command_of
from dcf.cli.command_table import rows as listed_commands
from dcf.cli.processes.functions import flows_of, import_source
from dcf.settings.process import VARIABLES
from dcf.tools.mcp.selection import PROFILES
from tests.support.paths import ROOT
from tests.support.redis.restricted import RestrictedRedis
from tests.support.tables import rows

README: Final = (ROOT / "README.md").read_text("utf-8")
PROGRAMS: Final = dict(re.findall(r"`(\w+\.py)`:\n\n```python\n(.*?)```", README, re.DOTALL))
CONFIGURATION: Final = json.loads(*re.findall(r"```json\n(.*?)```", README, re.DOTALL))
BLOCKS: Final = re.findall(r"```sh\n(.*?)```", README, re.DOTALL)
SHELL: Final = [line.partition(" #")[0] for block in BLOCKS for line in block.splitlines()]
COMMANDS: Final = [
    shlex.split(command)
    for text in [*SHELL, *re.findall(r"`(dcf [^`]+)`", README)]
    for command in re.findall(r"dcf .+", text)
]

LINES, WORDS = 150, 1200
"""How long a page is that is read in five minutes."""


def test_it_is_short() -> None:
    assert len(README.splitlines()) <= LINES
    assert len(README.split()) <= WORDS


def test_it_names_no_placeholder() -> None:
    assert "OW" + "NER" not in README


def test_the_first_python_command_after_run_the_tests_is_the_one_for_tests() -> None:
    """`.ci/run` reads it."""
    after = README.split("\nRun the tests:")[1].splitlines()
    command = next(line for line in after if line.startswith("python3 "))
    assert command.endswith(".venv/bin/python -m pytest -n auto --dist loadfile")


def test_its_first_program_runs(
    python_redis: RestrictedRedis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "words.py"
    file.write_text(PROGRAMS["words.py"])
    monkeypatch.setenv("REDIS_URL", python_redis.url)
    runpy.run_path(str(file), run_name="__main__")
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == (f"{len(PROGRAMS['words.py'].split())} words in 1 files\n", "")


@rows("choice, status", [("approve", "succeeded"), ("reject", "failed")])
def test_its_second_program_waits_for_an_agent_and_a_person(tmp_path: Path, choice: str, status: str) -> None:
    file = tmp_path / "summary.py"
    file.write_text(PROGRAMS["summary.py"])
    answer = {"choice": choice, "comment": "too long"}
    (summary,) = flows_of(import_source(str(file)))
    done = testing.run(
        summary, {"url": "https://states-language.net"}, answers={"Write": {"text": "Short."}, "Approve": answer}
    )
    assert (done.status, done.visited[:2]) == (status, ["Write", "Approve"])


def test_the_programs_are_all_tested_here() -> None:
    assert set(PROGRAMS) == {"words.py", "summary.py"}
    assert README.count("```python") == len(PROGRAMS)


def test_the_client_is_shown_the_tools_that_the_agent_needs() -> None:
    server = CONFIGURATION["mcpServers"]["dcf"]
    assert server["args"] == ["serve", "--transport", "stdio"]
    assert set(server["env"]) <= set(VARIABLES)
    names = PROFILES[server["env"]["DCF_PROFILE"]]
    assert names is not None
    assert {"find_work", "update_workflow_control_plane"} <= names


@rows("command", COMMANDS, ids=[" ".join(command) for command in COMMANDS])
def test_a_command_has_the_name_and_the_options_that_it_is_shown_with(command: list[str]) -> None:
    listed = {row.full_name: row for row in listed_commands()}
    row, arguments = listed.get(" ".join(command[1:3])) or listed[command[1]], command[2:]
    options = {option for parameter in command_of(row).params for option in parameter.opts}
    assert [word for word in arguments if word.startswith("--") and word not in options] == []


def test_every_command_that_a_comment_names_exists() -> None:
    named = {
        name
        for line in re.findall(r"#.*", "\n".join(BLOCKS))
        for name in re.findall(r"\bdcf ((?:runs |workflows )?\w+)", line)
    }
    assert {"show", "runs events", "runs timeline"} <= named <= {row.full_name for row in listed_commands()}


def test_its_commands_are_found() -> None:
    names = {" ".join(command[1:length]) for command in COMMANDS for length in (2, 3)}
    daily = {"run", "ls", "start", "inbox", "approve", "why", "init"}
    assert daily | {"web", "compile", "host"} <= names
