"""The page of accounts: their limits, what they have used, what waits for them, and who may close and open them."""

import re
import secrets
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dcf.application.application import Application, open_application
from dcf.core.access.model import Caller, Scope
from dcf.core.leasing.lease import Acquire, Release
from dcf.core.leasing.parking import Excuse
from dcf.features.accounts.model import LimitMet
from dcf.settings.process import Settings
from dcf.store.keys import table as keys
from dcf.web.pages.accounts import accounts_page
from dcf.web.run.page import run_page
from dcf.web.site import build_site
from dcf.web.visit import ToolRefused, Visit
from tests.support.redis.restricted import RestrictedRedis, restricted_redis
from tests.tools.calls import ONE_TASK
from tests.web.browsing import HOSTILE, Browser, check_harmless, text_of
from tests.web.live.listening import Listener, in_thread, listening
from tests.web.pages.test_screens_act import logged_in
from tests.web.test_actions import token_of
from tests.web.visitors import Visitor, form

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def redis(short_directory: Path) -> Iterator[RestrictedRedis]:
    """A server of this file's own: the page shows all accounts."""
    with restricted_redis(short_directory / "accounts") as result:
        yield result


@pytest.fixture(scope="module")
def here(redis: RestrictedRedis) -> Iterator[Application]:
    with open_application(Settings.model_validate({"redis_url": redis.url, "auth": "off"})) as opened:
        yield opened


@pytest.fixture(autouse=True)
def _clock_looked(redis: RestrictedRedis) -> None:
    """A timer loop is at work, so that no run lacks one."""
    with redis.admin() as admin:
        admin.execute_command("SET", keys.SERVER_TIME, time.time_ns() // 1000)


@pytest.fixture
def account(here: Application) -> str:
    name = f"acc-{secrets.token_hex(4)}"
    here.accounts.put(name, {"in_flight": 20, "day_tokens": 1000, "tpm": 400_000})
    return name


def visit_of(application: Application, *scopes: Scope, project: str | None = None) -> Visit:
    caller = Caller(name="key:0123456789ab", scopes=frozenset(scopes or Scope), project=project)
    return Visit(application=application, caller=caller, may_act=True)


def close(application: Application, account: str, until: str | None = "52m", **more: Any) -> None:
    limit = {"kind": "limit", "by": "coder-3", "why": "five-hour limit", **more}
    application.accounts.closed(account, LimitMet(until=0, **limit), until=until)


def line_of(page: str, account: str) -> str:
    """The text of an account's line."""
    row = re.search(rf'<tr data-key="{account}">.*?</tr>', page, re.DOTALL)
    assert row is not None
    return text_of(f"<main>{row[0]}</main>")


def parked(application: Application, account: str | None, seconds: int = 3120, **asl: Any) -> str:
    """A run whose task waits for a limit."""
    run = f"r-{secrets.token_hex(5)}"
    document = {**ONE_TASK, "asl": {**ONE_TASK["asl"], **asl}}
    visit_of(application).ask("start_run", workflow_id=run, workflow_json=document, agents_map_json={"*": "coder-1"})
    (state,) = document["asl"]["States"]
    token = secrets.token_hex(8)
    application.control_plane.acquire(run, Acquire(state=state, owner="coder-1", token=token, ttl_s=60))
    excuse = Excuse(within_s=seconds, account=account, by="coder-3")
    application.accounts.release(run, Release(state=state, token=token, excuse=excuse))
    return run


def test_a_line_shows_limit_end_reason_reporter_use_and_parked_states(here: Application, account: str) -> None:
    assert f"{account} ✔ open 0 of 20" in line_of(accounts_page(visit_of(here), {}), account)
    close(here, account)
    parked(here, account)
    here.accounts.assign("coder-3", account)
    line = line_of(accounts_page(visit_of(here), {}), account)
    assert "! closed until 2" in line
    assert "in 51 min five-hour limit, reported by coder-3" in line
    assert "0 of 1,000 tokens (0 %) 1 coder-3 Open" in line
    here.accounts.reopen(account, "ops")
    line = line_of(accounts_page(visit_of(here), {}), account)
    assert "◐ opens" in line
    assert "(0 %) 0 coder-3 Close" in line


def test_a_limit_without_an_end_says_so_and_credit_asks_for_a_person(here: Application, account: str) -> None:
    close(here, account, until=None, why="")
    line = line_of(accounts_page(visit_of(here), {}), account)
    assert "! closed, nobody knows until when usage limit, reported by coder-3; a turn looks each minute" in line
    other = f"{account}-2"
    close(here, other, until=None, kind="spent", why="no credit")
    assert "no credit, reported by coder-3; a person must pay" in line_of(accounts_page(visit_of(here), {}), other)


def test_a_family_of_models_that_is_closed_is_named_and_the_account_is_open(here: Application, account: str) -> None:
    close(here, account, family="opus")
    line = line_of(accounts_page(visit_of(here), {}), account)
    assert "✔ open ! closed for opus until 2" in line
    assert "reported by coder-3; other models continue" in line
    assert line.endswith("Open")
    here.accounts.reopen(account, "ops")
    assert "opus" not in line_of(accounts_page(visit_of(here), {}), account)


def test_closed_accounts_come_first(here: Application) -> None:
    name = f"acc-{secrets.token_hex(4)}"
    here.accounts.put(f"{name}-a", {})
    close(here, f"{name}-z")
    page = accounts_page(visit_of(here), {})
    assert page.index(f"{name}-z") < page.index(f"{name}-a")


def test_a_caller_without_the_scope_operate_has_no_buttons(here: Application, account: str) -> None:
    close(here, account)
    assert 'action="/ui/act/open_account"' in accounts_page(visit_of(here), {})
    shown = accounts_page(visit_of(here, Scope.READ, Scope.WORK), {})
    assert "/ui/act/" not in shown


def test_a_caller_who_may_not_read_is_refused(here: Application) -> None:
    with pytest.raises(ToolRefused):
        accounts_page(visit_of(here, Scope.WORK), {})


def test_text_that_agents_report_is_harmless(here: Application, account: str) -> None:
    close(here, account, why=HOSTILE[:200])
    check_harmless(accounts_page(visit_of(here), {}))
    check_harmless(run_page(visit_of(here), {}, parked(here, account)))


def test_the_page_of_a_parked_run_names_account_end_reporter_and_its_own_timeout(
    here: Application, account: str
) -> None:
    close(here, account)
    text = text_of(run_page(visit_of(here), {}, parked(here, account, TimeoutSeconds=60)))
    assert f"◷ Parked. Account {account} is closed until 2" in text
    assert "UTC, in 51 min (five-hour limit, reported by coder-3). ! The run times out first, at 2" in text
    assert f"Open {account}" in text
    assert "Stuck" not in text
    text = text_of(run_page(visit_of(here), {}, parked(here, account, TimeoutSeconds=9000)))
    assert "times out" not in text


def test_a_limit_of_an_agent_without_an_account_is_shown_too(here: Application) -> None:
    text = text_of(run_page(visit_of(here), {"tab": "table"}, parked(here, None)))
    assert "◷ Parked. The usage limit of coder-3 lasts until 2" in text
    assert "parked for 51 min" in text
    assert "Accounts" not in text


async def test_an_account_is_closed_and_opened_by_its_buttons(keyed: Application) -> None:
    account = f"acc-{secrets.token_hex(4)}"
    keyed.accounts.put(account, {})
    visitor = await logged_in(keyed)

    async def press(tool: str, **filled: str) -> str:
        fields = {"_token": await token_of(visitor), "_back": "/ui/accounts", "account": account}
        confirmation = await visitor.post(f"/ui/act/{tool}", fields)
        assert account in text_of(confirmation.text)
        done = await visitor.post(f"/ui/act/{tool}", form(confirmation.text, f"/ui/act/{tool}") | filled)
        return (await visitor.follow(done)).text

    closed = await press("report_limit", until="2h", reason="lunch")
    assert "in 119 min lunch, reported by key:" in line_of(closed, account)
    assert "◐ opens" in line_of(await press("open_account"), account)


async def test_the_page_is_live(here: Application, account: str) -> None:
    site = build_site(here)
    page = (await Visitor(site).get("/ui/accounts")).text
    address, after = re.findall(r'data-live-(?:stream|after)="([^"]+)"', page)
    listener = Listener(site, f"{address}?after={after}")
    async with listening(listener):
        assert listener.told() == []
        await in_thread(lambda: close(here, account))
        await listener.until(lambda: [details.event for details in listener.told()] == ["refresh"])


async def test_without_accounts_the_page_says_how_to_make_one(short_directory: Path) -> None:
    with restricted_redis(short_directory / "none") as empty:
        settings = Settings.model_validate({"redis_url": empty.url, "auth": "off"})
        with open_application(settings) as opened:
            page = await Browser(build_site(opened)).get("/ui/accounts")
    assert "dcf accounts set anthropic-1 --in-flight 20" in page
