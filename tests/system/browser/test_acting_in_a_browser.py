"""Buttons in Chromium: what helps a run that does not move, pressed twice, by two people at once, or not there."""

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from dcf.application.application import open_application
from dcf.settings.process import Settings
from dcf.web.site import build_site
from tests.support.tables import rows
from tests.system.browser.conftest import DemoSite, Tabs
from tests.system.browser.demo_runs import Crew
from tests.tools.calls import serving

pytestmark = [pytest.mark.processes, pytest.mark.xdist_group("browser")]

REASON = "it was looked into"
PATIENCE_MS = 60_000


def events(demo: DemoSite, run: str, kind: str) -> list[Any]:
    events = demo.crew.ask("read_run_events", workflow_id=run)["events"]
    return [event for event in events if event["type"] == kind]


def confirm(page: Page, **filled: str) -> None:
    """Fill in the form that asks to confirm, and send it."""
    expect(page.locator("form.confirm")).to_be_visible()
    for label, text in ({"Reason": REASON} | filled).items():
        if page.get_by_label(re.compile(label)).count():
            page.get_by_label(re.compile(label)).fill(text)
    page.locator("form.confirm button").click()


def held(crew: Crew) -> str:
    return crew.running()


def paused(crew: Crew) -> str:
    run = crew.running()
    crew.ask("pause_run", workflow_id=run)
    return run


def blocked(crew: Crew) -> str:
    run = crew.running()
    crew.ask("add_journal_entry", workflow_id=run, agent_id="pricing-1", kind="issue", text="Which price?", blocks=True)
    return run


HELPED: dict[Callable[[Crew], str], tuple[str, str, dict[str, str]]] = {
    held: ("lease held", "Release the lease", {}),
    paused: ("paused", "Resume the run", {}),
    blocked: ("blocked", "Resolve the issue", {"The action or decision": "The one of today."}),
}


@rows("script", HELPED, ids=lambda item: str(item.__name__))
def test_the_button_beside_a_reason_is_confirmed_and_the_reason_is_gone(
    tabs: Tabs, demo: DemoSite, script: Callable[[Crew], str]
) -> None:
    run, (cause, button, filled) = script(demo.crew), HELPED[script]
    with tabs() as tab:
        page = tab.open(f"/ui/why?run={run}")
        expect(page.locator("main h3").first).to_contain_text(cause)
        page.get_by_role("button", name=button).click()
        confirm(page, **filled)
        expect(page.get_by_role("status").first).to_contain_text("✔")
        expect(page).to_have_url(re.compile(r"/ui/why\?run="))
        expect(page.locator("main h3", has_text=re.compile(rf"{cause}\b"))).to_have_count(0)


@pytest.fixture(scope="module")
def only_shown(demo: DemoSite) -> Iterator[str]:
    """The same runs on a page that may not act."""
    with ExitStack() as stack:
        chosen = {"redis_url": demo.redis.url, "auth": "off", "allow_operator": True}
        opened = stack.enter_context(open_application(Settings.model_validate(chosen)))
        yield stack.enter_context(serving(build_site(opened)))


def test_where_actions_are_off_no_page_has_a_button_for_one(tabs: Tabs, demo: DemoSite, only_shown: str) -> None:
    run, waiting = paused(demo.crew), demo.runs["waiting"]
    places = (f"/ui/runs/{run}", f"/ui/runs/{run}?state=CalculatePricing", f"/ui/why?run={run}", "/ui/why")
    with tabs() as tab:
        for path in places:
            tab.open(path)
            assert tab.page.locator("form[action^='/ui/act/']").count() > 0, path
        tab.origin = only_shown
        for path in (*places, "/ui/runs", f"/ui/inbox?run={waiting}&state=Approve", "/ui/agents", "/ui/system"):
            tab.open(path)
            assert tab.page.locator("form[action^='/ui/act/'], form.answer").count() == 0, path


def test_a_button_that_is_pressed_again_before_the_answer_has_come_acts_once(tabs: Tabs, demo: DemoSite) -> None:
    """The server has the first click, and the browser not yet its answer, when the second is made."""
    run = demo.crew.broken()
    held_back: list[Route] = []

    def hold(route: Route) -> None:
        if held_back or "_step=apply" not in (route.request.post_data or ""):
            route.continue_()
        else:
            route.fetch(max_redirects=0)
            held_back.append(route)

    with tabs() as tab:
        page = tab.open(f"/ui/runs/{run}")
        page.get_by_role("button", name="Run again").first.click()
        page.route("**/ui/act/rerun", hold)
        box = page.locator("form.confirm button").bounding_box()
        assert box is not None
        for _ in range(2):
            page.mouse.click(box["x"] + 5, box["y"] + 5)
            while not held_back:
                page.wait_for_timeout(10)
        expect(page.get_by_role("status").first).to_contain_text("✔", timeout=PATIENCE_MS)
        page.unroute_all(behavior="ignoreErrors")
    assert len(held_back) == 1
    assert len(events(demo, run, "RunRerun")) == 1


def test_a_double_click_acts_once(tabs: Tabs, demo: DemoSite) -> None:
    run = demo.crew.running()
    with tabs() as tab:
        page = tab.open(f"/ui/runs/{run}")
        page.get_by_role("group", name="What can be done with the run").get_by_role("button", name="Pause").click()
        page.locator("form.confirm button").dblclick()
        expect(page.locator("h1")).to_contain_text("paused", timeout=PATIENCE_MS)
        expect(page.get_by_role("status").first).to_contain_text("✔")
    assert len(events(demo, run, "RunPaused")) == 1


def test_of_two_pages_that_both_press_the_second_is_told_who_was_first(tabs: Tabs, demo: DemoSite) -> None:
    run = held(demo.crew)
    with tabs() as item, tabs() as other:
        for tab in (item, other):
            tab.open(f"/ui/why?run={run}").get_by_role("button", name="Release the lease").click()
            expect(tab.page.locator("form.confirm")).to_be_visible()
        confirm(item.page)
        expect(item.page.get_by_role("status").first).to_contain_text("✔")
        demo.crew.take(run, "CalculatePricing", "pricing-2")
        confirm(other.page)
        expect(other.page.get_by_role("status").first).to_contain_text("✘")
        assert "✔" not in other.page.get_by_role("status").first.inner_text()
        expect(other.page.locator("main")).to_contain_text("held by pricing-2")
