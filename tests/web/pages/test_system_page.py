"""The page for operators: health, settings without secrets, quotas, and the audit trail; and who does not see it."""

import re
import secrets
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from urllib.parse import parse_qsl

import pytest

from dcf import metrics
from dcf.application.application import Application, open_application
from dcf.core.access.model import Caller, Scope
from dcf.errors import InvalidArgument
from dcf.settings.process import VARIABLES, Settings
from dcf.store.connection.layout import LAYOUT
from dcf.store.forms.form import FORM_WORDS
from dcf.web.pages.settings_shown import settings_shown
from dcf.web.pages.system import TABS, system_page
from dcf.web.site import build_site
from dcf.web.visit import ToolRefused, Visit
from tests.support.advised import on_page
from tests.support.redis.documents import STORED
from tests.support.redis.restricted import RestrictedRedis, restricted_redis
from tests.support.tables import rows
from tests.web.browsing import HOSTILE, Browser, check_harmless, text_of

pytestmark = pytest.mark.anyio

PASSWORD = "hunter2-hunter2"


@pytest.fixture(scope="module")
def system_redis(short_directory: Path) -> Iterator[RestrictedRedis]:
    with restricted_redis(short_directory / "system") as redis:
        yield redis


@pytest.fixture(scope="module")
def here(system_redis: RestrictedRedis) -> Iterator[Application]:
    """A control plane with an audit trail of its own, and with secrets in its settings."""
    values = {"redis_url": system_redis.url, "auth": "off", "allow_operator": True, "api_key": PASSWORD}
    values["public_url"] = f"https://me:{PASSWORD}@dcf.example/mcp"
    with open_application(Settings.model_validate(values)) as opened:
        yield opened


@pytest.fixture
def browser(here: Application) -> Browser:
    return Browser(build_site(here))


def visit_of(application: Application, *scopes: Scope, project: str | None = None) -> Visit:
    caller = Caller(name="key:0123456789ab", scopes=frozenset(scopes or Scope), project=project)
    return Visit(application=application, caller=caller)


async def test_health_is_shown_with_its_facts_and_what_to_do_the_worst_first(
    here: Application, browser: Browser
) -> None:
    page = await browser.get("/ui/system")
    text = text_of(page)
    for finding in here.health.report().findings:
        assert re.split(r"\d", finding.sentence)[0] in text, "figures go on changing"
        assert finding.remedy is None or on_page(finding.remedy) in text
    assert f"{here.server.product} {here.server.version}" in text
    assert f"documents {FORM_WORDS[STORED.name]} key layout {LAYOUT}" in text
    levels = re.findall(r'<td class="level-(\w+)">', page)
    assert levels == sorted(levels, key=("failing", "warning", "ok").index)
    assert "dcf doctor" in text


@rows("is_served", [None, False, True], ids=["nothing counts", "for a collector", "served"])
async def test_metrics_are_linked_where_they_are_served(
    is_served: bool | None, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(metrics, "current", None if is_served is None else metrics.Meters(is_served=is_served))
    assert ('href="/metrics"' in await browser.get("/ui/system")) is (is_served is True)


async def test_settings_are_shown_those_that_were_set_first_and_no_secret(browser: Browser) -> None:
    page = await browser.get("/ui/system?tab=settings")
    shown = re.findall(r"<th scope=\"row\"><code>(\w+)</code>", page)
    assert sorted(shown) == sorted(VARIABLES)
    assert {"REDIS_URL", "DCF_API_KEY", "DCF_AUTH", "DCF_PUBLIC_URL"} <= set(shown[:8])
    assert PASSWORD not in page
    assert "set, and not shown" in page
    assert "dcf.example/mcp" in page


def test_a_setting_of_each_kind_is_in_words() -> None:
    settings = Settings.model_validate({"toolsets": ("a", "b"), "read_only": True})
    result = {setting_shown.variable: setting_shown for setting_shown in settings_shown(settings)}
    assert (result["DCF_TOOLSETS"].value, result["DCF_READ_ONLY"].value) == ("a, b", "true")
    assert (result["DCF_READ_ONLY"].is_set, result["DCF_MCP_PORT"].is_set) == (True, False)
    assert (result["DCF_FILES_READ"].value, result["DCF_ITEMS_MAX_BYTES"].value) == ("none", str(16 * 1024 * 1024))


async def test_quotas_are_shown_and_what_keys_use_without_the_keys(here: Application, browser: Browser) -> None:
    assert "dcf keys add" in text_of(await browser.get("/ui/system?tab=quotas"))
    made = here.keys.create((Scope.READ, Scope.PLAN), label=HOSTILE, agent_id="planner-1", life_s=None)
    page = await browser.get("/ui/system?tab=quotas")
    (record,) = here.keys.all()[0]
    assert record.key_id in page
    assert "planner-1" in page
    for hidden in (made.text, record.digest):
        assert hidden not in page
    check_harmless(page)


async def test_the_audit_trail_says_who_did_what_in_pages_that_new_entries_do_not_shift(
    here: Application, browser: Browser
) -> None:
    names = [f"rule-{number:03}-{secrets.token_hex(2)}" for number in range(60)]
    visit = visit_of(here)
    for name in names:
        visit.ask("put_definition", kind="rule", name=name, content="x", reason=HOSTILE)
    first = await browser.get("/ui/system?tab=audit&type=put_definition")
    check_harmless(first)
    link = re.search(r'<a href="([^"]+)" rel="next">', first)
    assert link is not None
    visit.ask("put_definition", kind="rule", name="later", content="y")
    second = await browser.get(unescape(link[1]))
    shown = re.findall(r"rule-\d{3}-\w{4}", text_of(first) + text_of(second))
    assert shown == list(reversed(names))
    assert "later" not in text_of(second)
    assert "key:0123456789ab" in text_of(first)


async def test_the_audit_trail_is_filtered_by_key_and_by_type(here: Application, browser: Browser) -> None:
    with pytest.raises(ToolRefused):
        visit_of(here, Scope.READ).ask("put_definition", kind="rule", name="refused-one", content="x")
    refusals = text_of(await browser.get("/ui/system?tab=audit&type=refusal"))
    assert "put_definition" in refusals
    assert "forbidden" in refusals
    assert "There is no such entry" in text_of(await browser.get("/ui/system?tab=audit&by=ffffffffffff"))
    assert "put_definition" in text_of(await browser.get("/ui/system?tab=audit&by=0123456789ab"))


@pytest.mark.parametrize("tab", TABS)
def test_who_is_no_operator_or_is_bound_to_a_project_sees_none_of_it(here: Application, tab: str) -> None:
    for visit in (visit_of(here, *(set(Scope) - {Scope.OPERATE})), visit_of(here, project="mine")):
        with pytest.raises(ToolRefused) as refused:
            system_page(visit, {"tab": tab})
        assert refused.value.code == "forbidden"
        assert refused.value.hint


async def test_a_server_whose_user_is_no_operator_answers_with_a_page_that_says_so(application: Application) -> None:
    page = await Browser(build_site(application)).ask("GET", "/ui/system")
    assert page.status_code == 403
    assert "DCF_ALLOW_OPERATOR=true" in text_of(page.text)


@rows("query", ["tab=x", "tab=audit&skip=-1", "tab=audit&until=now"])
def test_what_means_nothing_is_refused(here: Application, query: str) -> None:
    with pytest.raises(InvalidArgument):
        system_page(visit_of(here), dict(parse_qsl(query)))


async def test_every_page_says_that_redis_rejects_writes(
    here: Application, browser: Browser, system_redis: RestrictedRedis, monkeypatch: pytest.MonkeyPatch
) -> None:
    with system_redis.admin() as admin:
        admin.config_set("maxmemory", 1)
        monkeypatch.setattr(here.writes, "_good_until", 0.0)
        pages = [text_of(await browser.get(path)) for path in ("/ui/runs", "/ui/inbox", "/ui/system")]
        admin.config_set("maxmemory", 0)
    assert all("Redis refuses writes: its memory is full (OOM)." in page for page in pages)
    assert all("dcf runs prune --older-than 7d" in page for page in pages)
    monkeypatch.setattr(here.writes, "_good_until", 0.0)
    assert "Redis refuses writes" not in await browser.get("/ui/runs")


async def test_the_page_of_a_run_says_what_the_write_of_its_diagnosis_met(
    here: Application, browser: Browser, system_redis: RestrictedRedis
) -> None:
    definition = {"name": "w", "asl": {"StartAt": "A", "States": {"A": {"Type": "Task", "End": True}}}}
    run = visit_of(here).ask("create_workflow_control_plane", workflow_json=definition)["workflow_id"]
    with system_redis.admin() as admin:
        for limit, is_rejected in ((0, False), (1, True), (0, False)):  # sooner than the watch would look again
            admin.config_set("maxmemory", limit)
            page = text_of(await browser.get(f"/ui/runs/{run}"))
            assert ("What dcf shows may be out of date" in page) is is_rejected
