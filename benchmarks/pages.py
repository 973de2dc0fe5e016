"""`python -m benchmarks.pages`: how long a browser takes to show a list of 500 runs, and a run of 150 states.

Chromium without a window opens each page ten times, on a Redis and a server of this process. The first time is named,
and the median of the others; then how much larger the page is, and its memory. Nothing is asserted.
"""

import statistics
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

from playwright.sync_api import Browser

from dcf.application.application import open_application
from dcf.settings.process import Settings
from dcf.web.site import build_site
from tests.support.redis.restricted import restricted_redis
from tests.system.browser.browser import opened_browser
from tests.system.browser.demo_runs import Crew
from tests.tools.calls import serving

_RUNS: Final = 500
_STATES: Final = 150
_TIMES: Final = 10
_SHOWN: Final = """() => {
  const [page] = performance.getEntriesByType("navigation");
  const paint = performance.getEntriesByName("first-contentful-paint")[0];
  return { server: page.responseEnd, loaded: page.loadEventEnd, painted: paint ? paint.startTime : null,
           kb: page.decodedBodySize / 1024, sent: page.encodedBodySize / 1024,
           nodes: document.getElementsByTagName("*").length, heap: performance.memory.usedJSHeapSize / 1048576 };
}"""


def main() -> None:
    """Measure and print."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="dcf-")))
        redis = stack.enter_context(restricted_redis(folder / "redis"))
        opened = stack.enter_context(open_application(Settings.model_validate({"redis_url": redis.url, "auth": "off"})))
        crew = Crew(opened)
        for number in range(_RUNS):
            crew.start(_chain(2), workflow_id=f"run-{number}")
        long = crew.start(_chain(_STATES), workflow_id="long")
        origin = stack.enter_context(serving(build_site(opened)))
        browser = stack.enter_context(opened_browser())
        for name, path in (
            (f"list, {_RUNS} runs", "/ui/runs"),
            (f"graph, {_STATES} states", f"/ui/runs/{long}"),
            (f"table, {_STATES} states", f"/ui/runs/{long}?tab=table"),
        ):
            _tell(name, [_measured(browser, f"{origin}{path}") for _ in range(_TIMES)])


def _chain(length: int) -> dict[str, Any]:
    states: dict[str, Any] = {f"State{n:03}": {"Type": "Task", "Next": f"State{n + 1:03}"} for n in range(length - 1)}
    return {"StartAt": "State000", "States": {**states, f"State{length - 1:03}": {"Type": "Task", "End": True}}}


def _measured(browser: Browser, url: str) -> dict[str, float]:
    with browser.new_context(viewport={"width": 1280, "height": 800}) as context:
        page = context.new_page()
        page.goto(url)
        empty_result: dict[str, float] = page.evaluate(_SHOWN)
        return empty_result


def _tell(name: str, document: list[dict[str, float]]) -> None:
    later = {key: statistics.median(item[key] or 0 for item in document[1:]) for key in document[0]}
    sys.stdout.write(
        f"{name}: loaded {document[0]['loaded']:.0f} ms first, then {later['loaded']:.0f} ms "
        f"(answered {later['server']:.0f}, painted {later['painted']:.0f}); "
        f"{later['kb']:.0f} KB, {later['sent']:.0f} KB sent, {later['nodes']:.0f} elements, "
        f"heap {later['heap']:.1f} MB\n"
    )


if __name__ == "__main__":
    main()
