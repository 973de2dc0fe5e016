"""Live pages in Chromium: what happens to a run is seen without loading the page again."""

import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from playwright.sync_api import APIResponse, Browser, Page, Route, expect, sync_playwright

from dcf.application.application import Application
from tests.system.browser.relay import Relay
from tests.system.browser.served import ServedPage
from tests.tools.calls import TWO_TASKS
from tests.web.worked_runs import Run, a_run, chain

pytestmark = [pytest.mark.processes, pytest.mark.xdist_group("browser")]

PATIENCE_MS = 60_000
NOT_CONNECTED = re.compile("ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED_ENCODING|ERR_CONNECTION_RESET|503|EMPTY_RESP")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium; closed before another file is run, since it keeps the thread's event loop."""
    which = shutil.which("chromium")
    if which is None:
        pytest.skip("there is no chromium on this machine")
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=which)
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def site(application: Application) -> Iterator[ServedPage]:
    with ServedPage(application) as served:
        yield served


@dataclass
class Tab:
    """A page and what its browser complained of."""

    page: Page
    origin: str
    complaints: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)

    def open(self, path: str) -> Page:
        self.page.goto(f"{self.origin}{path}")
        self.page.evaluate("window.kept = 1")
        expect(self.page.locator(".live-sign")).to_have_text("Live", timeout=PATIENCE_MS)
        return self.page

    def was_never_loaded_again(self) -> bool:
        return bool(self.page.evaluate("window.kept === 1"))


@pytest.fixture
def tab(browser: Browser, site: ServedPage) -> Iterator[Tab]:
    context = browser.new_context(service_workers="block", reduced_motion="reduce")
    tab = Tab(context.new_page(), site.origin)
    tab.page.on("console", lambda m: tab.complaints.append(m.text) if m.type in {"error", "warning"} else None)
    tab.page.on("pageerror", lambda error: tab.complaints.append(str(error)))
    context.on("request", lambda r: None if r.url.startswith(f"{site.origin}/") else tab.foreign.append(r.url))
    yield tab
    context.close()
    assert tab.complaints == []
    assert tab.foreign == []


def within(ms: int = PATIENCE_MS) -> Any:
    return {"timeout": ms}


def node(page: Page, state: str) -> Any:
    return page.locator(f'[data-state="{state}"]')


def test_a_state_that_is_completed_changes_in_the_picture_without_a_reload(application: Application, tab: Tab) -> None:
    run = a_run(application, TWO_TASKS)
    page = tab.open(f"/ui/runs/{run.workflow_id}")
    running = page.title()
    token = run.take("A")
    expect(node(page, "A")).to_have_class(re.compile("dcf-running"), **within())
    run.complete("A", token)
    expect(node(page, "A")).to_have_class(re.compile("dcf-succeeded"), **within())
    expect(node(page, "A")).to_have_attribute("aria-label", re.compile("^A: succeeded"), **within())
    run.complete("B", run.take("B"))
    expect(page.locator("h1")).to_contain_text("✔ succeeded", **within())
    assert page.title() != running
    expect(page.locator("[role=status]")).to_contain_text("The run succeeded.", **within())
    colours = "n => getComputedStyle(n.querySelector('.dcf-shape')).stroke"
    expect(node(page, "B")).to_have_class(re.compile("dcf-succeeded"), **within())
    seen = [node(page, state).evaluate(colours) for state in ("A", "B")]
    page.reload()
    assert seen == [node(page, state).evaluate(colours) for state in ("A", "B")]


def test_a_reason_goes_from_its_page_when_what_helps_was_done_elsewhere(application: Application, tab: Tab) -> None:
    run = a_run(application, TWO_TASKS)
    run.tool("pause_run")
    page = tab.open(f"/ui/why?run={run.workflow_id}")
    expect(page.locator("main h3")).to_contain_text("paused")
    asked_at = page.locator(".as-of time").get_attribute("datetime")
    run.tool("resume_run")
    expect(page.locator("main h3", has_text="paused")).to_have_count(0, **within())
    assert (page.locator(".as-of time").get_attribute("datetime") or "") > (asked_at or "")
    assert tab.was_never_loaded_again()


def test_a_row_of_the_table_changes_and_the_page_is_not_loaded_again(application: Application, tab: Tab) -> None:
    run = a_run(application, TWO_TASKS)
    page = tab.open(f"/ui/runs/{run.workflow_id}?tab=table")
    run.complete("A", run.take("A"))
    expect(page.locator('tr[data-key="A"]')).to_contain_text("✔ succeeded", **within())
    expect(page.locator('tr[data-key="A"] td.succeeded')).to_have_count(1, **within())
    assert tab.was_never_loaded_again()


def test_a_status_changes_before_the_fragments_of_the_page_have_come(application: Application, tab: Tab) -> None:
    run = a_run(application, TWO_TASKS)
    for view, place in (("graph", '[data-state="A"]'), ("table", '[data-status-of="A"]')):
        page = tab.open(f"/ui/runs/{run.workflow_id}?tab={view}")
        page.route(lambda url: "tab=" in url, lambda _: None)  # they never come
        if view == "graph":
            token = run.take("A")
            expect(page.locator(place)).to_have_class(re.compile("dcf-running"), **within())
            expect(page.locator(place)).to_have_attribute("aria-label", re.compile("^A: running"))
            expect(page.locator(f"{place} > .dcf-note > .dcf-word")).to_have_text("▶ running")
        else:
            run.complete("A", token)
            expect(page.locator(place)).to_have_text("✔ succeeded", **within())
        page.unroute_all(behavior="ignoreErrors")


def test_html_from_before_an_event_does_not_undo_it(application: Application, tab: Tab) -> None:
    run = a_run(application, TWO_TASKS)
    page = tab.open(f"/ui/runs/{run.workflow_id}?tab=graph")
    routeses: list[tuple[Route, APIResponse]] = []

    def hold(route: Route) -> None:
        routeses.append((route, route.fetch()))

    page.route(lambda url: "tab=" in url, hold)
    with page.expect_request(lambda item: "tab=" in item.url):
        run.tool("pause_run")
    expect(page.locator("h1")).to_contain_text("running")
    while not routeses:
        page.wait_for_timeout(10)
    run.tool("resume_run")
    run.take("A")
    expect(node(page, "A")).to_have_class(re.compile("dcf-running"), **within())
    route, answer = routeses[0]
    route.fulfill(response=answer)
    expect(page.locator("h1")).to_contain_text("paused", **within())
    assert "dcf-running" in (node(page, "A").get_attribute("class") or "")
    page.unroute_all(behavior="ignoreErrors")


def shown_events(page: Page) -> list[str]:
    evaluate_all: list[str] = page.locator("tr[data-key]").evaluate_all("rows => rows.map(row => row.dataset.key)")
    return evaluate_all


def test_after_a_restart_of_the_server_the_events_are_those_of_the_history(
    application: Application, tab: Tab, site: ServedPage
) -> None:
    run = a_run(application, chain(6))
    page = tab.open(f"/ui/runs/{run.workflow_id}?tab=events")
    run.complete("S0", run.take("S0"))
    expect(page.locator("tr[data-key]")).to_have_count(len(run.event_ids()), **within())
    site.kill()
    expect(page.locator(".live-sign")).to_have_text("Not connected, trying again", **within())
    run.complete("S1", run.take("S1"))
    site.start()
    expect(page.locator(".live-sign")).to_have_text("Live", timeout=PATIENCE_MS)
    run.complete("S2", run.take("S2"))
    expect(page.locator("tr[data-key]")).to_have_count(len(run.event_ids()), **within())
    assert shown_events(page) == run.event_ids()[::-1]
    assert tab.was_never_loaded_again()
    tab.complaints[:] = [complaint for complaint in tab.complaints if not NOT_CONNECTED.search(complaint)]


def test_a_connection_that_is_cut_loses_no_event_and_repeats_none(
    application: Application, browser: Browser, site: ServedPage
) -> None:
    run = a_run(application, chain(6))
    context = browser.new_context(service_workers="block")
    with Relay(site.port) as relay:
        tab = Tab(context.new_page(), relay.origin)
        page = tab.open(f"/ui/runs/{run.workflow_id}?tab=events")
        page.evaluate(
            "const sign = document.querySelector('.live-sign');"
            "new MutationObserver(() => {"
            " if (sign.textContent.startsWith('Not connected')) document.body.dataset.cut = 'yes'; })"
            ".observe(sign, { childList: true, characterData: true, subtree: true })"
        )
        for number in range(6):
            token = run.take(f"S{number}")
            if number in {1, 3}:
                page.evaluate("delete document.body.dataset.cut")
                assert relay.cut() > 0
            run.complete(f"S{number}", token)
            if number in {1, 3}:
                expect(page.locator("body")).to_have_attribute("data-cut", "yes", **within())
                run.tool("pause_run")
                run.tool("resume_run")
                expect(page.locator(".live-sign")).to_have_text("Live", **within())
        expect(page.locator("tr[data-key]")).to_have_count(len(run.event_ids()), **within())
        assert shown_events(page) == run.event_ids()[::-1]
        assert tab.was_never_loaded_again()
        context.close()


def test_a_hidden_page_lets_its_stream_go_and_catches_up_when_it_is_seen(application: Application, tab: Tab) -> None:
    run = a_run(application, TWO_TASKS)
    page = tab.open(f"/ui/runs/{run.workflow_id}?tab=events")
    known = run.event_ids()[-1]
    hide(page, hidden=True)
    run.complete("A", run.take("A"))
    with page.expect_request(lambda item: "/live" in item.url) as expect_request:
        hide(page, hidden=False)
    assert expect_request.value.url.endswith(f"/live?after={known}")
    expect(page.locator("tr[data-key]")).to_have_count(len(run.event_ids()), **within())
    assert shown_events(page) == run.event_ids()[::-1]


def hide(page: Page, *, hidden: bool) -> None:
    value = "true" if hidden else "false"
    page.evaluate(f"Object.defineProperty(document, 'hidden', {{value: {value}, configurable: true}})")
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")


def test_a_paused_page_stands_still_until_it_goes_on(application: Application, tab: Tab) -> None:
    run = a_run(application, TWO_TASKS)
    page = tab.open(f"/ui/runs/{run.workflow_id}?tab=table")
    other = a_run(application, TWO_TASKS)
    page.get_by_role("button", name="Pause updates").click()
    expect(page.locator(".live-sign")).to_have_text("Paused")
    token = run.take("A")
    with page.context.new_page() as second:  # a page that gets the same change shows that there was time for it
        second.goto(f"{tab.origin}/ui/runs/{other.workflow_id}?tab=table")
        expect(second.locator(".live-sign")).to_have_text("Live", **within())
        other.take("A")
        expect(second.locator('tr[data-key="A"]')).to_contain_text("running", **within())
    page.bring_to_front()
    expect(page.locator('tr[data-key="A"]')).to_contain_text("pending")
    page.get_by_role("button", name="Resume updates").click()
    expect(page.locator('tr[data-key="A"]')).to_contain_text("running", **within())
    run.complete("A", token)
    expect(page.locator('tr[data-key="A"]')).to_contain_text("succeeded", **within())


def test_focus_and_open_details_survive_what_happens_meanwhile(application: Application, tab: Tab) -> None:
    run = a_run(application, TWO_TASKS)
    page = tab.open(f"/ui/runs/{run.workflow_id}?tab=table&state=A")
    details = page.locator("main details").first
    details.locator("summary").click()
    was_open = details.evaluate("one => one.open")
    page.locator('tr[data-key="B"] a').focus()
    run.complete("A", run.take("A"))
    expect(page.locator("aside")).to_contain_text("succeeded", **within())
    assert details.evaluate("one => one.open") == was_open
    assert page.evaluate("document.activeElement.textContent") == "B"


def test_the_list_of_runs_counts_and_shows_what_begins_and_ends(application: Application, tab: Tab) -> None:
    tag = "seen-live"
    page = tab.open(f"/ui/runs?tag={tag}")
    expect(page.locator("tbody tr")).to_have_count(0)
    run = a_run(application, chain(1), tags=(tag,))
    expect(page.locator(f'tr[data-key="{run.workflow_id}"]')).to_contain_text("running", **within())
    before = int(page.locator('[data-count="succeeded"]').inner_text())
    page.locator("input[name=workflow]").fill("typed meanwhile")
    run.complete("S0", run.take("S0"))
    expect(page.locator(f'tr[data-key="{run.workflow_id}"]')).to_contain_text("✔ succeeded", **within())
    expect(page.locator('[data-count="succeeded"]')).to_have_text(str(before + 1), **within())
    assert page.locator("input[name=workflow]").input_value() == "typed meanwhile"
    assert tab.was_never_loaded_again()


def test_hostile_names_that_come_live_are_text(application: Application, tab: Tab) -> None:
    name = "<img src=x onerror=window.bad=1>"
    workflow = {"asl": {"StartAt": name, "States": {name: {"Type": "Task", "End": True}}}}
    run: Run = a_run(application, workflow)
    for view in ("graph", "table", "events"):
        page = tab.open(f"/ui/runs/{run.workflow_id}?tab={view}")
        if view == "graph":
            run.take(name)
        expect(page.locator("main")).to_contain_text("running", **within())
        assert page.evaluate("window.bad") is None
        assert page.locator("main img").count() == 0


def test_without_scripts_the_page_is_a_snapshot_without_a_word_of_being_live(
    application: Application, browser: Browser, site: ServedPage
) -> None:
    run = a_run(application, TWO_TASKS)
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{site.origin}/ui/runs/{run.workflow_id}")
    assert page.locator(".live").is_hidden()
    assert page.locator("svg [data-state]").count() == 2
    context.close()
