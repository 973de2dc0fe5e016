"""Access to the page: every route, for every kind of visitor. A route without a row here fails."""

import secrets
from typing import Any, Final
from urllib.parse import quote

import httpx2
import pytest

from dcf.application.application import Application, open_application
from dcf.core.access.model import Scope, local_caller
from dcf.settings.process import Settings
from dcf.verbs.registry import TOOLS
from dcf.web.action import Given
from dcf.web.action_table import ACTIONS
from dcf.web.admission import Admission
from dcf.web.guard import Guard
from dcf.web.sessions import Sessions
from dcf.web.site import build_site, pages, routes
from dcf.web.visit import Visit
from tests.support.redis.documents import set_member
from tests.support.redis.restricted import RestrictedRedis
from tests.support.tables import rows
from tests.tools.calls import ONE_TASK
from tests.web.test_actions import create, logged_in, token_of
from tests.web.visitors import HOST, Visitor

pytestmark = pytest.mark.anyio

OPEN: Final = {"/": "/ui/", "/login": "/ui/login", "/static/{name}": "/ui/static/page.css"}
"""Routes that show nothing of any run, with an address of each."""

SHOWN: Final = {
    "/runs": "/ui/runs",
    "/runs/{workflow_id}": "/ui/runs/{run}",
    "/runs/{workflow_id}/history.json": "/ui/runs/{run}/history.json",
    "/runs/{workflow_id}/value": "/ui/runs/{run}/value?part=input",
    "/runs/{workflow_id}/artifacts/{artifact_id}": "/ui/runs/{run}/artifacts/none",
    "/why": "/ui/why",
    "/inbox": "/ui/inbox",
    "/agents": "/ui/agents",
    "/accounts": "/ui/accounts",
    "/workflows": "/ui/workflows",
    "/workflows/{name:path}": "/ui/workflows/Kept",
    "/system": "/ui/system",
}
"""Routes that a key with the scope read may ask for."""

OPERATED: Final = {"/system"}
"""Those of them that only operators may ask for."""

SENT: Final = {
    "/logout": "/ui/logout",
    "/act/{tool}": "/ui/act/{tool}",
    "/validate": "/ui/validate",
    "/validate/answer": "/ui/validate/answer",
    "/validate/start": "/ui/validate/start",
}
"""Routes that take forms."""

STREAMED: Final = {"/live", "/accounts/live", "/runs/{workflow_id}/live"}
"""Routes of event streams, which are a matter of tests/web/live/test_live_ends.py once one is let in."""

SOME: Final = ["/runs", "/runs/{workflow_id}/value", "/act/{tool}"]
"""A route of each kind: a list, a value of a run, a form."""

ALL_SCOPES: Final = tuple(Scope)


@pytest.fixture(scope="module")
def run(keyed: Application) -> str:
    workflow_json = {"workflow_name": "Kept", **ONE_TASK}
    local = Visit(application=keyed, caller=local_caller(operator=False))
    local.ask("start_run", workflow_json=workflow_json, workflow_id="kept-run")
    return create(keyed)


@pytest.fixture
async def operator(keyed: Application) -> Visitor:
    return await logged_in(keyed, *ALL_SCOPES)


def address(path: str, run: str, tool: str = "cancel_run") -> str:
    return (OPEN | SHOWN | SENT)[path].format(run=run, tool=tool)


def fields_of(tool: str, run: str) -> dict[str, str]:
    """The fields of this tool's button about this run, but for the token."""
    return {item.name: _value(item, run) for item in ACTIONS[tool].given if item.needed}


def _value(value: Given, run: str) -> str:
    return {"workflow_id": run, "verdict": "pass", "action": "pause", "content_sha256": "0" * 64}.get(value.name, "A")


async def confirm(visitor: Visitor, tool: str, fields: dict[str, str], token: str, **headers: str) -> Any:
    """Send the second form at once: what a forger would do, who need not see the page that asks."""
    applied = {"_step": "apply", "_request": secrets.token_hex(16), "_token": token}
    return await visitor.post(f"/ui/act/{tool}", {**fields, **applied}, **headers)


def test_every_route_of_the_site_has_a_row(application: Application) -> None:
    result = {route.path: set(route.methods or ()) for route in routes(Sessions(application))}
    assert set(result) == {*OPEN, *SHOWN, *SENT, *STREAMED}
    for path, methods in result.items():
        assert methods == {"POST"} if path in SENT else "GET" in methods or path in STREAMED
        assert "POST" not in methods or path in {*SENT, "/login"}


def test_what_stands_before_every_route_is_the_guard_and_then_the_admission(application: Application) -> None:
    mounted = pages(application).app
    assert isinstance(mounted, Guard)
    assert isinstance(mounted._app, Admission)


async def test_a_route_that_somebody_adds_is_closed_until_it_is_opened_on_purpose(keyed: Application) -> None:
    async def new(*_: object) -> None:
        raise AssertionError("it was let in")

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    for method, path, status in (
        ("GET", "/ui/new", 303),
        ("POST", "/ui/new", 303),
        ("GET", "/ui/static", 303),
        ("GET", "/ui/login/x", 303),
        ("PUT", "/ui/new", 405),
        ("DELETE", "/ui/login", 405),
    ):
        sent: list[Any] = []
        headers = [(b"host", b"127.0.0.1:8337")]
        scope = {
            "type": "http",
            "method": method,
            "path": path,
            "root_path": "/ui",
            "query_string": b"",
            "headers": headers,
        }
        await Admission(new, Sessions(keyed))(scope, receive, send)
        assert sent[0]["status"] == status


@rows(
    ("kind", "paths"),
    [
        ("none", sorted({*SHOWN, *SENT})),
        *((kind, SOME) for kind in ("made up", "expired", "revoked", "logged out", "of a key that may not read")),
    ],
)
async def test_without_a_session_every_route_leads_to_the_log_in(
    keyed: Application, web_redis: RestrictedRedis, run: str, kind: str, paths: list[str]
) -> None:
    """The admission comes before every route, so each kind of session meets some routes only."""
    visitor = await _without(keyed, web_redis, kind)
    before = dict(visitor.cookies)
    for path in paths:
        visitor.cookies = dict(before)
        await _is_led_to_the_log_in(keyed, visitor, path, run)


async def _is_led_to_the_log_in(keyed: Application, visitor: Visitor, path: str, run: str) -> None:
    token = visitor.cookies.pop("token", "")
    if path in SENT:
        answer = await visitor.post(address(path, run), {"workflow_id": run, "_token": token, "_step": "apply"})
    else:
        answer = await visitor.get(address(path, run))
    assert answer.status_code == 303
    text = "/ui/runs" if path in SENT else address(path, run)
    assert answer.headers["location"].startswith(f"/ui/login?next={quote(text, safe='')}")
    assert run not in answer.text
    assert keyed.runs.overview(run).word == "running"


async def _without(keyed: Application, web_redis: RestrictedRedis, kind: str) -> Visitor:
    """A browser with an invalid or expired session."""
    if kind == "none":
        return Visitor(build_site(keyed, may_act=True))
    if kind == "made up":
        return Visitor(build_site(keyed, may_act=True), cookies={"dcf_session": secrets.token_urlsafe(32)})
    key = keyed.keys.create(ALL_SCOPES, agent_id=None, label=None, life_s=None)
    visitor = Visitor(build_site(keyed, may_act=True))
    await visitor.log_in(key.text)
    token, before = await token_of(visitor), dict(visitor.cookies)
    with web_redis.admin() as admin:
        if kind == "expired":
            for session in admin.scan_iter("cp:idx:session:*"):
                if admin.hget(session, "key_id") == key.record.key_id:
                    admin.delete(session)
        elif kind == "of a key that may not read":
            set_member(admin.execute_command, f"cp:idx:keys:{key.record.key_id}", "scopes", ["plan", "operate"])
    if kind == "revoked":
        keyed.keys.revoke(key.record.key_id)
    if kind == "logged out":
        await visitor.post("/ui/logout", {"_token": token})
    visitor.cookies = before | {"token": token}
    return visitor


@rows("path", sorted(OPEN))
async def test_what_is_open_shows_nothing_of_any_run(keyed: Application, run: str, path: str) -> None:
    answer = await Visitor(build_site(keyed, may_act=True)).get(address(path, run))
    assert answer.status_code in {200, 307}
    assert run not in answer.text


@rows("path", sorted(SHOWN))
async def test_a_key_that_may_read_sees_what_is_shown(keyed: Application, run: str, path: str) -> None:
    there = 400 if "artifact" in path else 200  # no artifact has that id
    visitor = await logged_in(keyed, Scope.READ)
    assert (await visitor.get(address(path, run))).status_code == (403 if path in OPERATED else there)
    operator = await logged_in(keyed, *ALL_SCOPES)
    assert (await operator.get(address(path, run))).status_code == there


@rows("path", sorted({*SHOWN, *SENT}))
async def test_what_no_person_asked_for_is_told_401_where_nobody_is_logged_in(
    keyed: Application, run: str, path: str
) -> None:
    visitor = Visitor(build_site(keyed))
    for headers in ({"sec_fetch_dest": "empty"}, {"accept": "text/event-stream"}):
        assert (await visitor.get(address(path, run), **headers)).status_code == 401


@rows("path", sorted({*SHOWN, *SENT, *OPEN}))
async def test_a_foreign_host_gets_nothing_and_a_foreign_page_changes_nothing(
    keyed: Application, operator: Visitor, run: str, path: str
) -> None:
    token = await token_of(operator)
    assert (await operator.get(address(path, run), host="evil.example")).status_code == 421
    assert (await operator.get(address(path, run), origin="https://evil.example")).status_code == 403
    fields = {"workflow_id": run, "_token": token}
    for headers in (
        {"origin": "https://evil.example"},
        {"origin": "http://127.0.0.1:3000"},
        {"origin": "http://localhost:8337"},
        {"origin": "null"},
        {"sec_fetch_site": "cross-site"},
        {"sec_fetch_site": "same-site", "origin": ""},
        {"sec_fetch_site": "none", "origin": ""},
        {"sec_fetch_site": "", "origin": ""},
    ):
        answer = await operator.post(address(path, run), fields, **headers)
        assert answer.status_code == 403, headers
    assert (await operator.get("/ui/runs")).status_code == 200, "still logged in"
    assert keyed.runs.overview(run).word == "running"


@rows("path", sorted({*SHOWN, *SENT}))
async def test_a_form_without_the_token_of_its_session_is_refused_by_every_route(
    keyed: Application, operator: Visitor, run: str, path: str
) -> None:
    stranger = await logged_in(keyed, *ALL_SCOPES)
    for token in (None, "", "0" * 64, await token_of(stranger), operator.cookies["dcf_session"], "\xe9"):
        form = {"workflow_id": run, "_step": "apply", "_request": "0" * 32} | (
            {} if token is None else {"_token": token}
        )
        assert (await operator.post(address(path, run), form)).status_code == 403
    assert (await operator.get("/ui/runs")).status_code == 200, "still logged in"
    assert keyed.runs.overview(run).word == "running"


@rows("method", ["PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"])
@rows("path", sorted({*SHOWN, *SENT, *OPEN}))
async def test_no_route_knows_another_method(operator: Visitor, run: str, path: str, method: str) -> None:
    assert (await operator.ask(method, address(path, run), {"origin": HOST})).status_code == 405


def is_file(path: str, answer: httpx2.Response) -> bool:
    """Whether it is a file of the page, which a browser may keep as long as it asks whether it is the same."""
    return path.startswith("/static/") and answer.status_code == 200


@rows("path", sorted({*SHOWN, *SENT, *OPEN}))
@rows("kind", ["none", "operator"])
async def test_every_answer_has_the_strict_headers(
    keyed: Application, operator: Visitor, run: str, path: str, kind: str
) -> None:
    visitor = operator if kind == "operator" else Visitor(build_site(keyed))
    for answer in (await visitor.get(address(path, run)), await visitor.post(address(path, run), {"_token": "x"})):
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["x-frame-options"] == "DENY"
        assert answer.headers["cache-control"] == ("no-cache" if is_file(path, answer) else "no-store")
        assert answer.headers["referrer-policy"] == "same-origin"


@rows("tool", sorted(ACTIONS))
async def test_an_action_needs_the_scopes_of_its_tool(keyed: Application, tool: str) -> None:
    needed, one_of = TOOLS[tool].scope, ACTIONS[tool].scopes
    enough = {Scope.READ, needed, *sorted(one_of)[:1]}
    run, visitor = create(keyed), await logged_in(keyed, *enough)
    form = {**fields_of(tool, run), "_token": await token_of(visitor)}
    assert (await visitor.post(f"/ui/act/{tool}", form)).status_code == 200
    for lacking in filter(None, ({needed} - {Scope.READ}, one_of)):
        await _is_refused(keyed, tool, run, scopes=set(Scope) - lacking)


async def _is_refused(keyed: Application, tool: str, run: str, scopes: set[Scope]) -> None:
    """Neither form of the tool is taken from a key of these scopes."""
    visitor = await logged_in(keyed, *scopes)
    before, token = _seen(keyed, run), await token_of(visitor)
    first = await visitor.post(f"/ui/act/{tool}", {**fields_of(tool, run), "_token": token})
    second = await confirm(visitor, tool, fields_of(tool, run), token)
    assert (first.status_code, second.status_code) == (403, 403)
    assert _seen(keyed, run) == before


def _seen(application: Application, run: str) -> tuple[Any, ...]:
    run_view = application.runs.overview(run)
    return run_view.word, dict(run_view.document)


@rows("tool", sorted(ACTIONS))
async def test_where_actions_are_off_no_key_changes_anything(keyed: Application, tool: str) -> None:
    run, visitor = create(keyed), await logged_in(keyed, *ALL_SCOPES, may_act=False)
    before, token = _seen(keyed, run), await token_of(visitor)
    answer = await confirm(visitor, tool, fields_of(tool, run), token)
    assert (answer.status_code, "--allow-actions" in answer.text) == (403, True)
    assert _seen(keyed, run) == before


async def test_a_tool_that_is_no_action_cannot_be_called_by_a_form(operator: Visitor) -> None:
    token, others = await token_of(operator), sorted(TOOLS.keys() - ACTIONS.keys())
    statuses = {tool: (await confirm(operator, tool, {}, token)).status_code for tool in others}
    assert statuses == dict.fromkeys(others, 404)


@rows("tool", sorted(item for item in ACTIONS.keys() - {"start_run"} if ACTIONS[item].of("workflow_id")))
async def test_a_key_of_another_project_changes_nothing_of_a_run(keyed: Application, tool: str) -> None:
    run, visitor = create(keyed, project="shop"), await logged_in(keyed, *ALL_SCOPES, project="barn")
    before = _seen(keyed, run)
    answer = await confirm(visitor, tool, fields_of(tool, run), await token_of(visitor))
    shown = (await visitor.follow(answer)).text if answer.status_code == 303 else answer.text
    assert "✔" not in shown
    assert _seen(keyed, run) == before


@rows("query", ["", "?tab=table", "?tab=events", "?state=A"])
async def test_a_key_of_another_project_sees_nothing_of_a_run(keyed: Application, query: str) -> None:
    run, visitor = create(keyed, project="shop"), await logged_in(keyed, *ALL_SCOPES, project="barn")
    answer = await visitor.get(f"/ui/runs/{run}{query}")
    assert answer.status_code == 404
    assert run not in (await visitor.get("/ui/runs")).text
    assert (await (await logged_in(keyed, Scope.READ, project="shop")).get(f"/ui/runs/{run}{query}")).status_code == 200


@rows("setting", [{"read_only": True}, {"toolsets": ("planning", "execution")}])
async def test_a_server_of_fewer_tools_has_fewer_actions(
    keyed: Application, web_redis: RestrictedRedis, setting: dict[str, Any]
) -> None:
    with open_application(Settings.model_validate({"redis_url": web_redis.url, **setting})) as application:
        run, visitor = create(application), await logged_in(application, *ALL_SCOPES)
        assert 'action="/ui/act/cancel_run"' not in (await visitor.get(f"/ui/runs/{run}")).text
        fields = {"workflow_id": run, "_token": await token_of(visitor)}
        assert (await visitor.post("/ui/act/cancel_run", fields)).status_code == 403


@rows(
    ("form", "status"),
    [({"reason": "x" * 4_000_000}, 413), ({f"a{number}": "" for number in range(1_001)}, 400)],
    ids=["too long", "too many fields"],
)
async def test_a_form_has_its_limits(operator: Visitor, form: dict[str, str], status: int) -> None:
    for path in ("/ui/act/cancel_run", "/ui/logout"):
        answer = await operator.post(path, {"_token": await token_of(operator), **form})
        assert answer.status_code == status
