"""What is exported and opened elsewhere, in a real browser: the report from a file, and the text for Mermaid."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Error, expect

from tests.support.tables import rows
from tests.system.browser.browser import THEMES, Theme, opened_tab
from tests.system.browser.conftest import DemoSite, Tabs

Export = Callable[[str, str], Path]


@pytest.fixture(scope="module")
def export(demo: DemoSite, tmp_path_factory: pytest.TempPathFactory) -> Export:
    """Exports a run of the site, by its name, in a form; each once."""
    folder = tmp_path_factory.mktemp("exports")
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "REDIS_URL": demo.redis.url}

    def made(name: str, form: str) -> Path:
        file = folder / f"{name}.{form}"
        if not file.exists():
            command = [sys.executable, "-m", "dcf", "runs", "export", demo.runs[name], "-o", form, "--to", str(file)]
            subprocess.run(command, env=environment, check=True, capture_output=True, timeout=60)
        return file

    return made


@rows("theme", THEMES)
@rows("name", ["mapped", "hostile"])
def test_a_report_opens_from_a_file_asks_for_nothing_and_axe_finds_nothing_wrong(
    chromium: Browser, axe: Path, export: Export, name: str, theme: Theme
) -> None:
    file = export(name, "html")
    query: list[str] = []
    with opened_tab(chromium, f"file://{file.parent}", axe, theme=theme) as tab:
        tab.page.on("request", lambda request: query.append(request.url))
        tab.page.goto(f"file://{file}")
        expect(tab.page.locator("h1")).to_be_visible()
        assert query == [f"file://{file}"]
        assert tab.violations() == []
        assert tab.page.evaluate("window.canary") is None


def test_a_report_can_be_read_on_a_phone(chromium: Browser, axe: Path, export: Export) -> None:
    file = export("mapped", "html")
    with opened_tab(chromium, f"file://{file.parent}", axe, width=360) as tab:
        tab.page.goto(f"file://{file}")
        assert not tab.scrolls_sideways()
        heights = tab.page.locator("td.name").evaluate_all("all => all.map(one => one.offsetHeight)")
        assert max(heights) < 50, "no name is broken into a column of letters"


def test_a_report_shows_the_graph_of_the_page(
    chromium: Browser, axe: Path, export: Export, demo: DemoSite, tabs: Tabs
) -> None:
    shown = "all => all.map(one => [one.dataset.state, one.dataset.status])"
    file = export("mapped", "html")
    with opened_tab(chromium, f"file://{file.parent}", axe) as tab:
        tab.page.goto(f"file://{file}")
        in_report = tab.page.locator("svg [data-state]").evaluate_all(shown)
    with tabs() as tab:
        page = tab.open(f"/ui/runs/{demo.runs['mapped']}")
        assert page.locator("svg [data-state]").evaluate_all(shown) == in_report
    assert ["Publish", "pending"] in in_report


@pytest.fixture
def mermaid(chromium: Browser, node_packages: Path) -> Callable[[str], None]:
    """Lets Mermaid itself read a text; it raises what Mermaid finds wrong."""
    page = chromium.new_page()
    page.add_script_tag(path=node_packages / "mermaid" / "dist" / "mermaid.min.js")

    def parse(text: str) -> None:
        page.evaluate("text => mermaid.parse(text).then(() => null)", text)

    return parse


@rows("name", ["mapped", "hostile", "waiting"])
def test_mermaid_can_read_what_is_exported_for_it(mermaid: Callable[[str], None], export: Export, name: str) -> None:
    mermaid(export(name, "mermaid").read_text("utf-8"))


def test_mermaid_says_so_where_it_cannot_read_a_text(mermaid: Callable[[str], None], export: Export) -> None:
    with pytest.raises(Error, match="Parse error"):
        mermaid(export("mapped", "mermaid").read_text("utf-8") + '\n  a["unclosed')
