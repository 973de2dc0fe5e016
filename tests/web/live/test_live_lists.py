"""Event streams of the list of runs over ASGI, and pages that are made once for all who get them together."""

import re
from typing import Any

import anyio
import anyio.lowlevel
import httpx2
import pytest
from starlette.applications import Starlette

from dcf.application.application import Application
from dcf.web.shared_pages import SharedPages
from tests.support.tables import rows
from tests.web.live.listening import Listener, in_thread, listening, steps
from tests.web.worked_runs import a_run, chain

pytestmark = pytest.mark.anyio


async def test_the_list_is_told_counts_and_rows_that_changed(application: Application, site: Starlette) -> None:
    tag = "listed-live"
    page = Listener(site, f"/ui/live?tag={tag}")
    async with listening(page):
        run = await in_thread(lambda: a_run(application, chain(1), tags=(tag,)))
        await page.until(lambda: any(run.workflow_id in details.data.get("rows", {}) for details in page.told()))
        await steps(run, "S0")
        await page.until(
            lambda: any(details.data.get("rows", {}).get(run.workflow_id) == "succeeded" for details in page.told())
        )
        await page.until(lambda: page.told()[-1].event == "refresh")
    changed = [details.data for details in page.told() if details.event == "changed"]
    assert {name for item in changed for name in item["counts"]} >= {"runs", "succeeded"}
    shown = {name: count for item in changed for name, count in item["counts"].items()}
    before = next(details.data["counts"] for details in page.told() if details.event == "reset")
    assert [shown[name] - before[name] for name in ("runs", "succeeded")] == [1, 1]


async def test_a_page_of_the_list_that_is_current_is_told_nothing_at_first(
    application: Application, site: Starlette
) -> None:
    tag = "quiet"
    await in_thread(lambda: a_run(application, chain(1), tags=(tag,)))
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app=site), base_url="http://127.0.0.1:8337") as client:
        page = (await client.get(f"/ui/runs?tag={tag}")).text
    address, after = re.findall(r'data-live-(?:stream|after)="([^"]+)"', page)
    current = Listener(site, f"{address}&after={after}")
    outdated = Listener(site, f"{address}&after=other")
    async with listening(current, outdated):
        pass
    assert current.told() == []
    assert [details.event for details in outdated.told()] == ["reset", "refresh"]


async def test_pages_that_ask_for_the_same_version_are_made_once_but_for_each_visitor() -> None:
    made: list[bytes] = []

    async def app(scope: Any, _: Any, send: Any) -> None:
        made.append(scope["path"].encode())
        await anyio.lowlevel.checkpoint()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"%d" % len(made)})

    async def ask(path: str = "/a", **headers: str) -> str:
        async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app=shared), base_url="http://x") as client:
            return (await client.get(path, headers=headers)).text

    shared = SharedPages(app, re.compile("/[ab]"))
    details: list[str] = []

    async def note() -> None:
        details.append(await ask(**{"dcf-version": "1"}))

    async with anyio.create_task_group() as tasks:
        for _ in range(5):
            tasks.start_soon(note)
    assert details == ["1"] * 5
    assert await ask(**{"dcf-version": "2"}) == "2"
    assert await ask("/b", **{"dcf-version": "1"}) == "3"
    assert await ask(cookie="session=other", **{"dcf-version": "1"}) == "4"
    assert [await ask(), await ask()] == ["5", "6"]


@rows("path", ["/ui/live", "/ui/runs/{run}/live"])
async def test_an_event_stream_is_not_shared_whatever_version_it_is_asked_for(
    application: Application, site: Starlette, path: str
) -> None:
    """Collected as a page is, it would be sent to no reader, and grow without an end."""
    run = await in_thread(a_run, application, chain(1))
    page = Listener(site, path.format(run=run.workflow_id), said={"dcf-version": "1"})
    async with listening(page):
        assert page.headers["content-type"].startswith("text/event-stream")


async def test_a_file_is_not_kept_for_others_whatever_version_it_is_asked_for(
    application: Application, site: Starlette
) -> None:
    run = await in_thread(a_run, application, chain(1))
    transport, version = httpx2.ASGITransport(app=site), {"dcf-version": "1"}
    async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1:8337") as client:
        file, page = f"/ui/runs/{run.workflow_id}/history.json", f"/ui/runs/{run.workflow_id}"
        files, pages = [], []
        for _ in range(2):
            files.append((await client.get(file, headers=version)).text)
            pages.append((await client.get(page, headers=version)).text)
            await in_thread(run.tool, "pause_run")
    assert files[0] != files[1]
    assert pages[0] == pages[1]
