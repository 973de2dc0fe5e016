"""Log-in at the page over ASGI: who gets in, what the cookie is, and how a session ends."""

import logging
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis
from starlette.requests import Request

from dcf.application.application import Application, open_application
from dcf.core.access.model import Scope
from dcf.settings.process import Settings
from dcf.store.access.audit_trail import AuditFilter
from dcf.store.connection.connections import Connections, open_pool
from dcf.web.forms import own_path
from dcf.web.sessions import Sessions
from dcf.web.site import build_site
from tests.support.redis.documents import set_member
from tests.support.redis.redis_contents import everything_in
from tests.support.redis.restricted import RestrictedRedis
from tests.support.redis.servers import MODULES, listens, running
from tests.support.tables import rows
from tests.support.waiting import wait_until
from tests.web.visitors import HOST, Visitor, form

pytestmark = pytest.mark.anyio

READER = (Scope.READ,)


@pytest.fixture
def visitor(keyed: Application) -> Visitor:
    return Visitor(build_site(keyed))


@pytest.fixture
def admin(web_redis: RestrictedRedis) -> Iterator[redis.Redis]:
    with web_redis.admin() as connection:
        yield connection


def key_of(application: Application, *scopes: Scope, **more: Any) -> str:
    return application.keys.create(scopes or READER, **({"agent_id": None, "label": None, "life_s": None} | more)).text


def id_of(key: str) -> str:
    return key.split("_")[1]


def session_keys(admin: redis.Redis) -> set[str]:
    return {str(key) for key in admin.scan_iter("cp:idx:session:*")}


async def test_who_is_not_logged_in_is_sent_to_the_log_in_and_comes_back_to_the_page(
    keyed: Application, visitor: Visitor
) -> None:
    _ui_runs_tag_mine_status_running = await visitor.get("/ui/runs?tag=mine&status=running")
    assert (
        _ui_runs_tag_mine_status_running.headers["location"]
        == "/ui/login?next=%2Fui%2Fruns%3Ftag%3Dmine%26status%3Drunning"
    )
    page = await visitor.follow(_ui_runs_tag_mine_status_running)
    assert '<input id="key" name="key" type="password"' in page.text
    match = re.search(r'<form class="login" method="post" action="([^"]+)"', page.text)
    assert match is not None
    answer = await visitor.post(match[1], {"key": key_of(keyed)})
    assert answer.headers["location"] == "/ui/runs?tag=mine&status=running"
    assert "<h1>Runs</h1>" in (await visitor.follow(answer)).text


async def test_the_cookie_is_for_this_page_only_and_is_not_the_key(keyed: Application, visitor: Visitor) -> None:
    key = key_of(keyed)
    (cookie,) = (await visitor.log_in(key)).headers.get_list("set-cookie")
    lowers = {part.strip().lower() for part in cookie.split(";")}
    assert {"httponly", "samesite=strict", "path=/ui", "max-age=43200"} <= lowers
    assert "secure" not in lowers, "it is loopback without https"
    assert id_of(key) not in cookie
    assert key.split("_", 2)[2] not in cookie


async def test_over_https_the_cookie_is_sent_encrypted_only(keyed: Application) -> None:
    visitor = Visitor(build_site(keyed), host="https://localhost")
    (cookie,) = (await visitor.log_in(key_of(keyed))).headers.get_list("set-cookie")
    assert "secure" in {part.strip().lower() for part in cookie.split(";")}


async def test_a_key_that_came_unencrypted_over_a_network_begins_no_session(web_redis: RestrictedRedis) -> None:
    named = {"redis_url": web_redis.url, "mcp_allowed_hosts": "dcf.example"}
    with open_application(Settings.model_validate(named)) as application:
        key = key_of(application)
        plain = Visitor(build_site(application), host="http://dcf.example")
        answer = await plain.log_in(key)
        assert (answer.status_code, "https://" in answer.text, "set-cookie" in answer.headers) == (403, True, False)
        behind_a_proxy = Visitor(build_site(application), host="http://dcf.example")
        assert (await behind_a_proxy.post("/ui/login", {"key": key}, origin="https://dcf.example")).status_code == 303


async def test_neither_the_key_nor_the_id_of_the_session_is_kept_or_logged(
    keyed: Application, visitor: Visitor, web_redis: RestrictedRedis, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    key = key_of(keyed)
    await visitor.log_in(key)
    await visitor.get("/ui/runs")
    everything = everything_in(Connections(open_pool(web_redis.admin_url)))
    assert "cp:idx:session:" in everything
    for secret in (key.split("_", 2)[2], visitor.cookies["dcf_session"]):
        assert secret not in everything
        assert secret not in caplog.text


@rows("wrong", ["", "hello", "another secret", "revoked", "expired", "x" * 5_000, "\udc80"])
async def test_a_wrong_key_opens_nothing_and_all_are_told_the_same(
    keyed: Application, visitor: Visitor, admin: redis.Redis, wrong: str
) -> None:
    key, other = key_of(keyed), key_of(keyed)
    if wrong == "another secret":
        wrong = "_".join((*key.split("_")[:2], other.split("_", 2)[2]))
    elif wrong == "revoked":
        keyed.keys.revoke(id_of(key))
        wrong = key
    elif wrong == "expired":
        set_member(admin.execute_command, f"cp:idx:keys:{id_of(key)}", "expires_at", 1)
        wrong = key
    before = session_keys(admin)
    answer = await visitor.post("/ui/login", {"key": wrong.encode("utf-8", "replace").decode()})
    assert answer.status_code == 403
    assert "This key opens nothing here: it is wrong, has expired or was revoked." in answer.text
    assert "set-cookie" not in answer.headers
    assert session_keys(admin) == before


async def test_who_is_logged_in_already_is_sent_on_to_the_page(keyed: Application, visitor: Visitor) -> None:
    await visitor.log_in(key_of(keyed))
    assert "<h1>Why" in (await visitor.follow(await visitor.get("/ui/login?next=/ui/why"))).text


async def test_a_failed_log_in_is_noted_in_the_audit_trail(web_redis: RestrictedRedis) -> None:
    """By a server of its own: a server that has just noted another leaves out whose key it was."""
    with open_application(Settings.model_validate({"redis_url": web_redis.url})) as application:
        revoked = key_of(application)
        application.keys.revoke(id_of(revoked))
        await Visitor(build_site(application)).log_in(revoked)
        noted = application.audit.newest(1000, AuditFilter(type="login"))
    assert (f"key:{id_of(revoked)}", "revoked") in {(item.by, item.outcome) for item in noted}


async def test_a_log_in_and_a_log_out_are_noted_in_the_audit_trail(keyed: Application, visitor: Visitor) -> None:
    key = key_of(keyed, Scope.READ)
    await visitor.log_in(key)
    page = (await visitor.get("/ui/runs")).text
    await visitor.post("/ui/logout", form(page, "/ui/logout"))
    entries = keyed.audit.newest(50, AuditFilter(by=f"key:{id_of(key)}"))
    noted = [(entry.kind, entry.change, entry.outcome) for entry in entries]
    assert noted == [("login", "log out", "ok"), ("login", "log in", "ok")]


async def test_a_key_that_may_not_read_gets_no_session(keyed: Application, visitor: Visitor) -> None:
    answer = await visitor.log_in(key_of(keyed, Scope.WORK))
    assert (answer.status_code, "&#39;read&#39;" in answer.text, visitor.cookies) == (403, True, {})


async def test_a_new_log_in_ends_the_session_before_it(keyed: Application, visitor: Visitor) -> None:
    await visitor.log_in(key_of(keyed))
    first = dict(visitor.cookies)
    await visitor.log_in(key_of(keyed))
    assert first != visitor.cookies
    assert (await Visitor(visitor.app, cookies=first).get("/ui/runs")).status_code == 303
    assert (await visitor.get("/ui/runs")).status_code == 200


async def test_the_page_says_who_is_logged_in_and_logging_out_ends_the_session(
    keyed: Application, visitor: Visitor
) -> None:
    key = key_of(keyed, agent_id="alice", project="shop")
    await visitor.log_in(key)
    page = (await visitor.get("/ui/runs")).text
    assert f"key:{id_of(key)}, agent alice, project shop" in page
    before = dict(visitor.cookies)
    assert (await visitor.post("/ui/logout", form(page, "/ui/logout"))).headers["location"] == "/ui/login"
    assert visitor.cookies == {}
    assert (await Visitor(visitor.app, cookies=before).get("/ui/runs")).status_code == 303


async def test_logging_out_needs_the_token_of_the_session(keyed: Application, visitor: Visitor) -> None:
    await visitor.log_in(key_of(keyed))
    assert (await visitor.post("/ui/logout", {"_token": "0" * 64})).status_code == 403
    assert (await visitor.get("/ui/runs")).status_code == 200


async def test_a_session_ends_when_its_key_is_revoked_or_expires(
    keyed: Application, visitor: Visitor, admin: redis.Redis
) -> None:
    for end in ("revoke", "expire"):
        key = key_of(keyed)
        await visitor.log_in(key)
        assert (await visitor.get("/ui/runs")).status_code == 200
        if end == "revoke":
            keyed.keys.revoke(id_of(key))
        else:
            set_member(admin.execute_command, f"cp:idx:keys:{id_of(key)}", "expires_at", 1)
        assert (await visitor.get("/ui/runs")).status_code == 303


async def test_a_session_changes_with_the_scopes_of_its_key(
    keyed: Application, visitor: Visitor, admin: redis.Redis
) -> None:
    key = key_of(keyed, Scope.READ, project="shop")
    await visitor.log_in(key)
    record = f"cp:idx:keys:{id_of(key)}"
    set_member(admin.execute_command, record, "project", "barn")
    assert "project barn" in (await visitor.get("/ui/runs")).text
    set_member(admin.execute_command, record, "scopes", ["work"])
    assert (await visitor.get("/ui/runs")).status_code == 303


async def test_a_key_made_anew_under_the_same_id_does_not_inherit_the_session(
    keyed: Application, visitor: Visitor, admin: redis.Redis
) -> None:
    key = key_of(keyed)
    await visitor.log_in(key)
    set_member(admin.execute_command, f"cp:idx:keys:{id_of(key)}", "digest", "0" * 64)
    assert (await visitor.get("/ui/runs")).status_code == 303


async def test_a_session_that_is_idle_lives_an_hour_and_each_request_prolongs_it(
    keyed: Application, visitor: Visitor, admin: redis.Redis
) -> None:
    before = session_keys(admin)
    await visitor.log_in(key_of(keyed))
    (session,) = session_keys(admin) - before
    assert 3_500 < admin.ttl(session) <= 3_600
    admin.expire(session, 1_000)
    await visitor.get("/ui/runs")
    assert admin.ttl(session) > 3_500


async def test_what_an_open_page_asks_for_by_itself_does_not_prolong_the_session(
    keyed: Application, visitor: Visitor, admin: redis.Redis
) -> None:
    before = session_keys(admin)
    await visitor.log_in(key_of(keyed))
    (session,) = session_keys(admin) - before
    admin.expire(session, 1_000)
    assert (await visitor.get("/ui/runs", dcf_version="7")).status_code == 200
    assert int(str(admin.ttl(session))) <= 1_000


@rows("end", ["nothing", "key revoked", "session gone", "scopes", "project", "local"])
async def test_an_open_stream_learns_that_its_visit_does_not_hold_any_more(
    keyed: Application, application: Application, visitor: Visitor, admin: redis.Redis, end: str
) -> None:
    sessions, key = Sessions(application if end == "local" else keyed), key_of(keyed)
    await visitor.log_in(key)
    cookie = f"dcf_session={visitor.cookies['dcf_session']}".encode()
    request = Request({"type": "http", "method": "GET", "path": "/ui/live", "headers": [(b"cookie", cookie)]})
    visit, record = await sessions.visit(request), f"cp:idx:keys:{id_of(key)}"
    assert visit is not None
    if end == "key revoked":
        keyed.keys.revoke(id_of(key))
    elif end == "session gone":
        keyed.web_sessions.end(visitor.cookies["dcf_session"])
    elif end == "scopes":
        set_member(admin.execute_command, record, "scopes", ["read", "plan"])
    elif end == "project":
        set_member(admin.execute_command, record, "project", "barn")
    rate = admin.hget(f"cp:idx:rate:{id_of(key)}", "calls")
    assert await sessions.holds(request, visit) is (end in {"nothing", "local"})
    assert admin.hget(f"cp:idx:rate:{id_of(key)}", "calls") == rate, "it counts no call"


async def test_a_session_ends_after_twelve_hours_however_busy(
    keyed: Application, visitor: Visitor, admin: redis.Redis
) -> None:
    before = session_keys(admin)
    await visitor.log_in(key_of(keyed))
    (session,) = session_keys(admin) - before
    end = int(str(admin.hget(session, "until")))
    now = int(admin.time()[0])
    assert now + 43_000 < end <= now + 43_200
    admin.hset(session, "until", now + 1_000)
    admin.expire(session, 100)
    await visitor.get("/ui/runs")
    assert 900 < admin.ttl(session) <= 1_000, "not beyond its end"
    admin.hset(session, "until", now - 1)
    assert (await visitor.get("/ui/runs")).status_code == 303
    assert not admin.exists(session)


async def test_a_key_that_asks_too_often_is_told_when_to_ask_again(keyed: Application, visitor: Visitor) -> None:
    await visitor.log_in(key_of(keyed, quotas={"calls_per_s": 0.01, "calls_burst": 3}))
    answers = [await visitor.get("/ui/runs") for _ in range(4)]
    assert [answer.status_code for answer in answers] == [200, 200, 429, 429]
    assert "calls a second" in answers[-1].text
    assert int(answers[-1].headers["retry-after"]) > 1


async def test_a_key_that_asks_too_often_begins_no_session_either(keyed: Application, visitor: Visitor) -> None:
    key = key_of(keyed, quotas={"calls_per_s": 0.01, "calls_burst": 1})
    assert (await visitor.log_in(key)).status_code == 303
    again = await visitor.log_in(key)
    assert (again.status_code, "set-cookie" in again.headers) == (429, False)


async def test_without_redis_the_page_says_503_and_asks_nobody_to_log_in(short_directory: Path) -> None:
    place = short_directory / "soon-gone.sock"
    with running("--port", "0", "--unixsocket", str(place), *MODULES) as process:
        wait_until(lambda: listens(place))
        with open_application(Settings.model_validate({"redis_url": f"unix://{place}"})) as application:
            visitor, key = Visitor(build_site(application)), key_of(application)
            await visitor.log_in(key)
            process.kill()
            process.wait()
            answers = [await visitor.get("/ui/runs"), await visitor.log_in(key)]
    assert [item.status_code for item in answers] == [503, 503]
    assert all("set-cookie" not in item.headers and item.headers["retry-after"] for item in answers)
    for answer in answers:  # an unknown caller learns nothing of the server behind
        assert "Log-ins cannot be looked up now." in answer.text
        assert "Redis" not in answer.text


async def test_a_link_on_another_site_finds_the_session_at_the_second_try(keyed: Application, visitor: Visitor) -> None:
    await visitor.log_in(key_of(keyed))
    without = Visitor(visitor.app)  # a strict cookie is not sent
    onward = await without.get("/ui/runs?tag=a%22b", sec_fetch_site="cross-site")
    assert onward.status_code == 200
    assert '<meta http-equiv="refresh" content="0; url=/ui/runs?tag=a%22b">' in onward.text
    assert (await visitor.get("/ui/runs", sec_fetch_site="same-origin")).status_code == 200
    assert (await without.get("/ui/runs", sec_fetch_site="same-origin")).status_code == 303, (
        "and it does not turn round"
    )


@rows(
    "link",
    [
        "https://evil.example/", "//evil.example", "/\\evil.example", "/ui//evil.example", "\\\\evil.example", "//[",
        "/ui/../mcp", "/elsewhere", "/ui/login", "/ui/logout", "/ui/act/cancel_run", "javascript:alert(1)", "",
        "/ui/runs\u202e", "javascript:/ui/why", "//evil.example/ui/why", "ui/runs", None,
        "/ui/runs/a\\b", "/ui/runs/a b", "/ui/" + 3_000 * "x", "/ui/a\t/", "/ui/runs\r\nA: b",
    ],
)  # fmt: skip
def test_only_a_page_of_this_site_is_gone_on_to(link: str | None) -> None:
    assert own_path(link) == "/ui/runs"


@rows("link", ["/ui/runs", "/ui/runs/a-1?tab=table&state=P%2F1%2FRight", "/ui/why?project=a+b"])
def test_a_page_of_this_site_is_gone_on_to_as_it_was(link: str) -> None:
    assert own_path(link) == link


async def test_without_keys_nobody_logs_in(application: Application) -> None:
    visitor = Visitor(build_site(application))
    assert (await visitor.get("/ui/login?next=/ui/runs")).headers["location"] == "/ui/runs"
    page = (await visitor.get("/ui/runs")).text
    assert "Log out" not in page


async def test_another_site_cannot_log_anybody_in(keyed: Application, visitor: Visitor) -> None:
    key = key_of(keyed)
    for headers in (
        {"origin": "https://evil.example", "sec_fetch_site": "cross-site"},
        {"origin": "http://127.0.0.1:3000", "sec_fetch_site": "same-site"},
        {"origin": "null", "sec_fetch_site": ""},
        {"origin": "", "sec_fetch_site": ""},
    ):
        answer = await visitor.post("/ui/login", {"key": key}, **headers)
        assert (answer.status_code, "set-cookie" in answer.headers) == (403, False), headers
    assert (await visitor.post("/ui/login", {"key": key}, origin="")).status_code == 303, f"a page of {HOST} may"


@rows("path", ["/", "/ui", "/ui/", "/ui/runs/", "/ui/static/page.css/", "/ui/login/"])
async def test_nobody_is_sent_to_the_name_that_a_request_gives_the_server(visitor: Visitor, path: str) -> None:
    for host in ("http://evil.example", HOST):
        visitor.host = host
        answer = await visitor.get(path)
        assert answer.headers.get("location", "/").startswith("/"), host


@rows("path", ["/ui/runs/a%0Ab", "/ui/%0a/x", "/ui/runs/%0d%0aX: y"])
async def test_a_line_break_in_a_path_gets_nobody_by_the_guard(visitor: Visitor, path: str) -> None:
    assert "content-security-policy" in (await visitor.get(path)).headers
    visitor.host = "http://evil.example"
    assert (await visitor.get(path)).status_code == 421


async def test_a_page_of_an_error_shows_who_is_logged_in_and_the_way_out(keyed: Application, visitor: Visitor) -> None:
    await visitor.log_in(key_of(keyed))
    for path in ("/ui/runs/none", "/ui/nowhere"):
        answer = await visitor.get(path)
        assert answer.status_code == 404
        assert "_token" in form(answer.text, "/ui/logout"), path


async def test_the_menu_leads_to_no_screen_that_would_only_refuse(keyed: Application, visitor: Visitor) -> None:
    assert 'href="/ui/why"' not in (await visitor.get("/ui/login")).text, "before the log-in it leads nowhere"
    await visitor.log_in(key_of(keyed))
    page = (await visitor.get("/ui/runs")).text
    assert ('href="/ui/why"' in page, 'href="/ui/system"' in page) == (True, False)
    operator = Visitor(build_site(keyed))
    await operator.log_in(key_of(keyed, Scope.READ, Scope.OPERATE))
    assert 'href="/ui/system"' in (await operator.get("/ui/runs")).text
