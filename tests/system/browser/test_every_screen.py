"""The rules for every screen of the page, in a real browser: a new screen is covered by its line in SCREENS."""

from typing import Final

import pytest
from playwright.sync_api import expect

from tests.system.browser.browser import THEMES, WIDTHS
from tests.system.browser.conftest import DemoSite, Tabs

SCREENS: Final = {
    "runs": "/ui/runs",
    "no runs": "/ui/runs?tag=nothing",
    "graph": "/ui/runs/{mapped}?state=CollectChanges",
    "table": "/ui/runs/{retried}?tab=table&state=Fetch",
    "a failed run": "/ui/runs/{broken}",
    "events": "/ui/runs/{broken}?tab=events",
    "timeline": "/ui/runs/{mapped}?tab=timeline&state=CollectChanges",
    "a map": "/ui/runs/{mapped}?tab=table&inside=Translate",
    "a lost lease": "/ui/runs/{lost}",
    "a person is asked": "/ui/runs/{waiting}?state=Approve",
    "why": "/ui/why",
    "why of a run": "/ui/why?run={lost}",
    "inbox": "/ui/inbox",
    "a form of the inbox": "/ui/inbox?run={waiting}&state=Approve",
    "agents": "/ui/agents",
    "accounts": "/ui/accounts",
    "a parked run": "/ui/runs/{parked}",
    "workflows": "/ui/workflows",
    "a workflow": "/ui/workflows/{workflow}",
    "system": "/ui/system",
    "hostile text": "/ui/runs/{hostile}?tab=table&state=Second",
}
"""The path of each screen, with the names of runs as `DemoSite` has them."""

every_screen = pytest.mark.parametrize("path", SCREENS.values(), ids=SCREENS.keys())


@every_screen
def test_axe_finds_nothing_wrong_in_either_theme_and_it_fits_any_window(tabs: Tabs, demo: DemoSite, path: str) -> None:
    with tabs() as tab:
        page = tab.open(path.format(**demo.runs))
        for theme in THEMES:
            page.emulate_media(color_scheme=theme)
            assert tab.violations() == [], theme
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 800})
            assert not tab.scrolls_sideways(), width
            expect(page.locator("h1")).to_be_in_viewport()
        assert page.evaluate("window.canary") is None, "no text of a run was run"


@every_screen
def test_it_can_be_read_with_scripting_off(tabs: Tabs, demo: DemoSite, path: str) -> None:
    with tabs(java_script_enabled=False) as tab:
        page = tab.open(path.format(**demo.runs))
        expect(page.locator("main h1")).to_have_count(1)
        expect(page.locator("main")).to_be_visible()
