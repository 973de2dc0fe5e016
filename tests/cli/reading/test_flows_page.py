"""The page about flows: short, the same as the command prints, and its program runs as the page says."""

import importlib.util
import re
from pathlib import Path
from typing import Any, Final

from dcf import testing
from dcf.workflows.language import describe_flows
from tests.support.command_line import call
from tests.support.paths import ROOT

MOST_LINES: Final = 60


def program_of(page: str, folder: Path) -> Any:
    """Import the program of the page."""
    path = folder / "flow_of_the_page.py"
    path.write_text(re.findall(r"```python\n(.*?)```", page, re.DOTALL)[0], "utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_short_and_the_command_prints_it() -> None:
    page = call("workflows", "language", "--python").stdout
    assert len(page.splitlines()) <= MOST_LINES
    assert page == describe_flows()
    assert (ROOT / "docs" / "reference" / "writing-flows.md").read_text("utf-8") == page, "make reference"


def test_its_program_runs_with_the_call_of_the_page(tmp_path: Path) -> None:
    digest = program_of(describe_flows(), tmp_path).digest
    (written,) = re.findall(r"`dcf\.testing\.(run\(.*?\))`", describe_flows())
    story = eval(written, {"run": testing.run, "digest": digest})
    assert (story.status, story.output) == ("succeeded", "alice published 1 pages: ...")


def test_each_command_of_the_page_exists() -> None:
    commands = set(re.findall(r"`dcf ((?:workflows |runs |states |agents |store )?\w+)", describe_flows()))
    assert commands >= {"validate", "run", "graph", "why"}
    assert [command for command in commands if call(*command.split(), "--help").exit_code != 0] == []
