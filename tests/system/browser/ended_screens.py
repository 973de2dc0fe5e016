"""`python -m tests.system.browser.ended_screens FOLDER`: the end of the tutorial's run, in a terminal and in a browser.

Needs Chromium. The run is real: docs/tutorials/refunds.md has its files and its command, and alice approves. Rich draws
the printed lines.
"""

import io
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from playwright.sync_api import Browser, Page
from rich.console import Console
from rich.text import Text

from tests.support.paths import ROOT
from tests.support.waiting import wait_until
from tests.system.browser.browser import THEMES, opened_browser
from tests.system.browser.screenshots import shot, write

_PAGE: Final = (ROOT / "docs" / "tutorials" / "refunds.md").read_text("utf-8")
_RUN: Final = "refund-1"
_COLUMNS: Final = 104
_FONT: Final = re.compile(r"@font-face \{.*?\}", re.DOTALL)
_LONG: Final = 120


def main(folder: Path) -> None:
    """Write the pictures into the folder, and print their sizes."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="dcf-") as work, opened_browser() as browser:
        printed = finished_run(Path(work))
        workshop = browser.new_page()
        write(folder / "run-output.png", terminal(browser, printed), workshop)
        with web(Path(work)) as url:
            _pages(browser, workshop, url, folder)
    for file in sorted([folder / "run-output.png", *folder.glob("ended-*.png")]):
        sys.stdout.write(f"{file}: {file.stat().st_size // 1024} KB\n")


def _pages(browser: Browser, workshop: Page, url: str, folder: Path) -> None:
    for theme in THEMES:
        page = shot(browser, f"{url}/{_RUN}", theme, 1280, 820)
        write(folder / f"ended-{theme}.png", page, workshop)


def finished_run(folder: Path) -> str:
    """Run the tutorial's workflow with its bank until it has succeeded; return what `dcf run` printed at its end."""
    for name in ("refunds.py", "bank.py"):
        source = re.search(rf"`{name}`[^\n]*(?:\n[^\n`]+)*\n*```python\n(.*?)```", _PAGE, re.DOTALL)
        assert source is not None, f"docs/tutorials/refunds.md has no {name}"
        (folder / name).write_text(source[1], "utf-8")
    command = re.search(r"^dcf (run refunds\.py .*)$", _PAGE, re.MULTILINE)
    assert command is not None, "docs/tutorials/refunds.md has no `dcf run`"
    with _started(folder, "bank.py", "0") as bank:
        address = _first_line(bank)
        with _started(folder, "-m", "dcf", *shlex.split(command[1]), BANK_URL=address) as run:
            wait_until(lambda: _epoch(folder) is not None, _LONG)
            approve = ("-m", "dcf", "approve", _RUN, "Approve", "--as", "alice", "--epoch", str(_epoch(folder)))
            subprocess.run([sys.executable, *approve], env=_environment(folder), cwd=folder, check=True)
            printed, _ = run.communicate(timeout=_LONG)
            assert run.returncode == 0, printed
    return printed


def terminal(browser: Browser, printed: str) -> bytes:
    """Return a picture of a terminal with this output, colours included."""
    console = Console(record=True, width=_COLUMNS, file=io.StringIO(), force_terminal=True)
    console.print(Text.from_ansi(printed))
    svg = _FONT.sub("", console.export_svg(title="dcf run refunds.py"))
    page = browser.new_page(viewport={"width": 1200, "height": 900})
    page.set_content(f"<body style='margin:0'>{svg}</body>")
    picture = page.locator("svg")
    picture.evaluate("svg => { svg.setAttribute('width', 1000); svg.style.display = 'block'; }")
    taken = picture.screenshot(omit_background=True)
    page.close()
    return taken


@contextmanager
def web(folder: Path) -> Iterator[str]:
    """Serve the page of these runs while the context lasts; yield the address of the list of runs."""
    with _started(folder, "-m", "dcf", "web", "--auth", "off", "--port", "0", "--allow-actions", "--json") as server:
        yield json.loads(_first_line(server))["url"]


@contextmanager
def _started(folder: Path, *arguments: str, **more: str) -> Iterator["subprocess.Popen[str]"]:
    command, environment = [sys.executable, *arguments], _environment(folder) | more
    process = subprocess.Popen(command, env=environment, cwd=folder, stdout=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.terminate()
        process.wait(_LONG)


def _first_line(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def _epoch(folder: Path) -> int | None:
    """Return the visit in which the run waits for alice; None while it does not."""
    command = [sys.executable, "-m", "dcf", "inbox", _RUN, "--json"]
    done = subprocess.run(command, env=_environment(folder), cwd=folder, capture_output=True, text=True, check=False)
    tasks = json.loads(done.stdout)["tasks"] if done.returncode == 0 else []
    return tasks[0]["epoch"] if tasks else None


def _environment(folder: Path) -> dict[str, str]:
    own = {"HOME": str(folder), "TMPDIR": str(folder), "DCF_DATA_DIR": str(folder / "data"), "FORCE_COLOR": "1"}
    return {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), **own}


if __name__ == "__main__":
    main(Path(sys.argv[1]))
