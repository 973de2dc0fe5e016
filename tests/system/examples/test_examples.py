"""The examples as their pages show them: each page is short, and its command prints what the page says."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.support.paths import ROOT
from tests.system.processes.site import LONG, Site

EXAMPLES: Final = sorted((ROOT / "examples").glob("*/README.md"))
TESTED: Final = sorted({file.parent for file in (ROOT / "examples").glob("*/test_*.py")})
MOST_LINES: Final = 20


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page.read_text("utf-8"), re.DOTALL)


def environment(site: Site) -> dict[str, str]:
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    return site.environment() | {"PATH": path, "PYTHONDONTWRITEBYTECODE": "1"}


def test_every_example_has_a_short_page_with_one_command() -> None:
    assert EXAMPLES
    assert {page.parent for page in EXAMPLES} == {path for path in (ROOT / "examples").iterdir() if path.is_dir()}
    for page in EXAMPLES:
        assert len(page.read_text("utf-8").splitlines()) <= MOST_LINES, page
        (command,) = blocks(page, "sh")
        assert len(command.splitlines()) == 1, page


def test_every_link_of_a_page_leads_to_a_file() -> None:
    pages = [ROOT / "examples" / "README.md", *EXAMPLES]
    links = [(page, link) for page in pages for link in re.findall(r"\]\(([^)#]+)\)", page.read_text("utf-8"))]
    assert [(page, link) for page, link in links if not (page.parent / link).exists()] == []


@pytest.mark.processes
@pytest.mark.parametrize("page", EXAMPLES, ids=lambda page: page.parent.name)
def test_an_example_prints_what_its_page_says(site: Site, page: Path) -> None:
    (command,) = blocks(page, "sh")
    done = subprocess.run(
        ["sh", "-c", command],
        cwd=page.parent,
        env=environment(site),
        capture_output=True,
        text=True,
        check=False,
        timeout=LONG,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    printed = blocks(page, "text")
    assert printed
    assert [text for text in printed if text not in done.stdout] == [], done.stdout


@pytest.mark.parametrize("folder", TESTED, ids=lambda folder: folder.name)
def test_the_tests_of_an_example_pass(folder: Path) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:randomly"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=LONG)
    assert done.returncode == 0, done.stdout
