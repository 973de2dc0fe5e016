"""Accounts in a real browser: the page follows limits without a reload, and its buttons close and open an account."""

import secrets

import pytest
from playwright.sync_api import expect

from tests.system.browser.browser import Tab
from tests.system.browser.conftest import DemoSite

pytestmark = [pytest.mark.processes, pytest.mark.xdist_group("browser")]


def test_a_limit_appears_and_ends_on_open_pages_without_a_reload(tab: Tab, demo: DemoSite) -> None:
    account = f"acc-{secrets.token_hex(4)}"
    demo.crew.ask("put_account", account=account, in_flight=4)
    page = tab.open("/ui/accounts")
    line = page.locator(f'tr[data-key="{account}"]')
    expect(line).to_contain_text("✔ open")
    run = demo.crew.parked(account)
    expect(line).to_contain_text("five-hour limit, reported by coder-3")
    expect(line.locator('td[data-label="parked states"]')).to_have_text("2")
    page.goto(f"{demo.origin}/ui/runs/{run}")
    band = page.get_by_role("region", name="Parked")
    expect(band).to_contain_text(f"Account {account} is closed until")
    expect(band).to_contain_text("reported by coder-3")
    expect(band).to_contain_text("The run times out first")
    demo.crew.ask("open_account", account=account)
    expect(band).to_have_count(0)


def test_an_account_is_closed_and_opened_by_buttons(tab: Tab, demo: DemoSite) -> None:
    account = f"acc-{secrets.token_hex(4)}"
    demo.crew.ask("put_account", account=account)
    page = tab.open("/ui/accounts")
    line = page.locator(f'tr[data-key="{account}"]')
    line.get_by_role("button", name="Close").click()
    expect(page.locator("h1")).to_have_text("Close the account")
    page.get_by_label("Until").fill("2h")
    page.get_by_label("Reason").fill("lunch")
    page.locator("main button").first.click()
    expect(line).to_contain_text("lunch, reported by")
    line.get_by_role("button", name="Open").click()
    page.locator("main button").first.click()
    expect(line).to_contain_text("opens")
