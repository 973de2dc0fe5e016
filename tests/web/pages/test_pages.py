"""The web page over ASGI: what it shows, what it escapes, and whom it refuses."""

import re
import secrets
from pathlib import Path
from typing import Any

import pytest

from dcf.application.application import Application, open_application
from dcf.core.definitions.model import read_definition
from dcf.core.documents.answers import Leased
from dcf.core.leasing.lease import Acquire
from dcf.core.lifecycle.creation import Create
from dcf.settings.process import Settings
from dcf.store.embedded import server as embedded
from dcf.tools.mcp.server import build_http_app
from dcf.web.site import build_site, pages
from tests.support.tables import rows
from tests.tools.calls import TWO_TASKS
from tests.web.visitors import HOST, HOSTILE, Visitor

pytestmark = pytest.mark.anyio


@pytest.fixture
def visitor(application: Application) -> Visitor:
    return Visitor(build_site(application))


def create(application: Application, workflow: Any = TWO_TASKS, **more: Any) -> str:
    wish = Create(
        workflow_id=f"r-{secrets.token_hex(5)}", definition=read_definition(workflow), run_input={"order": HOSTILE},
        agents={}, planner_agent_id=None, retention_s=None, max_attempts=10, **more,
    )  # fmt: skip
    application.control_plane.create(wish)
    return wish.workflow_id


def lease_a(application: Application, run: str) -> str:
    """The token of a lease on the first state, which no page may show."""
    wish = Acquire(state="A", owner="worker-7", token=f"token-{secrets.token_hex(8)}", ttl_s=600)
    assert isinstance(application.control_plane.acquire(run, wish), Leased)
    return wish.token


async def test_the_list_shows_a_run_with_its_status_and_a_link_to_its_page(
    application: Application, visitor: Visitor
) -> None:
    run = create(application)
    page = await visitor.get("/ui/runs")
    assert page.status_code == 200
    assert f'<a href="/ui/runs/{run}">{run}</a>' in page.text
    assert re.search(rf'<td data-run="{run}" class="running">▶ running', page.text)
    assert re.search(r"<b data-count=.runs.>[1-9][0-9]*</b> in all", page.text)


async def test_the_list_says_503_while_redis_does_not_answer(short_directory: Path) -> None:
    with embedded.start(short_directory / "soon-gone") as server:
        manager = open_application(Settings.model_validate({"redis_url": server.url, "auth": "off"}))
        visitor = Visitor(build_site(manager.__enter__()))
        assert (await visitor.get("/ui/runs")).status_code == 200
    try:
        answer = await visitor.get("/ui/runs")
    finally:
        manager.__exit__(None, None, None)
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")


async def test_the_filters_of_the_list_are_in_its_address(application: Application, visitor: Visitor) -> None:
    mine, other = create(application, tags=("mine",)), create(application)
    page = await visitor.get("/ui/runs?tag=mine&status=running")
    assert mine in page.text
    assert other not in page.text
    assert '<input name="tag" value="mine">' in page.text
    assert "<option selected>running</option>" in page.text
    assert (await visitor.get("/ui/runs?status=succeeded&tag=mine")).text.count("No run is like that.") == 1


async def test_a_long_list_goes_on_at_a_link_that_keeps_the_filters(application: Application, visitor: Visitor) -> None:
    runs = {create(application, tags=("many",)) for _ in range(51)}
    first = (await visitor.get("/ui/runs?tag=many")).text
    link = re.search(r'<a href="([^"]+)" rel="next">', first)
    assert link is not None
    second = (await visitor.get(link[1].replace("&amp;", "&"))).text
    assert {run for run in runs if run in first or run in second} == runs
    assert len([run for run in runs if f">{run}</a>" in second]) == 1


@rows("query", ["status=wrong", "cursor=wrong"])
async def test_a_filter_that_means_nothing_is_refused_with_a_page(visitor: Visitor, query: str) -> None:
    page = await visitor.get(f"/ui/runs?{query}")
    assert (page.status_code, "<h1>" in page.text) == (400, True)


async def test_a_run_is_shown_with_its_picture_and_its_states(application: Application, visitor: Visitor) -> None:
    run = create(application)
    graph = (await visitor.get(f"/ui/runs/{run}")).text
    assert "<svg" in graph
    assert 'data-state="A"' in graph
    assert 'aria-current="page">graph</a>' in graph
    table = (await visitor.get(f"/ui/runs/{run}?tab=table")).text
    assert f'<a href="/ui/runs/{run}?tab=table&amp;state=A">A</a>' in table
    assert "· pending" in table
    assert "dcf-graph" not in table


async def test_open_states_inside_a_parallel_are_shown_below_it_and_can_be_chosen(
    application: Application, visitor: Visitor
) -> None:
    inner = [{"StartAt": name, "States": {name: {"Type": "Task", "End": True}}} for name in ("Left", "Right")]
    outer = {"Type": "Parallel", "Branches": inner, "End": True}
    run = create(application, {"asl": {"StartAt": "P", "States": {"P": outer}}})
    table = (await visitor.get(f"/ui/runs/{run}?tab=table")).text
    assert re.findall(r'class="depth-1"><a[^>]*>([^<]+)', table) == ["0 Left", "1 Right"]
    links = [link.replace("&amp;", "&") for link in re.findall(r'class="depth-1"><a href="([^"]+)"', table)]
    assert "P%2F1%2FRight" in links[1]
    assert "<h2>P/1/Right</h2>" in (await visitor.get(links[1])).text
    assert "<svg" in (await visitor.get(links[1].replace("tab=table", "tab=graph"))).text


async def test_a_failed_run_says_its_error_and_the_list_counts_it(application: Application, visitor: Visitor) -> None:
    fail = {"Type": "Fail", "Error": "Broken<b>", "Cause": "it <i>broke"}
    run = create(application, {"asl": {"StartAt": "F", "States": {"F": fail}}})
    for tab in ("graph", "table", "events"):
        page = (await visitor.get(f"/ui/runs/{run}?tab={tab}&state=F")).text
        assert "✘ failed" in page
        assert "Broken&lt;b&gt;" in page
        assert "it &lt;i&gt;broke" in page
    assert run in (await visitor.get("/ui/runs?status=failed")).text


async def test_the_events_of_a_run_are_shown_and_those_of_a_chosen_state_alone(
    application: Application, visitor: Visitor
) -> None:
    run = create(application)
    lease_a(application, run)
    events = (await visitor.get(f"/ui/runs/{run}?tab=events")).text
    assert "RunCreated" in events
    assert "worker-7" in events
    assert "RunCreated" not in (await visitor.get(f"/ui/runs/{run}?tab=events&state=A")).text


async def test_a_chosen_state_is_shown_at_the_side_in_every_tab_without_its_lease_token(
    application: Application, visitor: Visitor
) -> None:
    run = create(application)
    token = lease_a(application, run)
    for tab in ("graph", "table", "events"):
        page = (await visitor.get(f"/ui/runs/{run}?tab={tab}&state=A")).text
        panel = page.partition("<aside")[2]
        assert token not in page
        assert "worker-7" in panel
        assert "<h2>A</h2>" in panel
        assert "order" in panel
        assert f'<a href="/ui/runs/{run}?tab={tab}">Close</a>' in panel


@rows("path", ["/ui/runs/none", "/ui/elsewhere", "/ui/runs/none?tab=events", "/ui/static/none.css"])
async def test_what_there_is_not_is_answered_with_404(visitor: Visitor, path: str) -> None:
    assert (await visitor.get(path)).status_code == 404


async def test_a_state_that_the_run_does_not_have_is_404_and_a_wrong_tab_is_400(
    application: Application, visitor: Visitor
) -> None:
    run = create(application)
    assert (await visitor.get(f"/ui/runs/{run}?state=Z")).status_code == 404
    assert (await visitor.get(f"/ui/runs/{run}?tab=Z")).status_code == 400


async def test_hostile_text_of_a_run_or_an_address_is_shown_and_never_obeyed(
    application: Application, visitor: Visitor
) -> None:
    task = {"Type": "Task", "End": True}
    asl = {"StartAt": "<b>&\"'", "Comment": HOSTILE, "States": {"<b>&\"'": task}}
    run = create(application, {"asl": asl, "workflow_name": "<i>name"}, tags=("<img src=x>",))
    state = "state=%3Cb%3E%26%22%27"
    paths = [f"/ui/runs/{run}?tab={tab}&{state}" for tab in ("graph", "table", "events")]
    paths += ["/ui/runs", "/ui/runs?tag=%22%3E%3Cscript%3Ealert(1)%3C/script%3E", "/ui/runs/%3Cscript%3E?state=x"]
    for path in paths:
        page = (await visitor.get(path)).text
        written = page.lower()
        for tag in ("<script>", "<img src=x", "<b>&", "<i>", "onerror=alert(2)>", "style="):
            assert tag not in written, (path, tag)
        assert "\u202e" not in page
        assert "\x1b" not in page
    assert "&lt;script&gt;alert(1)" in (await visitor.get(paths[0])).text


@rows("path", ["/ui/runs", "/ui/runs/none", "/ui/static/page.css", "/ui/elsewhere"])
async def test_every_answer_has_the_strict_policy_and_only_files_are_kept(visitor: Visitor, path: str) -> None:
    headers = (await visitor.get(path)).headers
    policy = dict(part.strip().split(" ", 1) for part in headers["content-security-policy"].split(";"))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["form-action"] == "'self'"
    assert policy["frame-ancestors"] == policy["base-uri"] == "'none'"
    assert "unsafe" not in headers["content-security-policy"]
    text = "no-cache" if "static" in path else "no-store"
    assert (headers["x-content-type-options"], headers["cache-control"]) == ("nosniff", text)


async def test_a_file_that_a_visitor_has_is_not_sent_again(visitor: Visitor) -> None:
    first = await visitor.get("/ui/static/theme.js")
    assert (first.status_code, first.headers["content-type"]) == (200, "text/javascript; charset=utf-8")
    again = await visitor.get("/ui/static/theme.js", **{"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert (await visitor.get("/ui/static/theme.js", **{"If-None-Match": '"other"'})).status_code == 200


@rows("path", ["/ui/runs", "/ui/static/page.css", "/ui/elsewhere"])
async def test_a_foreign_host_or_origin_is_refused_alone_and_beside_mcp(application: Application, path: str) -> None:
    starlette = build_http_app(application)
    starlette.router.routes.append(pages(application))
    for app in (build_site(application), starlette):
        assert (await Visitor(app).get(path, host="evil.example")).status_code == 421
        assert (await Visitor(app).get(path, origin="http://evil.example")).status_code == 403


@rows("path", ["/", "/ui/"])
async def test_the_page_begins_at_the_list_of_runs(visitor: Visitor, path: str) -> None:
    assert (await visitor.get(path)).headers["location"] == "/ui/runs"


async def test_the_pages_stand_beside_mcp(application: Application) -> None:
    starlette = build_http_app(application)
    starlette.router.routes.append(pages(application))
    run = create(application)
    assert run in (await Visitor(starlette).get(f"/ui/runs/{run}")).text


@rows(("method", "status"), [("POST", 415), ("PUT", 405), ("DELETE", 405), ("TRACE", 405)])
async def test_nothing_is_changed_by_any_method(visitor: Visitor, method: str, status: int) -> None:
    assert (await visitor.ask(method, "/ui/runs", {"origin": HOST})).status_code == status


async def test_the_files_of_the_page_are_served_and_nothing_beside_them(visitor: Visitor) -> None:
    page = (await visitor.get("/ui/runs")).text
    linked = re.findall(r'<(?:link|script)[^>]+(?:href|src)="([^"]+)"', page)
    assert len(linked) == 6
    for path in linked:
        assert (await visitor.get(path)).status_code == 200
    assert (await visitor.get("/ui/static/..%2Fguard.py")).status_code == 404
