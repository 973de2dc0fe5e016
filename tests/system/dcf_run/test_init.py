"""`dcf init`: what it makes runs, is valid, typed, tested and described, at once."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from dcf.cli.app import app
from tests.system.processes.site import Site, result_of


def init(folder: Path, name: str, *options: str) -> Result:
    before = Path.cwd()
    os.chdir(folder)
    try:
        return CliRunner().invoke(app, ["init", name, *options])
    finally:
        os.chdir(before)


def python(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.processes
def test_what_it_makes_in_an_empty_directory_runs_at_once(site: Site) -> None:
    made = init(site.folder, "my-letters")
    assert made.exit_code == 0, made.output
    flow = site.folder / "my-letters"
    command = ("run", str(flow / "my_letters.json"), "--input", str(flow / "input.json"), "--json")
    result, code = result_of(site.dcf(*command))
    assert (code, result["output"]) == (0, {"greetings": 2, "letter": "Hello, Ada! Hello, Grace!"})
    result, code = result_of(site.dcf(*command[:3], '{"names": [17]}', "--json"))
    assert (code, result["error"], result["cause"]) == (1, "NoName", "17 is not a name")


def test_its_tests_pass_and_fail_when_a_function_is_broken(tmp_path: Path) -> None:
    init(tmp_path, "letters")
    run = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:randomly")
    assert "4 passed" in python(tmp_path / "letters", *run).stdout
    functions = tmp_path / "letters" / "letters.py"
    functions.write_text(functions.read_text().replace("Hello", "Goodbye"))
    assert "1 failed, 3 passed" in python(tmp_path / "letters", *run).stdout


def test_it_is_valid(tmp_path: Path) -> None:
    """Its types are checked together with those of dcf."""
    init(tmp_path, "letters")
    flow = tmp_path / "letters"
    for command in ("validate", "graph", "simulate"):
        found = CliRunner().invoke(app, [command, str(flow / "letters.json")])
        assert (command, found.exit_code) == (command, 1 if command == "simulate" else 0), found.output
    simulated = ["simulate", str(flow / "letters.json"), "--input", str(flow / "input.json")]
    assert CliRunner().invoke(app, simulated).exit_code == 0
    assert python(flow, "-m", "ruff", "check", "--isolated", "--no-cache", ".").returncode == 0


def test_the_readme_names_commands_that_exist_and_files_that_were_made(tmp_path: Path) -> None:
    init(tmp_path, "letters")
    readme = (tmp_path / "letters" / "README.md").read_text("utf-8")
    commands = set(re.findall(r"^dcf (\w+)", readme, re.MULTILINE))
    assert commands == {"run", "validate", "graph", "simulate", "ls", "show", "watch", "events"}
    for command in commands:
        assert CliRunner().invoke(app, [command, "--help"]).exit_code == 0
    for file in re.findall(r"^\| `([^`]+)`", readme, re.MULTILINE):
        assert (tmp_path / "letters" / file).exists()


def test_it_tells_what_it_made_and_what_to_do_next(tmp_path: Path) -> None:
    told = json.loads(init(tmp_path, "flows/letters", "--json").stdout)
    assert told["directory"] == "flows/letters"
    assert sorted(told["files"]) == sorted(path.name for path in (tmp_path / "flows" / "letters").iterdir())
    assert told["next"][0] == "cd flows/letters"
    assert told["next"][1].endswith("dcf run letters.json --input input.json")
    said = init(tmp_path, "others").stdout
    assert "others.json" in said
    assert "cd others" in said


@pytest.mark.parametrize("name", ["json", "test", "dcf", "class", "2nd", "a b", "ü", "x" * 41, "[red]", "\x1b[31m"])
def test_a_name_that_would_not_work_is_refused(tmp_path: Path, name: str) -> None:
    refused = init(tmp_path, name)
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert "Take" in refused.stderr
    assert "\x1b" not in refused.stderr
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "README.md").write_text("mine")
    refused = init(tmp_path, "letters")
    assert refused.exit_code == 2
    assert "README.md is there already" in refused.stderr
    assert [path.name for path in (tmp_path / "letters").iterdir()] == ["README.md"]
    (tmp_path / "file").write_text("")
    assert "cannot be written" in init(tmp_path, "file/letters").stderr
