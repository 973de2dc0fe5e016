"""People on the page, in a real browser: choose filters, go back, press keys, turn the lights off."""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from dcf.application.application import open_application
from dcf.core.access.model import Scope
from dcf.settings.process import Settings
from dcf.store.keys.table import RunKeys
from dcf.web.site import build_site
from tests.support.paths import ROOT
from tests.support.redis.documents import write_document
from tests.support.redis.restricted import restricted_redis
from tests.system.browser.browser import THEMES, WIDTHS, Tab, opened_tab
from tests.system.browser.conftest import DemoSite, Tabs
from tests.tools.calls import serving


def rows(page: Page) -> list[str]:
    """The rows of the table; the address of a page is there before the page is."""
    page.wait_for_load_state()
    return page.locator("main tbody th").all_inner_texts()


def test_the_filters_are_in_the_address_and_the_back_button_restores_them(tab: Tab, demo: DemoSite) -> None:
    mine = {demo.crew.broken(tags_json=["mine"]), demo.crew.waiting(tags_json=["mine"])}
    page = tab.open("/ui/runs")
    page.get_by_label("Tag").fill("mine")
    page.get_by_role("button", name="Filter").click()
    expect(page).to_have_url(re.compile("tag=mine"))
    assert set(rows(page)) == mine
    page.locator("select").select_option("failed")
    page.get_by_role("button", name="Filter").click()
    expect(page).to_have_url(re.compile("status=failed.*tag=mine"))
    assert len(rows(page)) == 1
    page.go_back()
    expect(page.get_by_label("Tag")).to_have_value("mine")
    assert set(rows(page)) == mine
    page.get_by_role("link", name="Show all").click()
    expect(page).to_have_url(f"{demo.origin}/ui/runs")


def test_the_counts_lead_to_the_runs_that_they_count(tab: Tab) -> None:
    page = tab.open("/ui/runs")
    counts = page.get_by_role("navigation", name="Runs by status")
    counts.get_by_role("link", name="failed").click()
    expect(page.locator(".counts a[aria-current]")).to_contain_text("failed")
    expect(page.locator("select")).to_have_value("failed")
    inner_text = page.locator(".counts a[aria-current] b").inner_text()
    assert len(rows(page)) == int(inner_text)


@pytest.fixture(scope="module")
def empty_site(short_directory: Path) -> Iterator[tuple[str, str]]:
    """A site on a Redis in which nothing has ever run, and that Redis."""
    with ExitStack() as stack:
        redis = stack.enter_context(restricted_redis(short_directory / "nothing"))
        chosen = Settings.model_validate({"redis_url": redis.url, "auth": "off"})
        opened = stack.enter_context(open_application(chosen))
        yield stack.enter_context(serving(build_site(opened))), redis.url


@pytest.mark.processes
def test_where_nothing_has_run_yet_the_page_shows_a_command_that_works(
    empty_site: tuple[str, str], chromium: Browser, axe: Path, tmp_path: Path
) -> None:
    origin, redis_url = empty_site
    with opened_tab(chromium, origin, axe) as tab:
        page = tab.open("/ui/runs")
        program, *arguments = shlex.split(page.locator("main code").inner_text())
        assert program == "dcf"
        done = subprocess.run(
            [sys.executable, "-m", "dcf", *arguments],
            env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), "REDIS_URL": redis_url},
            cwd=ROOT, capture_output=True, text=True, check=False, timeout=90,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        page.reload()
        assert len(rows(page)) == 1
        expect(page.locator("main tbody")).to_contain_text("succeeded")


def test_a_chosen_theme_is_remembered_and_shown_before_anything_is_drawn(tab: Tab) -> None:
    page = tab.open("/ui/runs")
    button = page.get_by_role("button", name="Dark")
    expect(button).to_have_attribute("aria-pressed", "false")
    light = page.evaluate("getComputedStyle(document.body).backgroundColor")
    button.click()
    expect(button).to_have_attribute("aria-pressed", "true")
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert dark != light
    page.reload()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == dark
    script = "performance.getEntriesByType('resource').find(one => one.name.endsWith('theme.js')).renderBlockingStatus"
    assert page.evaluate(script) == "blocking"
    button.click()
    assert page.evaluate("localStorage.length") == 0  # what the system prefers needs no memory
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == light


def test_a_picture_is_dark_where_the_chosen_theme_is(tab: Tab, demo: DemoSite) -> None:
    page = tab.open(f"/ui/runs/{demo.runs['mapped']}")
    fill = "getComputedStyle(document.querySelector('.dcf-page')).fill"
    light = page.evaluate(fill)
    page.get_by_role("button", name="Dark").click()
    assert page.evaluate(fill) != light


def test_without_scripts_there_is_no_button_that_does_nothing(tabs: Tabs) -> None:
    with tabs(java_script_enabled=False) as tab:
        expect(tab.open("/ui/runs").locator("[data-theme-button]")).to_be_hidden()


def test_a_run_is_found_and_a_state_read_with_the_keyboard_alone(tab: Tab, demo: DemoSite) -> None:
    run = demo.crew.broken(tags_json=["keys"])
    page = tab.open("/ui/runs?tag=keys")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()
    press_until(page, run)
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_contain_text(run)
    press_until(page, "Table")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("tab=table"))
    press_until(page, "ValidateOrder")
    page.keyboard.press("Enter")
    expect(page.locator("aside h2")).to_contain_text("ValidateOrder")
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") in {"none", "auto", "solid"}


def press_until(page: Page, name: str) -> None:
    """Press the tabulator until what is focused says this, and can be seen to be focused."""
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement?.innerText ?? ''").strip().lower() == name.lower():
            assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
            return
    pytest.fail(f"the tabulator does not lead to {name}")


def holds(outer: list[float], inner: list[float]) -> bool:
    """Whether one box is drawn inside another, as what is inside a Parallel or Map."""
    return outer[0] < inner[0] and outer[1] < inner[1] and inner[2] < outer[2] and inner[3] < outer[3]


def test_each_state_of_a_picture_has_a_name_with_its_status_and_boxes_do_not_overlap(tab: Tab, demo: DemoSite) -> None:
    page = tab.open(f"/ui/runs/{demo.runs['mapped']}")
    names = page.locator("[data-state]").evaluate_all("all => all.map(one => one.getAttribute('aria-label'))")
    assert names[0] == "CollectChanges: succeeded, attempt 1"
    assert any(name.startswith("Translate: running") for name in names)
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 800})
        boxes = page.locator("[data-state]:not(:has([data-state])) > .dcf-shape").evaluate_all(
            "all => all.map(one => { const box = one.getBoundingClientRect();"
            " return [box.left, box.top, box.right, box.bottom]; })"
        )
        assert len(boxes) == 10
        overlapping = [
            (box, other)
            for at, box in enumerate(boxes)
            for other in boxes[:at]
            if box[0] < other[2]
            and other[0] < box[2]
            and box[1] < other[3]
            and other[1] < box[3]
            and not holds(box, other)
            and not holds(other, box)
        ]
        assert overlapping == []


def test_arrow_keys_follow_the_arrows_of_a_picture_and_enter_opens_a_state(tab: Tab, demo: DemoSite) -> None:
    page = tab.open(f"/ui/runs/{demo.runs['running']}")
    page.locator(
        'a[data-state="ValidateOrder"], [data-state="ValidateOrder"] a, a:has([data-state="ValidateOrder"])'
    ).first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.locator("aside h2")).to_contain_text("CalculatePricing")
    expect(page.locator("aside")).to_contain_text("pricing-1")


def test_five_megabytes_that_another_program_wrote_are_cut_and_the_page_answers(tab: Tab, demo: DemoSite) -> None:
    run = demo.crew.start({"StartAt": "A", "States": {"A": {"Type": "Task", "End": True}}})
    demo.crew.done(run, "A", {})
    with demo.redis.admin() as admin:
        write_document(admin.execute_command, RunKeys(run).output("A"), {"text": "<b>x</b>" * (5_000_000 // 8)})
    page = tab.open(f"/ui/runs/{run}?state=A")
    assert len(page.content()) < 200_000
    expect(page.locator("aside")).to_contain_text("more characters")
    page.get_by_role("link", name="Close").click()
    expect(page.locator("aside")).to_have_count(0)


def test_at_twice_the_size_nothing_is_cut_off(tabs: Tabs, demo: DemoSite) -> None:
    with tabs(width=640, device_scale_factor=2) as tab:
        tab.open(f"/ui/runs/{demo.runs['retried']}?tab=table&state=Fetch")
        assert not tab.scrolls_sideways()


def test_who_wants_no_motion_gets_none(tabs: Tabs, demo: DemoSite) -> None:
    with tabs(reduced_motion="reduce") as tab:
        page = tab.open(f"/ui/runs/{demo.runs['running']}")
        assert page.evaluate("document.getAnimations().length") == 0


def test_colours_that_somebody_chose_for_all_programs_hold_for_pictures_too(tabs: Tabs, demo: DemoSite) -> None:
    with tabs(forced_colors="active") as tab:
        page = tab.open(f"/ui/runs/{demo.runs['mapped']}")
        fills = page.locator(".dcf-shape").evaluate_all("all => all.map(one => getComputedStyle(one).fill)")
        assert set(fills) == {page.evaluate("getComputedStyle(document.body).backgroundColor")}


def test_what_is_printed_is_dark_on_white_without_menus(tabs: Tabs, demo: DemoSite) -> None:
    with tabs(theme="dark") as tab:
        page = tab.open(f"/ui/runs/{demo.runs['finished']}?tab=table")
        page.emulate_media(media="print")
        for hidden in ("header.top", ".tabs"):
            expect(page.locator(hidden)).to_be_hidden()
        assert page.evaluate("getComputedStyle(document.body).color") == "rgb(22, 32, 42)"


def test_the_bars_of_a_timeline_agree_with_the_times_of_the_events_within_a_pixel(tab: Tab, demo: DemoSite) -> None:
    run = demo.runs["finished"]
    events = demo.crew.ask("read_run_events", workflow_id=run)["events"]
    at = {(event["type"], event["state"]): datetime.fromisoformat(event["at"]) for event in events}
    start, end = at["RunCreated", None], at["RunSucceeded", None]
    page = tab.open(f"/ui/runs/{run}?tab=timeline")
    for state in ("ValidateOrder", "CalculatePricing", "GenerateInvoice"):
        row = page.locator(f'tr[data-key="{state}"]')
        track = row.locator(".track svg").evaluate("one => one.getBoundingClientRect().toJSON()")
        bar = row.locator(".seg.working").evaluate("one => one.getBoundingClientRect().toJSON()")
        begun, done = at["LeaseAcquired", state], at["StateSucceeded", state]
        left = track["left"] + track["width"] * ((begun - start) / (end - start))
        assert abs(bar["left"] - left) <= 1
        assert abs(bar["width"] - track["width"] * ((done - begun) / (end - start))) <= 1
        assert track["width"] > 300


def test_a_confirmed_action_with_its_reason_is_on_the_page_and_in_the_history(tab: Tab, demo: DemoSite) -> None:
    run = demo.crew.running()
    page = tab.open(f"/ui/runs/{run}")
    page.get_by_role("group", name="What can be done with the run").get_by_role("button", name="Pause").click()
    expect(page.locator("form.confirm")).to_be_visible()
    for theme in THEMES:
        page.emulate_media(color_scheme=theme)
        assert tab.violations() == []
    page.get_by_label(re.compile("reason|why", re.IGNORECASE)).fill("lunch <b>")
    page.locator("form.confirm button").click()
    expect(page.get_by_role("status").first).to_contain_text("✔")
    expect(page.locator("h1")).to_contain_text("paused")
    events = demo.crew.ask("read_run_events", workflow_id=run)["events"]
    (paused,) = (event for event in events if event["type"] == "RunPaused")
    assert paused["reason"] == "lunch <b>"
    assert tab.violations() == []


@pytest.fixture(scope="module")
def keyed_origin(short_directory: Path) -> Iterator[tuple[str, str]]:
    """A site that asks for keys, and a key."""
    with ExitStack() as stack:
        redis = stack.enter_context(restricted_redis(short_directory / "keyed"))
        chosen = Settings.model_validate({"redis_url": redis.url, "auth": "keys"})
        opened = stack.enter_context(open_application(chosen))
        key = opened.keys.create((Scope.READ,), agent_id=None, label="reader", life_s=None)
        yield stack.enter_context(serving(build_site(opened))), key.text


def test_one_logs_in_with_a_key_and_out_again(keyed_origin: tuple[str, str], chromium: Browser, axe: Path) -> None:
    origin, key = keyed_origin
    with opened_tab(chromium, origin, axe) as tab:
        page = tab.open("/ui/runs?tag=mine")
        expect(page).to_have_url(re.compile("/ui/login"))
        for theme in THEMES:
            page.emulate_media(color_scheme=theme)
            assert tab.violations() == []
        page.get_by_label("API key").fill(key)
        page.keyboard.press("Enter")
        expect(page).to_have_url(f"{origin}/ui/runs?tag=mine")
        assert tab.violations() == []
        assert page.evaluate("document.cookie") == "", "no script can read the cookie of a session"
        page.get_by_role("button", name="Log out").click()
        expect(page.get_by_label("API key")).to_be_visible()
