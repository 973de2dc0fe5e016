"""`python -m benchmarks.pixels`: how long after its commit an event of a run is seen on its open page.

Chromium without a window shows the picture of a run that `dcf web` serves. Fifty times an agent takes a state, and
the page notes when the frame begins after the one in which the node of that state was drawn in its new colour. The
delay is counted from the time of the event in the history, in milliseconds of Redis's clock, which this machine has.
"""

import os
import statistics
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

from playwright.sync_api import Page

from benchmarks.waiting import serving
from dcf.application.application import open_application
from dcf.settings.process import Settings
from tests.support.redis.restricted import restricted_redis
from tests.system.browser.browser import opened_browser
from tests.system.browser.demo_runs import Crew

_EVENTS: Final = 50
_QUIET_MS: Final = 700
"""Milliseconds between two events: longer than a page lets pass between two refreshes, so that each is alone."""
_WATCH: Final = """state => {
  const node = document.querySelector(`[data-state="${state}"]`).closest(".dcf-state");
  const shown = () => (document.body.dataset.seen = performance.timeOrigin + performance.now());
  delete document.body.dataset.seen;
  new MutationObserver((_, self) => {
    if (!node.classList.contains("dcf-running")) return;
    self.disconnect();
    requestAnimationFrame(() => requestAnimationFrame(shown));
  }).observe(node, { attributes: true, attributeFilter: ["class"] });
}"""


def main() -> None:
    """Measure and print."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="dcf-")))
        redis = stack.enter_context(restricted_redis(folder / "redis"))
        opened = stack.enter_context(open_application(Settings.model_validate({"redis_url": redis.url, "auth": "off"})))
        served = stack.enter_context(serving(opened, "web"))
        browser = stack.enter_context(opened_browser())
        crew = Crew(opened)
        run = crew.start(_chain(_EVENTS + 1))
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.goto(f"http://127.0.0.1:{served.port}/ui/runs/{run}")
        page.wait_for_selector(".live-sign[data-is=on]")
        read = sorted(_delay(page, crew, run, f"State{number:02}") for number in range(1, _EVENTS + 1))
    half, most = statistics.median(read), read[int(len(read) * 0.95)]
    load = os.getloadavg()[0]
    sys.stdout.write(
        f"event to pixels, {_EVENTS} events: p50 {half:.0f} ms, p95 {most:.0f} ms, "
        f"most {read[-1]:.0f} ms (load {load:.1f} on {os.cpu_count()} cores)\n"
    )


def _delay(page: Page, crew: Crew, run: str, state: str) -> float:
    """Return the milliseconds from the commit of a lease until the page has drawn it."""
    crew.done(run, f"State{int(state[5:]) - 1:02}", {})
    page.wait_for_timeout(_QUIET_MS)
    page.evaluate(_WATCH, state)
    crew.take(run, state)
    seen = page.wait_for_selector("body[data-seen]", state="attached")
    assert seen is not None
    event = crew.application.history.newest_before(run, limit=1)[0]
    assert event.type == "LeaseAcquired", event.type
    _give_back(crew, run, state)
    return float(seen.get_attribute("data-seen") or "") - int(event.event_id.partition("-")[0])


def _give_back(crew: Crew, run: str, state: str) -> None:
    """Let the state be taken once more, as `done` does before the next event."""
    crew.ask("release_state_lease", workflow_id=run, state=state, force=True)


def _chain(length: int) -> dict[str, Any]:
    states: dict[str, Any] = {f"State{n:02}": {"Type": "Task", "Next": f"State{n + 1:02}"} for n in range(length - 1)}
    return {"StartAt": "State00", "States": {**states, f"State{length - 1:02}": {"Type": "Task", "End": True}}}


if __name__ == "__main__":
    main()
