"""`dcf init`: what it makes runs, is valid, typed, tested and described, at once; as a flow and as a document."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from dcf.cli.app import app
from tests.support.waiting import wait_until
from tests.system.processes.site import LONG, Site, finish, result_of

FORMS = {"flow.py": (), "letters.json": ("--asl",)}
"""The file with the workflow, and the options that make it."""


def init(folder: Path, name: str, *options: str) -> Result:
    before = Path.cwd()
    os.chdir(folder)
    try:
        return CliRunner().invoke(app, ["init", name, *options])
    finally:
        os.chdir(before)


def python(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=LONG)


@pytest.mark.processes
def test_the_commands_that_it_prints_work_as_they_stand(site: Site) -> None:
    made = init(site.folder, "my-letters")
    assert made.exit_code == 0, made.output
    commands = [line.strip() for line in made.stdout.partition("Next:\n")[2].splitlines()]
    assert commands[0] == "cd my-letters"
    names = site.environment() | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    script = " && ".join(["set -e", *commands])
    done = subprocess.run(
        ["sh", "-c", script], cwd=site.folder, env=names, capture_output=True, text=True, check=False, timeout=LONG
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Hello, Ada! Hello, Grace!" in done.stdout
    assert "4 passed" in done.stdout


@pytest.mark.processes
def test_a_killed_run_of_a_flow_is_continued_by_the_command_of_its_readme(site: Site) -> None:
    init(site.folder, "letters")
    folder = site.folder / "letters"
    (line,) = re.findall(r"^dcf (run .*--id first)$", (folder / "README.md").read_text("utf-8"), re.MULTILINE)
    words = [str(folder / word) if (folder / word).exists() else word for word in shlex.split(line)]
    killed = site.dcf(*words)
    wait_until(lambda: "first" in site.said(killed), LONG)
    killed.kill()
    killed.wait()
    output, code = finish(site.dcf(*words, "--json"))
    assert (code, json.loads(output)["output"]["greetings"]) == (0, 2)


@pytest.mark.processes
def test_a_document_runs_at_once(site: Site) -> None:
    assert init(site.folder, "my-letters", "--asl").exit_code == 0
    flow = site.folder / "my-letters"
    command = ("run", str(flow / "my_letters.json"), "--input", str(flow / "input.json"), "--json")
    result, code = result_of(site.dcf(*command))
    assert (code, result["output"]) == (0, {"greetings": 2, "letter": "Hello, Ada! Hello, Grace!"})
    result, code = result_of(site.dcf(*command[:3], '{"names": [17]}', "--json"))
    assert (code, result["error"], result["cause"]) == (1, "NoName", "17 is not a name")


@pytest.mark.parametrize(("functions", "options"), [("flow.py", ()), ("letters.py", ("--asl",))])
def test_its_tests_pass_and_fail_when_a_function_is_broken(
    tmp_path: Path, functions: str, options: tuple[str, ...]
) -> None:
    folder = tmp_path / "letters"
    init(tmp_path, "letters", *options)
    run = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:randomly")
    assert "4 passed" in python(folder, *run).stdout
    (folder / functions).write_text((folder / functions).read_text().replace("Hello", "Goodbye"))
    assert "1 failed, 3 passed" in python(folder, *run).stdout


@pytest.mark.parametrize(("file", "options"), FORMS.items())
def test_it_is_valid(tmp_path: Path, file: str, options: tuple[str, ...]) -> None:
    """Its types are checked together with those of dcf."""
    init(tmp_path, "letters", *options)
    folder = tmp_path / "letters"
    for command in ("validate", "graph"):
        done = CliRunner().invoke(app, [command, str(folder / file)])
        assert (command, done.exit_code) == (command, 0), done.output
    done = CliRunner().invoke(app, ["simulate", str(folder / file), "--input", str(folder / "input.json")])
    assert done.exit_code == 0, done.output
    assert python(folder, "-m", "ruff", "check", "--isolated", "--no-cache", ".").returncode == 0


@pytest.mark.parametrize(("file", "options"), FORMS.items())
def test_the_readme_names_commands_that_exist_and_files_that_were_made(
    tmp_path: Path, file: str, options: tuple[str, ...]
) -> None:
    init(tmp_path, "letters", *options)
    readme = (tmp_path / "letters" / "README.md").read_text("utf-8")
    assert f"dcf run {file} --input input.json" in readme
    commands = set(re.findall(r"^dcf ((?:runs )?\w+)", readme, re.MULTILINE))
    drawn = {"validate", "graph", "simulate"}
    assert commands >= {"run", *drawn, "ls", "show", "watch", "runs events"}
    for command in commands:
        assert CliRunner().invoke(app, [*command.split(), "--help"]).exit_code == 0
    for name in re.findall(r"^\| `([^`]+)`", readme, re.MULTILINE):
        assert (tmp_path / "letters" / name).exists()


def test_coding_agents_find_the_page_about_flows_in_the_project(tmp_path: Path) -> None:
    init(tmp_path, "letters")
    page = (tmp_path / "letters" / "AGENTS.md").read_text("utf-8")
    assert page.startswith("# The workflow letters\n")
    assert CliRunner().invoke(app, ["workflows", "language", "--python"]).stdout in page


def test_it_tells_what_it_made_and_what_to_do_next(tmp_path: Path) -> None:
    document = json.loads(init(tmp_path, "flows/letters", "--json").stdout)
    assert document["directory"] == "flows/letters"
    assert sorted(document["files"]) == sorted(path.name for path in (tmp_path / "flows" / "letters").iterdir())
    assert document["next"][0] == "cd flows/letters"
    assert document["next"][1].endswith("dcf run flow.py --input input.json")
    printed = init(tmp_path, "others", "--asl").stdout
    assert "others.json" in printed
    assert "cd others" in printed


def test_it_says_how_to_install_pytest_where_it_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "pip install" not in init(tmp_path, "with-pytest").stdout
    monkeypatch.setitem(sys.modules, "pytest", None)
    following = json.loads(init(tmp_path, "without-pytest", "--json").stdout)["next"]
    assert following[2].endswith("-m pip install pytest")
    assert following[3].endswith("-m pytest")


BAD_NAMES = ["2nd", "a b", "ü", "x" * 41, "[red]", "\x1b[31m"]
HIDING = ["json", "test", "dcf", "class"]
"""Names whose Python file would hide a module. A flow is in flow.py, whatever its name."""


@pytest.mark.parametrize(
    ("name", "options"),
    [*((name, ()) for name in BAD_NAMES), *((name, ("--asl",)) for name in [*BAD_NAMES, *HIDING])],
)
def test_a_name_that_would_not_work_is_refused(tmp_path: Path, name: str, options: tuple[str, ...]) -> None:
    refused = init(tmp_path, name, *options)
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
