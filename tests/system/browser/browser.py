"""Chromium that looks at the page as people do: Debian's, without a window, driven by Playwright.

While it is open no other event loop may run in the same thread, so no file with browser tests has async ones.
"""

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, Request, expect, sync_playwright

from tests.system.clients.node import in_ci

Theme = Literal["light", "dark"]
THEMES: Final[tuple[Theme, ...]] = ("light", "dark")

WIDTHS: Final = (360, 1280, 2560)

expect.set_options(timeout=60_000)  # a page that is slow is none that is wrong; Playwright waits for 5 s


def executable() -> str:
    """Return the path of Chromium; it may be missing anywhere but in CI."""
    which = shutil.which("chromium")
    if which is not None:
        return which
    if in_ci():
        pytest.fail("CI looks at the pages with Chromium, which .ci/run installs")
    pytest.skip("there is no chromium on this machine")


@contextmanager
def opened_browser() -> Iterator[Browser]:
    """Chromium while the context lasts."""
    path = executable()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path)
        try:
            yield browser
        finally:
            browser.close()


@dataclass(kw_only=True)
class Tab:
    """A page in a browser of its own kind, and what it must not do: log, throw, or ask another origin."""

    page: Page
    origin: str
    axe: Path
    complaints: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page.on("console", self._heard)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", self._asked)

    def _heard(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"}:
            self.complaints.append(f"{message.text} ({self.page.url})")

    def _asked(self, request: Request) -> None:
        if not request.url.startswith(f"{self.origin}/"):
            self.foreign.append(request.url)

    def open(self, path: str) -> Page:
        """Go to a path of the site; it must be answered with a page."""
        answer = self.page.goto(f"{self.origin}{path}")
        assert answer is not None
        assert answer.status == 200, f"{path}: {answer.status}"
        return self.page

    def check(self) -> None:
        """Fail if the page logged an error or a warning, threw, or asked another origin, since it was opened."""
        assert self.complaints == []
        assert self.foreign == []

    def violations(self) -> list[tuple[str, str, list[Any]]]:
        """The violations that axe-core finds: the rule, its weight, and the places."""
        self.page.evaluate(self.axe.read_text("utf-8") + "\n;0")
        audit: Mapping[str, Any] = self.page.evaluate("axe.run(document)")
        return [
            (violation["id"], violation["impact"], [node["target"] for node in violation["nodes"]])
            for violation in audit["violations"]
        ]

    def scrolls_sideways(self) -> bool:
        """Whether the page, not a part of it, is wider than its window."""
        return bool(self.page.evaluate("document.documentElement.scrollWidth > innerWidth"))


@contextmanager
def opened_tab(
    browser: Browser, origin: str, axe: Path, *, theme: Theme = "light", width: int = 1280, **options: Any
) -> Iterator[Tab]:
    """A tab of its own context, checked when it closes."""
    viewport = {"width": width, "height": 800}
    context = browser.new_context(color_scheme=theme, viewport=viewport, service_workers="block", **options)  # type: ignore[arg-type]
    try:
        tab = Tab(page=context.new_page(), origin=origin, axe=axe)
        yield tab
        tab.check()
    finally:
        context.close()
